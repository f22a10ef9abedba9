"""Sums on CuPy, each by one kernel: of all elements, of columns, of the losses of classes."""

from typing import Any, Final

import cupy
import numpy as np

from adjoint.backends.cupy_kernels import ALIGNED, NDARRAY, TYPES, Launch
from adjoint.backends.loops.cuda import PLACE, STORED, THREADS, head

_BLOCKS: Final = 1024  # of a sum over everything
_ROWS: Final = 16384  # more than a block of threads should add up one by one
_INT64: Final = np.dtype(np.int64)
_F32: Final = np.dtype(np.float32)

# Threads of a block add what they have, in an order that is always the same.
TOGETHER: Final = """
inline __device__ C together(C value) {
    __shared__ C parts[32];
    for (int k = 16; k > 0; k /= 2) value += __shfl_down_sync(0xffffffff, value, k);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : (C)0;
    if (threadIdx.x < 32)
        for (int k = 16; k > 0; k /= 2) value += __shfl_down_sync(0xffffffff, value, k);
    return value;
}
"""

# The last block to end adds what all have left, and makes the counter ready for the next sum.
TOTAL: Final = """
struct alignas({together} * sizeof(S)) In {{ S v[{together}]; }};
extern "C" __global__ void kernel(
    const S *a, {answer} *out, C *parts, unsigned *done, const long long n
) {{
    C sum = 0;
    const long long step = (long long)gridDim.x * blockDim.x * {together};
    for (long long i = {place} * {together}; i + {together} <= n; i += step) {{
        const In p = *(const In *)(a + i);
        C some = 0;
        #pragma unroll
        for (int k = 0; k < {together}; k++) some += read(p.v[k]);
        sum += some;
    }}
    const long long left = n - n % {together} + {place};
    if (left < n) sum += read(a[left]);
    sum = together(sum);
    __shared__ bool last;
    if (threadIdx.x == 0) {{
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }}
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = 0;
    for (int k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += ((volatile C *)parts)[k];
    sum = together(sum);
    if (threadIdx.x == 0) {{
        *out = {written};
        *done = 0;
    }}
}}
"""

COLUMNS: Final = """
extern "C" __global__ void kernel(
    const S *a, S *out, const long long rows, const long long columns
) {
    __shared__ C parts[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    const long long column = blockIdx.x * 32LL + x;
    C sum = 0;
    if (column < columns)
        for (long long row = y; row < rows; row += 32) sum += read(a[row * columns + column]);
    parts[y][x] = sum;
    __syncthreads();
    for (int k = 16; k > 0; k /= 2) {
        if (y < k) parts[y][x] += parts[y + k][x];
        __syncthreads();
    }
    if (y == 0 && column < columns) out[column] = write(parts[0][x]);
}
"""

COUNT: Final = """
extern "C" __global__ void kernel(
    const long long *target, double *count, const long long rows, const long long ignored
) {
    C sum = 0;
    for (long long i = threadIdx.x; i < rows; i += blockDim.x) sum += target[i] != ignored;
    sum = together(sum);
    if (threadIdx.x == 0) *count = sum;
}
"""

# 32 threads to a row. What is no class makes its loss NaN: to raise, the host would have to wait.
LOSSES: Final = """
extern "C" __global__ void kernel(
    const S *a, const long long *target, const double *count, S *losses, S *slope,
    const long long rows, const long long classes, const long long ignored
) {
    const long long row = blockIdx.x * 8LL + threadIdx.x / 32;
    if (row >= rows) return;
    const int x = threadIdx.x % 32;
    const S *own = a + row * classes;
    const long long named = target[row];
    const bool counted = named != ignored, wrong = named < 0 || named >= classes;
    C top = -(C)infinity();
    for (long long k = x; k < classes; k += 32)
        top = own[k] > top || own[k] != own[k] ? own[k] : top;
    for (int k = 16; k > 0; k /= 2) {
        const C other = __shfl_xor_sync(0xffffffff, top, k);
        top = other > top || other != other ? other : top;
    }
    C sum = 0;
    for (long long k = x; k < classes; k += 32) sum += exp(own[k] - top);
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
    const C none = (C)__longlong_as_double(0x7ff8000000000000LL);
    const C share = wrong ? none : (C)(1 / *count);
    for (long long k = x; k < classes; k += 32)
        slope[row * classes + k] =
            counted ? (exp(own[k] - top) / sum - (k == named ? 1 : 0)) * share : (C)0;
    if (x == 0) losses[row] = !counted ? (C)0 : wrong ? none : log(sum) - (own[named] - top);
}
"""

