"""torch.storage: the memory that a tensor and its views show."""

import io
import mmap
import operator
import pickle
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, SupportsIndex

from adjoint import dtypes
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Changed, current
from adjoint.compat.tensor_types import DTYPE_NAMES
from adjoint.compat.torch_files.reading import load_file
from adjoint.compat.torch_files.storages import Placement
from adjoint.compat.torch_files.unpickling import Shown
from adjoint.creation.factories import empty, tensor as new_tensor, zeros
from adjoint.creation.from_memory import frombuffer
from adjoint.dtypes import dtype, get_default_dtype, uint8
from adjoint.ops.arranging.conversion import data_ptr
from adjoint.tensors.concrete import memory_of, room_of
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.pickling import copied_memory
from adjoint.tensors.tensor import AS_IS, Tensor

# The strides that tensors whose storage has no elements had, by the id of their arrays: of one
# zero, shown at every place. An array takes its entry along.
_emptied: dict[int, tuple[Any, ...]] = {}

# The one storage of each array's memory, by the array's id, and those that tensors keep alive
# because they were asked for them, by the tensor's: trackers of memory go by what it is.
_of_arrays: weakref.WeakValueDictionary[int, "UntypedStorage"] = weakref.WeakValueDictionary()
_of_tensors: dict[int, "UntypedStorage"] = {}


def _unseen() -> Changed:
    """As a context: a storage is no tensor, and nobody sees it made."""
    return Changed({"modes": ()})


def _memory(tensor: Tensor) -> Tensor:
    """All elements of the memory that a tensor shows a part of, in the order of memory."""
    array: Any = tensor.concrete_array()
    if id(array) in _emptied:
        return zeros(0, dtype=tensor.dtype)
    if tensor.device.type == "meta":
        xp: Any = backend_of(array).xp
        return Tensor(xp.strided(array, (memory_of(tensor).room,), (1,), 0), AS_IS)
    origin = tensor.whole_array()
    whole: Any = Tensor(array if origin is None else origin, AS_IS)
    with _unseen():
        flat: Tensor = whole.as_strided((room_of(whole),), (1,), 0)
    return flat if flat.dtype is tensor.dtype else _reread(flat, tensor.dtype)


def _reread(flat: Any, kind: dtype) -> Tensor:
    """The same bytes as elements of another data type."""
    return Tensor(flat.array.view(kind.numpy_dtype), AS_IS)


