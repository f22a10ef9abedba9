"""Dropout of whole channels, and dropout that keeps mean and variance."""

from typing import Any

from adjoint.ops.annotations import Value
from adjoint.ops.elementwise.arithmetic import add, mul
from adjoint.ops.op import composite
from adjoint.ops.sampling.random import dropout_mask
from adjoint.tensors.changes import apply_inplace

# The value that selu has far below zero: what dropped elements are set to.
_FLOOR = -1.7580993408473766


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _scaled(input: Any, factor: Any, shift: Any, inplace: bool) -> Any:
    """input * factor + shift, where there is a shift."""
    if inplace:
        input = apply_inplace(mul, [input, factor])
        return input if shift is None else apply_inplace(add, [input, shift, 1])
    out = mul(input, factor)
    return out if shift is None else add(out, shift)


def dropped(input: Any, p: float, train: bool, inplace: bool, channels: bool, alpha: bool) -> Any:
    """Dropout of elements or channels: to zero, or with alpha so that mean and variance stay."""
    _check(p)
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return _scaled(input, input.new_zeros(()), None, inplace)
    if channels and input.ndim < 2:
        raise RuntimeError(
            f"dropout of channels needs at least 2 dimensions, got shape {list(input.shape)}"
        )
    if not alpha:
        return _scaled(input, dropout_mask(input, p, 1 / (1 - p), channels), None, inplace)
    mask = dropout_mask(input, p, 1.0, channels)
    stretch = ((1 - p) * (1 + p * _FLOOR**2)) ** -0.5
    shift = (1 - mask) * (stretch * _FLOOR) - stretch * _FLOOR * p
    return _scaled(input, mask * stretch, shift, inplace)


@composite(method=False)
def alpha_dropout(input: Value, p: float = 0.5, train: bool = False) -> Value:
    """Dropout for selu: mean 0 and variance 1 stay."""
    return dropped(input, p, train, False, False, True)


@composite(method=False)
def feature_dropout(input: Value, p: float = 0.5, train: bool = False) -> Value:
    """Zero each channel with probability p and scale the others so that the mean stays."""
    return dropped(input, p, train, False, True, False)


@composite(method=False)
def feature_alpha_dropout(input: Value, p: float = 0.5, train: bool = False) -> Value:
    """Dropout of channels for selu: mean 0 and variance 1 stay."""
    return dropped(input, p, train, False, True, True)
