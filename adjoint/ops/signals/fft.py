"""Fourier transforms: three linear ops, and the public functions that name their cases."""

import operator
from collections.abc import Sequence
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.rule import FRONT
from adjoint.dtypes import get_default_dtype
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.arrange import roll
from adjoint.ops.dims import along, normal_dim
from adjoint.ops.op import composite, linear

Sizes = tuple[int, ...]

# The adjoint of a transform is its inverse without the scale of either, so that "backward" (the
# inverse divides by n) and "forward" (the transform does) change places.
OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@linear(
    input=lambda grad, input_shape, dims: fitted(
        grad, tuple(input_shape[dim] for dim in dims), dims
    ),
    node_name="ConstantPadNdBackward0",
    home=None,
    batching=FRONT,
)
def fitted(xp: Any, input: Array, sizes: Sizes, dims: Sizes) -> Array:
    """input cut, or filled up with zeros, at the end of each dimension to a size."""
    for size, dim in zip(sizes, dims):
        own = input.shape[dim]
        if own > size:
            input = input[along(normal_dim(dim, input.ndim), slice(0, size))]
        elif own < size:
            width = [(0, 0)] * input.ndim
            width[dim] = (0, size - own)
            input = xp.pad(input, width)
    return input


def _back(grad: Value, shape: Any, dims: Sizes) -> Value:
    """A gradient in the sizes that the input had."""
    sizes = tuple(shape[dim] for dim in dims)
    return grad if sizes == tuple(grad.shape[dim] for dim in dims) else fitted(grad, sizes, dims)