class UntypedStorage:
    """The bytes that a tensor and its views show, a number of new ones, or those of a sequence."""

    refusal: str | None = None  # why the memory has no address: a class only shows its looks
    asker: Any = None  # a reference to the tensor it was asked of, which shows it after a change
    of_view: bool = False  # whether that is a view, whose base would not know of a change
    origin: Any = None  # the array that has the memory
    filename: str | None = None  # of the file that changes go to

    def __init__(self, source: Any = 0, *, device: Any = None) -> None:
        self.memory: Any = _reread(_elements(source, uint8, device), uint8)
        self.shown_by = _shower(source)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> Self:
        """The first bytes of a file as memory: changes go to the file, if it is `shared`."""
        made = cls._on(_mapped(filename, shared, nbytes))
        made.filename = filename if shared else None
        return made

    @property
    def shown_by(self) -> Tensor | None:
        """The tensor it was asked of last; None if there is none, or no more."""
        return None if self.asker is None else self.asker()

    @shown_by.setter
    def shown_by(self, tensor: Tensor | None) -> None:
        self.asker = None if tensor is None else weakref.ref(tensor)
        self.of_view = tensor is not None and _base(tensor) is not None

    def __getstate__(self) -> dict[str, Any]:
        filename = {} if self.filename is None else {"filename": self.filename}
        return {"memory": self.memory, **filename}

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self.memory.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is that of a GPU."""
        return bool(self.device.type == "cuda")

    def data_ptr(self) -> int:
        """The address of the first byte."""
        self._refuse_looks("data_ptr")
        return self._cdata

    def _refuse_looks(self, name: str) -> None:
        """Refuse to touch the memory of a tensor that has none."""
        if self.refusal is not None:
            raise RuntimeError(f"{type(self).__name__}.{name}(): {self.refusal}")

    @property
    def _cdata(self) -> int:
        return data_ptr(self.memory) if self.nbytes() else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self.memory.nbytes)

    def size(self) -> int:
        """How many elements there are."""
        return int(self.memory.numel())

    def element_size(self) -> int:
        """The bytes of one element."""
        return int(self.memory.element_size())

    def is_shared(self) -> bool:
        """Whether other processes have it: they never do."""
        return False

    def share_memory_(self) -> Self:
        """The storage itself: processes share no memory."""
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether copies to a GPU are quick from it: no memory is kept for that."""
        return False

    def pin_memory(self, device: Any = None) -> Self:
        """The storage itself."""
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Self:
        """The storage itself if its memory is there, else a copy on a device."""
        moved = self.memory.to(device)
        return self if moved is self.memory else self._on(moved)

    def resizable(self) -> bool:
        """Whether resize_ can change the size."""
        return self._kept_by_others() is None

    def resize_(self, size: int) -> None:
        """Have so many elements, the first ones as before; the tensor shows what there is then.

        Without elements its values are gone, until another size gives it memory again.
        """
        self._refuse_looks("resize_")
        if size == self.size():
            return
        kept = self._kept_by_others()
        if kept is not None:
            raise NotImplementedError(
                f"{type(self).__name__}.resize_: {size} elements instead of {self.size()}, but "
                f"{kept}; give the tensor another array through .data"
            )
        before, memory = self.memory, zeros(size, dtype=self.memory.dtype)
        count = min(size, self.size())
        memory[:count] = before[:count]
        tensor = self.shown_by
        if tensor is not None:
            _show(tensor, memory)
            _keep(self, tensor)
        self.memory = memory

    def _kept_by_others(self) -> str | None:
        """Why the memory can't change: what else shows it would not know."""
        if self.device.type != "cpu":
            return f"the memory of {self.device} belongs to its library"
        if self.of_view:
            return "the tensor is a view, whose base would not know"
        return None

    def untyped(self) -> "UntypedStorage":
        """The same memory as bytes."""
        made = UntypedStorage(self.memory)
        made.shown_by, made.refusal = self.shown_by, self.refusal
        return made

    def tolist(self) -> list[Any]:
        """The elements, in the order of memory."""
        self._refuse_looks("tolist")
        self._refuse_meta(".tolist()")
        return list(self.memory.tolist())

    def fill_(self, value: Any) -> Self:
        """Make all elements the same."""
        self._refuse_looks("fill_")
        _tensor_of(self).fill_(value)
        return self

    def copy_(self, source: "UntypedStorage", non_blocking: bool = False) -> Self:
        """Take over the elements of another storage."""
        self._refuse_looks("copy_")
        _tensor_of(self).copy_(_tensor_of(source))
        return self

    def clone(self) -> Self:
        """The same elements in memory of their own."""
        self._refuse_looks("clone")
        if current().modes:
            with _unseen():
                made = self._on(zeros(self.size(), dtype=self.memory.dtype, device=self.device))
            return made.copy_(self)
        return self._on(self.memory.clone())

    def cpu(self) -> Self:
        """The storage itself if its memory is the CPU's, else a copy there."""
        return self if self.device.type == "cpu" else self._on(self.memory.cpu())

    @classmethod
    def _on(cls, memory: Tensor) -> Self:
        """A storage of this kind on other memory."""
        made = object.__new__(cls)
        made.memory = memory
        return made

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        self._refuse_looks("__getitem__")
        if isinstance(index, slice):
            return self._on(self.memory[index])
        self._refuse_meta("[]")
        return _tensor_of(self)[index].item()

    def _refuse_meta(self, name: str) -> None:
        """Refuse to look at elements that there are none of."""
        if self.device.type == "meta":
            raise NotImplementedError(
                f"Not available: {type(self).__name__}{name} of the device meta, which has no data"
            )

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse_looks("__setitem__")
        if isinstance(value, UntypedStorage):
            value = value.memory
        elif isinstance(value, list | tuple):
            value = new_tensor(value, dtype=self.memory.dtype)
        _tensor_of(self)[index] = value

    def as_elements(self, kind: dtype | None) -> Any:
        """The bytes as an array of a data type, int64 if none is asked for, in the same memory."""
        kind = dtypes.int64 if kind is None else kind
        whole = self.size() // kind.itemsize * kind.itemsize
        return self.memory[:whole].numpy_array().view(kind.numpy_dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy_backend.xp.array(self.memory.numpy_array(), dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage) or self.device != other.device:
            return False
        if self.device.type == "meta":
            return memory_of(self.memory).owner is memory_of(other.memory).owner
        return self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            array = self.memory.array
            shared = type(array) is NDARRAY and array.size and not current().modes
            memory = Tensor(copied_memory(array, memo), AS_IS) if shared else None
            memo[id(self)] = self.clone() if memory is None else self._on(memory)
        return memo[id(self)]

    def __repr__(self) -> str:
        elements = "..."
        if self.device.type != "meta":
            elements = "\n".join(f" {element}" for element in self.tolist())
        return f"{elements}\n[torch.storage.{self._facts()} of size {self.size()}]"

    def _facts(self) -> str:
        """What is printed of it besides its size."""
        return f"UntypedStorage(device={self.device})"


class TypedStorage(UntypedStorage):
    """The elements that a tensor and its views show."""

    of_type: dtype | None = None  # that of every instance of a class such as FloatStorage
    loaded: Any = None  # what is known of one in a file, whose memory waits until it is asked for

    def __init__(self, source: Any = 0, *, dtype: Any = None, device: Any = None) -> None:
        kind = self.of_type or dtype or getattr(source, "dtype", None) or get_default_dtype()
        self.memory = _reread(_elements(source, kind, device), kind)
        self.shown_by = _shower(source)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> Self:
        """The first elements of a file; see UntypedStorage."""
        kind = cls.of_type or get_default_dtype()
        made = cls._on(_reread(_mapped(filename, shared, size * kind.itemsize), kind))
        made.filename = filename if shared else None
        return made

    @classmethod
    def of_file(cls, loaded: Any) -> Self:
        """What a file holds; tensors on it say of which type its elements are, if it does not."""
        made = cls.__new__(cls)
        made.loaded = loaded
        return made

    def __getattr__(self, name: str) -> Any:
        if name != "memory" or self.loaded is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        self.memory = self.loaded.elements(self.loaded.kind.dtype or uint8)
        return self.memory

    @property
    def dtype(self) -> Any:
        """The data type of the elements."""
        return self.memory.dtype

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self.untyped()

    def _facts(self) -> str:
        """See UntypedStorage."""
        return f"TypedStorage(dtype=torch.{self.dtype.name}, device={self.device})"

    def as_elements(self, kind: dtypes.dtype | None) -> Any:
        """The elements as an array, in the same memory."""
        if kind not in (None, self.dtype):
            raise RuntimeError(
                f"the storage holds {self.dtype}, not {kind}; make the tensor of it without a "
                "dtype, then convert it with .to()"
            )
        return self.memory.numpy_array()

    def pickle_storage_type(self) -> str:
        """The name of the class of storages of this data type."""
        return STORAGE_NAMES[self.dtype]

    def type(self, dtype: Any = None) -> Any:
        """The name of the type, torch.FloatStorage; or the elements converted to another."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        kind = dtype if isinstance(dtype, dtypes.dtype) else dtype.of_type
        return self if kind is self.dtype else TypedStorage(self.memory.to(kind))


Shown.kind = TypedStorage


def storage_of(tensor: Tensor, refusal: str | None) -> UntypedStorage:
    """The storage of a tensor: the same for its views, and as long as one that was asked lives."""
    array = _origin(tensor)
    found = _of_arrays.get(id(array))
    if found is None or found.origin is not array:
        found = UntypedStorage(tensor if refusal is None else Tensor(tensor.array, AS_IS))
        found.refusal = refusal
    _keep(found, tensor)
    found.shown_by = tensor if refusal is None else None
    return found


def _origin(tensor: Tensor) -> Any:
    """The array that has the memory of a tensor."""
    whole = tensor.whole_array()
    return tensor.current_array() if whole is None else whole


def _keep(storage: UntypedStorage, tensor: Tensor) -> None:
    """Have a storage as that of a tensor's memory."""
    storage.origin = _origin(tensor)  # held, so that no other array has its id
    _of_arrays[id(storage.origin)] = storage
    for holder in (tensor, _base(tensor)):
        if holder is None:
            continue
        if id(holder) not in _of_tensors:
            weakref.finalize(holder, _of_tensors.pop, id(holder), None).atexit = False
        _of_tensors[id(holder)] = storage


def _base(tensor: Tensor) -> Any:
    """The tensor that a view shows; None if it is none."""
    return None if tensor.extras is None else tensor.extras.base


def _mapped(filename: str, shared: bool, size: int) -> Tensor:
    """The first bytes of a file, read when they are looked at."""
    try:
        file = Path(filename).open("a+b" if shared else "rb")  # noqa: SIM115  closed below
    except OSError as error:
        raise RuntimeError(f"from_file(): {filename!r} can't be opened: {error}") from error
    with file:
        found = file.seek(0, io.SEEK_END)
        if found < size and not shared:
            raise RuntimeError(
                f"from_file(): {filename!r} has {found} bytes, {size} are wanted; ask for fewer, "
                "or for shared=True, which makes the file longer"
            )
        if found < size:
            file.truncate(size)
        if not size:
            return zeros(0, dtype=uint8)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return frombuffer(mmap.mmap(file.fileno(), size, access=access), dtype=uint8)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The first elements of a file as a tensor of the CPU; see UntypedStorage.from_file."""
    kind = dtype or get_default_dtype()
    mapped = _reread(_mapped(filename, bool(shared), size * kind.itemsize), kind)
    return mapped.requires_grad_(requires_grad)


def _tensor_of(storage: UntypedStorage) -> Any:
    """The elements as a tensor: one that modes have seen, if there are any."""
    if not current().modes:
        return storage.memory
    blank: Any = empty(0, dtype=storage.memory.dtype, device=storage.device)
    return blank.set_(storage) if blank.layer is None else storage.memory.detach()


def _shower(source: Any) -> Tensor | None:
    """The tensor that shows the memory of a new storage."""
    if isinstance(source, UntypedStorage):
        return source.shown_by
    return source if isinstance(source, Tensor) else None


def _show(tensor: Any, memory: Any) -> None:
    """Let a tensor show other memory in the same pattern; nothing, if there is too little."""
    elements: Any = _reread(memory, tensor.dtype)
    steps = _emptied.get(id(tensor.array), tensor.stride())
    shape, offset = tensor.shape, tensor.storage_offset()
    reach = 1 + offset + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if 0 in shape or reach <= elements.numel():
        tensor.data = elements.as_strided(shape, steps, offset)
        return
    nothing = numpy_backend.xp.broadcast_to(zeros(1, dtype=tensor.dtype).array, tuple(shape))
    _emptied[id(nothing)] = steps
    weakref.finalize(nothing, _emptied.pop, id(nothing))
    tensor.data = Tensor(nothing, AS_IS)


def _elements(source: Any, kind: dtype, where: Any) -> Tensor:
    """The memory of a new storage: that of a tensor or storage, or new."""
    if isinstance(source, UntypedStorage):
        source = source.memory
    if isinstance(source, Tensor):
        return _memory(source)
    with _unseen():
        if isinstance(source, SupportsIndex):
            return zeros(operator.index(source), dtype=kind, device=where)
        return new_tensor(list(source), dtype=kind, device=where)


def _convert(kind: dtype) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        converted: TypedStorage = self.type(kind)
        return converted

    convert.__doc__ = f"The elements as {kind.name}."
    return convert


class _TypedKind(type):
    """The class of torch.FloatStorage: a storage is an instance if its elements are of the type."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = vars(cls)["of_type"]
        return isinstance(instance, TypedStorage) and instance.dtype is kind


CLASSES: dict[str, Any] = {}
STORAGE_NAMES = {kind: f"{name}Storage" for name, kind in DTYPE_NAMES.items() if kind is not None}
for _kind, _name in STORAGE_NAMES.items():
    CLASSES[_name] = _TypedKind(_name, (TypedStorage,), {"of_type": _kind})
    _word = _name.removesuffix("Storage").lower().replace("complex", "complex_")
    setattr(TypedStorage, _word, _convert(_kind))


def _dtype_to_storage_type_map() -> dict[dtype, str]:
    """The names of the classes of storages by data type."""
    return dict(STORAGE_NAMES)


def elements_for(tensor: Tensor, storage: UntypedStorage) -> Tensor:
    """The memory of a storage as a tensor of another's data type."""
    if isinstance(storage, TypedStorage) and storage.dtype is not tensor.dtype:
        wanted = STORAGE_NAMES.get(tensor.dtype, tensor.dtype.name)
        raise RuntimeError(f"Expected a Storage of type {wanted}, got {storage.type()}")
    return _reread(storage.memory, tensor.dtype)


def is_storage(obj: Any) -> bool:
    """Whether obj is a storage."""
    return isinstance(obj, UntypedStorage)


def _load_from_bytes(b: bytes) -> TypedStorage:
    """The storage in a file that a pickle of PyTorch's holds; pickles are trusted."""
    found: TypedStorage = load_file(io.BytesIO(b), Placement(None), pickle, "utf-8")
    return found
