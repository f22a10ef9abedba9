"""Scripts of tutorials: one process of a group, checkpointed layers, a profile, Sobol's points."""

import socket

import torch
import torch.distributed as dist
from beginnings import filled, normal, report
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function
from torch.quasirandom import SobolEngine
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

with socket.socket() as free:
    free.bind(("localhost", 0))
    address = f"tcp://localhost:{free.getsockname()[1]}"
dist.init_process_group("gloo", init_method=address, rank=0, world_size=1)
model = filled(nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)))
model[3] = checkpoint_wrapper(model[3])
parallel = DistributedDataParallel(model, find_unused_parameters=True)
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
data = TensorDataset(normal(16, 3), normal(16, 1, seed=1))
sampler = DistributedSampler(data, shuffle=False)
losses, squares = [], nn.MSELoss()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
    for i, (x, y) in enumerate(DataLoader(data, 4, sampler=sampler)):
        with record_function("step"):
            if i % 2 == 0:
                with parallel.no_sync():
                    squares(input=parallel(x), target=y).backward()
                continue
            loss = squares(input=parallel(x), target=y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        losses.append(total / dist.get_world_size())
gathered, objects = [torch.zeros(1)], [None]
dist.all_gather(gathered, losses[-1][None])
dist.all_gather_object(objects, {"rank": dist.get_rank()})
dist.barrier()
dist.destroy_process_group()
counts = {row.key: row.count for row in profiled.key_averages()}
report(
    losses=losses,
    gathered=gathered,
    objects=objects,
    state=parallel.state_dict(),
    steps=counts["step"],
    points=SobolEngine(3).draw(4),
)
