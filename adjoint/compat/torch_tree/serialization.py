"""torch.serialization: objects in files as PyTorch has them, by torch.save and torch.load."""

import contextlib
import importlib
import mmap
import os
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import adjoint.compat.torch_tree.storage  # noqa: F401  # files may hold storages
from adjoint.compat.torch_files.locations import (
    default_restore_location as default_restore_location,
    location_tag as location_tag,
    register_package as register_package,
)
from adjoint.compat.torch_files.reading import load_file, names_refused
from adjoint.compat.torch_files.safe_globals import (
    add_safe_globals as add_safe_globals,
    clear_safe_globals as clear_safe_globals,
    get_safe_globals as get_safe_globals,
    safe_globals as safe_globals,
)
from adjoint.compat.torch_files.storages import (
    LoadEndianness as LoadEndianness,
    Placement,
    get_default_load_endianness as get_default_load_endianness,
    set_default_load_endianness as set_default_load_endianness,
)
from adjoint.compat.torch_files.writing import archive_writer, older_writer

DEFAULT_PROTOCOL = 2

_MAPPINGS = {getattr(mmap, name, None) for name in ("MAP_PRIVATE", "MAP_SHARED")} - {None}
_options: dict[str, Any] = {"crc32": True, "mapping": getattr(mmap, "MAP_PRIVATE", None)}


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object and the tensors in it to a file or to a path, as PyTorch does.

    The last two choose between forms: without the first, that from before 1.6.
    """
    if pickle_module is not pickle:
        raise NotImplementedError(
            f"torch.save: pickle_module is {pickle_module!r:.100}, but only Python's own pickle "
            "can write tensors under PyTorch's names"
        )
    if _use_new_zipfile_serialization:
        write = archive_writer(obj, pickle_protocol, not _disable_byteorder_record)
    else:
        write = older_writer(obj, pickle_protocol)
    if isinstance(f, (str, os.PathLike)):
        if not Path(f).parent.is_dir():
            raise RuntimeError(f"Parent directory {Path(f).parent} does not exist.")
        with Path(f).open("wb") as file:
            write(file)
        return
    _check_file(f, "write")
    write(f)


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
    encoding: str = "utf-8",
) -> Any:
    """Read what was saved, here or by PyTorch; only tensors unless weights_only is False.

    `encoding` is that of the strings of Python 2.
    """
    if isinstance(f, (str, os.PathLike)):
        with _opened(f) as file:
            options: dict[str, Any] = {"weights_only": weights_only, "encoding": encoding}
            return load(file, map_location, pickle_module, **options)
    _check_file(f, "read", "readline", "seek", "tell")
    careful = _careful(weights_only, pickle_module)
    trusted = None if careful else pickle_module or pickle
    return load_file(f, Placement(map_location), trusted, encoding)


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


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[Any]:
    """A file, or that of a path."""
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            yield file
    else:
        yield f


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names that a file wants to use and that loading weights alone would refuse."""
    with _opened(f) as file:
        return names_refused(file)


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages that torch has under the name of this one."""
    return getattr(importlib.import_module("adjoint.compat.torch"), storage_type.__name__)


def check_module_version_greater_or_equal(
    module: ModuleType, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether the version of a module is this one or newer; its parts are compared as given."""
    try:
        given = module.__version__.split(".")
        found = tuple(type(part)(own) for own, part in zip(given, req_version_tuple))
    except Exception as error:
        what = f"the version of {module} can't be compared with {req_version_tuple}"
        if error_if_malformed:
            raise RuntimeError(what) from error
        warnings.warn(f"{what}; it is taken to be new enough", stacklevel=2)
        return True
    return found >= req_version_tuple


# ---- settings of how files are written and mapped: remembered, they change nothing ----


def get_crc32_options() -> bool:
    """Whether checksums are wanted in files, which here have them always."""
    return bool(_options["crc32"])


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether checksums are wanted in files."""
    _options["crc32"] = compute_crc32


def get_default_mmap_options() -> int | None:
    """How files would be mapped into memory; here they are read."""
    return _options["mapping"]  # type: ignore[no-any-return]  # of one dict for all settings


class set_default_mmap_options:
    """Say how files would be mapped: from now on, or as a context until it ends."""

    def __init__(self, flags: int) -> None:
        if flags not in _MAPPINGS:
            raise ValueError(
                f"set_default_mmap_options: expected mmap.MAP_PRIVATE or MAP_SHARED, got {flags}"
            )
        self.prev, _options["mapping"] = _options["mapping"], flags

    def __enter__(self) -> None:
        """It holds already."""

    def __exit__(self, *exc: object) -> None:
        _options["mapping"] = self.prev
