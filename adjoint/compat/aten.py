"""Operations that programs know by PyTorch's private names alone, as torch.ops.aten has them."""

import builtins
import math
from typing import Any

from adjoint.autograd.forward_ad import zeros_laid_out_as
from adjoint.call.arguments import conj
from adjoint.call.half_precision import is_half
from adjoint.call.out import write_out
from adjoint.compat.aten_bags import BAGS
from adjoint.compat.aten_counts import COUNTS
from adjoint.compat.aten_fourier import FOURIER
from adjoint.compat.aten_gradients import GRADIENTS
from adjoint.compat.aten_images import IMAGES
from adjoint.compat.aten_matrices import MATRICES
from adjoint.compat.aten_networks import NETWORKS
from adjoint.compat.aten_parts import PARTS, sides
from adjoint.compat.aten_pools import POOLS, put_back
from adjoint.compat.aten_recurrent import RECURRENT
from adjoint.compat.aten_sparse import SPARSE
from adjoint.dtypes import BOOL, category_of, float32, uint8
from adjoint.ops.arranging.arrange import pad
from adjoint.ops.arranging.conversion import moved, to_copy
from adjoint.ops.arranging.indexing import index_put, masked_fill
from adjoint.ops.arranging.shape import cat, reshape
from adjoint.ops.composites import with_extras
from adjoint.ops.elementwise.selection import clamp
from adjoint.ops.neural.convolution import convolve, convolve_back, convolve_filters
from adjoint.ops.neural.grid import mapped_grid
from adjoint.ops.neural.native_functions import native_batch_norm
from adjoint.ops.neural.resampling import interpolate, resized
from adjoint.ops.reducing.reduction import softmax
from adjoint.ops.sampling.implicit import (
    dirichlet_slope,
    gamma_slope,
    standard_dirichlet,
    standard_gamma,
)
from adjoint.tensors.tensor import Tensor