MEAN: Final = """
extern "C" __global__ void kernel(
    const S *losses, const double *count, S *out, const long long rows
) {
    C sum = 0;
    for (long long i = threadIdx.x; i < rows; i += blockDim.x) sum += losses[i];
    sum = together(sum);
    if (threadIdx.x == 0) *out = (S)(sum / *count);
}
"""

_launches: Final[dict[Any, Launch]] = {}
_counters: Final[dict[Any, Any]] = {}  # by device and stream: none is used by two at once


def _launch(key: Any, kind: str, text: str, layout: str) -> Launch:
    """A kernel, compiled at its first call on a device."""
    where = (key, kind, cupy.cuda.runtime.getDevice())
    found = _launches.get(where)
    if found is None:
        found = _launches[where] = Launch("\n".join([*head(kind, ""), TOGETHER, text]), layout)
    return found


def prepare_stream(stream: Any) -> Any:
    """The counter for sums on a stream, zero between any two; made before a graph is captured."""
    key = (cupy.cuda.runtime.getDevice(), stream.ptr)
    done = _counters.get(key)
    if done is None:
        done = _counters[key] = cupy.zeros(1, np.uint32)
        cupy.cuda.get_current_stream().synchronize()  # the other stream may not wait for this one
    return done


def _is_plain(array: Any) -> bool:
    here = type(array) is NDARRAY and array.dtype in TYPES and array.size
    return bool(here and array.flags.c_contiguous) and not cupy.cuda.runtime.is_hip


def total(array: Any, wide: bool = False) -> Any:
    """The sum of all elements, of 16-bit floats in float32 if `wide`; None if it can't be taken."""
    if not _is_plain(array):
        return None
    kind = TYPES[array.dtype]
    together = 1 if array.data.ptr & ALIGNED else STORED[kind][2]
    answer, written = ("C", "sum") if wide else ("S", "write(sum)")
    text = TOTAL.format(together=together, place=PLACE, answer=answer, written=written)
    launch = _launch(("total", together, wide), kind, text, "QQQQQ")
    done = prepare_stream(cupy.cuda.get_current_stream())
    blocks = min(_BLOCKS, -(-array.size // (THREADS * together * 4)))
    out = NDARRAY((), _F32 if wide and array.dtype.itemsize == 2 else array.dtype)
    parts = NDARRAY((blocks,), np.float64)
    launch(blocks, [array.data.ptr, out.data.ptr, parts.data.ptr, done.data.ptr, array.size])
    return out


def column_sums(array: Any) -> Any:
    """The sums over the rows of a matrix; None if they can't be taken."""
    if not _is_plain(array) or array.ndim != 2 or array.shape[0] > _ROWS:
        return None
    rows, columns = array.shape
    launch = _launch("columns", TYPES[array.dtype], COLUMNS, "QQQQ")
    out = NDARRAY((columns,), array.dtype)
    launch(-(-columns // 32), [array.data.ptr, out.data.ptr, rows, columns], 1024)
    return out


def mean_class_losses(array: Any, target: Any, ignored: int) -> Any:
    """The mean cross entropy of rows and its gradient; None if they are not such as it takes."""
    if not _is_plain(array) or array.ndim != 2 or array.dtype.itemsize == 2:
        return None
    if target.dtype != _INT64 or target.ndim != 1 or not target.flags.c_contiguous:
        return None
    kind, (rows, classes) = TYPES[array.dtype], array.shape
    count, losses = NDARRAY((), np.float64), NDARRAY((rows,), array.dtype)
    mean, slope = NDARRAY((), array.dtype), NDARRAY(array.shape, array.dtype)
    targets, counted = target.data.ptr, count.data.ptr
    _launch("count", kind, COUNT, "QQQq")(1, [targets, counted, rows, ignored], 1024)
    values = [array.data.ptr, targets, counted, losses.data.ptr, slope.data.ptr]
    launch = _launch("losses", kind, LOSSES, "QQQQQQQq")
    launch(-(-rows // 8), [*values, rows, classes, ignored])
    final = [losses.data.ptr, counted, mean.data.ptr, rows]
    _launch("mean", kind, MEAN, "QQQQ")(1, final, 1024)
    return mean, slope
