"""Nested containers of tensors and plain values as text and a table of tensors, and back.

The text is JSON. A number, string, list, true, false or null stands for itself; everything else is
an object with one name that says what it is: `{"tuple": [1, 2]}`, `{"tensor": 0}`. The number of a
tensor is its place in a table that says under which key it is stored, and what else belongs to it.
Nothing in a text is ever run or imported: it can be read whoever wrote it.
"""

import base64
import math
from bisect import bisect_right, insort
from collections import Counter, OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import Any

from adjoint import dtypes
from adjoint.creation.factories import empty_strided, zeros
from adjoint.creation.sparse import put_together, taken_apart
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.nn.parameter import Parameter, is_lazy
from adjoint.ops.elementwise.complex_numbers import view_as_real
from adjoint.ops.sparse.layers import sparse_of
from adjoint.saving.safetensors_files import METADATA, holds
from adjoint.tensors.core import backend_of
from adjoint.tensors.size import Size
from adjoint.tensors.subclass import make_subclass
from adjoint.tensors.tensor import AS_IS, Tensor

Path = tuple[Any, ...]
Record = dict[str, Any]

VERSION = 1
_COPIES = 1 << 20  # elements that views of a file may be copies of, however few it has,
_COPIED_TIMES = 16  # and how often all of its elements
_ROOT = "tensor"  # the key of a tensor that is saved alone

# How the types that JSON lacks are written, and read again.
_PLAIN: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    bytes: (
        "bytes",
        lambda v: base64.b64encode(v).decode(),
        lambda v: base64.b64decode(v, validate=True),
    ),
    complex: ("complex", lambda v: [repr(v.real), repr(v.imag)], lambda v: complex(*map(float, v))),
    device: ("device", str, device),
    dtype: ("dtype", lambda v: v.name, dtypes.by_name),
    Size: ("size", list, Size),
}
_SEQUENCES: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_MAPPINGS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", Counter: "counter"}
_READ = {tag: read for tag, _, read in _PLAIN.values()} | {"float": float}
_BUILD: dict[str, Any] = {tag: kind for kind, tag in (*_SEQUENCES.items(), *_MAPPINGS.items())}


