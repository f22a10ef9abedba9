"""Gradients that PyTorch has as operations of their own, and adjoint as rules of ops.

torch.ops.aten has them by name, and backward passes show them to modes and classes (aten_steps).
"""

import math
from typing import Any

from adjoint.autograd.entry_points import grad as gradient_of
from adjoint.autograd.grad_mode import recording
from adjoint.call.context import is_recording
from adjoint.creation.factories import new_zeros
from adjoint.ops.arranging.indexing import masked_fill
from adjoint.ops.arranging.scattering import scatter
from adjoint.ops.arranging.strided import folded
from adjoint.ops.arranging.writing import index_add
from adjoint.ops.elementwise.selection import where
from adjoint.ops.neural import pooling
from adjoint.ops.neural.native_functions import reduction_word


def softplus_backward(grad_output: Any, input: Any, beta: float, threshold: float) -> Any:
    """The gradient of softplus."""
    scaled = input * beta
    return where(scaled > threshold, grad_output, grad_output * scaled.sigmoid())


def elu_backward(
    grad_output: Any, alpha: float, scale: float, input_scale: float, is_result: bool, known: Any
) -> Any:
    """The gradient of elu, from its input or its result."""
    height = alpha * scale
    rising = known + height if is_result else height * (known * input_scale).exp()
    return grad_output * where(known <= 0, input_scale * rising, scale)


def leaky_relu_backward(
    grad_output: Any, known: Any, negative_slope: float, self_is_result: bool
) -> Any:
    """The gradient of leaky_relu, from its input or its result: both have one sign."""
    if self_is_result and negative_slope < 0:
        raise RuntimeError(
            "leaky_relu_backward(): a result of a negative slope does not tell the sign of the "
            f"input, got a slope of {negative_slope}"
        )
    return where(known > 0, grad_output, grad_output * negative_slope)


def hardtanh_backward(grad_output: Any, input: Any, min_val: float, max_val: float) -> Any:
    """The gradient of hardtanh: nothing passes at the borders and beyond."""
    return where((input <= min_val) | (input >= max_val), 0, grad_output)


def diagonal_backward(grad_output: Any, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
    """Zeros, with a gradient on a diagonal."""
    whole: Any = new_zeros(grad_output, tuple(input_sizes))
    whole.diagonal(offset, dim1, dim2).copy_(grad_output)
    return whole


def unfold_backward(grad_in: Any, input_sizes: Any, dim: int, size: int, step: int) -> Any:
    """The gradient of windows along a dimension, added where they overlap."""
    if size < 0:
        raise RuntimeError(f"unfold_backward(): a window of {size} elements, which must be >= 0")
    if step < 1:
        raise ValueError(f"unfold_backward(): the step must be positive, got {step}")
    return folded(grad_in, tuple(input_sizes), dim - len(input_sizes), size, step)


def masked_scatter_backward(grad_output: Any, mask: Any, sizes: Any) -> Any:
    """The gradient of what masked_scatter has written, with zeros for what was not needed."""
    found = grad_output[mask.expand(tuple(grad_output.shape))]
    whole: Any = new_zeros(grad_output, (math.prod(sizes),))
    whole[: found.shape[0]].copy_(found)
    return whole.reshape(tuple(sizes))


def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The gradient of embedding's rows, each the sum over its places."""
    places = indices.reshape(-1)
    rows = grad_output.reshape(places.shape[0], grad_output.shape[-1])
    if padding_idx >= 0:
        rows = masked_fill(rows, (places == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        rows = rows / places.bincount(minlength=num_weights)[places].unsqueeze(1)
    whole: Any = new_zeros(grad_output, (num_weights, rows.shape[1]))
    return index_add(whole, 0, places, rows)


def native_layer_norm_backward(
    grad_out: Any,
    input: Any,
    normalized_shape: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    """The gradients of layer_norm by input, weight and bias; None for those not wanted."""
    count = len(normalized_shape)
    inner, outer = tuple(range(-count, 0)), tuple(range(input.ndim - count))
    if is_recording() and input.requires_grad:  # of which both are made
        mean, spread = input.mean(inner, True), input.var(inner, correction=0, keepdim=True)
        rstd = (spread + (rstd.detach() ** -2 - spread.detach())).rsqrt()
    level = (input - mean) * rstd
    by_input = by_weight = by_bias = None
    if output_mask[0]:
        slope = grad_out if weight is None else grad_out * weight
        shared = slope.mean(inner, keepdim=True)
        along = (slope * level).mean(inner, keepdim=True)
        by_input = (slope - shared - level * along) * rstd
    if output_mask[1] and weight is not None:
        by_weight = (grad_out * level).sum(outer) if outer else grad_out * level
    if output_mask[2] and bias is not None:
        by_bias = grad_out.sum(outer) if outer else grad_out.clone()
    return by_input, by_weight, by_bias


# ---- losses ----


def mse_loss_backward(grad_output: Any, input: Any, target: Any, reduction: int) -> Any:
    """The gradient of mse_loss by its input."""
    is_mean = reduction_word("mse_loss_backward", reduction) == "mean"
    factor = 2.0 / max(math.prod(input.shape), 1) if is_mean else 2.0
    return (input - target) * factor * grad_output


def nll_loss_backward(
    grad_output: Any,
    input: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    """The gradient of nll_loss by its input, of one sample or a batch."""
    if reduction_word("nll_loss_backward", reduction) == "mean":
        grad_output = grad_output / total_weight
    unseen = target == ignore_index
    known = masked_fill(target, unseen, 0)
    counted = -grad_output if weight is None else -grad_output * weight[known]
    each = masked_fill(counted.expand(known.shape), unseen, 0)
    return scatter(
        new_zeros(input, tuple(input.shape)), -1, known.unsqueeze(-1), each.unsqueeze(-1)
    )


# ---- pools ----


def _of_windows(name: str) -> Any:
    """The operation of the gradient of means over windows."""

    def backward(
        grad_output: Any,
        input: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Any:
        recorded = is_recording()
        counting = (count_include_pad, divisor_override)
        with recording():
            images = input.detach().requires_grad_()
            pooled = getattr(pooling, name)(
                images, kernel_size, stride or None, padding, ceil_mode, *counting
            )
        return gradient_of(pooled, images, grad_output, create_graph=recorded)[0]

    backward.__name__ = backward.__qualname__ = f"{name}_backward"
    backward.__doc__ = f"The gradient of {name}, which is the same at all inputs of one shape."
    return backward


GRADIENTS = (
    softplus_backward,
    elu_backward,
    leaky_relu_backward,
    hardtanh_backward,
    diagonal_backward,
    unfold_backward,
    masked_scatter_backward,
    embedding_dense_backward,
    native_layer_norm_backward,
    mse_loss_backward,
    nll_loss_backward,
    _of_windows("avg_pool2d"),
    _of_windows("avg_pool3d"),
)
