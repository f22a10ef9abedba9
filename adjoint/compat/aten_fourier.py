"""aten's Fourier transforms: by dimensions, a number that says how to scale, and a direction."""

from typing import Any, Final

from adjoint.ops.dims import normal_dim
from adjoint.ops.signals.fft import complex_transform, half_to_real, real_to_half

# The ways of scaling in PyTorch's numbers: not, by the root of n, by n.
FORTH: Final = ("backward", "ortho", "forward")
BACK: Final = ("forward", "ortho", "backward")


def _places(input: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    dims = tuple([normal_dim(each, input.ndim) for each in dim])
    return tuple([input.shape[each] for each in dims]), dims


def _fft_c2c(input: Any, dim: Any, normalization: int, forward: bool) -> Any:
    """The transform of complex numbers, or its inverse."""
    norm = (FORTH if forward else BACK)[normalization]
    return complex_transform(input, *_places(input, dim), norm, not forward)


def _fft_r2c(input: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """The transform of real numbers; if onesided, of the last dimension the half that says all."""
    sizes, dims = _places(input, dim)
    if not onesided:
        return complex_transform(input, sizes, dims, FORTH[normalization], False)
    return real_to_half(input, sizes, dims, FORTH[normalization])


def _fft_c2r(input: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    """The inverse of _fft_r2c of one side, which had a last dimension of this size."""
    sizes, dims = _places(input, dim)
    return half_to_real(input, (*sizes[:-1], last_dim_size), dims, BACK[normalization])


FOURIER = (_fft_c2c, _fft_r2c, _fft_c2r)
