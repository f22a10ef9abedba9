"""The one way from a tensor to its array, for what can't be said in ops."""

from typing import Any

from adjoint.backends.namespace import Memory, Namespace
from adjoint.call.context import current
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.tensor import Tensor


def concrete(tensor: Tensor) -> Any:
    """The values themselves, and where they lie: a transform that has none refuses here."""
    return tensor.concrete_array()


def has_values(tensor: Tensor) -> bool:
    """Whether Python can read a tensor's values; of a batch, on meta, or traced, it can't."""
    if tensor.layer is not None and tensor.layer.value_refused() is not None:
        return False
    tracing = current().tracing
    if tracing is not None and not tracing.knows(tensor):
        return False
    xp: Namespace = backend_of(tensor.array).xp
    return xp.valued()


def place_apart(tensor: Tensor, other: Tensor) -> Any:
    """The device of another tensor; None if both are there. Classes that answer are not asked."""
    if type(tensor.array) is type(other.array) is NDARRAY:
        return None
    where = backend_of(other.array).device(other.array)
    return None if backend_of(tensor.array).device(tensor.array) == where else where


def lying(tensor: Tensor) -> Any:
    """An array that lies in memory as the tensor does: in a batch, as one of its elements."""
    bottom: Any = tensor
    while bottom.layer is not None and not bottom.layer.wraps:
        bottom = bottom.layer.below()[0]
    array = bottom.current_array()
    while array.ndim > tensor.array.ndim:
        xp: Any = backend_of(array).xp
        array = array[0, ...] if array.shape[0] else xp.zeros(array.shape[1:], array.dtype)
    return array


def memory_of(tensor: Tensor) -> Memory:
    """Where a tensor lies; in a library that hides it, in order and alone."""
    wraps = tensor.layer is not None and tensor.layer.wraps
    return _memory(tensor.current_array() if wraps else concrete(tensor))


def _memory(array: Any) -> Memory:
    xp: Namespace = backend_of(array).xp
    return xp.memory(array) or Memory(array, 0, xp.strides_of(array), array.size)


def start_in_base(tensor: Tensor) -> int:
    """How many elements into the memory of its base a view begins; 0 if it is none."""
    whole = tensor.whole_array()
    if whole is None:
        return 0
    own, origin, size = memory_of(tensor), _memory(whole), tensor.array.dtype.itemsize
    return int((own.start * size - origin.start * whole.dtype.itemsize) // size)


def room_of(tensor: Tensor) -> int:
    """How many elements fit into the memory that a tensor and its views show."""
    whole = tensor.whole_array()
    array = tensor.current_array() if whole is None else whole
    xp: Namespace = backend_of(array).xp
    reach = array.size
    if reach and not xp.is_contiguous(array):
        reach = 1 + sum((n - 1) * step for n, step in zip(array.shape, xp.strides_of(array)))
    return int(reach * array.dtype.itemsize // tensor.array.dtype.itemsize)


def place_of(tensor: Tensor) -> tuple[int, tuple[int, ...]]:
    """Where a tensor begins in the memory of its base, and its strides; of a batch, the first one.

    All are counted in elements.
    """
    bottom: Any = tensor
    while bottom.layer is not None and not bottom.layer.wraps:
        bottom = bottom.layer.below()[0]
    array = lying(tensor)
    return start_in_base(bottom), tuple(backend_of(array).xp.strides_of(array))


def known_integer(value: Any) -> int | None:
    """The integer that a 0-d Tensor or array holds; None where it has no value yet (traced).

    Nor has a batched one, which holds several.
    """
    if isinstance(value, Tensor) and not has_values(value):
        return None
    array = value.array if isinstance(value, Tensor) else value
    if not backend_of(array).xp.readable(waiting=True):
        return None
    if isinstance(value, Tensor):
        return int(value.one_number() if current().modes else concrete(value))
    return int(value)
