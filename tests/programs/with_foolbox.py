"""Five attacks on a network, and gradients through a layer above several libraries."""

import eagerpy as ep
import foolbox
from beginnings import filled, normal, report
from foolbox import attacks
from torch import nn

model = filled(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))).eval()
attacked = foolbox.PyTorchModel(model, bounds=(0, 1), device="cpu")
images = normal(4, 1, 8, 8).sigmoid()
classes = model(images).argmax(1)
chosen = {
    "sign": attacks.FGSM(),
    "descent": attacks.LinfPGD(random_start=False, steps=5),
    "planes": attacks.L2DeepFoolAttack(steps=3),
    "search": attacks.L2CarliniWagnerAttack(steps=4, binary_search_steps=2),
    "steps": attacks.LinfBasicIterativeAttack(random_start=False, steps=3),
}
found = {}
for name, attack in chosen.items():
    _, clipped, fooled = attack(attacked, images, classes, epsilons=0.1)
    found[name] = [clipped, fooled]
_, gradient = ep.value_and_grad(lambda x: x.exp().sum(), ep.astensor(normal(3)))
report(**found, gradient=gradient.raw, norms=ep.norms.l2(ep.astensor(normal(3, 4)), axis=1).raw)
