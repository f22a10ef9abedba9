"""torch.save and torch.load: objects in pickles.

What save writes is adjoint's own: a plain pickle. load reads that, and what PyTorch has written.
"""

import io
import os
import pickle
from pathlib import Path
from typing import Any, BinaryIO

from adjoint.compat import torch_files
from adjoint.compat.unpickling import WeightsUnpickler
from adjoint.device import device
from adjoint.tensor import Tensor


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
    """Read what was saved, here or by PyTorch; only tensors unless weights_only is False."""
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            return load(file, map_location, pickle_module, weights_only=weights_only)
    if _start(f) == torch_files.START:
        found = torch_files.load_archive(f, weights_only is not False)
    elif weights_only is False:
        found = (pickle_module or pickle).load(f)
    else:
        found = WeightsUnpickler(f).load()
    return found if map_location is None else _moved(found, map_location)


def _start(file: BinaryIO) -> bytes:
    """The first bytes from here on, still to be read."""
    start = file.read(len(torch_files.START))
    file.seek(-len(start), io.SEEK_CUR)
    return start


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
