"""Complex numbers: conjugates, parts, angles, and the real pairs they are made of."""

import math
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.rule import FRONT
from adjoint.dtypes import complex32, complex64, complex128, float16
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import lies_in_order
from adjoint.ops.elementwise.arithmetic import mul
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.trigonometry import cos, sin
from adjoint.ops.op import composite, elementwise, linear
from adjoint.ops.shared_rules import zero_of
from adjoint.tensors.changes import apply_inplace


@elementwise(input=lambda grad: conj(grad), node_name="ConjPhysicalBackward0", home=None)
def conjugate_of(xp: Any, input: Array) -> Array:
    """Complex conjugate of each element."""
    return xp.array(input) if input.dtype.kind == "b" else xp.conjugate(input)


@composite(exact_out=True)
def conj_physical(input: Value) -> Value:
    """Complex conjugate of each element; real input is returned as it is."""
    return conj(input)


@composite
def conj_physical_(input: Value) -> Value:
    """In-place form of conj_physical."""
    return apply_inplace(conjugate_of, [input])


@composite(name="conj", numpy="conjugate")
def conjugated(input: Value) -> Value:
    """Complex conjugate of each element; real input is returned as it is."""
    return conj(input)  # which rules call themselves: it is compiled, and can't be a method


@composite
def resolve_conj(input: Value) -> Value:
    """The input itself: conjugation is never postponed."""
    return input


@composite
def resolve_neg(input: Value) -> Value:
    """The input itself: negation is never postponed."""
    return input


@linear(input=lambda grad: grad, view=True, batching=FRONT, home=None, node_name="RealBackward0")
def real_part(xp: Any, input: Array) -> Array:
    """The real parts of complex numbers, as a view."""
    return xp.real(input)


@composite(method=False, numpy=True)
def real(input: Value) -> Value:
    """The real parts, as a view; real input is returned as it is."""
    return real_part(input) if holds_complex(input) else input


@linear(input=lambda grad: grad * 1j, view=True, method=False, numpy=True, batching=FRONT)
def imag(xp: Any, input: Array) -> Array:
    """The imaginary parts, as a view."""
    if not holds_complex(input):
        raise RuntimeError(f"imag is for complex tensors, not for {input.dtype}")
    return xp.imag(input)


# By the letters of types: their names take a microsecond to be made.
_KINDS = [kind for kind in (complex32, complex64, complex128) if kind is not None]
_PARTS_OF = {kind.numpy_dtype.char: kind.to_real().numpy_dtype for kind in _KINDS}
_COMPLEX_OF = {kind.to_real().numpy_dtype.char: kind.numpy_dtype for kind in _KINDS}
_PARTS = " or ".join(kind.to_real().name for kind in _KINDS)


@linear(
    input=lambda grad: view_as_real(grad),
    node_name="ComplexBackward0",
    home=None,
    batching=FRONT,
)
def joined_pairs(xp: Any, input: Array) -> Array:
    """Pairs as complex numbers, whatever their layout: a gradient may be expanded or transposed."""
    found = xp.ascontiguousarray(input).view(_COMPLEX_OF[input.dtype.char])[..., 0]
    return xp.array(found)  # a result has memory of its own


def _joined(grad: Value) -> Value:
    """A gradient's pairs as complex numbers: a view of it, where it lies in order."""
    return view_as_complex(grad) if lies_in_order(grad) else joined_pairs(grad)


@linear(input=_joined, view=True, method=False, batching=FRONT)
def view_as_real(xp: Any, input: Array) -> Array:
    """A view of complex numbers as pairs of reals in a new last dimension."""
    if not holds_complex(input):
        raise RuntimeError(f"view_as_real is for complex tensors, not for {input.dtype}")
    return input[..., None].view(_PARTS_OF[input.dtype.char])


def _check_pairs(shape: Any) -> None:
    if not shape or shape[-1] != 2:
        raise RuntimeError(
            f"the last dimension must have size 2, for real and imaginary part, got shape "
            f"{list(shape)}"
        )


def _complex_each(input: Any, input_shape: Any) -> Any:
    _check_pairs(input_shape)
    return view_as_complex(input)


@linear(
    input=lambda grad: view_as_real(grad),
    vmap=_complex_each,
    view=True,
    method=False,
    autocast="float32",
)
def view_as_complex(xp: Any, input: Array) -> Array:
    """A view of pairs of reals in the last dimension as complex numbers."""
    if input.dtype.char not in _COMPLEX_OF:
        raise RuntimeError(f"view_as_complex is for {_PARTS}, not for {input.dtype}")
    _check_pairs(input.shape)
    strides = xp.strides_of(input)
    if any(step % 2 for step, count in zip(strides[:-1], input.shape) if count > 1):
        raise RuntimeError(
            "all strides but the last must be even, so that each pair begins where a complex "
            "number can; call contiguous() first"
        )
    if strides[-1] != 1:
        raise RuntimeError(
            "the last dimension must have stride 1, so that pairs are neighbours in memory; call "
            "contiguous() first"
        )
    return input.view(_COMPLEX_OF[input.dtype.char])[..., 0]


def _angle_rule(grad: Value, input: Value) -> Value:
    """A real number's angle stays; a complex one's turns across z, the slower the larger |z|."""
    if not holds_complex(input):
        return zero_of(grad)
    squared = real(input * conj(input))
    return where(squared == 0, 0, grad * (1j * input / where(squared == 0, 1, squared)))


@elementwise(input=_angle_rule, floats=True, inplace=False, domain=(0.5, 3.0), numpy=True)
def angle(xp: Any, input: Array) -> Array:
    """The argument of complex numbers; of real ones π if negative, else 0."""
    if input.dtype.kind == "c":
        return xp.arctan2(xp.imag(input), xp.real(input))
    return xp.where(xp.isnan(input), input, (input < 0).astype(input.dtype) * math.pi)


@elementwise(
    real=lambda grad: real(grad),
    imag=lambda grad: imag(grad) if holds_complex(grad) else grad * -1j,
    promotes="",
    method=False,
    inplace=False,
    name="complex",
    exact_out=True,
)
def complex_(xp: Any, real: Array, imag: Array) -> Array:
    """Complex numbers from real and imaginary parts."""
    if real.dtype != imag.dtype or real.dtype.char not in _COMPLEX_OF:
        raise RuntimeError(
            f"real and imag must both be {_PARTS}, got {real.dtype} and {imag.dtype}"
        )
    return xp.complex_of(real, imag, _COMPLEX_OF[real.dtype.char])


@composite(method=False, exact_out=True)
def polar(abs: Value, angle: Value) -> Value:
    """Complex numbers from modulus and angle."""
    if abs.dtype is float16 is angle.dtype:
        raise NotImplementedError("polar() is not implemented for float16; convert to float32")
    if abs.dtype != angle.dtype or abs.dtype.numpy_dtype.char not in _COMPLEX_OF:
        raise RuntimeError(
            "polar(): abs and angle must both be float32 or both float64, got "
            f"{abs.dtype} and {angle.dtype}"
        )
    return complex_(mul(abs, cos(angle)), mul(abs, sin(angle)))


def _writable(part: Any) -> property:
    """A part as a property that can be assigned to: the values are copied into the view."""

    def write(self: Any, value: Any) -> None:
        part(self).copy_(value)

    return property(part, write)


PROPERTIES = {"real": _writable(real), "imag": _writable(imag)}