class Writer:
    """Makes the text of an object, and the table of its tensors."""

    def __init__(self, obj: Any) -> None:
        self.tensors: list[Tensor] = []
        self.paths: list[Path] = []
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()  # the containers around the value at hand
        tree = self._encoded(obj, ())
        self.stored: dict[str, Tensor] = {}
        self.records: list[Record] = [{} for _ in self.tensors]
        self._place()
        self.text = {"version": VERSION, "tensors": self.records, "tree": tree}

    # ---- the tree ----

    def _encoded(self, value: Any, path: Path) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, Enum):
            return _number(value)
        if isinstance(value, Tensor):
            layer = sparse_of(value) if kind is Tensor else None
            if layer is not None:
                return {"sparse": self._sparse(layer, value.requires_grad, path)}
            return {"tensor": self._number_of(value, path)}
        if kind in _PLAIN:
            tag, write, _ = _PLAIN[kind]
            return {tag: write(value)}
        if kind is list or kind in _SEQUENCES or kind in _MAPPINGS:
            return self._container(value, path)
        raise TypeError(_refusal(value, path))

    def _sparse(self, layer: Any, requires_grad: bool, path: Path) -> list[Any]:
        """The layout of a sparse tensor, its indices and values, sizes and marks."""
        name, parts, size, coalesced = taken_apart(layer)
        found = [self._encoded(part, (*path, place)) for place, part in enumerate(parts)]
        return [name, found, list(size), coalesced, requires_grad]

    def _container(self, value: Any, path: Path) -> Any:
        if id(value) in self._open:
            raise ValueError(f"adjoint.save: {_shown(path)} contains itself, so it has no end")
        self._open.add(id(value))
        try:
            kind = type(value)
            if kind in _MAPPINGS:
                return self._mapping(value, path)
            members = sorted(value, key=repr) if kind in (set, frozenset) else value
            found = [self._encoded(one, (*path, place)) for place, one in enumerate(members)]
            return found if kind is list else {_SEQUENCES[kind]: found}
        finally:
            self._open.discard(id(value))

    def _mapping(self, value: Any, path: Path) -> Record:
        members: Any = {key: self._encoded(one, (*path, key)) for key, one in value.items()}
        if not all(type(key) is str for key in members):
            for key in members:
                _check_key(key, path)
            members = [[self._encoded(key, path), one] for key, one in members.items()]
        found = {_MAPPINGS[type(value)]: members}
        versions = getattr(value, "_metadata", None)  # of the modules of a state dict
        if versions is not None:
            found["_metadata"] = self._encoded(versions, (*path, "_metadata"))
        return found

    def _number_of(self, tensor: Tensor, path: Path) -> int:
        """The place of a tensor in the table; the same object has the same one."""
        if id(tensor) not in self._numbers:
            if is_lazy(tensor) or type(tensor) not in (Tensor, Parameter):
                raise TypeError(_refusal(tensor, path))
            self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
            self.paths.append(path)
        return self._numbers[id(tensor)]

    # ---- the table ----

    def _place(self) -> None:
        """Store each piece of memory once, with the first tensor that has all of it."""
        memory = _Memory()
        for tensor, record in zip(self.tensors, self.records):
            if tensor.device.type == "meta":
                record["meta"] = _description(tensor)
        kept = [number for number, record in enumerate(self.records) if "meta" not in record]
        order = sorted(kept, key=lambda number: _rank(self.tensors[number]))
        for number in order:
            tensor, record = self.tensors[number], self.records[number]
            found = memory.find(tensor)
            if found is None:
                memory.add(tensor, number)
                record["key"] = number  # until all keys are known
            else:
                owner, layout = found
                record["key"] = owner
                record.update(layout)
        self._name()
        for tensor, record in zip(self.tensors, self.records):
            if tensor.requires_grad:
                record["requires_grad"] = True
            if type(tensor) is Parameter:
                record["parameter"] = True

    def _name(self) -> None:
        """Give keys to what is stored, in the order in which the object has it."""
        keys: dict[int, str] = {}
        for number, record in enumerate(self.records):
            if record.get("key") == number:
                keys[number] = self._key(self.paths[number])
                tensor = self.tensors[number]
                where = str(tensor.device)
                if where != "cpu":
                    record["device"] = where
                if not holds(tensor.dtype):
                    record["dtype"] = tensor.dtype.name
                    tensor = view_as_real(tensor.detach())
                self.stored[keys[number]] = tensor
        for record in self.records:
            if "key" in record:
                record["key"] = keys[record["key"]]

    def _key(self, path: Path) -> str:
        """A path with dots, and a number behind it where it would be there twice."""
        key = wanted = ".".join(map(str, path)) or _ROOT
        number = 2
        while key in self.stored or key == METADATA:
            key, number = f"{wanted}#{number}", number + 1
        return key

    def aliases(self) -> dict[str, str]:
        """The keys of other programs under which there would be a second copy of a tensor."""
        found = {}
        for record, path in zip(self.records, self.paths):
            name = ".".join(map(str, path))
            if name not in self.stored and "stride" not in record and "key" in record:
                found[name] = record["key"]
        return found


