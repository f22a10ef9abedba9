"""Writes files as PyTorch does, which PyTorch reads: an archive, or one of those from before 1.6.

Tensors are written under PyTorch's names, on storages: the memory of the array that owns theirs, so
that views share it again when they are loaded.
"""

import codecs
import inspect
import io
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, BinaryIO, ClassVar, NamedTuple, cast

from adjoint._base import HookTable
from adjoint.autograd.hooks import warn_if_has_hooks
from adjoint.backends import backend_of
from adjoint.backends.namespace import ordered_strides
from adjoint.backends.numpy import numpy_backend
from adjoint.compat.torch_files.locations import location_tag
from adjoint.compat.torch_files.reading import MAGIC_NUMBER, PROTOCOL_VERSION
from adjoint.compat.torch_files.storages import KIND_NAMES
from adjoint.compat.torch_files.unpickling import Shown
from adjoint.creation.sparse import taken_apart
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.nn.parameter import Parameter
from adjoint.ops.sparse.layers import Sparse, sparse_of
from adjoint.tensors.pickling import state_of
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import AS_IS, Tensor, value_readable

_FOLDER = "archive"
_ALIGNMENT = 64  # storages begin at multiples of it, so that they can be mapped into memory
_LOCAL_HEADER = 30  # bytes of a zip entry's header without its name and extra fields
_WIDE_HEADER = 20  # bytes that lengths of more than 32 bits take in it
_PADDING = 0x4246  # the extra field that PyTorch fills with nothing
_LONGEST = (1 << 31) - 1
_SHORT_DATE = (1980, 1, 1, 0, 0, 0)
_UNTYPED = ("torch.storage", "UntypedStorage")

_numpy = numpy_backend.xp


