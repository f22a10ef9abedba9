"""save and load: tensors and what goes with them in one safetensors file, without pickle.

Every program that reads safetensors finds the tensors under their dotted paths. How they lie in
dicts and lists, and all that is no tensor, is a text in the file's metadata, which only load reads
(adjoint/saving/objects.py). docs/notes/saving.md shows both.
"""

import contextlib
import io
import json
import mmap as memory_map
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from adjoint.device import device
from adjoint.saving.objects import Reader, Writer, restored
from adjoint.saving.safetensors_files import (
    BEGINNING,
    Contents,
    Entry,
    is_safetensors,
    mapped_tensor,
    read_bytes,
    read_contents,
    read_tensor,
    write,
)
from adjoint.tensors.tensor import Tensor

_STRUCTURE = "adjoint"  # where in the metadata the text is
_FORMAT = {"format": "pt"}  # names and layouts are PyTorch's; some programs ask for it

FilePath = str | os.PathLike[str]


def save(obj: Any, f: FilePath | BinaryIO) -> None:
    """Write an object to a path or an open file: tensors in nested containers with plain values.

    A path gets the new file only once it is complete: a failure leaves the old one whole. Tensors
    that share memory, such as tied weights, are stored once, and share it again when loaded.
    """
    writer = Writer(obj)
    metadata = {
        **writer.aliases(),
        **_FORMAT,
        _STRUCTURE: json.dumps(writer.text, separators=(",", ":")),
    }
    if isinstance(f, str | os.PathLike):
        with _replacing(Path(f)) as file:
            write(file, writer.stored, metadata)
    else:
        write(f, writer.stored, metadata)


def load(
    f: FilePath | BinaryIO,
    map_location: Any = None,
    weights_only: bool = True,
    *,
    mmap: bool = False,
) -> Any:
    """Read an object that save has written, or the tensors of any safetensors file, as a dict.

    `map_location` says where tensors go: a device, a dict from saved devices to others, or a
    function of a tensor on the CPU and its device. With `mmap` the file is read as tensors are
    used; changes to them don't reach it. No file can run code, whatever `weights_only` says.
    """
    if isinstance(f, str | os.PathLike):
        with Path(f).open("rb") as file:
            return _loaded(file, os.fspath(f), map_location, mmap)
    if mmap:
        raise ValueError("adjoint.load: mmap=True needs a path, got an open file")
    seekable = f if f.seekable() else io.BytesIO(f.read())
    return _loaded(seekable, str(getattr(f, "name", "the file")), map_location, False)


# ---- writing ----


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place at the end, unless something fails."""
    target = path.resolve()  # so that a link stays one
    if not target.parent.is_dir():
        raise FileNotFoundError(f"adjoint.save: there is no folder {target.parent} for {path.name}")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        with target.open("wb") as file:  # a device or a pipe can't be replaced
            yield file
        return
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


# ---- reading ----


def _loaded(file: BinaryIO, name: str, map_location: Any, mapped: bool) -> Any:
    origin = file.tell()
    size = file.seek(0, io.SEEK_END) - origin
    file.seek(origin)
    _check_kind(bytes(read_bytes(file, min(size, BEGINNING))), name)
    file.seek(origin)
    with _reading(name):
        contents = read_contents(file, size)
        reader = _reader_of(contents)
    if mapped and size:
        memory = memory_map.mmap(file.fileno(), 0, access=memory_map.ACCESS_COPY)
        fetch: Callable[[Entry], Tensor] = lambda entry: mapped_tensor(memory, entry)
    else:
        fetch = lambda entry: read_tensor(file, origin, entry)
    tensors = {}
    for key, entry in contents.entries.items():
        record = {} if reader is None else reader.stored[key]
        with _reading(name):
            tensor = restored(fetch(entry), record)
            saved_on = str(device(record.get("device", "cpu")))
        tensors[key] = _placed(tensor, key, saved_on, map_location)
    if reader is None:
        return {**tensors, **_tied(contents, tensors)}
    with _reading(name):
        return reader.object(tensors)


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    """Inside, what is wrong with a file is reported with its name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"adjoint.load: {name} can't be read: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError) as error:
        raise ValueError(
            f"adjoint.load: {name} can't be read: its structure is damaged ({error!r})"
        ) from error


def _check_kind(start: bytes, name: str) -> None:
    """Refuse other kinds of files by what they are."""
    if start[:4] == b"PK\x03\x04":
        raise ValueError(
            f"adjoint.load: {name} was written by PyTorch's torch.save: a zip file of pickles, "
            "which torch.load of adjoint.compat reads. Files of safetensors need no such thing."
        )
    if not is_safetensors(start):
        pickled = start[:1] == b"\x80"
        what = "a pickle, which can run any code when it is read" if pickled else "of another kind"
        raise ValueError(f"adjoint.load: {name} is no safetensors file but {what}")


def _reader_of(contents: Contents) -> Reader | None:
    """The structure that a file of save's has; None for files of other programs."""
    text = contents.metadata.get(_STRUCTURE)
    if text is None:
        return None
    reader = Reader(json.loads(text))
    if reader.stored.keys() != contents.entries.keys():
        differing = sorted(reader.stored.keys() ^ contents.entries.keys())
        raise ValueError(
            f"its tensors are not those of its structure: {', '.join(map(repr, differing))} "
            "missing or added"
        )
    return reader


def _tied(contents: Contents, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Second names of tensors, which PyTorch's safetensors.torch.save_model leaves out."""
    return {
        name: tensors[kept].shared()
        for name, kept in contents.metadata.items()
        if kept in tensors and name not in tensors and name not in _FORMAT
    }


def _placed(tensor: Any, key: str, saved_on: str, map_location: Any) -> Tensor:
    """A tensor where map_location wants it; without it, where it was when it was saved."""
    place = saved_on
    if isinstance(map_location, dict):
        place = map_location.get(saved_on, saved_on)
    elif callable(map_location):
        answer = map_location(tensor, saved_on)
        if isinstance(answer, Tensor):
            return answer
        if answer is not None:
            raise TypeError(
                f"adjoint.load: map_location answered {type(answer).__name__} for '{key}'; a "
                "Tensor, or None to put it where it was, is expected"
            )
    elif map_location is not None:
        place = map_location
    target = device(place)
    if target == tensor.device:
        return cast("Tensor", tensor)
    try:
        return cast("Tensor", tensor.to(target))
    except RuntimeError as error:
        raise RuntimeError(
            f"adjoint.load: '{key}' was saved on {saved_on} and can't be put on {target}: {error}. "
            "Pass map_location='cpu' to load it into main memory."
        ) from error