@linear(
    input=lambda grad, factor, size, dim: interior_scaled(grad, factor, size, dim),
    node_name="MulBackward0",
    home=None,
    batching=FRONT,
)
def interior_scaled(xp: Any, input: Array, factor: float, size: int, dim: int) -> Array:
    """Half a spectrum of `size` points, times factor where an entry stands for two."""
    count = input.shape[dim]
    paired = [0 < k < (size + 1) // 2 for k in range(count)]
    shape = [1] * input.ndim
    shape[dim] = count
    factors = xp.asarray([factor if pair else 1.0 for pair in paired], dtype=input.real.dtype)
    return input * xp.reshape(factors, shape)


def _as_complex(array: Any) -> Any:
    """The array in the complex data type of its precision."""
    if array.dtype.kind == "c":
        return array
    return array.astype("complex64" if array.dtype.itemsize <= 4 else "complex128")


def _as_result(array: Any, source: Any) -> Any:
    """A result in the precision of its source: NumPy's transforms may answer in double."""
    single = source.dtype.itemsize <= (8 if source.dtype.kind == "c" else 4)
    if array.dtype.kind == "c":
        wanted = "complex64" if single else "complex128"
    else:
        wanted = "float32" if single else "float64"
    return array if array.dtype == wanted else array.astype(wanted)


@linear(
    input=lambda grad, input_shape, sizes, dims, norm, inverse: _back(
        complex_transform(grad, sizes, dims, OPPOSITE[norm], not inverse), input_shape, dims
    ),
    node_name="FftC2CBackward0",
    home=None,
    autocast="float32",
    batching=FRONT,
)
def complex_transform(
    xp: Any, input: Array, sizes: Sizes, dims: Sizes, norm: str, inverse: bool
) -> Array:
    """The discrete Fourier transform over dims, or its inverse."""
    if not dims:
        return _as_complex(input)
    transform = xp.fft.ifftn if inverse else xp.fft.fftn
    return _as_result(transform(input, s=sizes, axes=dims, norm=norm), input)


@linear(
    input=lambda grad, input_shape, sizes, dims, norm: _back(
        half_to_real(interior_scaled(grad, 0.5, sizes[-1], dims[-1]), sizes, dims, OPPOSITE[norm]),
        input_shape,
        dims,
    ),
    node_name="FftR2CBackward0",
    home=None,
    autocast="float32",
    batching=FRONT,
)
def real_to_half(xp: Any, input: Array, sizes: Sizes, dims: Sizes, norm: str) -> Array:
    """The transform of real input: of its last dimension only the half that says all."""
    return _as_result(xp.fft.rfftn(input, s=sizes, axes=dims, norm=norm), input)


@linear(
    input=lambda grad, input_shape, sizes, dims, norm: _back(
        interior_scaled(real_to_half(grad, sizes, dims, OPPOSITE[norm]), 2.0, sizes[-1], dims[-1]),
        input_shape,
        dims,
    ),
    node_name="FftC2RBackward0",
    home=None,
    batching=FRONT,
)
def half_to_real(xp: Any, input: Array, sizes: Sizes, dims: Sizes, norm: str) -> Array:
    """The inverse of real_to_half: sizes are those of the real result."""
    return _as_result(xp.fft.irfftn(input, s=sizes, axes=dims, norm=norm), input)


# ---- arguments ----


def _prepared(input: Any, real: bool = False) -> Any:
    """input as transforms take it: integers become floats, half precision is refused."""
    kind = input.dtype.name
    if real and holds_complex(input):
        raise RuntimeError(f"expected real input, got {kind}; take input.real, or use fft")
    if kind in ("float16", "bfloat16"):
        raise RuntimeError(f"no transforms of {kind}; convert with .to(adjoint.float32)")
    floating = kind.startswith(("float", "complex"))
    return input if floating else input.to(get_default_dtype())


def _arguments(input: Any, s: Any, dim: Any, half: bool = False) -> tuple[Sizes, Sizes]:
    """The sizes and the dimensions of a transform; with half, the last size is of the result."""
    s, dim = ((value,) if isinstance(value, int) else value for value in (s, dim))
    if s is not None:
        s = [None if n is None else operator.index(n) for n in s]
    if dim is None:
        count = input.ndim if s is None else len(s)
        if count > input.ndim:
            raise RuntimeError(f"{count} sizes for an input of {input.ndim} dimensions")
        dims = tuple(range(input.ndim - count, input.ndim))
    else:
        listed = tuple(dim) if isinstance(dim, Sequence) else (dim,)
        if listed and input.ndim == 0:
            raise IndexError(f"Dimension specified as {listed[0]} but tensor has no dimensions")
        dims = tuple(normal_dim(d, input.ndim) for d in listed)
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"the dimensions of a transform must differ, got {dim}")
    asked = (-1,) * len(dims) if s is None else tuple(-1 if n is None else n for n in s)
    if len(asked) != len(dims):
        raise RuntimeError(f"{len(asked)} sizes for {len(dims)} dimensions")
    sizes = [input.shape[d] if n == -1 else n for d, n in zip(dims, asked)]
    if half and sizes and asked[-1] == -1:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if any(n < 1 for n in sizes):
        raise RuntimeError(f"invalid number of data points in {tuple(sizes)}: it must be positive")
    return tuple(sizes), dims


