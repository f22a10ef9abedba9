"""torch.serialization: objects in pickles, by torch.save and torch.load.

What save writes is adjoint's own: a plain pickle. load reads that, and what PyTorch has written.
"""

import io
import os
import pickle
import warnings
from pathlib import Path
from typing import Any, BinaryIO

from adjoint.compat.torch_files.archive import (
    START,
    LoadEndianness as LoadEndianness,
    get_default_load_endianness as get_default_load_endianness,
    load_archive,
    set_default_load_endianness as set_default_load_endianness,
)
from adjoint.compat.torch_files.safe_globals import (
    add_safe_globals as add_safe_globals,
    clear_safe_globals as clear_safe_globals,
    get_safe_globals as get_safe_globals,
    safe_globals as safe_globals,
)
from adjoint.compat.torch_files.unpickling import WeightsUnpickler
from adjoint.device import device
from adjoint.tensors.tensor import Tensor


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object and the tensors in it to a file or to a path.

    The last two choose between forms of PyTorch's own files, and mean nothing here.
    """
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("wb") as file:
            pickle_module.dump(obj, file, max(pickle_protocol, 5))
        return
    _check_file(f, "write")
    pickle_module.dump(obj, f, max(pickle_protocol, 5))


def _check_file(f: Any, *methods: str) -> None:
    for method in methods:
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}': expected a path, or a "
                f"file with {', '.join(methods)}"
            )


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
    _check_file(f, "read", "readline", "seek", "tell")
    if _start(f) == START:
        found = load_archive(f, _careful(weights_only, pickle_module))
    elif _careful(weights_only, pickle_module):
        found = WeightsUnpickler(f).load()
    else:
        found = (pickle_module or pickle).load(f)
    return found if map_location is None else _moved(found, map_location)


def _careful(weights_only: bool | None, pickle_module: Any) -> bool:
    """Whether to read tensors alone: by the argument, or else by what the environment says."""
    forced, waived = (
        os.environ.get(f"TORCH_FORCE_{name}_LOAD", "").lower() in ("1", "y", "yes", "true")
        for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")
    )
    if forced and waived:
        raise RuntimeError(
            "TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD are both set"
        )
    careful = forced or (pickle_module is None if weights_only is None else weights_only)
    if waived and weights_only is None:
        warnings.warn(
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set, forcing weights_only=False", stacklevel=3
        )
        return False
    if careful and pickle_module is not None:
        raise RuntimeError(
            "torch.load: with a pickle_module of one's own no file can be read safely; give "
            "weights_only=False if you trust this one"
        )
    return careful


def _start(file: BinaryIO) -> bytes:
    """The first bytes from here on, still to be read."""
    start = file.read(len(START))
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
