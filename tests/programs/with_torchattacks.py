"""Inputs that a network gets wrong, found by following gradients."""

import torch
import torchattacks
from beginnings import filled, normal, report

model = filled(
    torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 3)
    )
).eval()
images, labels = normal(3, 1, 6, 6).sigmoid(), torch.tensor([0, 1, 2])
attacks = {
    "FGSM": torchattacks.FGSM(model, eps=0.03),
    "BIM": torchattacks.BIM(model, eps=0.03, steps=4),
    "PGD": torchattacks.PGD(model, eps=0.03, steps=4, random_start=False),
    "MIFGSM": torchattacks.MIFGSM(model, eps=0.03, steps=4),
    "CW": torchattacks.CW(model, steps=5),
    "DeepFool": torchattacks.DeepFool(model, steps=5),
}
report(**{name: attack(images, labels) for name, attack in attacks.items()})
