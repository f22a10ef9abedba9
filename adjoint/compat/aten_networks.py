"""Operations of PyTorch's that make up layers and losses, and those of their gradients.

torch.ops.aten has them by name, and modes and classes below autograd see them (aten_steps).
"""

from typing import Any

from adjoint.autograd.entry_points import grad as gradient_of
from adjoint.autograd.grad_mode import recording
from adjoint.call.context import is_recording
from adjoint.compat.aten_parts import nll_loss_forward
from adjoint.ops.arranging.indexing import scatter_add
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.elementwise.activation import random_slopes
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.einsum import einsum
from adjoint.ops.matrices.matmul import matmul, mT
from adjoint.ops.neural import class_losses, losses
from adjoint.ops.neural.attention import attend, lower_mask
from adjoint.ops.neural.class_losses import nll_loss
from adjoint.ops.neural.native_functions import (
    native_batch_norm,
    reduction_word,
)
from adjoint.ops.op import TABLE
from adjoint.ops.reducing.reduction import logsumexp


def slopes(function: Any, args: list[Any], places: list[int], grad: Any) -> list[Any]:
    """The gradients of a function by the arguments at some places, from that of its result."""
    recorded = is_recording()
    with recording():
        for place in places:
            if not (recorded and args[place].requires_grad):
                args[place] = args[place].detach().requires_grad_()
        result = function(*args)
    inputs = [args[place] for place in places]
    return list(gradient_of(result, inputs, grad, create_graph=recorded))


def _masked(function: Any, args: list[Any], mask: Any, grad: Any) -> tuple[Any, ...]:
    """The gradients by the first arguments, None for those that a mask leaves out."""
    places = [i for i, wanted in enumerate(mask) if wanted and args[i] is not None]
    found = dict(zip(places, slopes(function, args, places, grad), strict=True))
    return tuple(found.get(i) for i in range(len(mask)))


# ---- normalisation ----


