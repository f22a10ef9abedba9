"""opacus: gradients of each sample by hooks, clipped and summed; noise of size zero."""

import torch
from beginnings import filled, normal, report
from opacus import GradSampleModule
from opacus.accountants import RDPAccountant
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator

model = filled(
    torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.GroupNorm(2, 4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 5),
        torch.nn.LayerNorm(5),
    )
)
images, classes = normal(6, 1, 6, 6), torch.arange(6) % 5
sampled = GradSampleModule(model)
loss = torch.nn.functional.cross_entropy(sampled(images), classes)
loss.backward()
norms = [parameter.grad_sample.flatten(1).norm(dim=1) for parameter in model.parameters()]
optimizer = DPOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1),
    noise_multiplier=0.0,
    max_grad_norm=0.5,
    expected_batch_size=6,
)
optimizer.step()
after = [parameter.detach().clone() for parameter in model.parameters()]

problems = ModuleValidator.validate(torch.nn.BatchNorm2d(3), strict=False)
accountant = RDPAccountant()
for _ in range(10):
    accountant.step(noise_multiplier=1.1, sample_rate=0.1)
report(
    loss=loss, norms=norms, after=after, problems=[type(each).__name__ for each in problems],
    spent=accountant.get_epsilon(1e-5),
)
