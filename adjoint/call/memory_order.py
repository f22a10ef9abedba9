"""How results lie in memory: as their op declares by `ordered`, whatever order arguments have."""

from typing import TYPE_CHECKING, Any

from adjoint.backends import Backend
from adjoint.backends.numpy import numpy_backend
from adjoint.tensors.core import NDARRAY, NUMPY_BACKEND

if TYPE_CHECKING:
    from adjoint.ops.op import Op


def arranged(op: "Op", arrays: list[Any], out: Any, backend: Backend) -> Any:
    """What a forward answered, in the order in memory that its op declares."""
    if op.follows:
        first: Any = arrays[0]
        if op.follows == "all":
            last = len(first) > 0
            for each in first:
                last = last and channels_last(each)
        elif op.follows == "images":
            last = channels_last(first) and first.ndim == 4
        else:
            last = channels_last(first) or (op.follows == "either" and channels_last(arrays[1]))
        if last:
            if isinstance(out, tuple) and not op.hides:
                return tuple([with_channels_last(each, backend) for each in out])
            if op.hides:
                return (with_channels_last(out[0], backend), *out[1:])
            return with_channels_last(out, backend)
    return in_order(out, backend)


def channels_last(array: Any) -> bool:
    """Whether the steps in memory of images, or volumes, are smallest from channel to channel."""
    if type(array) is NDARRAY and array.flags.c_contiguous:
        return False
    strides: Any = getattr(array, "strides", None)
    if strides is None or len(strides) < 4 or len(strides) > 5 or strides[1] == 0:
        return False
    sizes: Any = array.shape
    least = 0
    for dim in (1, *range(len(strides) - 1, 1, -1), 0):
        if sizes[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * sizes[dim]
    return True


def with_channels_last(array: Any, backend: Backend) -> Any:
    """The elements of an array with those of all channels of a pixel together in memory."""
    if array.ndim < 4:
        return array
    return backend.xp.moveaxis(
        backend.xp.ascontiguousarray(backend.xp.moveaxis(array, 1, -1)), -1, 1
    )


def in_order(out: Any, backend: Backend) -> Any:
    """What a forward answered, its arrays in the order of their elements."""
    if type(out) is NDARRAY:
        return numpy_backend.copy(out) if out.ndim > 1 and not out.flags.c_contiguous else out
    if isinstance(out, tuple):
        return tuple([in_order(each, backend) for each in out])
    if backend is not NUMPY_BACKEND and type(out) is backend.array_type:
        return out if backend.xp.is_contiguous(out) else backend.copy(out)
    return out
