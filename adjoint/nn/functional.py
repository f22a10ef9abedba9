"""The functions of networks, under PyTorch's names.

Most are those of the tables. Defined here are those whose arguments differ: activations, which may
overwrite their input, and softmax, which may choose its dimension.
"""

import warnings
from typing import Any

from adjoint.ops import activation, random, reduction
from adjoint.ops.activation import (
    gelu,
    glu,
    hardshrink,
    logsigmoid,
    prelu,
    sigmoid,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
)
from adjoint.ops.arrange import pad
from adjoint.ops.attention import scaled_dot_product_attention
from adjoint.ops.class_losses import cross_entropy, nll_loss
from adjoint.ops.convolution import conv2d
from adjoint.ops.indexing import one_hot
from adjoint.ops.inplace import INPLACE
from adjoint.ops.losses import mse_loss
from adjoint.ops.neural import linear
from adjoint.ops.normalization import layer_norm
from adjoint.ops.op import Op
from adjoint.ops.pooling import max_pool2d
from adjoint.ops.trigonometry import tanh

# ---- activations that may overwrite their input ----

celu_ = INPLACE["celu_"]
elu_ = INPLACE["elu_"]
hardtanh_ = INPLACE["hardtanh_"]
leaky_relu_ = INPLACE["leaky_relu_"]
relu_ = INPLACE["relu_"]
selu_ = INPLACE["selu_"]
threshold_ = INPLACE["threshold_"]


def _with_inplace(op: Op) -> Any:
    """An op with one more argument, the last, that says whether to overwrite the input."""
    overwriting = INPLACE[f"{op.name}_"]
    count = op.positional

    def function(*args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) == count + 1:
            args, inplace = args[:count], args[count]
        return overwriting(*args, **kwargs) if inplace else op(*args, **kwargs)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.doc} With inplace=True the result overwrites input."
    return function


celu = _with_inplace(activation.celu)
elu = _with_inplace(activation.elu)
hardsigmoid = _with_inplace(activation.hardsigmoid)
hardswish = _with_inplace(activation.hardswish)
leaky_relu = _with_inplace(activation.leaky_relu)
mish = _with_inplace(activation.mish)
relu = _with_inplace(activation.relu)
relu6 = _with_inplace(activation.relu6)
selu = _with_inplace(activation.selu)
silu = _with_inplace(activation.silu)
threshold = _with_inplace(activation.threshold)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """input, but at least min_val and at most max_val."""
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val={min_val} is above max_val={max_val}")
    return (hardtanh_ if inplace else activation.hardtanh)(input, min_val, max_val)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability p and scale the others so that the mean stays."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return (random.dropout_ if inplace else random.dropout)(input, p, training)


# ---- softmax ----


def _chosen_dim(name: str, input: Any, dim: int | None, stacklevel: int) -> int:
    """The dimension of the classes where none is given: the first of images, else the second."""
    if dim is not None:
        return dim
    warnings.warn(f"{name}() without dim is deprecated; say which", stacklevel=stacklevel)
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


__all__ = [
    "celu",
    "celu_",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]
