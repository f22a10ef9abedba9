"""What PyTorch's functions are made of below autograd, and adjoint's have in one or otherwise.

torch.ops.aten has them by name, and modes and classes below autograd see them (aten_steps).
"""

from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.half_precision import is_half
from adjoint.creation.factories import new_zeros, zeros
from adjoint.dtypes import float32
from adjoint.ops.arranging.indexing import pick
from adjoint.ops.elementwise.activation import gelu_back, silu_back
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.trigonometry import tanh_back
from adjoint.ops.neural import losses, pooling
from adjoint.ops.neural.class_losses import nll_loss
from adjoint.ops.neural.convolution import convolve, convolve_back
from adjoint.ops.neural.native_functions import reduction_word
from adjoint.ops.reducing.reduction import log_softmax, softmax

_ALL = slice(None)


def sides(padding: Any, output_padding: Any, transposed: bool) -> tuple[Any, ...]:
    """The padding before and after; what results are larger by takes from that behind."""
    larger = output_padding if transposed else [0] * len(padding)
    return tuple([(length, length - more) for length, more in zip(padding, larger, strict=True)])


def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """A convolution, or a transposed one whose results are larger by output_padding."""
    around = sides(padding, output_padding, transposed)
    rest = (tuple(stride), around, tuple(dilation), groups)
    if not transposed:
        return convolve(input, weight, bias, *rest)
    facts = zip(
        input.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding, strict=True
    )
    sizes = tuple(
        (size - 1) * step - 2 * length + apart * (kernel - 1) + 1 + more
        for size, kernel, step, length, apart, more in facts
    )
    return convolve_back(input, weight, bias, sizes, *rest)


def _softmax(input: Any, dim: int, half_to_float: bool) -> Any:
    """softmax along a dimension."""
    return softmax(input, dim)


def _log_softmax(input: Any, dim: int, half_to_float: bool) -> Any:
    """log_softmax along a dimension."""
    return log_softmax(input, dim)


