"""The memory of tensors in files: how long it is, in which order of bytes, and where it goes."""

import enum
import importlib
import math
import sys
from typing import Any, NamedTuple

from adjoint.backends import backend_of
from adjoint.backends.numpy import numpy_backend
from adjoint.compat.tensor_types import DTYPE_NAMES
from adjoint.compat.torch_files.locations import default_restore_location
from adjoint.compat.torch_files.unpickling import refusal
from adjoint.device import device
from adjoint.dtypes import bool_, dtype
from adjoint.saving.safetensors_files import MOST_DIMENSIONS, TOO_FAR, normalise_bools
from adjoint.tensors.pickling import shown_to_modes
from adjoint.tensors.tensor import AS_IS, Tensor

_numpy = numpy_backend.xp
_COPIES = 1 << 20  # bytes that may be copied of a storage, however short it is,
_COPIED_TIMES = 16  # and how often all of a longer one


class LoadEndianness(enum.Enum):
    """The order of bytes in a file that does not say which it is."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Settings:
    """What holds for all files."""

    order: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes in files that do not say; None is that of a little endian machine."""
    return _Settings.order


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Read files that do not say otherwise as written with this order of bytes."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            f"set_default_load_endianness: expected a LoadEndianness, got "
            f"{type(endianness).__name__}"
        )
    _Settings.order = endianness


def default_order() -> str:
    """The order of bytes in files that do not say."""
    if _Settings.order is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _Settings.order is LoadEndianness.BIG else "little"


class StorageKind:
    """A class of storages: of elements of a data type, or of bytes."""

    def __init__(self, of_type: dtype | None) -> None:
        self.dtype = of_type
        self.itemsize = 1 if of_type is None else of_type.itemsize


BYTES = StorageKind(None)
KINDS: dict[tuple[str, str], StorageKind] = {
    **{
        ("torch", f"{name}Storage"): StorageKind(of_type)
        for name, of_type in DTYPE_NAMES.items()
        if of_type is not None
    },
    ("torch.storage", "UntypedStorage"): BYTES,
    ("torch", "UntypedStorage"): BYTES,
}
KIND_NAMES = {kind.dtype: name for name, kind in KINDS.items() if kind.dtype is not None}


class Wanted(NamedTuple):
    """What a pickle says of a storage."""

    kind: StorageKind
    key: str
    location: str
    length: int  # in elements
    part: tuple[str, int, int] | None  # the key, start and length of a part of it

    @property
    def nbytes(self) -> int:
        """How long it is."""
        return self.length * self.kind.itemsize


def wanted(saved_id: Any) -> Wanted:
    """What a pickle says of a storage, checked in itself."""
    if type(saved_id) is not tuple or len(saved_id) not in (5, 6):
        raise refusal("something is asked for that is no storage")
    what, kind, key, location, count, *rest = saved_id
    if type(what) is not str or what != "storage":
        raise refusal("something is asked for that is no storage")
    if not isinstance(kind, StorageKind):
        raise refusal("a storage is of no known kind")
    if not (type(key) is type(location) is str and _is_count(count)):
        raise refusal("a storage has no key, location and length")
    part = rest[0] if rest else None
    if part is not None and not _is_part(part, count):
        raise refusal("a part of a storage is not inside of it")
    return Wanted(kind, key, location, count, part)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < TOO_FAR


def _is_part(part: Any, count: int) -> bool:
    if type(part) is not tuple or len(part) != 3 or type(part[0]) is not str:
        return False
    _, start, length = part
    return _is_count(start) and _is_count(length) and start + length <= count


class Placement:
    """Where memory goes that was somewhere when it was saved."""

    def __init__(self, map_location: Any) -> None:
        self.map_location = map_location

    def placed(self, memory: Any, location: str) -> Any:
        """A flat tensor at the place it is to have."""
        place: Any = location
        if isinstance(self.map_location, dict):
            place = self.map_location.get(location, location)
        elif isinstance(self.map_location, (str, device)):
            place = self.map_location
        elif self.map_location is not None:
            answer = self.answer(memory, location)
            if answer is not None:
                return _checked_answer(answer, memory, "map_location")
        try:
            restored = default_restore_location(memory, str(place))
        except RuntimeError as error:
            raise RuntimeError(
                f"torch.load: a tensor was saved on {location} and can't be put on {place}: "
                f"{error}. Pass map_location='cpu' to load it into main memory."
            ) from error
        return _checked_answer(restored, memory, "the deserializer of a place")

    def answer(self, memory: Any, location: str) -> Any:
        """What the program's function says of a storage; its errors aren't taken for the file's."""
        # Storages are tensors' memory, and lie above the files that they can be read from.
        storages = importlib.import_module("adjoint.compat.torch_tree.storage")
        try:
            found = self.map_location(storages.UntypedStorage(memory), location)
            return storages.elements_for(memory, found) if storages.is_storage(found) else found
        except Exception as error:
            raise RuntimeError(f"torch.load: map_location failed with {error!r}") from error


