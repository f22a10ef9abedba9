"""The functions of networks, under PyTorch's names.

Most are those of the tables. Defined here are those whose arguments differ: activations and
dropouts, which may overwrite their input, and softmax, which may choose its dimension.
"""

import inspect
import math
import sys
import warnings
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from adjoint.creation import factories
from adjoint.nn.multihead import multi_head_attention_forward as multi_head_attention_forward
from adjoint.nn.replacing import Replaceable
from adjoint.ops import PUBLIC
from adjoint.ops.composites import overridable
from adjoint.ops.declaration import DECLARED
from adjoint.ops.elementwise import activation, selection
from adjoint.ops.inplace import INPLACE
from adjoint.ops.neural import dropout as whole_dropout, normalization
from adjoint.ops.neural.class_losses import cross_entropy as cross_entropy
from adjoint.ops.neural.dropout import dropped
from adjoint.ops.neural.linear import linear as linear
from adjoint.ops.neural.resampling import interpolate as interpolate, unfold as unfold
from adjoint.ops.op import Op
from adjoint.ops.reducing import reduction
from adjoint.ops.sampling import random
from adjoint.tensors.tensor import Tensor

globals().update(PUBLIC["nn.functional"])


def __getattr__(name: str) -> Any:  # it also tells type checkers that there are more names
    raise AttributeError(f"module 'adjoint.nn.functional' has no attribute {name!r}")


# ---- activations that may overwrite their input ----


def _with_inplace(op: Op) -> Callable[..., Any]:
    """An op with one more argument, the last, that says whether to overwrite the input."""
    overwriting = INPLACE[f"{op.name}_"]
    count = op.positional

    def function(*args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) == count + 1:
            args, inplace = args[:count], args[count]
        return overwriting(*args, **kwargs) if inplace else op(*args, **kwargs)

    own = inspect.signature(op)
    parameters = [p for p in own.parameters.values() if p.name != "out"]
    parameters.append(
        Parameter("inplace", Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=bool)
    )
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.__doc__} With inplace=True the result overwrites input."
    vars(function)["__signature__"] = own.replace(parameters=parameters)
    return function


globals().update({name: _with_inplace(d.function) for name, d in DECLARED.items() if d.overwrites})


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """input, but at least min_val and at most max_val."""
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val={min_val} is above max_val={max_val}")
    function = INPLACE["hardtanh_"] if inplace else activation.hardtanh
    return function(input, min_val, max_val)


