"""Values rounded to those of few bits, with the gradients of training that knows about it.

The gradient passes where a value lies between the smallest and the largest, and is zero outside;
a scale and a zero point that are learned have theirs, times a factor.
"""

from typing import Any

from adjoint.autograd.function import Function
from adjoint.call.context import is_recording
from adjoint.ops.composites import overridable
from adjoint.ops.plain_numbers import plain_number
from adjoint.tensors.tensor import Tensor


def _steps(input: Any, scale: Any, zero_point: Any) -> Any:
    """The whole numbers that stand for values, before they are kept between two."""
    return (input * (1.0 / scale) + zero_point).round()


class _Rounded(Function):
    """The rounded values; a gradient passes inside the range."""

    @staticmethod
    def forward(ctx: Any, input: Any, scale: Any, zero_point: Any, low: int, high: int) -> Any:
        steps = _steps(input, scale, zero_point)
        ctx.save_for_backward((steps >= low) & (steps <= high))
        return ((steps.clamp(low, high) - zero_point) * scale).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None, None, None


class _Learned(Function):
    """The rounded values, with gradients for the scale and the zero point."""

    @staticmethod
    def forward(
        ctx: Any, input: Any, scale: Any, zero_point: Any, low: int, high: int, factor: float
    ) -> Any:
        whole = (zero_point + 0.5).floor().clamp(low, high)
        steps = _steps(input, scale, whole)
        result = (steps.clamp(low, high) - whole) * scale
        ctx.save_for_backward(input, scale, whole, steps, result)
        ctx.range, ctx.factor = (low, high), factor
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        input, scale, whole, steps, result = ctx.saved_tensors
        low, high = ctx.range
        inside = (steps >= low) & (steps <= high)
        bound = (steps.clamp(low, high) - whole).where(~inside, (result - input) / scale)
        by_scale = (grad * bound).sum_to_size(scale.shape) * ctx.factor
        by_zero = (grad * -scale * ~inside).sum_to_size(whole.shape) * ctx.factor
        return grad * inside, by_scale, by_zero, None, None, None


def _check(name: str, quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError(f"{name}: quant_min {quant_min} is more than quant_max {quant_max}")


def _along(values: Any, input: Any, axis: int) -> Any:
    """One value for each channel, beside the elements of the channel."""
    shape = [1] * input.ndim
    shape[axis] = -1
    return values.reshape(shape)


def _refuse_learned(name: str, scale: Any, zero_point: Any) -> None:
    """Refuse a scale and a zero point that need gradients, which rounding alone does not give."""
    for parameter, value in (("scale", scale), ("zero_point", zero_point)):
        if isinstance(value, Tensor) and value.requires_grad and is_recording():
            raise RuntimeError(
                f"{name}(): there is no derivative by {parameter}; detach() it, or learn it by "
                f"_fake_quantize_learnable{name.removeprefix('fake_quantize')}"
            )


@overridable
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The values rounded to steps of one scale, from one zero point."""
    _check("fake_quantize_per_tensor_affine", quant_min, quant_max)
    if not isinstance(zero_point, Tensor):
        scale = plain_number("fake_quantize_per_tensor_affine", "scale", scale, "f")
    _refuse_learned("fake_quantize_per_tensor_affine", scale, zero_point)
    return _Rounded.apply(input, scale, zero_point, quant_min, quant_max)  # type: ignore[no-any-return]


@overridable
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The same with a scale and a zero point for each channel."""
    _check("fake_quantize_per_channel_affine", quant_min, quant_max)
    _refuse_learned("fake_quantize_per_channel_affine", scale, zero_point)
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError(
            "fake_quantize_per_channel_affine: zero_point must be of type int32, float32 or "
            f"float16, got {zero_point.dtype.name}"
        )
    places = _along(scale, input, axis), _along(zero_point, input, axis)
    return _Rounded.apply(input, *places, quant_min, quant_max)  # type: ignore[no-any-return]


@overridable
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """The values rounded by a scale and a zero point that are learned."""
    _check("_fake_quantize_learnable_per_tensor_affine", quant_min, quant_max)
    return _Learned.apply(input, scale, zero_point, quant_min, quant_max, grad_factor)  # type: ignore[no-any-return]


@overridable
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """The same with a scale and a zero point for each channel."""
    _check("_fake_quantize_learnable_per_channel_affine", quant_min, quant_max)
    places = _along(scale, input, axis), _along(zero_point, input, axis)
    return _Learned.apply(input, *places, quant_min, quant_max, grad_factor)  # type: ignore[no-any-return]


FAKE_QUANTIZATION = {
    each.__name__: each
    for each in (
        fake_quantize_per_tensor_affine,
        fake_quantize_per_channel_affine,
        _fake_quantize_learnable_per_tensor_affine,
        _fake_quantize_learnable_per_channel_affine,
    )
}