def convolution_backward(
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    """The gradients of a convolution by input, weight and bias; None for those not wanted."""
    around = sides(padding, output_padding, transposed)
    rest = (tuple(stride), around, tuple(dilation), groups)
    kernel = tuple(weight.shape[2:])
    by_input = by_weight = by_bias = None
    if output_mask[0] and transposed:
        by_input = convolve(grad_output, conj(weight), None, *rest)
    elif output_mask[0]:
        by_input = convolve_back(grad_output, conj(weight), None, tuple(input.shape[2:]), *rest)
    if output_mask[1] and transposed:
        by_weight = convolve_filters(grad_output, conj(input), kernel, *rest)
    elif output_mask[1]:
        by_weight = convolve_filters(conj(input), grad_output, kernel, *rest)
    if output_mask[2]:
        by_bias = grad_output.sum((0, *range(2, grad_output.ndim)))
    return by_input, by_weight, by_bias


def _new_zeros_with_same_feature_meta(
    input: Tensor, other: Tensor, *, self_num_batch_dims: int = 0
) -> Any:
    """Zeros that lie in memory as other does, once for each element of input's first dimensions."""
    return zeros_laid_out_as(other, tuple(input.shape[:self_num_batch_dims]))


# ---- gradients as functions of their own ----


def _softmax_backward_data(
    grad_output: Any, output: Any, dim: int, input_dtype: Any, *, grad_input: Any = None
) -> Any:
    """The gradient of softmax, from its result."""
    if is_half(output.array.dtype):  # rounded once
        grad_output, output = grad_output.to(float32), output.to(float32)
    along = output * (grad_output - (grad_output * output).sum(dim, keepdim=True))
    along = along.to(input_dtype)
    return along if grad_input is None else grad_input.copy_(along)


def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """The gradient of dropout, from what it kept."""
    return grad_output * (mask.to(grad_output.dtype) * float(scale))


def _of_greatest(rank: int) -> Any:
    """The operation of the gradient of the greatest elements of windows."""

    def backward(
        grad_output: Any,
        input: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        indices: Any,
    ) -> Any:
        return put_back(name, rank, grad_output, input, indices)

    name = backward.__name__ = backward.__qualname__ = f"max_pool{rank}d_with_indices_backward"
    backward.__doc__ = f"The gradient of max_pool{rank}d, from the places of the largest elements."
    return backward


# ---- parts of others ----


def _safe_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """softmax, but 0 where all elements are minus infinity."""
    unseen = (input == -math.inf).all(dim, keepdim=True)
    found = softmax(masked_fill(input, unseen, 0), dim, dtype=dtype)
    return masked_fill(found, unseen, 0)


def slice(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A view of every step-th element of a dimension from start to end."""
    place = dim % max(input.ndim, 1)
    return input[(..., builtins.slice(start, end, step), *[_ALL] * (input.ndim - place - 1))]


def _within(input: Any, indices: Any) -> tuple[Any, ...]:
    """Indices, those outside of input at its border."""
    return tuple(
        _ALL if index is None else clamp(index, -size, size - 1)
        for index, size in zip(indices, input.shape)
    )


def _unsafe_masked_index(input: Any, mask: Any, indices: Any, fill: Any) -> Any:
    """What indices name where mask holds, elsewhere a number; those there may be any."""
    if category_of(mask.dtype) != BOOL:
        raise RuntimeError(f"_unsafe_masked_index(): mask must be bool, got {mask.dtype.name}")
    return masked_fill(input[_within(input, indices)], ~mask, fill)


def _unsafe_masked_index_put_accumulate(input: Any, mask: Any, indices: Any, values: Any) -> Any:
    """input with values added at indices where mask holds; those elsewhere may be any."""
    known = masked_fill(values, ~mask, 0)
    return index_put(input, _within(input, indices), known, accumulate=True)


def _upsample_bilinear2d_aa(
    input: Any,
    output_size: Any,
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
    *,
    scale_factors: Any = None,
) -> Any:
    """Images in another size, by means over what becomes a pixel."""
    if output_size is None:
        return interpolate(input, None, scale_factors, "bilinear", align_corners, antialias=True)
    scales = (scales_h, scales_w)
    return resized(input, tuple(output_size), scales, "bilinear", align_corners, True)


def _chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Any:
    """Tensors joined chunk by chunk: each is filled up with zeros, cut and flattened from dim."""
    if not tensors or num_chunks < 1:
        raise RuntimeError("_chunk_cat(): expected tensors, and at least one chunk of them")
    first = tensors[0]
    place = dim % first.ndim if -first.ndim <= dim < first.ndim else dim
    for each in tensors:
        known = each.dtype is first.dtype and each.numel() and each.ndim > place
        if not known or each.shape[:place] != first.shape[:place]:
            raise RuntimeError(
                "_chunk_cat(): expected tensors with elements, of one data type and with the same "
                f"sizes before dimension {dim}, got {list(each.shape)} of {each.dtype.name} beside "
                f"{list(first.shape)} of {first.dtype.name}"
            )
    return cat([_chunks(each, place, num_chunks) for each in tensors], -1)


def _chunks(input: Any, dim: int, count: int) -> Any:
    """input in chunks along dim, which has that many elements then, and all after it in one."""
    lacking = -input.shape[dim] % count
    filled = pad(input, (*(0, 0) * (input.ndim - dim - 1), 0, lacking))
    return reshape(filled, (*input.shape[:dim], count, -1))


# ---- normalisation with its statistics ----


def _native_batch_norm_legit(
    input: Any, weight: Any, bias: Any, *rest: Any, **named: Any
) -> tuple[Any, Any, Any]:
    """native_batch_norm, whose running statistics may be left out."""
    stays = len(rest) + len(named) == _WITHOUT_STATISTICS
    known = (None, None, *rest) if stays else rest
    found: tuple[Any, Any, Any] = native_batch_norm(input, weight, bias, *known, **named)
    return found


def _batch_norm_with_update(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
    save_mean: Any = None,
    save_invstd: Any = None,
    reserve: Any = None,
) -> tuple[Any, Any, Any, Any]:
    """native_batch_norm in training, and memory that it needs on no device here."""
    targets = (out, save_mean, save_invstd, reserve)
    if any(target is not None and not isinstance(target, Tensor) for target in targets):
        raise RuntimeError("_batch_norm_with_update(): each of out= and its like is one Tensor")
    statistics = (running_mean, running_var, True, momentum, eps)
    found = native_batch_norm(input, weight, bias, *statistics)
    results = (*found, input.new_zeros((0,), dtype=uint8))
    first, mean, deviation, memory = (
        value if target is None else write_out("_batch_norm_with_update", value, target)
        for value, target in zip(results, targets)
    )
    return first, mean, deviation, memory


def _to_copy(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Any:
    """A copy as another data type, and on another device."""
    found = to_copy(input, dtype=dtype, memory_format=memory_format)
    return found if device is None or device == found.device else moved(found, device)


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """The coordinates of all pixels of images of a size, mapped by matrices."""
    return mapped_grid(theta, tuple(size[2:]), align_corners)


def _as(name: str, op: Any) -> Any:
    """An op of adjoint's under the name that it has in PyTorch."""

    def function(*args: Any, **named: Any) -> Any:
        return op(*args, **named)

    function.__name__, function.__doc__ = name, op.__doc__
    return function


_ALL = builtins.slice(None)
_WITHOUT_STATISTICS = 3  # training, momentum and eps

_FUNCTIONS = (
    convolution_backward,
    _new_zeros_with_same_feature_meta,
    _softmax_backward_data,
    native_dropout_backward,
    _of_greatest(2),
    _of_greatest(3),
    _safe_softmax,
    slice,
    _unsafe_masked_index,
    _unsafe_masked_index_put_accumulate,
    _upsample_bilinear2d_aa,
    _native_batch_norm_legit,
    _batch_norm_with_update,
    _to_copy,
    affine_grid_generator,
    _as("_standard_gamma", standard_gamma),
    _as("_standard_gamma_grad", gamma_slope),
    _as("_sample_dirichlet", standard_dirichlet),
    _as("_dirichlet_grad", dirichlet_slope),
)
# Those that no table of adjoint's has.
_TABLES = (
    *(PARTS, GRADIENTS, NETWORKS, RECURRENT, IMAGES, POOLS),
    *(BAGS, COUNTS, FOURIER, MATRICES, SPARSE, _FUNCTIONS),
)
PRIVATE = {
    each.__name__: with_extras(each.__name__, each, exact_out=False, apart=False)
    for table in _TABLES
    for each in table
}
PRIVATE["_chunk_cat"] = with_extras("_chunk_cat", _chunk_cat, exact_out=TypeError, apart=False)
# Those that torch itself has too.
AT_THE_TOP = (
    "_chunk_cat",
    "_fft_c2c",
    "_fft_c2r",
    "_fft_r2c",
    "_native_batch_norm_legit",
    "_safe_softmax",
    "_softmax_backward_data",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
    "affine_grid_generator",
)
