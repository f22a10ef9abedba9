"""lightly: losses and heads of self-supervised learning, momentum networks, a training step."""

import copy

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity  # noqa: E402
from lightly.loss import NTXentLoss, SwaVLoss, VICRegLoss  # noqa: E402
from lightly.models.modules.heads import (  # noqa: E402
    BYOLPredictionHead,
    SimCLRProjectionHead,
    SwaVPrototypes,
)
from lightly.models.utils import deactivate_requires_grad, update_momentum  # noqa: E402
from lightly.utils.scheduler import cosine_schedule  # noqa: E402

first, second = normal(8, 12).requires_grad_(), normal(8, 12, seed=1)
results = {}
for loss_class in (BarlowTwinsLoss, NegativeCosineSimilarity, NTXentLoss, VICRegLoss):
    first.grad = None
    loss = loss_class()(first, second)
    loss.backward()
    results[loss_class.__name__] = [loss, first.grad]

projection = filled(SimCLRProjectionHead(12, 8, 6))
prediction = filled(BYOLPredictionHead(6, 8, 6), seed=1)
slow = copy.deepcopy(projection)
deactivate_requires_grad(slow)
optimizer = torch.optim.SGD([*projection.parameters(), *prediction.parameters()], lr=0.1)
steps = []
for _ in range(3):
    update_momentum(projection, slow, m=0.9)
    loss = NegativeCosineSimilarity()(prediction(projection(first.detach())), slow(second))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    steps.append(loss)
prototypes = filled(SwaVPrototypes(12, 5))
high = [prototypes(first), prototypes(second)]
results["swav"] = SwaVLoss()(high, [])
results["dino"] = DINOLoss(output_dim=12)([first, second], [second, first], epoch=1)
results["schedule"] = [cosine_schedule(step, 10, 0.9, 1.0) for step in range(4)]
report(**results, steps=steps, slow=[each.norm() for each in slow.parameters()])
