"""Starting values of parameters; each function fills a tensor in place and returns it."""

import math
import warnings
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import eye, randperm
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.arranging.strided import diag
from adjoint.ops.composites import overridable
from adjoint.ops.elementwise.arithmetic import sign
from adjoint.ops.matrices.decompositions import linalg_qr

# ---- gains and fans ----

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much a nonlinearity's inputs should be scaled to keep the variance of activations."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}: known are {[*_GAINS, 'leaky_relu']}"
        )
    if param is None:
        param = 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


def fans(tensor: Any) -> tuple[int, int]:
    """How many inputs each output of a weight has, and how many outputs each input."""
    if tensor.ndim < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got "
            f"shape {list(tensor.shape)}"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def fan(tensor: Any, mode: str) -> int:
    """How many inputs each output of a weight has, or how many outputs each input, by mode."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of fan_in and fan_out")
    return fans(tensor)[mode.lower() == "fan_out"]


# ---- plain fillings ----


@overridable
@no_grad()
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Numbers between a and b, all equally likely."""
    return tensor.uniform_(a, b, generator=generator)


@overridable
@no_grad()
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normally distributed numbers."""
    return tensor.normal_(mean, std, generator=generator)


def _below(x: float) -> float:
    """The part of a standard normal distribution below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@no_grad()
def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Any:
    """Normally distributed numbers, all of them between a and b."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "trunc_normal_(): mean is more than 2 std from [a, b]; the distribution of values may "
            "be incorrect",
            stacklevel=2,
        )
    low, high = _below((a - mean) / std), _below((b - mean) / std)
    # In half precision the ends of the distribution would be rounded to the ends of the interval.
    drawn = tensor.float() if tensor.element_size() < 4 else tensor
    drawn.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
    drawn.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)
    return tensor if drawn is tensor else tensor.copy_(drawn)


@overridable
@no_grad()
def constant_(tensor: Any, val: float) -> Any:
    """One value everywhere."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Any) -> Any:
    """Ones."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Any) -> Any:
    """The identity, so that a linear layer hands on its inputs."""
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.ndim}")
    eye(*tensor.shape, out=tensor)
    return tensor


@no_grad()
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Filters that hand on their inputs: 1 in the middle, for as many channels as there are."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(
            f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.ndim}"
        )
    if tensor.shape[0] % groups:
        raise ValueError(f"dim 0, {tensor.shape[0]}, must be divisible by groups, {groups}")
    filters = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(filters, tensor.shape[1])):
            tensor[(group * filters + channel, channel, *middle)] = 1
    return tensor


# ---- by the number of connections ----


@no_grad()
def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers whose variance suits inputs and outputs alike (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / sum(fans(tensor))))
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers whose variance suits inputs and outputs alike (Glorot and Bengio, 2010)."""
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator=generator)


def _kaiming(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    """The deviation that keeps the variance of activations; None for nothing to fill."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(fan(tensor, mode))


@overridable
@no_grad()
def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    """Uniform numbers that keep the variance through a nonlinearity (He et al., 2015)."""
    deviation = _kaiming(tensor, a, mode, nonlinearity)
    if deviation is None:
        return tensor
    bound = math.sqrt(3.0) * deviation
    return tensor.uniform_(-bound, bound, generator=generator)


@overridable
@no_grad()
def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    """Normal numbers that keep the variance through a nonlinearity (He et al., 2015)."""
    deviation = _kaiming(tensor, a, mode, nonlinearity)
    return tensor if deviation is None else tensor.normal_(0.0, deviation, generator=generator)


@no_grad()
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A matrix with orthonormal rows or columns, times gain; further dimensions are columns."""
    if tensor.ndim < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got {tensor.ndim}")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0.0, 1.0, generator=generator)
    if rows < columns:
        drawn.t_()
    factor, triangle = linalg_qr(drawn)
    factor *= sign(diag(triangle))  # which of all such matrices is then chance
    if rows < columns:
        factor.t_()
    return tensor.copy_(reshape(factor, tuple(tensor.shape))).mul_(gain)


@no_grad()
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers, a part of each column set to zero."""
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.ndim}")
    rows, columns = tensor.shape
    count = math.ceil(sparsity * rows)
    tensor.normal_(0.0, std, generator=generator)
    for column in range(columns):
        order: Any = randperm(rows, generator=generator)
        tensor[order[:count], column] = 0
    return tensor
