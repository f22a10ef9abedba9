"""The safetensors format: a header in JSON that says where each tensor's bytes are, then the bytes.

The format is https://github.com/huggingface/safetensors. It is read and written here rather than by
its library so that files need nothing but NumPy, keep bfloat16, and can be mapped into memory. A
file may come from anywhere: all that its header claims is checked before a byte is used.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, BinaryIO, NamedTuple

from adjoint import dtypes
from adjoint.backends.numpy import numpy_backend
from adjoint.creation.factories import empty
from adjoint.creation.from_memory import frombuffer
from adjoint.dtypes import dtype
from adjoint.tensors.tensor import AS_IS, Tensor

METADATA = "__metadata__"
_LENGTH = 8  # bytes of the number that says how long the header is
BEGINNING = _LENGTH + 1  # bytes that tell whether it is such a file
_LONGEST_HEADER = 100_000_000
MOST_DIMENSIONS = 64
TOO_FAR = 1 << 63

_DTYPES: dict[str, Any] = {
    "BOOL": dtypes.bool_,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "U16": dtypes.uint16,
    "I16": dtypes.int16,
    "U32": dtypes.uint32,
    "I32": dtypes.int32,
    "U64": dtypes.uint64,
    "I64": dtypes.int64,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
    "C64": dtypes.complex64,
}
_CODES: dict[Any, str] = {kind: code for code, kind in _DTYPES.items() if kind is not None}


class Entry(NamedTuple):
    """Where a tensor is in a file, and what it is."""

    dtype: dtype
    shape: tuple[int, ...]
    start: int  # counted from the beginning of the file
    length: int


class Contents(NamedTuple):
    """What a file says of itself."""

    metadata: dict[str, str]
    entries: dict[str, Entry]


def holds(kind: dtype) -> bool:
    """Whether the format has a data type."""
    return kind in _CODES


def is_safetensors(start: bytes) -> bool:
    """Whether a file that begins so can be a safetensors file."""
    return start[_LENGTH:BEGINNING] == b"{"


# ---- writing ----


def write(file: BinaryIO, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write tensors, and words about them, to a file."""
    # The widest elements first: every tensor then begins at a multiple of its elements' size.
    names = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    places: dict[str, tuple[int, int]] = {}
    end = 0
    for name in names:
        start, end = end, end + tensors[name].dtype.itemsize * math.prod(tensors[name].shape)
        places[name] = (start, end)
    header: dict[str, Any] = {METADATA: metadata} if metadata else {}
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": _CODES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": list(places[name]),
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"adjoint.save: what is no tensor takes {len(text):,} bytes, and the format allows "
            f"{_LONGEST_HEADER:,}; save long bytes or lists of numbers as tensors"
        )
    file.write(len(text).to_bytes(_LENGTH, "little") + text)
    for name in names:
        array = numpy_backend.xp.ascontiguousarray(tensors[name].numpy_array())
        file.write(array.reshape(-1).view("uint8").data)


# ---- reading ----


def read_contents(file: BinaryIO, size: int) -> Contents:
    """The checked header of a file of so many bytes, which stands at its beginning."""
    length = int.from_bytes(read_bytes(file, _LENGTH), "little")
    if length > min(size - _LENGTH, _LONGEST_HEADER):
        raise ValueError(f"the header is said to be {length} bytes long, the file has {size}")
    try:
        header = json.loads(read_bytes(file, length), object_pairs_hook=_without_repetition)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError(f"{METADATA} of the header is no table of texts")
    begin = _LENGTH + length
    entries = {name: _entry(name, said, begin) for name, said in header.items()}
    _check_dense(entries.items(), begin, size)
    return Contents(metadata, entries)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no name comes twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in the header")
    return found


def _entry(name: str, said: Any, begin: int) -> Entry:
    """What the header says of one tensor, checked in itself."""
    if not isinstance(said, dict) or said.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor '{name}' is not described by dtype, shape and data_offsets")
    code, shape, offsets = said["dtype"], said["shape"], said["data_offsets"]
    if not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
        raise ValueError(f"tensor '{name}' has shape {shape!r} and data_offsets {offsets!r}")
    if len(shape) > MOST_DIMENSIONS or max((*shape, *offsets)) >= TOO_FAR:
        raise ValueError(f"tensor '{name}' has more dimensions or elements than any can have")
    kind = _DTYPES.get(code) if isinstance(code, str) else None
    if kind is None:
        if code == "BF16":
            raise ValueError(f"tensor '{name}' is bfloat16: pip install 'adjoint[bfloat16]'")
        raise ValueError(f"tensor '{name}' has data type {code!r}, which adjoint does not have")
    start, stop = offsets
    if stop - start != math.prod(shape) * kind.itemsize:
        raise ValueError(
            f"tensor '{name}' of shape {shape} and type {kind.name} can't be in bytes {start} to "
            f"{stop}"
        )
    return Entry(kind, tuple(shape), begin + start, stop - start)


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_dense(entries: Iterable[tuple[str, Entry]], begin: int, size: int) -> None:
    """Refuse tensors that overlap, bytes that belong to none, and a file that is cut off."""
    end = begin
    for name, entry in sorted(entries, key=lambda item: (item[1].start, item[1].length)):
        if entry.start != end:
            raise ValueError(f"tensor '{name}' begins at byte {entry.start} instead of {end}")
        end += entry.length
    if end != size:
        raise ValueError(f"the tensors end at byte {end}, the file at {size}")


def read_tensor(file: BinaryIO, origin: int, entry: Entry) -> Tensor:
    """A tensor in memory of its own, from a file whose contents begin at `origin`."""
    file.seek(origin + entry.start)
    return _on_memory(read_bytes(file, entry.length), entry, 0)


def read_bytes(file: Any, count: int) -> bytearray:
    """So many bytes of a file, which may give them in pieces; ValueError if it ends before."""
    data = bytearray(count)
    rest = memoryview(data)
    while rest:
        if hasattr(file, "readinto"):
            got = file.readinto(rest)
        else:
            piece = file.read(len(rest))
            got = len(piece)
            rest[:got] = piece
        if not got:
            raise ValueError("the file ends too early")
        rest = rest[got:]
    return data


def mapped_tensor(memory: Any, entry: Entry) -> Tensor:
    """A tensor on a file that is mapped into memory, read as it is used."""
    return _on_memory(memory, entry, entry.start)


def _on_memory(memory: Any, entry: Entry, start: int) -> Tensor:
    count = math.prod(entry.shape)
    if count == 0:
        return empty(entry.shape, dtype=entry.dtype, device="cpu")
    flat = frombuffer(memory, dtype=entry.dtype, count=count, offset=start)
    if entry.dtype is dtypes.bool_:
        normalise_bools(flat.array)
    return Tensor(flat.array.reshape(entry.shape), AS_IS)


def normalise_bools(array: Any) -> None:
    """Make every byte of an array of bools 0 or 1: NumPy relies on it when it counts."""
    content = array.view("uint8")
    if content.size and content.max() > 1:
        numpy_backend.xp.minimum(content, 1, out=content)
