"""NumPy's linear algebra, of single precision in single precision.

NumPy widens float32 first, which takes about twice the time; the loops beneath its functions have
both precisions. A loop marks what it could not do by NaN: then NumPy's function is asked instead,
and complains, or answers, as it always does.
"""

import functools
import importlib
from typing import Any

import numpy as np

from adjoint.backends.along import step_product
from adjoint.backends.error_state import quiet, quietly
from adjoint.backends.threads import share
from adjoint.backends.turning import in_order

PANEL = 64  # columns that LAPACK takes together, if it has room for them
ALONE = 40_000  # elements of a matrix that OpenBLAS factors by one thread
PANELS = 1 << 17  # elements of one that is worth more threads than that of panels
SMALL = 1 << 12  # elements of matrices for which BLAS takes one thread
_FEW_STEPS = ("cholesky_lo", "cholesky_up", "det", "inv", "slogdet", "solve", "solve1")
_LAPACK = {"f": "s", "d": "d", "F": "c", "D": "z"}  # its letter of each type


@functools.cache
def lapack() -> Any:
    """SciPy's LAPACK, for what NumPy has no function of; None without SciPy."""
    try:
        return importlib.import_module("scipy.linalg.lapack")
    except ImportError:
        return None


def lapack_function(name: str, array: Any) -> Any:
    """LAPACK's function for the type of an array; None without SciPy, or if there is no element."""
    library = lapack() if array.dtype.char in _LAPACK and array.size else None
    return None if library is None else getattr(library, _LAPACK[array.dtype.char] + name)


def by_columns(array: Any) -> Any:
    """Copies of matrices, turned: seen as `.T` each lies as LAPACK wants it, to be overwritten."""
    return in_order(array.swapaxes(-2, -1))


def factored_by_panels(turned: Any, pivots: Any, xp: Any) -> bool:
    """Factor a turned matrix by LAPACK's getrf, in panels for which OpenBLAS takes one thread.

    Exchanges are counted from 0; whether no pivot is zero. Products are those of `xp`, whose
    threads would otherwise wait for those of another library.
    """
    factor, swap = lapack_function("getrf", turned), lapack_function("laswp", turned)
    width, rows = turned.shape
    if turned.size <= ALONE or min(width, rows) < 2:
        packed, pivots[...], info = factor(turned.T, overwrite_a=1)
        if not turned.flags.c_contiguous:
            turned.T[...] = packed
        return bool(info == 0)
    count = min(min(width, rows) // 2, max(1, ALONE // rows))  # as many columns as one thread takes
    left, right = turned[:count], turned[count:]
    regular = factored_by_panels(left, pivots[:count], xp)
    if turned.flags.c_contiguous:
        swap(right.T, pivots[:count], overwrite_a=1)
    else:
        right.T[...] = swap(right.T, pivots[:count])
    top = xp.solved_triangle(left[:, :count].T, right[:, :count].T, upper=False, unit=True)
    right[:, :count] = top.T
    rest, below = right[:, count:], left[:, count:]
    rest -= step_product(right[:, :count], below)
    regular = factored_by_panels(rest, pivots[count:], xp) and regular
    below.T[...] = swap(below.T, pivots[count:])
    pivots[count:] += count
    return regular


@functools.cache
def _loops() -> Any:
    """The loops beneath NumPy's functions; None where NumPy keeps them elsewhere.

    Threads share small matrices, for which OpenBLAS has no use for its own, where few steps do.
    """
    try:
        loops = importlib.import_module("numpy.linalg._umath_linalg")
    except ImportError:
        return None
    share([getattr(loops, name) for name in _FEW_STEPS if hasattr(loops, name)], "fdFD", SMALL)
    return loops


def _single(name: str, *arrays: Any) -> Any:
    """What a loop answers in single precision; None where NumPy's function is to be asked."""
    kind = arrays[0].dtype
    loop = getattr(_loops(), name, None) if kind.char in "fF" and arrays[0].size else None
    if loop is None or any(array.dtype != kind or array.ndim < 2 for array in arrays):
        return None
    inputs = kind.char * len(arrays) + "->"
    signature = next((each for each in loop.types if each.startswith(inputs)), None)
    if signature is None:
        return None
    with quiet():
        found = loop(*arrays, signature=signature)
    parts = found if type(found) is tuple else (found,)
    return None if np.isnan(min(parts, key=np.size)).any() else found


def _plain(name: str, *args: Any) -> Any:
    """What NumPy's function answers; all of them change the error state, which a signal may end."""
    return quietly(getattr(np.linalg, name))(*args)


class LinearAlgebra:
    """What `np.linalg` has."""

    def __init__(self) -> None:
        _loops()  # shared from now on
        own = vars(type(self))
        for name in np.linalg.__all__:
            if name not in own:
                found = getattr(np.linalg, name)
                setattr(self, name, found if isinstance(found, type) else quietly(found))

    def cholesky(self, array: Any) -> Any:
        """The lower factor."""
        found = _single("cholesky_lo", array)
        if found is None:
            found = _plain("cholesky", array)
            if np.isnan(np.diagonal(found, axis1=-2, axis2=-1)).any():  # OpenBLAS takes it for one
                raise np.linalg.LinAlgError("a pivot is NaN")
        return found

    def inv(self, array: Any) -> Any:
        """The inverse."""
        found = _single("inv", array)
        return _plain("inv", array) if found is None else found

    def solve(self, array: Any, side: Any) -> Any:
        """The solution for matrices, or for one vector."""
        found = _single("solve", array, side)
        return _plain("solve", array, side) if found is None else found

    def eigh(self, array: Any, triangle: str = "L") -> Any:
        """Eigenvalues and eigenvectors of Hermitian matrices."""
        found = _single("eigh_lo" if triangle == "L" else "eigh_up", array)
        return _plain("eigh", array, triangle) if found is None else found

    def eigvalsh(self, array: Any, triangle: str = "L") -> Any:
        """Eigenvalues of Hermitian matrices."""
        found = _single("eigvalsh_lo" if triangle == "L" else "eigvalsh_up", array)
        return _plain("eigvalsh", array, triangle) if found is None else found

    def eig(self, array: Any) -> Any:
        """Eigenvalues and eigenvectors."""
        found = _single("eig", array) if np.isfinite(array).all() else None
        return _plain("eig", array) if found is None else found

    def eigvals(self, array: Any) -> Any:
        """Eigenvalues."""
        found = _single("eigvals", array) if np.isfinite(array).all() else None
        return _plain("eigvals", array) if found is None else found

    def svd(self, array: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        """Singular values, and their vectors unless they are not wanted."""
        if compute_uv:
            found = _single("svd_f" if full_matrices else "svd_s", array)
        else:
            found = _single("svd", array)
        return _plain("svd", array, full_matrices, compute_uv) if found is None else found

    def qr(self, array: Any, mode: str = "reduced") -> Any:
        """Q and R, or the reflections that make Q."""
        reflect = lapack_function("geqrf", array) if mode == "raw" else None
        if reflect is None:
            return _plain("qr", array, mode)
        turned = by_columns(array)
        tau = np.empty((*array.shape[:-2], min(array.shape[-2:])), array.dtype)
        room = PANEL * array.shape[-1]
        for place in np.ndindex(tau.shape[:-1]):
            given = turned[place].T
            # Where a matrix does not begin at a multiple of 8 bytes, SciPy works on a copy of it.
            given[...], tau[place], _, _ = reflect(given, lwork=room, overwrite_a=1)
        return turned, tau