def _checked_answer(answer: Any, memory: Any, who: str) -> Any:
    if (
        not isinstance(answer, Tensor)
        or answer.dtype is not memory.dtype
        or answer.shape != memory.shape
    ):
        raise RuntimeError(
            f"torch.load: {who} answered {answer!r:.100}; what it was given, moved, or None is "
            "expected"
        )
    return answer


class Storage:
    """The memory of tensors, which all share it."""

    def __init__(
        self, content: Any, kind: StorageKind, location: str, place: Placement, swapped: bool
    ) -> None:
        self.content, self.kind, self.location, self.place = content, kind, location, place
        self.swapped = swapped  # in the other order of bytes, as long as nothing says how wide
        self.flat: dict[dtype, Any] = {}
        self.copies = max(_COPIES, _COPIED_TIMES * len(content))
        if kind.dtype is not None:
            self.array(kind.dtype)

    def part(self, start: int, length: int) -> "Storage":
        """A storage on some of the elements."""
        size = self.kind.itemsize
        content = memoryview(self.content)[start * size : (start + length) * size]
        return Storage(content, self.kind, self.location, self.place, self.swapped)

    def elements(self, of_type: dtype | None) -> Any:
        """All elements, as a tensor at the place they are to have."""
        found = of_type or self.kind.dtype
        if found is None or self.kind.dtype not in (None, found):
            raise refusal("a tensor has another data type than its storage")
        if found not in self.flat:
            self.flat[found] = self.place.placed(Tensor(self.array(found), AS_IS), self.location)
        return self.flat[found]

    def charge(self, nbytes: int) -> None:
        """Refuse copies that take far more memory than the storage, as of expanded tensors."""
        self.copies -= nbytes
        if self.copies < 0:
            raise refusal("its tensors would take far more memory than their storage has")

    def array(self, of_type: dtype) -> Any:
        """All elements, in the order of bytes of this machine."""
        count = len(self.content) // of_type.itemsize
        found = _numpy.ndarray((count,), of_type.numpy_dtype, self.content)
        if self.swapped:
            found.byteswap(inplace=True)
            self.swapped = False
        if of_type is bool_:
            normalise_bools(found)
        return found

    def tensor(self, of_type: dtype | None, offset: Any, size: Any, stride: Any) -> Any:
        """A tensor on some of the elements; the numbers come from a file, so they are checked."""
        flat = self.elements(of_type)
        check_layout(offset, size, stride, flat.dtype.itemsize, flat.shape[0])
        if 0 in size:
            return shown_to_modes(Tensor(flat.array[:0].reshape(tuple(size)), AS_IS))
        backend = backend_of(flat.array)
        if not backend.mutable:
            self.charge(math.prod(size) * flat.dtype.itemsize)
        array = backend.xp.strided(flat.array, tuple(size), tuple(stride), offset)
        return shown_to_modes(Tensor(array, AS_IS))


def check_layout(offset: Any, size: Any, stride: Any, itemsize: int, room: int) -> None:
    """Refuse a tensor that is not inside of its storage."""
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise refusal("a tensor has no size and stride")
    if len(size) != len(stride) or len(size) > MOST_DIMENSIONS:
        raise refusal(f"a tensor has {len(size)} sizes and {len(stride)} strides")
    if not all(_is_count(one) for one in (offset, *size, *stride)):
        raise refusal("the size, stride or offset of a tensor is no count")
    if math.prod(size) * itemsize >= TOO_FAR:
        raise refusal(f"a tensor of size {size} is too large")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if 0 not in size and last >= room:
        raise refusal(
            f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} reaches "
            f"element {last} of a storage that has {room}"
        )
