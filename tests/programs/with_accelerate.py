"""Training with accumulated gradients, hooks around a module, and sizes and devices of layers."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

operators = name_torchvision_operators()

from accelerate import Accelerator, infer_auto_device_map
from accelerate.hooks import ModelHook, add_hook_to_module, remove_hook_from_module
from accelerate.utils import compute_module_sizes, set_module_tensor_to_device


class Changing(ModelHook):
    """Changes what goes in and what comes out."""

    def pre_forward(self, module, *args, **kwargs):
        return (args[0] + 1,), kwargs

    def post_forward(self, module, output):
        return output * 2


accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = filled(nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 1)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
data = DataLoader(TensorDataset(normal(16, 3), normal(16, 1, seed=1)), batch_size=4)
model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
losses = []
for x, y in data:
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(accelerator.gather(loss).item())

with torch.device("meta"):
    empty = nn.Sequential(nn.Linear(100, 100), nn.LayerNorm(100))
devices = infer_auto_device_map(empty, max_memory={"cpu": 10**6})
set_module_tensor_to_device(empty, "0.weight", "cpu", value=torch.ones(100, 100))

layer = filled(nn.Linear(3, 2))
add_hook_to_module(layer, Changing())
hooked = layer(normal(2, 3))
remove_hook_from_module(layer)
report(
    losses=losses,
    parameters=list(accelerator.unwrap_model(model).parameters()),
    sizes={name: int(size) for name, size in compute_module_sizes(empty).items()},
    devices={name: str(device) for name, device in devices.items()},
    placed=[str(parameter.device) for parameter in empty.parameters()],
    hooked=[hooked, layer(normal(2, 3))],
)