def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of log_softmax, from its result."""
    if is_half(output.array.dtype):  # rounded once
        grad_output, output = grad_output.to(float32), output.to(float32)
    along = grad_output - output.exp() * grad_output.sum(dim, keepdim=True)
    return along.to(input_dtype)


def mse_loss(input: Any, target: Any, reduction: int = 1) -> Any:
    """The squared difference; reductions are numbers."""
    return losses.mse_loss(input, target, reduction=reduction_word("mse_loss", reduction))


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: int = 1) -> Any:
    """The cross entropy of chances; reductions are numbers."""
    word = reduction_word("binary_cross_entropy", reduction)
    return losses.binary_cross_entropy(input, target, weight, reduction=word)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    """The cross entropy of sigmoid(input); reductions are numbers."""
    word = reduction_word("binary_cross_entropy_with_logits", reduction)
    given = {"weight": weight, "pos_weight": pos_weight, "reduction": word}
    return losses.binary_cross_entropy_with_logits(input, target, **given)


def huber_loss(input: Any, target: Any, reduction: int = 1, delta: float = 1.0) -> Any:
    """The squared difference where it is small, else the difference; reductions are numbers."""
    word = reduction_word("huber_loss", reduction)
    return losses.huber_loss(input, target, reduction=word, delta=delta)


def smooth_l1_loss(input: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> Any:
    """huber_loss divided by beta; reductions are numbers."""
    word = reduction_word("smooth_l1_loss", reduction)
    return losses.smooth_l1_loss(input, target, reduction=word, beta=beta)


def nll_loss_forward(
    input: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """nll_loss, and the weights of all that counted."""
    word = reduction_word("nll_loss_forward", reduction)
    loss = nll_loss(input, target, weight, ignore_index=ignore_index, reduction=word)
    counted = (target != ignore_index).to(input.dtype)
    if weight is not None:
        counted = counted * weight[where(target == ignore_index, 0, target)]
    return loss, counted.sum().detach()


def max_pool2d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Any, Any]:
    """The greatest element of each window, and its place."""
    rest = (kernel_size, stride or None, padding, dilation, ceil_mode)
    return pooling.max_pool2d(input, *rest, return_indices=True)  # type: ignore[no-any-return]


def max_pool3d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Any, Any]:
    """The greatest element of each window, and its place."""
    rest = (kernel_size, stride or None, padding, dilation, ceil_mode)
    return pooling.max_pool3d(input, *rest, return_indices=True)  # type: ignore[no-any-return]


def index(input: Any, indices: Any) -> Any:
    """A copy of what tensors name, one for each dimension; None for all of one."""
    if not len(indices):
        raise IndexError("index(): one tensor at least must be given")
    return pick(input, tuple(_ALL if each is None else each for each in indices))


def view(input: Any, size: Any) -> Any:
    """The same memory in another shape, or as another data type."""
    return input.view(size)


def lift_fresh(input: Any) -> Any:
    """A tensor that was just made of data, as it is."""
    return input


def lift_fresh_copy(input: Any) -> Any:
    """A copy of a tensor that was just made of data."""
    return input.clone()


def record_stream(input: Any, s: Any) -> None:
    """Keep memory until a stream is done with it; a CPU has none to wait for."""
    if input.device.type != "cuda":
        raise NotImplementedError(
            f"record_stream(): memory of {input.device.type} is freed by its owner, no stream waits"
        )


def alias(input: Any) -> Any:
    """The same memory under another tensor."""
    return input[...]


# ---- gradients as functions of their own ----


def tanh_backward(grad_output: Any, output: Any) -> Any:
    """The gradient of tanh, from its result."""
    return tanh_back(grad_output, output)


def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    """The gradient of sigmoid, from its result."""
    return grad_output * conj(output * (1 - output))


def silu_backward(grad_output: Any, input: Any) -> Any:
    """The gradient of silu."""
    return silu_back(grad_output, input)


def gelu_backward(grad_output: Any, input: Any, *, approximate: str = "none") -> Any:
    """The gradient of gelu."""
    return gelu_back(grad_output, input, approximate=approximate)


def threshold_backward(grad_output: Any, input: Any, threshold: Any) -> Any:
    """The gradient of a threshold, and of relu if that is 0: nothing passes below."""
    return where(input <= threshold, 0, grad_output)


def select_backward(grad_output: Any, input_sizes: Any, dim: int, index: int) -> Any:
    """Zeros, with a gradient at one place of a dimension."""
    place = (*[_ALL] * (dim % len(input_sizes)), index)
    return _among_zeros(grad_output, input_sizes, place)


def slice_backward(
    grad_output: Any, input_sizes: Any, dim: int, start: int, end: int, step: int
) -> Any:
    """Zeros, with a gradient at a slice of a dimension."""
    place = (*[_ALL] * (dim % len(input_sizes)), slice(start, end, step))
    return _among_zeros(grad_output, input_sizes, place)


def _among_zeros(grad: Any, sizes: Any, place: Any) -> Any:
    whole: Any = new_zeros(grad, tuple(sizes))
    whole[place] = grad
    return whole


def _is_all_true(input: Any) -> Any:
    """Whether every element is true."""
    return input.all()


def _is_any_true(input: Any) -> Any:
    """Whether an element is true."""
    return input.any()


def _efficientzerotensor(size: Any, **options: Any) -> Any:
    """Zeros; here they have memory."""
    return zeros(tuple(size), **options)


def _conj(input: Any) -> Any:
    """The complex conjugate, at once."""
    return conj(input)


PARTS = (
    _conj,
    _efficientzerotensor,
    record_stream,
    _is_all_true,
    _is_any_true,
    convolution,
    _softmax,
    _log_softmax,
    _log_softmax_backward_data,
    mse_loss,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    smooth_l1_loss,
    nll_loss_forward,
    max_pool2d_with_indices,
    max_pool3d_with_indices,
    index,
    view,
    lift_fresh,
    lift_fresh_copy,
    alias,
    tanh_backward,
    sigmoid_backward,
    silu_backward,
    gelu_backward,
    threshold_backward,
    select_backward,
    slice_backward,
)
