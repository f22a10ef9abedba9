"""A memory that learns while it reads: gradients of each sample by vmap, inside a backward."""

from beginnings import filled, normal, report
from titans_pytorch import MemoryMLP, NeuralMemory

memory = NeuralMemory(dim=8, chunk_size=4, heads=2, dim_head=4, model=MemoryMLP(4, depth=2))
for parameter in memory.parameters():
    parameter.data = parameter.data.clone()  # some begin as one row, shown several times
filled(memory).double()  # whose steps magnify a last bit
tokens = normal(2, 8, 8).double().requires_grad_()
read, state = memory(tokens)
read.pow(2).sum().backward()
later, _ = memory(normal(2, 8, 8, seed=1).double(), state=state)
lengths = {
    name: parameter.grad.norm()
    for name, parameter in memory.named_parameters()
    if parameter.grad is not None
}
report(read=read, gradient=tokens.grad, later=later, lengths=lengths)