class _Memory:
    """Which memory is stored already: of each kind of element, stretches that don't nest."""

    def __init__(self) -> None:
        self._exact: dict[Any, int] = {}
        self._stretches: dict[Any, list[tuple[int, int, int]]] = {}

    def find(self, tensor: Tensor) -> tuple[int, Record] | None:
        """The stored tensor that has the memory of another, and where in it that lies."""
        if tensor.array.size == 0:
            return None
        exact = self._exact.get(_identity(tensor))
        if exact is not None:
            return exact, {}
        if not _addressable(tensor):
            return None
        first, last, item, steps = _span(tensor)
        stretches = self._stretches.get(_kind(tensor), [])
        place = bisect_right(stretches, (first, math.inf, 0)) - 1
        if place < 0 or min(steps, default=0) < 0:
            return None
        start, stop, owner = stretches[place]
        if last > stop or (first - start) % item:
            return None
        layout = {"shape": list(tensor.shape), "stride": steps, "offset": (first - start) // item}
        return owner, layout

    def add(self, tensor: Tensor, number: int) -> None:
        """A tensor that is stored."""
        if tensor.array.size == 0:
            return
        self._exact[_identity(tensor)] = number
        if _addressable(tensor) and tensor.is_contiguous():  # type: ignore[attr-defined]  # an op
            first, last, _, _ = _span(tensor)
            insort(self._stretches.setdefault(_kind(tensor), []), (first, last, number))


def _description(tensor: Any) -> Record:
    """All that there is of a tensor without values."""
    kind, layout = tensor.dtype.name, tensor.stride()
    return {"dtype": kind, "shape": list(tensor.shape), "stride": list(layout)}


def _without_values(said: Record) -> Tensor:
    """A tensor on the device meta; the numbers come from a file."""
    shape, steps = said["shape"], said["stride"]
    if not all(type(n) is int and n >= 0 for n in (*shape, *steps)) or len(shape) != len(steps):
        raise ValueError(f"shape {shape} and stride {steps} don't fit together")
    return empty_strided(shape, steps, dtype=dtypes.by_name(said["dtype"]), device="meta")


def _addressable(tensor: Tensor) -> bool:
    """Whether tensors of its library can share memory at all."""
    return bool(backend_of(tensor.array).mutable)


def _kind(tensor: Tensor) -> tuple[str, str]:
    return str(tensor.device), tensor.dtype.name


def _identity(tensor: Any) -> Any:
    """Equal for tensors that show the same memory in the same way."""
    if not _addressable(tensor):
        return id(tensor.concrete_array())
    return (*_kind(tensor), tensor.data_ptr(), tuple(tensor.shape), tensor.stride())


def _span(tensor: Any) -> tuple[int, int, int, list[int]]:
    """The first address of a tensor's memory, the one behind it, the size of an element, steps."""
    item, steps = tensor.dtype.itemsize, list(tensor.stride())
    reach = [(n - 1) * step for n, step in zip(tensor.shape, steps)]
    address = tensor.data_ptr()
    first = address + item * sum(min(0, one) for one in reach)
    return first, address + item * (1 + sum(max(0, one) for one in reach)), item, steps


def _rank(tensor: Any) -> tuple[int, bool]:
    """Low for a tensor that others can be views of: one that spans much memory, densely."""
    if tensor.array.size == 0 or not _addressable(tensor):
        return 0, False
    first, last, _, _ = _span(tensor)
    return first - last, not tensor.is_contiguous()


def _number(value: Any) -> Any:
    """A number as JSON has it; what it has not as text."""
    if isinstance(value, int):
        return int(value)
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


def _check_key(key: Any, path: Path) -> None:
    if key is not None and type(key) not in (str, int, float, bool, bytes, tuple):
        raise TypeError(
            f"adjoint.save: {_shown(path)} has a key of type {type(key).__name__}, {key!r}; keys "
            "may be strings, numbers, bools, None, bytes and tuples of them"
        )


def _shown(path: Path) -> str:
    return "obj" + "".join(f"[{key!r}]" for key in path)


def _refusal(value: Any, path: Path) -> str:
    """Why a value can't be saved, and what can instead."""
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    if isinstance(value, Tensor):
        hint = "only plain tensors and parameters that have a shape can"
    elif hasattr(value, "state_dict"):
        hint = f"save its state_dict(): {_shown(path)}.state_dict()"
    elif hasattr(value, "__array__"):
        hint = "convert it with adjoint.as_tensor, or with .item() or .tolist()"
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        hint = "a class can't be found again by its name: save value._asdict(), or a plain tuple"
    else:
        hint = (
            "what can are tensors, numbers, strings, bytes, bools, None, dtypes and devices, in "
            "lists, tuples, sets and dicts"
        )
    return f"adjoint.save: {_shown(path)} is a {name}, which can't be saved; {hint}"


class Reader:
    """Makes an object of its text, and of tensors by their keys."""

    def __init__(self, text: Any) -> None:
        if text["version"] != VERSION:
            raise ValueError(
                f"the object was saved in version {text['version']} of its format, this adjoint "
                f"reads version {VERSION}"
            )
        self.records: list[Record] = text["tensors"]
        self._tree = text["tree"]
        self._owners: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._made: dict[int, Any] = {}
        self._copied = 0  # elements of views that their library can't make without a copy
        # Tensors of the same memory may have several records; the first is of the one stored.
        self.stored: dict[str, Record] = {}
        for record in self.records:
            if "stride" not in record and "meta" not in record:
                self.stored.setdefault(record["key"], record)

    def object(self, tensors: dict[str, Tensor]) -> Any:
        """The object, whose stored tensors are these."""
        self._owners.update(tensors)
        return self._decoded(self._tree)

    def _decoded(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._decoded(one) for one in node]
        if not isinstance(node, dict):
            return node
        (tag, value), *rest = node.items()
        if tag == "tensor":
            return self._tensor(value)
        if tag == "sparse":
            name, parts, size, coalesced, requires_grad = value
            made = put_together(name, self._decoded(parts), size, coalesced)
            return made.requires_grad_() if requires_grad is True else made
        if tag in _READ:
            return _READ[tag](value)
        kind = _BUILD[tag]
        if kind in _SEQUENCES:
            return kind(self._decoded(one) for one in value)
        pairs = value.items() if isinstance(value, dict) else value
        made = kind({_hashable(self._decoded(k)): self._decoded(one) for k, one in pairs})
        for name, one in rest:
            if name != "_metadata" or kind is not OrderedDict:
                raise ValueError(f"'{name}' beside '{tag}'")
            made._metadata = self._decoded(one)  # noqa: SLF001  as Module.state_dict names it
        return made

    def _tensor(self, number: int) -> Any:
        """The tensor of a place in the table; the same place is the same object."""
        if number not in self._made:
            record = self.records[number]
            made: Any
            if "meta" in record:
                made = _without_values(record["meta"])
            else:
                made = self._owners[record["key"]]
            if "stride" in record:
                _check_view(made, record)
                self._charge(made, math.prod(record["shape"]))
                made = _seen(made, record)
            elif record.get("key") in self._taken:
                made = made.shared()
            elif "key" in record:
                self._taken.add(record["key"])
            if record.get("parameter"):
                made = make_subclass(Parameter, made)
            self._made[number] = made.requires_grad_() if record.get("requires_grad") else made
        return self._made[number]

    def _charge(self, owner: Any, count: int) -> None:
        """Refuse copies that take far more memory than there is in the file."""
        if _addressable(owner):
            return
        self._copied += count
        stored = sum(math.prod(one.shape) for one in self._owners.values())
        if self._copied > max(_COPIES, _COPIED_TIMES * stored):
            raise ValueError("its views would take far more memory than the tensors they show")


def _hashable(key: Any) -> Any:
    hash(key)
    return key


def _check_view(owner: Any, record: Record) -> None:
    """Refuse a view that is not inside of its tensor; the numbers come from a file."""
    shape, steps, offset = record["shape"], record["stride"], record["offset"]
    counts = [*shape, *steps, offset]
    if len(shape) != len(steps) or not all(type(n) is int and n >= 0 for n in counts):
        raise ValueError(f"shape {shape}, stride {steps} and offset {offset} don't fit together")
    last = offset + sum((n - 1) * step for n, step in zip(shape, steps))
    if 0 in shape or last >= math.prod(owner.shape):
        raise ValueError(f"a view reaches element {last} of a tensor of shape {owner.shape}")


def _seen(owner: Any, record: Record) -> Tensor:
    """A tensor on part of another's memory."""
    shape, steps, offset = record["shape"], record["stride"], record["offset"]
    made: Tensor = owner.shared()
    made.replace_array(backend_of(owner.array).xp.strided(owner.array, shape, steps, offset))
    return made


def restored(tensor: Tensor, record: Record) -> Tensor:
    """A stored tensor in the data type it had."""
    name = record.get("dtype")
    if name is None:
        return tensor
    kind = dtypes.by_name(name)
    if not kind.is_complex or tensor.dtype is not kind.to_real() or tensor.shape[-1:] != (2,):
        raise ValueError(f"a {tensor.dtype.name} of shape {tensor.shape} is not a {name} in parts")
    shape = tensor.shape[:-1]
    if math.prod(shape) == 0:
        return zeros(shape, dtype=kind)
    return Tensor(tensor.array.view(kind.numpy_dtype).reshape(shape), AS_IS)
