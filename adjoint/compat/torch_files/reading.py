"""Reads the files that PyTorch saves: those of today, zip archives, and those from before 1.6.

An archive has a pickle and one entry for each storage. An older file is a row of pickles with the
storages behind them. All that a file says of lengths is checked before memory is taken for it.
"""

import contextlib
import io
import pickle
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from adjoint.compat.torch_files.rebuilding import NAMES, of_type
from adjoint.compat.torch_files.storages import (
    Placement,
    Storage,
    Wanted,
    default_order,
    wanted,
)
from adjoint.compat.torch_files.surveying import Names, Survey
from adjoint.compat.torch_files.unpickling import Shown, WeightsUnpickler, refusal
from adjoint.saving.safetensors_files import read_bytes
from adjoint.tensors.tensor import Tensor

ARCHIVE_START = b"PK\x03\x04"  # how an archive begins
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C  # the first pickle of an older file
PROTOCOL_VERSION = 1001  # the second
_PICKLE_START = b"\x80"

_EXPANSION = 16  # how many times its size a compressed entry may become
_PIECE = 1 << 24  # bytes that are read at once
_DAMAGED_ZIP = (
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def load_file(file: BinaryIO, place: Placement, pickle_module: Any, encoding: str) -> Any:
    """What is in a file; with a pickle_module it is trusted, and may do what it likes."""
    origin = file.tell()
    size = file.seek(0, io.SEEK_END) - origin
    file.seek(origin)
    start = file.read(len(ARCHIVE_START))
    file.seek(origin)
    if start == ARCHIVE_START:
        return _load_archive(file, size, place, pickle_module, encoding)
    if start[:1] == _PICKLE_START:
        return _load_older(file, size, place, pickle_module, encoding)
    raise RuntimeError(
        "torch.load: this is neither an archive nor an older file of torch.save's. Files of "
        "safetensors are read by adjoint.load; PyTorch's tar files, from before 0.1.10, by no one "
        "but PyTorch."
    )


def _unpickled(
    file: BinaryIO,
    room: int,
    persistent_load: Callable[[Any], Any],
    pickle_module: Any,
    encoding: str,
) -> Any:
    """The object of one pickle."""

    def found(saved_id: Any) -> Any:
        if encoding != "bytes" or type(saved_id) is not tuple:
            return persistent_load(saved_id)
        return persistent_load(tuple([_in_ascii(part) for part in saved_id]))

    if pickle_module is None:
        return WeightsUnpickler(file, room, NAMES, found, encoding).load()

    class TrustingUnpickler(pickle_module.Unpickler):  # type: ignore[misc]  # known when it runs
        def find_class(self, module_name: str, global_name: str) -> Any:
            if (module_name, global_name) in _TRUSTED:
                return _TRUSTED[module_name, global_name]
            top, dot, rest = module_name.partition(".")
            home = f"adjoint.compat.torch{dot}{rest}" if top == "torch" else module_name
            return super().find_class(home, global_name)

        def persistent_load(self, saved_id: Any) -> Any:
            return found(saved_id)

    return TrustingUnpickler(file, encoding=encoding).load()


def _in_ascii(part: Any) -> Any:
    return part.decode("ascii") if type(part) is bytes else part


_TRUSTED = {
    **NAMES,
    ("torch", "Tensor"): Tensor,
    ("torch._tensor", "_rebuild_from_type_v2"): of_type,
}


# ---- archives ----


class _Archive:
    """The entries of a zip file, of which no more is read than the file is long."""

    def __init__(self, zipped: zipfile.ZipFile, size: int) -> None:
        self.zipped, self.room = zipped, size
        self.entries = {entry.filename: entry for entry in zipped.infolist()}
        if len(self.entries) != len(zipped.infolist()):
            raise RuntimeError("torch.load: two entries of the archive have the same name")
        folders = {name.partition("/")[0] for name in self.entries if name.endswith("/data.pkl")}
        if len(folders) != 1:
            raise RuntimeError(
                "torch.load: a zip file, but none of torch.save's: it has no data.pkl"
            )
        (self.folder,) = folders
        if f"{self.folder}/constants.pkl" in self.entries:
            raise RuntimeError(
                "torch.load: this is a program of TorchScript, which adjoint can't run; save the "
                "state_dict() of the model instead"
            )

    def has(self, name: str) -> bool:
        return f"{self.folder}/{name}" in self.entries

    def read(self, name: str, expected: int | None = None) -> bytearray:
        """The content of an entry, which is of the length expected."""
        entry = self.entries.get(f"{self.folder}/{name}")
        if entry is None:
            raise refusal(f"the archive has no entry {name:.100}")
        packed, length = entry.compress_size, entry.file_size
        if expected is not None and length != expected:
            raise RuntimeError(
                f"torch.load: entry {name:.100} has {length} bytes instead of {expected}"
            )
        stored = entry.compress_type == zipfile.ZIP_STORED
        if not stored and entry.compress_type != zipfile.ZIP_DEFLATED:
            raise refusal(f"entry {name:.100} is packed in a way that is not read")
        if length > packed * (1 if stored else _EXPANSION) or packed > self.room:
            raise refusal(f"entry {name:.100} has {length} bytes, more than the file can hold")
        self.room -= packed
        found = bytearray()
        with self.zipped.open(entry) as content:
            while len(found) < length:
                piece = content.read(min(_PIECE, length - len(found)))
                if not piece:
                    raise refusal(f"entry {name:.100} ends too early")
                found += piece
        return found


class _Sought:
    """A file that has what torch.load asks for and no more: that it can be sought is known."""

    def __init__(self, file: BinaryIO) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell

    def seekable(self) -> bool:
        """Yes."""
        return True


@contextlib.contextmanager
def _reading_zip() -> Iterator[None]:
    """Inside, damage that zipfile finds is reported as what it is."""
    try:
        yield
    except _DAMAGED_ZIP as error:
        raise RuntimeError(f"torch.load: the archive is damaged ({error!r})") from error


def _load_archive(
    file: BinaryIO, size: int, place: Placement, pickle_module: Any, encoding: str
) -> Any:
    with contextlib.ExitStack() as cleanup:
        with _reading_zip():
            if not hasattr(file, "seekable"):
                file = cast("BinaryIO", _Sought(file))
            archive = _Archive(cleanup.enter_context(zipfile.ZipFile(file)), size)
            program = archive.read("data.pkl")
            order = archive.read("byteorder").decode() if archive.has("byteorder") else None
        if order not in (None, "little", "big"):
            raise refusal(f"the order of bytes is said to be {order!r:.100}")
        swapped = (order or default_order()) != sys.byteorder
        storages: dict[str, tuple[Wanted, Any]] = {}

        def persistent_load(saved_id: Any) -> Any:
            asked = wanted(saved_id)
            if asked.key not in storages:
                with _reading_zip():
                    content = archive.read(f"data/{asked.key}", asked.nbytes)
                made = Storage(content, asked.kind, asked.location, place, swapped)
                storages[asked.key] = asked, Shown.kind.of_file(made)
            first, found = storages[asked.key]
            if asked != first or asked.part is not None:
                raise refusal(f"storage {asked.key:.100} is described in two ways")
            return found

        room = len(program)
        return _unpickled(io.BytesIO(program), room, persistent_load, pickle_module, encoding)


def names_refused(file: BinaryIO) -> list[str]:
    """What an archive wants to use that is neither harmless nor allowed."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if file.read(len(ARCHIVE_START)) != ARCHIVE_START:
        raise ValueError("get_unsafe_globals_in_checkpoint: expected an archive of torch.save's")
    with _reading_zip(), zipfile.ZipFile(file) as zipped:
        program = _Archive(zipped, size).read("data.pkl")
    return Names(io.BytesIO(program), len(program), NAMES, lambda saved_id: None).load()


# ---- older files ----


class _Older:
    """A file from before there were archives."""

    def __init__(self, file: BinaryIO, size: int, place: Placement) -> None:
        self.file, self.end, self.place = file, file.tell() + size, place
        self.asked: dict[str, Wanted] = {}
        self.parts: dict[str, Wanted] = {}
        self.storages: dict[str, Any] = {}

    def room(self) -> int:
        return self.end - self.file.tell()

    def plain(self) -> Any:
        """The next pickle, which has nothing but numbers, texts, lists and dicts."""
        return WeightsUnpickler(self.file, self.room(), {}, _no_storages).load()

    def survey(self) -> None:
        """Find the storages that the next pickle asks for."""
        # Of any encoding: names of storages are in ASCII.
        Survey(self.file, self.room(), NAMES, self.note, "latin-1").load()

    def note(self, saved_id: Any) -> None:
        """Remember a storage to be read."""
        if type(saved_id) is tuple and type(saved_id[0]) is str and saved_id[0] == "module":
            return
        asked = wanted(saved_id)
        whole = asked._replace(part=None)
        if self.asked.setdefault(asked.key, whole) != whole:
            raise refusal(f"storage {asked.key:.100} is described in two ways")
        if asked.part and self.parts.setdefault(asked.part[0], asked) != asked:
            raise refusal(f"part {asked.part[0]:.100} of a storage is described in two ways")

    def read_storages(self) -> None:
        """Read all storages, which must be those asked for."""
        keys = self.plain()
        if type(keys) is not list or not all(type(key) is str for key in keys):
            raise refusal("the storages have no list of keys")
        if len(set(keys)) != len(keys) or set(keys) != self.asked.keys():
            raise refusal("the storages of the file are not those that its tensors are on")
        for key in keys:
            asked = self.asked[key]
            if self.room() < 8 + asked.nbytes:
                raise refusal(f"a storage of {asked.nbytes} bytes is longer than the file")
            count = int.from_bytes(read_bytes(self.file, 8), "little", signed=True)
            if count != asked.length:
                raise refusal(f"a storage has {count} elements instead of {asked.length}")
            content = read_bytes(self.file, asked.nbytes)
            swapped = sys.byteorder == "big"
            made = Storage(content, asked.kind, asked.location, self.place, swapped)
            self.storages[key] = Shown.kind.of_file(made)
        for key, asked in self.parts.items():
            if key in self.storages or asked.part is None:
                raise refusal(f"part {key:.100} of a storage has the key of another")
            part = self.storages[asked.key].loaded.part(*asked.part[1:])
            self.storages[key] = Shown.kind.of_file(part)

    def persistent_load(self, saved_id: Any) -> Any:
        """A storage that has been read."""
        asked = wanted(saved_id)
        return self.storages[asked.part[0] if asked.part else asked.key]


def _no_storages(saved_id: Any) -> Any:
    raise refusal("a storage is asked for where none can be")


def _load_older(
    file: BinaryIO, size: int, place: Placement, pickle_module: Any, encoding: str
) -> Any:
    older = _Older(file, size, place)
    try:
        magic = older.plain()
    except pickle.UnpicklingError:
        magic = None
    if type(magic) is not int or magic != MAGIC_NUMBER:
        raise RuntimeError(
            "torch.load: this is a pickle, but none of torch.save's. If you trust its source, read "
            "it with pickle.load."
        )
    version = older.plain()
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise RuntimeError(
            "torch.load: the file is of another version than 1001, which is not known"
        )
    older.plain()  # sizes of the types of the machine that saved it
    start = file.tell()
    older.survey()
    older.read_storages()
    end = file.tell()
    file.seek(start)

    def persistent_load(saved_id: Any) -> Any:
        if pickle_module is not None and saved_id[0] == "module":
            return saved_id[1]  # the source of a class stands beside it
        return older.persistent_load(saved_id)

    made = _unpickled(file, end - start, persistent_load, pickle_module, encoding)
    file.seek(end)
    return made
