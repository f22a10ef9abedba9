"""torch-geometric: layers that pass messages, batches of graphs, pooling."""

import torch
from beginnings import filled, normal, report
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    MessagePassing,
    SAGEConv,
    global_add_pool,
    global_mean_pool,
)
from torch_geometric.utils import add_self_loops, degree, scatter, softmax, to_dense_adj

edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])


class Averaging(MessagePassing):
    """Each node gets the mean of its neighbours, weighted by their degrees."""

    def __init__(self, size):
        super().__init__(aggr="mean")
        self.linear = torch.nn.Linear(size, size)

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        weight = degree(edge_index[1], x.size(0)).pow(-0.5)[edge_index[0]]
        return self.propagate(edge_index, x=self.linear(x), weight=weight)

    def message(self, x_j, weight):
        return weight.view(-1, 1) * x_j


class Network(torch.nn.Module):
    """Several kinds of layers, one after the other."""

    def __init__(self):
        super().__init__()
        inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        self.layers = torch.nn.ModuleList(
            [GCNConv(3, 8), GATConv(8, 4, heads=2), SAGEConv(8, 8), GINConv(inner), Averaging(8)]
        )
        self.last = torch.nn.Linear(16, 2)

    def forward(self, data):
        x = data.x
        for layer in self.layers:
            x = torch.relu(layer(x, data.edge_index))
        pooled = [global_mean_pool(x, data.batch), global_add_pool(x, data.batch)]
        return self.last(torch.cat(pooled, 1))


graphs = [Data(x=normal(4, 3, seed=i), edge_index=edges, y=torch.tensor([i % 2])) for i in range(4)]
network = filled(Network())
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
losses = []
for _ in range(2):
    for batch in DataLoader(graphs, batch_size=2):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(batch), batch.y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
whole = Batch.from_data_list(graphs)
report(
    losses=losses,
    parameters=[parameter.norm() for parameter in network.parameters()],
    dense=to_dense_adj(edges),
    text=str(whole),
    taken=whole.get_example(2).x,
    summed=scatter(normal(8, 2), edges[0], dim=0, reduce="sum"),
    weights=softmax(normal(8), edges[0]),
)