def rrelu(
    input: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """input where it is positive, else times a slope: in training drawn for each element."""
    if not inplace:
        return activation.rrelu(input, lower, upper, training)
    slopes = activation.random_slopes(input, lower, upper, training)
    if not training:
        return INPLACE["leaky_relu_"](input, slopes)
    return input.mul_(selection.where(input > 0, 1.0, slopes))


def rrelu_(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Any:
    """In-place form of rrelu."""
    return rrelu(input, lower, upper, training, True)


# ---- norms ----


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Each group of channels of a sample with mean 0 and variance 1, scaled and shifted."""
    if input.ndim > 1 and math.prod(input.shape) == num_groups:
        raise ValueError(
            f"group_norm(): Expected more than 1 value per group, got input of shape "
            f"{list(input.shape)} in {num_groups} groups"
        )
    return normalization.group_norm(input, num_groups, weight, bias, eps)


# ---- dropout ----


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability p and scale the others so that the mean stays."""
    _check_probability(p)
    return (random.dropout_ if inplace else random.dropout)(input, p, training)


def _check_probability(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _channels(name: str, input: Any, count: int, p: float, training: bool, inplace: bool) -> Any:
    """Dropout of channels of images with `count` dimensions, single ones too."""
    _check_probability(p)
    if count == 1 and input.ndim not in (2, 3):
        raise RuntimeError(f"{name}(): expected 2D or 3D input, got a {input.ndim}D one")
    if input.ndim not in (count + 1, count + 2):
        warnings.warn(
            f"{name}(): expected {count + 1} or {count + 2} dimensions, got {input.ndim}; channels "
            f"are taken to be dimension {int(count == 2)}",
            stacklevel=4,
        )
    elif count == 2 and input.ndim == 3:
        warnings.warn(
            f"{name}(): 3 dimensions are taken to be (batch, channels, length); use dropout1d for "
            "these, and input.unsqueeze(0) for a single image",
            stacklevel=4,
        )
    if input.ndim == count + 2 or count == 2:  # PyTorch takes 3 dimensions for a batch here
        if inplace:
            return dropped(input, p, training, True, True, False)
        return whole_dropout.feature_dropout(input, p, training)
    if inplace:
        dropped(input.unsqueeze(0), p, training, True, True, False)
        return input
    return whole_dropout.feature_dropout(input.unsqueeze(0), p, training).squeeze(0)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of sequences with probability p."""
    return _channels("dropout1d", input, 1, p, training, inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of a batch of images with probability p."""
    return _channels("dropout2d", input, 2, p, training, inplace)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of volumes with probability p."""
    return _channels("dropout3d", input, 3, p, training, inplace)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout for selu: mean 0 and variance 1 stay."""
    _check_probability(p)
    if inplace:
        return dropped(input, p, training, True, False, True)
    return whole_dropout.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Dropout of channels for selu: mean 0 and variance 1 stay."""
    _check_probability(p)
    if inplace:
        return dropped(input, p, training, True, True, True)
    return whole_dropout.feature_alpha_dropout(input, p, training)


# ---- softmax ----


def _chosen_dim(name: str, input: Any, dim: int | None, stacklevel: int) -> int:
    """The dimension of the classes where none is given: the first of images, else the second."""
    if dim is not None:
        return dim
    warnings.warn(f"{name}() without dim is deprecated; say which", stacklevel=stacklevel + 1)
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(input), scaled to sum to 1 along dim."""
    return reduction.softmax(input, _chosen_dim("softmax", input, dim, _stacklevel), dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of softmax, exact where softmax is near 0."""
    return reduction.log_softmax(input, _chosen_dim("log_softmax", input, dim, _stacklevel), dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of -input."""
    return reduction.softmax(-input, _chosen_dim("softmin", input, dim, _stacklevel), dtype)


def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """A sample of the classes, softened by tau; with hard=True one-hot, its gradient the soft's."""
    if eps != 1e-10:
        warnings.warn("gumbel_softmax(): eps has no effect", stacklevel=3)
    noise = -random.exponential(logits.detach()).log()
    soft = reduction.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True).indices
    zeros: Any = factories.zeros_like(logits)
    one = zeros.scatter_(dim, index, 1.0)
    return one - soft.detach() + soft


# ---- other names ----


def _check_projection(input: Any, weight: Any, bias: Any) -> None:
    """Refuse shapes from which linear_cross_entropy can't make the scores of classes."""
    name = "linear_cross_entropy()"
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{name}: expected input of 1 or 2 dimensions, got {input.ndim}")
    if weight.ndim < 2 or weight.shape[-1] != input.shape[-1]:
        raise RuntimeError(
            f"{name}: linear_weight of shape {list(weight.shape)} does not fit input of shape "
            f"{list(input.shape)}: expected (classes, ..., features)"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"{name}: expected linear_bias of shape {list(weight.shape[:-1])}, got "
            f"{list(bias.shape)}"
        )
    if weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(f"{name}: several losses for each sample need a batch, (N, features)")


def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """cross_entropy of linear(input, linear_weight, linear_bias).

    linear_weight is (classes, *sizes, features); with sizes, each place of them has its own loss.
    `options` say how PyTorch saves memory and do not change the result; here they change nothing.
    """
    _check_projection(input, linear_weight, linear_bias)
    shape = tuple(linear_weight.shape[:-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    if linear_weight.ndim > 2:
        linear_weight = linear_weight.reshape(math.prod(shape), linear_weight.shape[-1])
    scores = linear(input, linear_weight, bias)
    scores = scores.reshape(*input.shape[:-1], *shape)
    if ignore_index is not None and tuple(target.shape) == tuple(scores.shape):
        raise RuntimeError(
            "linear_cross_entropy(): ignore_index cannot be given where target holds probabilities"
        )
    return cross_entropy(
        scores,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The old name of interpolate."""
    warnings.warn("upsample() is deprecated; write interpolate()", stacklevel=3)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate by the nearest neighbour, under its old name."""
    warnings.warn("upsample_nearest() is deprecated; write interpolate()", stacklevel=3)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Bilinear interpolate with aligned corners, under its old name."""
    warnings.warn("upsample_bilinear() is deprecated; write interpolate()", stacklevel=3)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _with_indices(function: Any) -> Callable[..., Any]:
    """A pooling function that answers the places too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, "return_indices": True})

    call.__name__ = call.__qualname__ = f"{function.__name__}_with_indices"
    call.__doc__ = f"{function.__name__} with return_indices=True."
    own = inspect.signature(function)
    vars(call)["__signature__"] = own.replace(return_annotation=tuple[Tensor, Tensor])
    return call


globals().update(
    {
        f"{name}_with_indices": _with_indices(function)
        for name, function in PUBLIC["nn.functional"].items()
        if "max_pool" in name
    }
)

# ---- what others may answer ----

_OWN = [
    name
    for name, value in globals().items()
    if inspect.isfunction(value) and value.__module__ == __name__ and name[0] != "_"
]
globals().update({name: overridable(globals()[name]) for name in _OWN})

sys.modules[__name__].__class__ = Replaceable