class _Name:
    """Something that PyTorch has under a name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        """Called where the file is read; pickle wants to see that it can be."""


class _Stored(NamedTuple):
    """The memory of one or more tensors."""

    key: str
    content: Any  # a flat array
    dtype: dtype
    location: str

    @property
    def is_typed(self) -> bool:
        return self.dtype in KIND_NAMES


class _Storages:
    """The memory of all tensors in a file, each piece once."""

    def __init__(self) -> None:
        self.stored: list[_Stored] = []
        self._owners: dict[int, tuple[_Stored, Any]] = {}

    def place(self, tensor: Any) -> tuple[_Stored, int, tuple[int, ...]]:
        """The storage of a tensor, and its offset and strides there."""
        array = tensor.concrete_array()
        found = _in_owner(array)
        if found is None:
            alone = _numpy.ascontiguousarray(backend_of(array).to_numpy(array))
            return self._add(alone.reshape(-1), tensor), 0, ordered_strides(alone.shape)
        owner, start, strides = found
        if id(owner) not in self._owners:
            content = owner.ravel(order="K").view(array.dtype)
            self._owners[id(owner)] = self._add(content, tensor), owner
        stored, _ = self._owners[id(owner)]
        if stored.dtype is not tensor.dtype and (stored.is_typed or tensor.dtype in KIND_NAMES):
            raise RuntimeError(
                f"torch.save: tensors of {stored.dtype.name} and {tensor.dtype.name} show the same "
                "memory, which the format can't hold; save a clone() of one of them"
            )
        return stored, start, strides

    def whole(self, storage: Any) -> _Stored:
        """What a storage shows, of which tensors may be in the file as well."""
        if storage.refusal is not None:
            raise RuntimeError(f"torch.save: {storage.refusal}")
        stored, start, _ = self.place(storage.memory)
        if start or stored.content.nbytes != storage.nbytes():  # a part of what others show
            array = storage.memory.concrete_array()
            stored = self._add(backend_of(array).to_numpy(array), storage.memory)
        return stored

    def _add(self, content: Any, tensor: Any) -> _Stored:
        made = _Stored(str(len(self.stored)), content, tensor.dtype, location_tag(tensor))
        self.stored.append(made)
        return made


def _in_owner(array: Any) -> tuple[Any, int, tuple[int, ...]] | None:
    """The array that has an array's memory, and where in it that lies; None if it can't be said."""
    backend = backend_of(array)
    if backend is not numpy_backend or array.size == 0:
        return None
    owner, start, strides, _ = backend.xp.memory(array)
    width = array.itemsize
    reach = sum((n - 1) * step for n, step in zip(owner.shape, owner.strides))
    dense = reach + owner.itemsize == owner.nbytes and min(owner.strides, default=0) >= 0
    distance = backend.xp.address(array) - backend.xp.address(owner)
    whole = owner.nbytes % width == distance % width == 0
    if not dense or not whole or min(strides, default=0) < 0:
        return None
    return owner, start, strides


class _Layout(NamedTuple):
    """The layout of a tensor, which PyTorch writes by its name."""

    name: str


# The pickler in C can't write names it does not know; of this one typeshed knows too little.
_PythonPickler: Any = pickle._Pickler  # noqa: SLF001


class _Pickler(_PythonPickler):  # type: ignore[misc]  # the same
    """Writes tensors, data types and the like under PyTorch's names."""

    def __init__(self, file: Any, protocol: int, storages: _Storages, older: bool) -> None:
        super().__init__(file, protocol)
        self.storages, self.older = storages, older
        self.names: dict[tuple[str, str], _Name] = {}

    def named(self, module: str, name: str) -> _Name:
        """A name, always the same object, so that it is written once."""
        return self.names.setdefault((module, name), _Name(module, name))

    def persistent_id(self, obj: Any) -> Any:
        """How a storage is written."""
        if Shown.kind is not None and isinstance(obj, Shown.kind.__base__):
            obj = self.storages.whole(obj)
        if not isinstance(obj, _Stored):
            return None
        module, name = KIND_NAMES.get(obj.dtype, _UNTYPED)
        count = obj.content.size if obj.is_typed else obj.content.nbytes
        described = ("storage", self.named(module, name), obj.key, obj.location, count)
        return (*described, None) if self.older else described

    def reducer_override(self, obj: Any) -> Any:
        """How the types are written that PyTorch has as well."""
        if isinstance(obj, Tensor):
            return self.tensor(obj)
        kind = type(obj)
        if kind is _Layout:
            return self.named("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
        if kind is Size:
            return self.named("torch", "Size"), (tuple(obj),)
        if kind is device:
            place = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return self.named("torch", "device"), place
        if kind is bytes and not obj and self.proto < 3:
            return codecs.encode, ("", "latin1")  # as others are; PyTorch can't read pickle's way
        if kind is HookTable:
            return OrderedDict, (), None, None, iter(obj.items())
        return NotImplemented

    def tensor(self, tensor: Any) -> Any:
        """How a tensor is written."""
        kind: Any = type(tensor)
        reduces, own = inspect.unwrap(kind.__reduce_ex__), inspect.unwrap(Tensor.__reduce_ex__)
        if kind is not Parameter and reduces is not own:
            return NotImplemented  # it has a way of its own
        state = state_of(tensor)
        if kind is Parameter:
            return self.parameter(tensor, state)
        warn_if_has_hooks(tensor)
        layer = sparse_of(tensor)
        if layer is not None:
            return self.named("torch._utils", "_rebuild_sparse_tensor"), self.apart(layer)
        make, arguments = self.on_storage(tensor, tensor.requires_grad)
        if kind is Tensor and not state:
            return make, arguments
        shown = self.named("torch", "Tensor") if kind is Tensor else kind
        rebuild = self.named("torch._tensor", "_rebuild_from_type_v2")
        return rebuild, (make, shown, arguments, state)

    def apart(self, layer: Sparse) -> tuple[Any, Any]:
        """What PyTorch makes a sparse tensor of: its layout, then indices, values and sizes."""
        name, parts, size, coalesced = taken_apart(layer)
        marks = (coalesced,) if name == "sparse_coo" else ()
        return _Layout(name), (*parts, Size(size), *marks)

    def parameter(self, tensor: Any, state: dict[str, Any]) -> Any:
        """How a parameter is written."""
        data = tensor.detach()
        if type(data) is not Tensor:
            data = Tensor(tensor.concrete_array(), AS_IS)
        arguments: tuple[Any, ...] = (data, tensor.requires_grad, OrderedDict())
        if not state:
            return self.named("torch._utils", "_rebuild_parameter"), arguments
        name = "_rebuild_parameter_with_state"
        return self.named("torch._utils", name), (*arguments, state)

    def on_storage(self, tensor: Any, requires_grad: bool) -> tuple[Any, tuple[Any, ...]]:
        """What makes a tensor on its storage; some have none."""
        wraps = tensor.layer is not None and tensor.layer.wraps
        if wraps and not value_readable(tensor):  # what its class holds is among its attributes
            looks = (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
            arguments = (type(tensor), *looks, _Layout("strided"), tensor.device, requires_grad)
            return self.named("torch._utils", "_rebuild_wrapper_subclass"), arguments
        if tensor.is_meta:
            made = self.named("torch._utils", "_rebuild_meta_tensor_no_storage")
            return made, (tensor.dtype, tuple(tensor.shape), tensor.stride(), requires_grad)
        stored, start, strides = self.storages.place(tensor)
        hooks: OrderedDict[int, Any] = OrderedDict()
        layout = (stored, start, tuple(tensor.shape), strides, requires_grad, hooks)
        if stored.is_typed:
            return self.named("torch._utils", "_rebuild_tensor_v2"), layout
        return self.named("torch._utils", "_rebuild_tensor_v3"), (*layout, tensor.dtype)

    def save_name(self, obj: _Name) -> None:
        """Write a name."""
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj: dtype) -> None:
        """Write a data type."""
        self.write(pickle.GLOBAL + f"torch\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch: ClassVar[dict[type, Callable[..., Any]]] = {
        **_PythonPickler.dispatch,
        _Name: save_name,
        dtype: save_dtype,
    }


def _pickled(obj: Any, protocol: int, older: bool) -> tuple[bytes, list[_Stored]]:
    """The pickle of an object, and the storages it asks for."""
    storages, file = _Storages(), io.BytesIO()
    _Pickler(file, protocol, storages, older).dump(obj)
    return file.getvalue(), storages.stored


def _bytes_of(stored: _Stored) -> Any:
    return stored.content.view("uint8").data


# ---- archives ----


class _Onward:
    """A file that is only ever written to at its end: it need not be at its beginning, nor seek."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write

    def flush(self) -> None:
        """Left to the file's owner."""


def archive_writer(obj: Any, protocol: int, says_order: bool) -> Callable[[BinaryIO], None]:
    """What writes an object as an archive; its pickle is already made, and can't fail any more."""
    program, stored = _pickled(obj, protocol, older=False)

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(cast("BinaryIO", _Onward(file)), "w") as archive:
            _add(archive, "data.pkl", program)
            _add(archive, ".format_version", b"1")
            _add(archive, ".storage_alignment", str(_ALIGNMENT).encode())
            if says_order:
                _add(archive, "byteorder", sys.byteorder.encode())
            for one in stored:
                _add(archive, f"data/{one.key}", _bytes_of(one))
            _add(archive, "version", b"3\n")

    return write


def _add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    """Add an entry whose content begins at a multiple of the alignment."""
    entry = zipfile.ZipInfo(f"{_FOLDER}/{name}", _SHORT_DATE)
    length = len(content)
    wide = length > _LONGEST
    start = archive.start_dir + _LOCAL_HEADER + len(entry.filename) + 4
    padding = -(start + wide * _WIDE_HEADER) % _ALIGNMENT
    entry.extra = struct.pack("<HH", _PADDING, padding) + b"Z" * padding
    entry.file_size = length
    with archive.open(entry, "w", force_zip64=wide) as file:
        file.write(content)


# ---- older files ----


def older_writer(obj: Any, protocol: int) -> Callable[[BinaryIO], None]:
    """What writes an object as PyTorch did before 1.6; its pickle is already made."""
    program, stored = _pickled(obj, protocol, older=True)
    machine = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }

    def write(file: BinaryIO) -> None:
        head = (MAGIC_NUMBER, PROTOCOL_VERSION, machine)
        file.write(b"".join(pickle.dumps(value, protocol) for value in head))
        file.write(program)
        file.write(pickle.dumps([one.key for one in stored], protocol))
        for one in stored:
            count = one.content.size if one.is_typed else one.content.nbytes
            file.write(struct.pack("<q", count))
            swapped = one.content if sys.byteorder == "little" else one.content.byteswap()
            file.write(swapped.view("uint8").data)

    return write
