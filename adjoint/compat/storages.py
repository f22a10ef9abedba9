"""The memory that a tensor and its views show."""

from typing import Any

from adjoint.ops.conversion import data_ptr
from adjoint.tensor import Tensor


def _whole(tensor: Tensor) -> Any:
    """The array that owns the memory of a tensor's array."""
    array: Any = tensor.current_array()
    base: Any = getattr(array, "base", None)
    while type(base) is type(array):
        array, base = base, base.base
    return array


class UntypedStorage:
    """The bytes that a tensor and its views show."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor: Any = Tensor(_whole(tensor))

    @property
    def device(self) -> Any:
        """Where the bytes are."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return data_ptr(self._tensor)

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._tensor.nbytes)

    def size(self) -> int:
        """How many bytes there are."""
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def resize_(self, size: int) -> None:
        """Refused unless nothing changes: memory belongs to the array library."""
        if size != self.nbytes():
            raise NotImplementedError(
                f"UntypedStorage.resize_: {size} bytes instead of {self.nbytes()}, but the memory "
                "of an array can't be resized; give the tensor another array through .data"
            )


class TypedStorage(UntypedStorage):
    """The elements that a tensor and its views show."""

    @property
    def dtype(self) -> Any:
        """The data type of the elements."""
        return self._tensor.dtype

    def size(self) -> int:
        """How many elements there are."""
        return int(self._tensor.numel())

    def __len__(self) -> int:
        return self.size()

    def tolist(self) -> list[Any]:
        """The elements, in the order of memory."""
        return list(self._flat().tolist())

    def __getitem__(self, index: Any) -> Any:
        found = self._flat()[index]
        return found.item() if isinstance(index, int) else found.tolist()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat()[index] = value

    def _flat(self) -> Tensor:
        flat: Tensor = self._tensor.as_strided((self._tensor.numel(),), (1,), 0)
        return flat


def is_storage(obj: Any) -> bool:
    """Whether obj is a storage."""
    return isinstance(obj, UntypedStorage)
