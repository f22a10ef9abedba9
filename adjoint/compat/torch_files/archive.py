"""Reads the files that PyTorch itself saves: a zip of a pickle and of one file a storage."""

import enum
import pickle
import sys
import zipfile
from typing import Any, BinaryIO

from adjoint import dtypes
from adjoint.backends.numpy import numpy_backend
from adjoint.compat.tensor_types import CPU_TYPES
from adjoint.compat.torch_files.unpickling import WeightsUnpickler
from adjoint.nn import Parameter
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor

START = b"PK\x03\x04"  # how such a file begins

_numpy = numpy_backend.xp


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


def _default_order() -> str:
    if _Settings.order is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _Settings.order is LoadEndianness.BIG else "little"


class _Storage:
    """The elements of a storage; an untyped one is bytes until a tensor shows it."""

    def __init__(self, content: bytes, dtype: Any, swapped: bool) -> None:
        self.content = bytearray(content)  # writable, and shared by all tensors on it
        self.dtype = dtype
        self.swapped = swapped  # still in the other order of bytes

    def elements(self, dtype: Any) -> Any:
        found = _numpy.frombuffer(self.content, dtype=(dtype or self.dtype).numpy_dtype)
        if self.swapped:
            found.byteswap(inplace=True)
            self.swapped = False
        return found


def _tensor(
    storage: _Storage, offset: int, size: Any, stride: Any, requires_grad: bool, *rest: Any
) -> Any:
    return _shown(storage, storage.dtype, offset, size, stride, requires_grad)


def _tensor_of_type(
    storage: _Storage,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    hooks: Any,
    dtype: Any,
    *rest: Any,
) -> Any:
    return _shown(storage, dtype, offset, size, stride, requires_grad)


def _shown(
    storage: _Storage, dtype: Any, offset: int, size: Any, stride: Any, requires_grad: bool
) -> Any:
    """A tensor on a storage's elements."""
    elements = storage.elements(dtype)
    steps = tuple(step * elements.itemsize for step in stride)
    array = _numpy.lib.stride_tricks.as_strided(elements[offset:], tuple(size), steps)
    made = Tensor(array)
    return made.requires_grad_() if requires_grad else made


def _parameter(data: Tensor, requires_grad: bool, *rest: Any) -> Any:
    return Parameter(data, requires_grad)


_NAMES: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor_of_type,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch", "Size"): Size,
    ("torch.storage", "UntypedStorage"): None,
    **{("torch", dtype.name): dtype for dtype in dtypes.ALL},
    **{
        ("torch", f"{name.removesuffix('Tensor')}Storage"): kind.dtype
        for name, kind in CPU_TYPES.items()
    },
    ("torch", "ComplexFloatStorage"): dtypes.complex64,
    ("torch", "ComplexDoubleStorage"): dtypes.complex128,
}


class TorchUnpickler(WeightsUnpickler):
    """Makes adjoint's tensors of PyTorch's."""

    def __init__(self, archive: zipfile.ZipFile, folder: str, weights_only: bool) -> None:
        super().__init__(archive.open(f"{folder}/data.pkl"))
        self.archive, self.folder, self.weights_only = archive, folder, weights_only
        said = f"{folder}/byteorder"
        found = said in archive.namelist()
        self.swapped = (archive.read(said).decode() if found else _default_order()) != sys.byteorder
        self.storages: dict[str, _Storage] = {}

    def persistent_load(self, saved_id: Any) -> _Storage:
        """A storage, by the name of its file."""
        _, dtype, key, _, _ = saved_id
        if key not in self.storages:
            content = self.archive.read(f"{self.folder}/data/{key}")
            self.storages[key] = _Storage(content, dtype, self.swapped)
        return self.storages[key]

    def find_class(self, module_name: str, global_name: str) -> Any:
        """What adjoint has in place of a name of PyTorch's."""
        if (module_name, global_name) in _NAMES:
            return _NAMES[module_name, global_name]
        if self.weights_only:
            return super().find_class(module_name, global_name)
        top, dot, rest = module_name.partition(".")
        home = f"adjoint.compat.torch{dot}{rest}" if top == "torch" else module_name
        return pickle.Unpickler.find_class(self, home, global_name)


def load_archive(file: BinaryIO, weights_only: bool) -> Any:
    """What is in such a file."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        folder = names[0].partition("/")[0]
        return TorchUnpickler(archive, folder, weights_only).load()
