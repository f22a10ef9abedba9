"""What every program begins and ends with: the same numbers for both libraries, and a report."""

import json

import numpy as np
import torch


def normal(*shape, seed=0, scale=1.0):
    """A tensor of float32 numbers that depend on the seed alone."""
    values = np.random.default_rng(seed).normal(size=shape) * scale
    return torch.from_numpy(values.astype(np.float32))


def filled(module, seed=0):
    """The module with parameters that do not depend on a library's random numbers."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            scale = 1 / np.sqrt(max(parameter.shape[-1:] or (1,)))
            values = np.asarray(rng.normal(size=tuple(parameter.shape)) * scale, np.float32)
            parameter.copy_(torch.from_numpy(values))
    return module


def plain(value):
    """A tensor, or a nest of them, as numbers."""
    if isinstance(value, torch.Tensor):
        return value.detach().tolist()
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {str(name): plain(element) for name, element in value.items()}
    return value


def report(**results):
    """Print what the two runs are compared by."""
    print(json.dumps(plain(results)))


def name_torchvision_operators():
    """Define what torchvision's compiled library would, so that PyTorch without it imports it."""
    if torch.version.git_version != "adjoint":
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return library  # which takes its definitions along when it goes
    return None
