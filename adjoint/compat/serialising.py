"""torch.save and torch.load: objects in pickles.

Files are adjoint's own: they hold arrays where PyTorch's hold storages, so that neither library
reads the other's.
"""

import io
import os
import pickle
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from adjoint.device import device
from adjoint.tensor import Tensor

_ZIP = b"PK"  # how PyTorch's files begin


class WeightsUnpickler(pickle.Unpickler):
    """Makes tensors and containers of them, and calls nothing else that a file may name."""

    ALLOWED: ClassVar[dict[str, set[str]]] = {
        "adjoint.pickling": {"rebuilt"},
        "adjoint.tensor": {"Tensor"},
        "adjoint.dtypes": {"by_name"},
        "adjoint.size": {"Size"},
        "adjoint.device": {"device"},
        "adjoint.nn.parameter": {"Parameter", "Buffer"},
        "collections": {"OrderedDict", "defaultdict", "Counter"},
        "builtins": {"set", "frozenset", "complex", "bytearray", "slice", "range"},
        "numpy": {"ndarray", "dtype"},
        "numpy._core.multiarray": {"_reconstruct", "scalar"},
        "numpy._core.numeric": {"_frombuffer"},
        "_codecs": {"encode"},
    }

    def find_class(self, module_name: str, global_name: str) -> Any:
        """A class or function that is known to be harmless."""
        if global_name not in self.ALLOWED.get(module_name, set()):
            raise pickle.UnpicklingError(
                f"torch.load: the file wants to use {module_name}.{global_name}, which need not be "
                "harmless. If you trust its source, load it with weights_only=False."
            )
        return super().find_class(module_name, global_name)


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2) -> None:
    """Write an object and the tensors in it to a file or to a path."""
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("wb") as file:
            pickle_module.dump(obj, file, max(pickle_protocol, 5))
        return
    pickle_module.dump(obj, f, max(pickle_protocol, 5))


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read what save wrote; unless weights_only is False, tensors and containers of them alone."""
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            return load(file, map_location, pickle_module, weights_only=weights_only)
    _refuse_foreign(f)
    if weights_only is False:
        found = (pickle_module or pickle).load(f)
    else:
        found = WeightsUnpickler(f).load()
    return found if map_location is None else _moved(found, map_location)


def _refuse_foreign(file: BinaryIO) -> None:
    start = file.read(len(_ZIP))
    file.seek(-len(start), io.SEEK_CUR)
    if start == _ZIP:
        raise RuntimeError(
            "torch.load: this is a file of PyTorch's own, which adjoint does not read; save the "
            "tensors with safetensors there, and load them here"
        )


def _moved(value: Any, where: Any) -> Any:
    """Tensors of nested containers on a device: one for all, or by a function or a table."""
    if isinstance(value, Tensor):
        target = where
        if callable(where):
            placed = where(value, str(value.device))
            return value if placed is None else placed
        if isinstance(where, dict):
            target = where.get(str(value.device), value.device)
        moved: Any = value
        return moved.to(device(target)).detach().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        for key in list(value):
            value[key] = _moved(value[key], where)
        return value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_moved(element, where) for element in value)
    return value
