"""The functions of networks, under PyTorch's names."""

from adjoint.ops.activation import (
    celu as celu,
    elu as elu,
    gelu as gelu,
    glu as glu,
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softplus as softplus,
    softshrink as softshrink,
    softsign as softsign,
    tanhshrink as tanhshrink,
    threshold as threshold,
)
from adjoint.ops.arrange import pad as pad
from adjoint.ops.neural import (
    conv2d as conv2d,
    cross_entropy as cross_entropy,
    layer_norm as layer_norm,
    linear as linear,
    max_pool2d as max_pool2d,
    mse_loss as mse_loss,
    nll_loss as nll_loss,
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from adjoint.ops.random import dropout as dropout
from adjoint.ops.reduction import log_softmax as log_softmax
from adjoint.ops.reduction import softmax as softmax
from adjoint.ops.trigonometry import tanh as tanh
from adjoint.ops.indexing import one_hot as one_hot
