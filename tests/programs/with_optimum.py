"""optimum-quanto: weights and activations of 8 bits, kernels that come before their operations."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

from optimum.quanto import Calibration, freeze, qint8, quantize


def network():
    layers = (torch.nn.Linear(128, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
    return filled(torch.nn.Sequential(*layers))


def quantized(weights, activations=None):
    model = network()
    quantize(model, weights=weights, activations=activations)
    if activations is not None:
        with Calibration():
            model(normal(8, 128, seed=1))
    before = model(normal(4, 128))
    before.sum().backward()
    gradient = model[2].weight.grad
    freeze(model)
    after = model(normal(4, 128))
    return [before, after, gradient, type(model[0].weight).__name__, sorted(model.state_dict())]


report(weights=quantized(qint8), both=quantized(qint8, qint8))