def _norm(norm: str | None) -> str:
    """The way of scaling by its full name."""
    if norm is None:
        return "backward"
    if not isinstance(norm, str):
        raise TypeError(f"norm must be a str, not {type(norm).__name__}")
    if norm not in OPPOSITE:
        raise RuntimeError(f"norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    return norm


def _some(dims: Sizes) -> None:
    if not dims:
        raise RuntimeError("a transform between real and complex needs at least one dimension")


def _single(n: Any) -> Any:
    """The size of one dimension as a list of sizes; -1 is no size here."""
    if n is None:
        return None
    if n < 1:
        raise RuntimeError(f"invalid number of data points: {n}; it must be positive")
    return (n,)


# ---- the public functions ----


@composite(home="fft")
def fft_fftn(input: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """The discrete Fourier transform over several dimensions."""
    input = _prepared(input)
    sizes, dims = _arguments(input, s, dim)
    return complex_transform(input, sizes, dims, _norm(norm), False)


@composite(home="fft")
def fft_ifftn(input: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """The inverse of fftn."""
    input = _prepared(input)
    sizes, dims = _arguments(input, s, dim)
    return complex_transform(input, sizes, dims, _norm(norm), True)


@composite(home="fft")
def fft_rfftn(input: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """The transform of real input; of the last dimension only the first half."""
    input = _prepared(input, real=True)
    sizes, dims = _arguments(input, s, dim)
    _some(dims)
    return real_to_half(input, sizes, dims, _norm(norm))


@composite(home="fft")
def fft_irfftn(input: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """The inverse of rfftn: real output from half a spectrum."""
    input = _prepared(input)
    sizes, dims = _arguments(input, s, dim, half=True)
    _some(dims)
    return half_to_real(input, sizes, dims, _norm(norm))


@composite(home="fft")
def fft_hfftn(input: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """The transform of a signal given by half, since it is Hermitian; the output is real."""
    return fft_irfftn(conj(input), s, dim, OPPOSITE[_norm(norm)])


@composite(home="fft")
def fft_ihfftn(input: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """The inverse of hfftn: half of a Hermitian signal from a real spectrum."""
    return conj(fft_rfftn(input, s, dim, OPPOSITE[_norm(norm)]))


@composite(home="fft")
def fft_fft(input: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The discrete Fourier transform over one dimension, cut or padded to n points."""
    return fft_fftn(input, _single(n), (dim,), norm)


@composite(home="fft")
def fft_ifft(input: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The inverse of fft."""
    return fft_ifftn(input, _single(n), (dim,), norm)


@composite(home="fft")
def fft_rfft(input: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The first half of the transform of real input."""
    return fft_rfftn(input, _single(n), (dim,), norm)


@composite(home="fft")
def fft_irfft(input: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The inverse of rfft, with n real points."""
    return fft_irfftn(input, _single(n), (dim,), norm)


@composite(home="fft")
def fft_hfft(input: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The real transform of a Hermitian signal, given by half."""
    return fft_hfftn(input, _single(n), (dim,), norm)


@composite(home="fft")
def fft_ihfft(input: Value, n: int | None = None, dim: int = -1, norm: str | None = None) -> Value:
    """The inverse of hfft."""
    return fft_ihfftn(input, _single(n), (dim,), norm)


@composite(home="fft")
def fft_fft2(input: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """The transform over two dimensions."""
    return fft_fftn(input, s, dim, norm)


@composite(home="fft")
def fft_ifft2(input: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """The inverse of fft2."""
    return fft_ifftn(input, s, dim, norm)


@composite(home="fft")
def fft_rfft2(input: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """The transform of real input over two dimensions; of the last one the first half."""
    return fft_rfftn(input, s, dim, norm)


@composite(home="fft")
def fft_irfft2(input: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """The inverse of rfft2."""
    return fft_irfftn(input, s, dim, norm)


@composite(home="fft")
def fft_hfft2(input: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """The real transform of a Hermitian signal over two dimensions."""
    return fft_hfftn(input, s, dim, norm)


@composite(home="fft")
def fft_ihfft2(input: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """The inverse of hfft2."""
    return fft_ihfftn(input, s, dim, norm)


def _rolled(input: Any, dim: Any, forth: bool) -> Any:
    listed = range(input.ndim) if dim is None else dim if isinstance(dim, Sequence) else (dim,)
    dims = [normal_dim(d, input.ndim) for d in listed]
    halves = [input.shape[d] // 2 for d in dims]
    shifts = halves if forth else [-half for half in halves]
    return roll(input, shifts, dims) if dims else input


@composite(home="fft")
def fft_fftshift(input: Value, dim: Any = None) -> Value:
    """A spectrum with frequency zero moved to the middle."""
    return _rolled(input, dim, True)


@composite(home="fft")
def fft_ifftshift(input: Value, dim: Any = None) -> Value:
    """The inverse of fftshift."""
    return _rolled(input, dim, False)
