"""The steps of Fourier transforms and of the parts of complex numbers, and of their gradients."""

from typing import Any, Final

from adjoint.compat.aten_fourier import BACK, FORTH
from adjoint.compat.aten_steps.asking import Steps, renamed
from adjoint.compat.aten_steps.kept import Kept, from_front
from adjoint.dtypes import complex64, complex128, float64
from adjoint.ops.arranging.conversion import contiguous_format

# ---- sizes ----


def _changes(shape: Any, sizes: Any, dims: Any) -> tuple[list[tuple[int, int]], list[int]]:
    """The dimensions that are cut, to which sizes, and what zeros are filled in, from the last."""
    cuts: list[tuple[int, int]] = []
    filled = [0] * (2 * len(shape))
    for size, dim in zip(sizes, dims):
        if shape[dim] > size:
            cuts.append((dim, size))
        else:
            filled[-2 * dim - 1] = size - shape[dim]
    return cuts, filled


def fitted(ask: Steps, input: Any, sizes: Any, dims: Any) -> Any:
    """A tensor cut to sizes, or filled up with zeros."""
    cuts, filled = _changes(input.shape, sizes, dims)
    for dim, size in cuts:
        input = ask("slice", input, dim, 0, size)
    return ask("constant_pad_nd", input, filled) if any(filled) else input


def _unfitted(ask: Steps, grad: Any, shape: Any, sizes: Any, dims: Any) -> Any:
    cuts, filled = _changes(shape, sizes, dims)
    if any(filled):
        grad = ask("constant_pad_nd", grad, [-count for count in filled])
    for place in reversed(range(len(cuts))):
        before = list(shape)
        for dim, size in cuts[:place]:
            before[dim] = size
        grad = ask("slice_backward", grad, before, cuts[place][0], 0, cuts[place][1], 1)
    return grad


# ---- transforms ----


def _as_complex(ask: Steps, input: Any) -> Any:
    if input.array.dtype.kind == "c":
        return input
    return ask("_to_copy", input, dtype=complex128 if input.dtype is float64 else complex64)


def _complex_transform(
    ask: Steps, input: Any, sizes: Any, dims: Any, norm: str, inverse: bool
) -> Any:
    dims = from_front(dims, input.ndim)
    number = (BACK if inverse else FORTH).index(norm)
    is_complex = input.array.dtype.kind == "c"
    if not is_complex and len(dims) != 1:
        input, is_complex = _as_complex(ask, input), True
    input = fitted(ask, input, sizes, dims)
    if not dims:
        return ask("clone", input)
    if not is_complex:
        found = ask("_fft_r2c", input, dims, number, False)
        return ask("_conj", found) if inverse else found
    return ask("_fft_c2c", input, dims, number, not inverse)


def _real_to_half(ask: Steps, input: Any, sizes: Any, dims: Any, norm: str) -> Any:
    dims = from_front(dims, input.ndim)
    return ask("_fft_r2c", fitted(ask, input, sizes, dims), dims, FORTH.index(norm), True)


def _half_to_real(ask: Steps, input: Any, sizes: Any, dims: Any, norm: str) -> Any:
    dims = from_front(dims, input.ndim)
    half = (*sizes[:-1], sizes[-1] // 2 + 1)
    input = fitted(ask, _as_complex(ask, input), half, dims)
    return ask("_fft_c2r", input, dims, BACK.index(norm), sizes[-1])


def _by_complex_transform(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, sizes, norm, inverse = kept.shape(0), kept.value(1), kept.value(3), kept.value(4)
    dims = from_front(kept.value(2), len(shape))
    number = (BACK if inverse else FORTH).index(norm)
    found = ask("_fft_c2c", grad, dims, number, inverse) if dims else grad
    before, output = kept.node.edges()[0]
    if before.spec_of(output).dtype.kind == "c":
        return (_unfitted(ask, found, shape, sizes, dims),)
    if len(dims) != 1:
        return (_part(0)(ask, _unfitted(ask, found, shape, sizes, dims)),)
    return (_unfitted(ask, _part(0)(ask, found), shape, sizes, dims),)


def _by_real_to_half(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, sizes, norm = kept.shape(0), kept.value(1), kept.value(3)
    dims = from_front(kept.value(2), len(shape))
    whole = list(grad.shape)
    whole[dims[-1]] = sizes[-1]
    number = FORTH.index(norm)
    if whole[dims[-1]] != grad.shape[dims[-1]]:
        zeros = ask("new_zeros", grad, whole)
        ask("copy_", ask("slice", zeros, dims[-1], 0, grad.shape[dims[-1]]), grad)
        grad = zeros
    found = _part(0)(ask, ask("_fft_c2c", grad, dims, number, False))
    return (_unfitted(ask, found, shape, sizes, dims),)


def _by_half_to_real(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, sizes, norm = kept.shape(0), kept.value(1), kept.value(3)
    dims = from_front(kept.value(2), len(shape))
    found = ask("_fft_r2c", grad, dims, BACK.index(norm), True)
    twice = sizes[-1] - found.shape[dims[-1]]
    if twice > 0:
        ask("mul_.Scalar", ask("slice", found, dims[-1], 1, 1 + twice), 2)
    half = (*sizes[:-1], sizes[-1] // 2 + 1)
    return (_unfitted(ask, found, shape, half, dims),)


# ---- parts of complex numbers ----


def _part(place: int) -> Any:
    """The steps of real, or of imag."""

    def steps(ask: Steps, input: Any) -> Any:
        if input.array.dtype.kind != "c":
            if place:
                raise RuntimeError(f"imag is for complex tensors, not for {input.dtype}")
            return input
        return ask("select", ask("view_as_real", input), input.ndim, place)

    return steps


def _by_part(place: int) -> Any:
    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        before, output = kept.node.edges()[0]
        if before.spec_of(output).dtype.kind != "c":
            return (grad,)
        sizes = [*kept.shape(0), 2]
        pairs = ask("select_backward", grad, sizes, len(sizes) - 1, place)
        return (ask("view_as_complex", pairs),)

    return steps


def _joined_pairs(ask: Steps, input: Any) -> Any:
    """Pairs that lie apart, as complex numbers."""
    return ask("view_as_complex", ask("clone", input, memory_format=contiguous_format))


def _by_parts(ask: Steps, kept: Kept, grad: Any) -> Any:
    """The gradients of complex, of which the last is PyTorch's first."""
    by_imag = _part(1)(ask, grad) if kept.wanted[1] else None
    return _part(0)(ask, grad) if kept.wanted[0] else None, by_imag


STEPS: Final[dict[str, Any]] = {
    "complex_transform": _complex_transform,
    "real_to_half": _real_to_half,
    "half_to_real": _half_to_real,
    "real_part": _part(0),
    "imag": _part(1),
    "conjugate_of": renamed("_conj"),
    "joined_pairs": _joined_pairs,
}
# PyTorch's of complex numbers, too.
GRADIENTS: Final[dict[str, Any]] = {
    "complex_transform": _by_complex_transform,
    "real_to_half": _by_real_to_half,
    "half_to_real": _by_half_to_real,
    "real_part": _by_part(0),
    "imag": _by_part(1),
    "complex": _by_parts,
}
