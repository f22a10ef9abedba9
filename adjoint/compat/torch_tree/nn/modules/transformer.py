"""torch.nn.modules.transformer: what programs take for encoders of their own."""

import copy
from collections.abc import Callable
from typing import Any

from adjoint.nn import Module, ModuleList, functional


def _get_clones(module: Module, N: int) -> ModuleList:  # PyTorch's name
    """Copies of a layer."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Callable[..., Any]:
    """relu or gelu, by name."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu or gelu, not {activation}")
    found: Callable[..., Any] = getattr(functional, activation)
    return found
