"""Tensors on the memory of other objects: arrays of any library, buffers, DLPack."""

import warnings
from typing import Any

from adjoint.backends import lookup
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import is_inference_mode_enabled
from adjoint.creation.factories import tensor
from adjoint.creation.from_data import check_array
from adjoint.creation.options import finished
from adjoint.device import CPU, asked_device
from adjoint.dtypes import as_dtype, get_default_dtype
from adjoint.ops.arranging.conversion import clone, to
from adjoint.ops.composites import lifting, overridable_by_modes
from adjoint.tensors.interop import from_dlpack
from adjoint.tensors.tensor import AS_IS, Tensor

__all__ = ["as_tensor", "asarray", "from_numpy", "frombuffer"]

np = numpy_backend.xp


@overridable_by_modes
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of data that shares its memory, and keeps its history, where that can be."""
    device = asked_device(device)
    if isinstance(data, Tensor):
        return to(data, device=device, dtype=dtype)
    shared = _shared(data)
    if shared is None and hasattr(data, "__dlpack__"):
        shared = from_dlpack(data)
    if shared is None:
        return tensor(data, dtype=dtype, device=device)
    return to(shared, device=device, dtype=dtype)


def _shared(data: Any) -> Tensor | None:
    """A tensor on the memory of an array of any library; None if data is no array."""
    if isinstance(data, np.ndarray):
        return from_numpy(data)
    if isinstance(data, np.generic) or lookup(type(data)) is None:
        return None
    result = Tensor(data, AS_IS)
    if is_inference_mode_enabled():
        result.mark_inference()
    return result


@lifting
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: changes to one are seen in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    return finished(numpy_backend.from_numpy(np.asarray(ndarray), CPU), CPU, False)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor on the memory of an object with Python's buffer protocol."""
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError(
            f"frombuffer(): the object does not implement Python's buffer protocol: it is a "
            f"{type(buffer).__name__}"
        ) from None
    if not memory.nbytes or not count:
        raise ValueError(
            f"frombuffer(): both buffer length ({memory.nbytes}) and count ({count}) must not be 0"
        )
    if memory.readonly:
        warnings.warn(
            "frombuffer(): the given buffer is not writable; writing to the tensor fails",
            stacklevel=2,
        )
    array = np.frombuffer(memory, as_dtype(dtype).numpy_dtype, count, offset)
    return finished(array, CPU, requires_grad)


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of obj: its memory is shared where it can be, or as copy says."""
    device = asked_device(device)
    source = obj if isinstance(obj, Tensor) else _borrowed(obj, dtype)
    if source is None:
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError("asarray: can't alias NumPy scalars, which copy=False asks for")
        if copy is False:
            raise ValueError(f"asarray: a {type(obj).__name__} has no memory that could be shared")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    if requires_grad is False:
        source = source.detach()
    result = to(source, device=device, dtype=dtype)
    if copy is False and result is not source:
        raise ValueError("asarray: another dtype or device needs a copy, which copy=False forbids")
    if copy and result is source:
        result = clone(source)
    if requires_grad and not result.requires_grad:
        result = (result.detach() if result is obj else result).requires_grad_()
    return result


def _borrowed(obj: Any, kind: Any) -> Tensor | None:
    """A tensor on the memory of an array or buffer; None for anything else."""
    shared = _shared(obj)
    if shared is not None or isinstance(obj, (np.generic, str)):
        return shared
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=get_default_dtype() if kind is None else kind)
