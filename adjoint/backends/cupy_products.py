"""Products of two matrices on CuPy by one call of cuBLAS, 16-bit ones on the tensor cores.

CuPy's own matmul takes longer to begin, and can't be captured in a graph. Sums of products are
gathered in float32, or in float64 for such matrices.
"""

import ctypes
from typing import Any, Final

import cupy
import numpy as np
from cupy.cuda.device import get_cublas_handle as get_handle
from cupy_backends.cuda.libs import cublas

from adjoint.dtypes import bfloat16

NDARRAY: Final[Any] = cupy.ndarray
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)

# cuBLAS's numbers of data types, and of the types that sums are gathered in.
TYPES: Final[dict[Any, tuple[int, int]]] = {
    np.dtype(np.float16): (2, 68),
    _F32: (0, 68),
    _F64: (1, 70),
}
if bfloat16 is not None:
    TYPES[bfloat16.numpy_dtype] = (14, 68)

_NOT_TURNED, _TURNED = 0, 1
_BEST: Final = -1  # the algorithm that cuBLAS finds best
_WORKSPACE: Final = 32 << 20  # bytes, as much as cuBLAS asks for on the newest devices
_factors = (ctypes.c_double * 2)(1.0, 0.0)
_narrow_factors = (ctypes.c_float * 2)(1.0, 0.0)


def _factor_addresses(kind: Any) -> tuple[int, int]:
    """Where cuBLAS finds one and zero, in the type that sums are gathered in."""
    if kind == _F64:
        return ctypes.addressof(_factors), ctypes.addressof(_factors) + 8
    return ctypes.addressof(_narrow_factors), ctypes.addressof(_narrow_factors) + 4


class Blas:
    """cuBLAS as CuPy has loaded it, for graphs: CuPy refuses to call it where one is captured."""

    def __init__(self) -> None:
        version = cupy.cuda.runtime.runtimeGetVersion() // 1000
        library = ctypes.CDLL(f"libcublas.so.{version}")
        self.gemm = library.cublasGemmEx
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self.gemm.argtypes = [
            *(pointer, number, number, number, number, number, pointer),
            *(pointer, number, number, pointer, number, number, pointer),
            *(pointer, number, number, number, number),
        ]
        self.set_stream = library.cublasSetStream_v2
        self.set_stream.argtypes = [pointer, pointer]
        self.set_workspace = library.cublasSetWorkspace_v2
        self.set_workspace.argtypes = [pointer, pointer, ctypes.c_size_t]
        self.workspace = cupy.cuda.Memory(_WORKSPACE)  # which a graph must find where it was

    def multiply(self, handle: int, *arguments: Any) -> None:
        """cublasGemmEx, on the stream that is captured."""
        _check(self.set_stream(handle, cupy.cuda.get_current_stream().ptr))
        _check(self.set_workspace(handle, self.workspace.ptr, _WORKSPACE))
        _check(self.gemm(handle, *arguments))


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"cuBLAS has failed with its status {status}")


_graphs: Final[dict[int, Blas]] = {}  # by device


def prepare_graphs() -> None:
    """Make ready to multiply on the current device while a graph is captured."""
    where = cupy.cuda.runtime.getDevice()
    if where not in _graphs:
        _graphs[where] = Blas()


def product(left: Any, right: Any) -> Any:
    """The product of two matrices; None if cuBLAS can't take them as they lie."""
    if type(left) is not NDARRAY or type(right) is not NDARRAY or left.ndim != 2:
        return None
    dtype = left.dtype
    numbers = TYPES.get(dtype)
    rows, inner = left.shape
    columns = right.shape[-1]
    if numbers is None or right.dtype != dtype or right.ndim != 2 or right.shape[0] != inner:
        return None
    if not (rows and columns and inner):
        return None
    first, second = _layout(left), _layout(right)
    where = cupy.cuda.runtime.getDevice()
    if first is None or second is None or cupy.cuda.runtime.is_hip:
        return None
    if left.data.device_id != where or right.data.device_id != where:
        return None
    stream = cupy.cuda.get_current_stream()
    multiply = cublas.gemmEx
    if stream.ptr and where in _graphs and stream.is_capturing():
        multiply = _graphs[where].multiply
    kind, gathered = numbers
    one, zero = _factor_addresses(dtype)
    out = NDARRAY((rows, columns), dtype)
    # cuBLAS counts along columns: to it, all three are transposed, and so the factors change place.
    multiply(
        *(get_handle(), second[0], first[0], columns, rows, inner, one),
        *(right.data.ptr, kind, second[1], left.data.ptr, kind, first[1], zero),
        *(out.data.ptr, kind, columns, gathered, _BEST),
    )
    return out


def _layout(matrix: Any) -> tuple[int, int] | None:
    """Whether a matrix is turned, and how far apart its lines lie; None if neither way is."""
    size = matrix.dtype.itemsize
    (rows, columns), (down, across) = matrix.shape, matrix.strides
    if (across == size or columns == 1) and (down >= columns * size or rows == 1):
        return _NOT_TURNED, max(down // size, columns)
    if (down == size or rows == 1) and (across >= rows * size or columns == 1):
        return _TURNED, max(across // size, rows)
    return None
