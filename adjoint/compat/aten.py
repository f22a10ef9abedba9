"""Operations that programs know by PyTorch's private names alone, as torch.ops.aten has them."""

from typing import Any

from adjoint.autograd.forward_ad import zeros_laid_out_as
from adjoint.call.dispatch import conj
from adjoint.ops.neural.convolution import convolve, convolve_back, convolve_filters
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
    rest = (tuple(stride), tuple([(p, p) for p in padding]), tuple(dilation), groups)
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


# Those that no table of adjoint's has.
PRIVATE = {
    "convolution_backward": convolution_backward,
    "_new_zeros_with_same_feature_meta": _new_zeros_with_same_feature_meta,
}