def native_batch_norm_backward(
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of batch_norm by input, weight and bias; None for those not wanted."""
    shift = None if not output_mask[2] else input.new_zeros((input.shape[1],))
    known = (None, None) if train else (running_mean, running_var)
    rest = (*known, train, 0.0, eps)

    def again(*inputs: Any) -> Any:
        return native_batch_norm(*inputs, *rest)[0]

    return _masked(again, [input, weight, shift], output_mask, grad_out)


def native_group_norm_backward(
    grad_out: Any,
    input: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of group_norm by input, weight and bias; None for those not wanted."""
    sizes = (N, group, C // group, HxW)
    rows = (N, group, 1, 1)
    slope, values = reshape(grad_out, sizes), reshape(input, sizes)
    inverse = reshape(rstd, rows)
    level = (values - reshape(mean, rows)) * inverse
    by_input = by_weight = by_bias = None
    if output_mask[0]:
        part = slope if weight is None else slope * reshape(weight, (1, group, C // group, 1))
        along = (part * level).mean((2, 3), keepdim=True)
        moved = part - part.mean((2, 3), keepdim=True) - level * along
        by_input = reshape(moved * inverse, tuple(input.shape))
    if output_mask[1] and weight is not None:
        by_weight = reshape((slope * level).sum((0, 3)), (C,))
    if output_mask[2]:
        by_bias = reshape(slope.sum((0, 3)), (C,))
    return by_input, by_weight, by_bias


# ---- attention ----


def _in_order(tensor: Any, order: Any) -> Any:
    """A tensor whose dimensions lie in memory in an order."""
    back = [order.index(dim) for dim in range(len(order))]
    return tensor.permute(order).contiguous().permute(back)


def _scaled_dot_product_flash_attention_for_cpu(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """Attention, and the logarithms of the sums of its weights' powers."""
    if dropout_p:
        raise RuntimeError(
            f"_scaled_dot_product_flash_attention_for_cpu(): it leaves out nothing, got a "
            f"dropout_p of {dropout_p}"
        )
    factor = (query.shape[-1] or 1) ** -0.5 if scale is None else scale
    out = attend(query, key, value, attn_mask, factor, is_causal)
    scores = matmul(query.detach() * factor, mT(key.detach()))
    if is_causal:
        shut = ~lower_mask(scores, *scores.shape[-2:])
        scores = scores.masked_fill(shut, float("-inf"))
    if attn_mask is not None:
        scores = scores + attn_mask.detach()
    order = sorted(range(query.ndim), key=lambda dim: -query.stride(dim))
    return _in_order(out, order), logsumexp(scores, -1)


def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """The gradients of attention by queries, keys and values."""
    factor = (query.shape[-1] or 1) ** -0.5 if scale is None else scale

    def again(query: Any, key: Any, value: Any) -> Any:
        return attend(query, key, value, attn_mask, factor, is_causal)

    found = slopes(again, [query, key, value], [0, 1, 2], grad_out)
    return tuple(_in_order(each, [0, 2, 1, 3]) for each in found)


# ---- activations ----


def _activation(name: str) -> Any:
    """The operation of an activation's gradient."""

    def backward(grad_output: Any, input: Any, *options: Any) -> Any:
        return slopes(lambda each: TABLE[name](each, *options), [input], [0], grad_output)[0]

    backward.__name__ = backward.__qualname__ = f"{name}_backward"
    backward.__doc__ = f"The gradient of {name}."
    return backward


def elu(input: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """elu, whose results and whose input below 0 may be scaled; selu is one of them."""
    if scale == 1 == input_scale:
        return TABLE["elu"](input, alpha)
    below = (input * input_scale).expm1() * (alpha * scale)
    return where(input > 0, input * scale, below)


def glu_backward(grad_output: Any, input: Any, dim: int) -> Any:
    """The gradient of glu."""
    return slopes(lambda each: TABLE["gated_halves"](each, dim), [input], [0], grad_output)[0]


def log_sigmoid_forward(input: Any) -> tuple[Any, Any]:
    """logsigmoid, and what PyTorch's keeps for its gradient, which needs it on no device here."""
    return TABLE["logsigmoid"](input), falling(input)


def falling(input: Any) -> Any:
    """What PyTorch's logsigmoid keeps: on a CPU the exponentials, elsewhere nothing."""
    return input.abs().neg().exp() if input.device.type == "cpu" else input.new_zeros((0,))


def log_sigmoid_backward(grad_output: Any, input: Any, buffer: Any) -> Any:
    """The gradient of logsigmoid."""
    return slopes(TABLE["logsigmoid"], [input], [0], grad_output)[0]


def _prelu_kernel(input: Any, weight: Any) -> Any:
    """prelu, whose weight has the input's shape, or can be spread to it."""
    return TABLE["leaky_by"](input, weight)


def _prelu_kernel_backward(grad_output: Any, input: Any, weight: Any) -> tuple[Any, Any]:
    """The gradients of prelu, that of the weight not yet summed."""
    spread = weight.expand(tuple(input.shape))
    by_input, by_weight = slopes(TABLE["leaky_by"], [input, spread], [0, 1], grad_output)
    return by_input, by_weight


_ACTIVATIONS = tuple(
    _activation(name)
    for name in ("hardswish", "hardsigmoid", "mish", "softshrink", "hardshrink", "logit")
)


# ---- losses ----


def _of_errors(name: str, option: str) -> Any:
    """The operation of the gradient of a loss of differences by its input."""

    def backward(grad_output: Any, input: Any, target: Any, reduction: int, bound: float) -> Any:
        words = {"reduction": reduction_word(f"{name}_backward", reduction), option: bound}
        loss = getattr(losses, name)
        return slopes(lambda *both: loss(*both, **words), [input, target], [0], grad_output)[0]

    backward.__name__ = backward.__qualname__ = f"{name}_backward"
    backward.__doc__ = f"The gradient of {name} by its input."
    return backward


def binary_cross_entropy_backward(
    grad_output: Any, input: Any, target: Any, weight: Any = None, reduction: int = 1
) -> Any:
    """The gradient of binary_cross_entropy by its input."""
    word = reduction_word("binary_cross_entropy_backward", reduction)
    return slopes(
        lambda input: losses.binary_cross_entropy(input, target, weight, reduction=word),
        [input],
        [0],
        grad_output,
    )[0]


def nll_loss2d_forward(
    input: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """nll_loss of images, and the weights of all that counted."""
    return nll_loss_forward(input, target, weight, reduction, ignore_index)


def nll_loss2d_backward(
    grad_output: Any,
    input: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    """The gradient of nll_loss of images by its input."""
    word = reduction_word("nll_loss2d_backward", reduction)
    return slopes(
        lambda input: nll_loss(input, target, weight, ignore_index=ignore_index, reduction=word),
        [input],
        [0],
        grad_output,
    )[0]


# ---- margins ----


def soft_margin_loss(input: Any, target: Any, reduction: int = 1) -> Any:
    """log(1 + exp(-target * input)); reductions are numbers."""
    word = reduction_word("soft_margin_loss", reduction)
    return losses.soft_margin_loss(input, target, reduction=word)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None, reduction: int = 1
) -> Any:
    """What the target class lacks to exceed others by a margin; reductions are numbers."""
    word = reduction_word("multi_margin_loss", reduction)
    return class_losses.multi_margin_loss(input, target, p, margin, weight, reduction=word)


def multilabel_margin_loss_forward(input: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """multilabel_margin_loss, and which classes are named."""
    word = reduction_word("multilabel_margin_loss_forward", reduction)
    given = (target < 0).cumsum(-1) == 0 if target.ndim else target >= 0
    nothing = input.new_zeros(tuple(target.shape))
    named = scatter_add(nothing, -1, target.clamp(min=0), given.to(input.dtype))
    loss = class_losses.multilabel_margin_loss(input, target, reduction=word)
    return loss, (named > 0).to(input.dtype)


def _of_margins(name: str, function: Any, extra: int = 0) -> Any:
    """The operation of a loss' gradient, given the loss' arguments and some that do not count."""

    def backward(grad_output: Any, input: Any, *rest: Any) -> Any:
        rest = rest[: len(rest) - extra]
        return slopes(lambda each: function(each, *rest), [input], [0], grad_output)[0]

    backward.__name__ = backward.__qualname__ = name
    backward.__doc__ = f"The gradient of {function.__name__} by its input."
    return backward


def _named_classes(input: Any, target: Any, reduction: int) -> Any:
    return multilabel_margin_loss_forward(input, target, reduction)[0]


# ---- products of three ----


def _trilinear(
    i1: Any,
    i2: Any,
    i3: Any,
    expand1: Any,
    expand2: Any,
    expand3: Any,
    sumdim: Any,
    unroll_dim: int = 1,
) -> Any:
    """The products of three tensors that lack some dimensions each, summed over others."""
    given = ((i1, expand1), (i2, expand2), (i3, expand3))
    rank = i1.ndim + len(expand1)
    names = [[d for d in range(rank) if d not in missing] for _, missing in given]
    pairs = [part for (each, _), dims in zip(given, names, strict=True) for part in (each, dims)]
    return einsum(*pairs, [d for d in range(rank) if d not in sumdim])


# ---- slopes by chance ----


def rrelu_with_noise(
    input: Any,
    noise: Any,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """rrelu, which writes the slopes into noise, where it is in training."""
    slope = random_slopes(input, lower, upper, training, generator)
    if not training:
        return TABLE["leaky_relu"](input, slope)
    noise.copy_(where(input.detach() > 0, 1.0, slope))
    return input * noise.clone()


def rrelu_with_noise_backward(
    grad_output: Any,
    input: Any,
    noise: Any,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> Any:
    """The gradient of rrelu."""
    if training:
        return grad_output * noise
    return where(input > 0, grad_output, grad_output * ((lower + upper) / 2))


NETWORKS = (
    soft_margin_loss,
    multi_margin_loss,
    multilabel_margin_loss_forward,
    _of_margins("soft_margin_loss_backward", soft_margin_loss),
    _of_margins("multi_margin_loss_backward", multi_margin_loss),
    _of_margins("multilabel_margin_loss_backward", _named_classes, 1),
    _trilinear,
    rrelu_with_noise,
    rrelu_with_noise_backward,
    *_ACTIVATIONS,
    glu_backward,
    log_sigmoid_forward,
    log_sigmoid_backward,
    _prelu_kernel,
    _prelu_kernel_backward,
    elu,
    native_batch_norm_backward,
    native_group_norm_backward,
    _scaled_dot_product_flash_attention_for_cpu,
    _scaled_dot_product_flash_attention_for_cpu_backward,
    _of_errors("huber_loss", "delta"),
    _of_errors("smooth_l1_loss", "beta"),
    binary_cross_entropy_backward,
    nll_loss2d_forward,
    nll_loss2d_backward,
)
