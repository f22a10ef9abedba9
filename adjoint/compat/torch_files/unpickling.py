"""Pickles that can do no harm: they make tensors, containers and numbers, and nothing else.

pickle's own machine calls and changes whatever a file names. This one knows the instructions that
make plain values; a name in a file stands for a builder of ours, or for nothing. What a program has
allowed by add_safe_globals can be called and filled too.
"""

import inspect
import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

from adjoint.call.context import current
from adjoint.compat.torch_files.safe_globals import allowed_names, find_allowed
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.nn.parameter import Parameter
from adjoint.tensors.pickling import INNER, attributes_of, give_state, takes_state
from adjoint.tensors.size import Size
from adjoint.tensors.subclass import make_subclass
from adjoint.tensors.tensor import Tensor

Names = Mapping[tuple[str, str], Any]

_LONGEST_NAME = 1000
_DEEPEST_KEY = 8
_DEEPEST_TUPLE = 100  # Python hashes nested tuples without minding the end of the stack
_COPIES = 1 << 20  # elements that builders may copy, however short the file is
_VALUES = 1 << 24  # values there may be if those that occur twice are counted twice

_PLAIN = {type(None), bool, int, float, complex, str, bytes, bytearray, Size, dtype, device}
_PLAIN |= {slice, range}
_KEYS = {type(None), bool, int, float, complex, str, bytes, dtype, device}
_MAPPINGS = {dict, OrderedDict, Counter}
_SEQUENCES = {list, tuple, set, frozenset}
_COPIED = _SEQUENCES | _MAPPINGS | {str, bytes}
_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


def refusal(reason: str) -> pickle.UnpicklingError:
    """The error of a file that is not as it should be."""
    return pickle.UnpicklingError(f"Weights only load failed: {reason}")


def as_python_3(module_name: str, global_name: str) -> tuple[str, str]:
    """Today's module and name of what a file may call as Python 2 did."""
    module_name, global_name = NAME_MAPPING.get(
        (module_name, global_name), (module_name, global_name)
    )
    return IMPORT_MAPPING.get(module_name, module_name), global_name


class Shown:
    """The class of the storages that programs see; it lies above, and puts itself here."""

    kind: Any = None


class Builder:
    """What a name in a file stands for: something that makes a value of others."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make


class WeightsUnpickler:
    """Makes the object of one pickle, of which at most `room` bytes are read."""

    def __init__(
        self,
        file: BinaryIO,
        room: int,
        names: Names,
        persistent_load: Callable[[Any], Any],
        encoding: str = "utf-8",
    ) -> None:
        self.file, self.room, self.names = file, room, names
        self.persistent_load, self.encoding = persistent_load, encoding
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.allowed = list(allowed_names().values())
        self.trusted: list[Any] = []  # what the file has used of it
        self.depths: dict[int, tuple[int, Any]] = {}  # of tuples in tuples
        self.copies = max(_COPIES, 16 * room)
        self.values = max(_VALUES, 16 * room)

    def load(self) -> Any:
        """The object; UnpicklingError if the file wants anything that is not allowed."""
        try:
            while (code := self.take(1)) != pickle.STOP:
                step = _STEPS.get(code)
                if step is None:
                    raise refusal(f"the pickle has the instruction {code!r}, which is not read")
                step(self)
            made = self.stack.pop()
            self.check_result(made)
        except _DAMAGE as error:
            raise refusal(f"the file is damaged ({error!r})") from error
        return made

    # ---- reading ----

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > self.room:
            raise refusal(f"{count} bytes are wanted where {self.room} are left")
        self.room -= count
        found = self.file.read(count)
        if len(found) != count:
            raise refusal("the file ends too early")
        return found

    def number(self, form: str) -> Any:
        """The next number, written as struct calls it."""
        (found,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return found

    def line(self) -> str:
        """The next line."""
        found = self.file.readline(min(self.room, _LONGEST_NAME))
        self.room -= len(found)
        if not found.endswith(b"\n"):
            raise refusal("a name has no end")
        return found[:-1].decode()

    def text(self, form: str) -> str:
        """The next string, behind its length."""
        return self.take(self.number(form)).decode("utf-8", "surrogatepass")

    def old_text(self, form: str) -> str | bytes:
        """The next string of Python 2's, which has no encoding of its own."""
        found = self.take(self.number(form))
        return found if self.encoding == "bytes" else found.decode(self.encoding)

    # ---- the stack ----

    def above_mark(self) -> list[Any]:
        """What lies above the last mark, taken off."""
        place = self.marks.pop()
        found = self.stack[place:]
        del self.stack[place:]
        return found

    def last(self, count: int) -> list[Any]:
        """The last values, taken off."""
        if count > len(self.stack):
            raise refusal("values are wanted that are not there")
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def push_tuple(self, members: list[Any]) -> None:
        """Make a tuple, in which others nest only so deep."""
        inner = [self.depths[id(one)][0] for one in members if id(one) in self.depths]
        depth = 1 + max(inner, default=0)
        if depth > _DEEPEST_TUPLE:
            raise refusal(f"tuples are nested more than {_DEEPEST_TUPLE} deep")
        made = tuple(members)
        if made:
            self.depths[id(made)] = (depth, made)
        self.stack.append(made)

    def remember(self, place: int) -> None:
        """Keep the last value for later use."""
        self.memo[place] = self.stack[-1]

    # ---- limits ----

    def charge(self, count: int) -> None:
        """Refuse a file that lets copies be made of copies."""
        self.copies -= count
        if self.copies < 0:
            raise refusal("it holds far more than its size allows for")

    def check_key(self, key: Any, depth: int = 0) -> None:
        """Refuse what can't be a key, or takes long to be one."""
        kind = type(key)
        if kind is tuple or kind is frozenset or kind is Size:
            if depth == _DEEPEST_KEY:
                raise refusal(f"keys are nested more than {_DEEPEST_KEY} deep")
            self.charge(len(key))
            for one in key:
                self.check_key(one, depth + 1)
        elif kind not in _KEYS and not isinstance(key, Tensor) and not self.is_trusted(kind):
            raise refusal(f"a {kind.__name__} is no key")

    def check_result(self, root: Any) -> None:
        """Refuse anything but plain values, and structures that unfold without end."""
        sizes: dict[int, int] = {}  # of values already seen; 0 while they are being counted
        waiting: list[tuple[Any, bool]] = [(root, False)]
        while waiting:
            value, counted = waiting.pop()
            if not counted and id(value) in sizes:
                continue
            inner = self.members(value)
            if counted:
                size = sizes[id(value)] = 1 + sum(sizes.get(id(one), 1) for one in inner)
                if size > self.values:
                    raise refusal("its values occur in one another again and again")
            elif inner:
                sizes[id(value)] = 0
                waiting.append((value, True))
                waiting.extend((one, False) for one in inner)

    def members(self, value: Any) -> list[Any]:
        """What is inside of a value that may be in a result."""
        kind = type(value)
        if kind in _PLAIN:
            return []
        if kind in _SEQUENCES:
            return list(value)
        if kind in _MAPPINGS:
            return [*value, *value.values(), *getattr(value, "__dict__", {}).values()]
        if kind is Shown.kind:
            return [value.memory]
        if kind is Tensor or kind is Parameter:
            return list(attributes_of(value).values())
        if isinstance(value, Tensor) and current().modes:  # of a class of theirs
            return []
        if not self.trusted or isinstance(value, Builder):
            raise refusal(f"{_shown(value)} is no tensor, container or number")
        return []

    # ---- names ----

    def find(self, module_name: str, global_name: str) -> Any:
        """What a name stands for."""
        expect(module_name, str)
        expect(global_name, str)
        module_name, global_name = as_python_3(module_name, global_name)
        name = f"{module_name}.{global_name}"
        own = _OWN.get((module_name, global_name))
        if own is not None:
            return Builder(name, own.__get__(self))
        if (module_name, global_name) in self.names:
            found = self.names[module_name, global_name]
            return Builder(name, found) if callable(found) else found
        found = find_allowed(module_name, global_name)
        if found is None:
            raise refusal(
                f"the file wants to use {name}, which need not be harmless. If you trust its "
                "source, allow that by torch.serialization.add_safe_globals, or load with "
                "weights_only=False."
            )
        self.trusted.append(found)
        return found

    def is_trusted(self, value: Any) -> bool:
        """Whether the program has allowed just this."""
        found = (*self.trusted, *self.allowed)
        return any(value is one or (type(value) is type(one) and value == one) for one in found)

    def call(self, function: Any, arguments: Any) -> Any:
        """What a builder makes, or a function that the program has allowed."""
        if type(arguments) is not tuple:
            raise refusal("arguments are no tuple")
        if isinstance(function, Builder):
            self.charge(sum(len(one) for one in arguments if type(one) in _COPIED))
            return function.make(*arguments)
        if not self.is_trusted(function):
            raise refusal(f"the file calls {_shown(function)}, which is not allowed")
        return function(*arguments)

    # ---- instructions ----

    def reduce(self) -> None:
        """Call."""
        function, arguments = self.last(2)
        self.stack.append(self.call(function, arguments))

    def new_object(self) -> None:
        """Make an instance of a class that the program has allowed."""
        kind, arguments = self.last(2)
        self.stack.append(self.instance(kind, arguments, {}))

    def new_object_by_names(self) -> None:
        """The same with named arguments."""
        self.stack.append(self.instance(*self.last(3)))

    def instance(self, kind: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """An instance that is not filled yet."""
        if not isinstance(kind, type) or not self.is_trusted(kind):
            raise refusal(f"the file makes an instance of {_shown(kind)}, which is not allowed")
        return kind.__new__(kind, *arguments, **named)

    def build(self) -> None:
        """Fill an instance of ours, or of a class that the program has allowed."""
        (state,) = self.last(1)
        target = self.stack[-1]
        if type(target) is OrderedDict:
            set_attributes(target, state)
        elif not self.is_trusted(type(target)):
            raise refusal(f"the file changes {_shown(target)}, which is not allowed")
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            _fill(target, state)

    def add_to_list(self, members: list[Any]) -> None:
        """Lengthen a list."""
        target = self.stack[-1]
        if type(target) is not list and not self.is_trusted(type(target)):
            raise refusal(f"the file appends to a {type(target).__name__}")
        target.extend(members)

    def add_to_dict(self, members: list[Any]) -> None:
        """Put pairs into a dict."""
        target = self.stack[-1]
        if type(target) not in _MAPPINGS and not self.is_trusted(type(target)):
            raise refusal(f"the file puts items into a {type(target).__name__}")
        for key, value in zip(members[::2], members[1::2], strict=True):
            self.check_key(key)
            target[key] = value

    def add_to_set(self, members: list[Any]) -> None:
        """Put values into a set."""
        target = self.stack[-1]
        if type(target) is not set:
            raise refusal(f"the file adds to a {type(target).__name__}")
        target.update(self.hashable(members))

    def hashable(self, members: Iterable[Any]) -> Iterable[Any]:
        """The same values, which can be in a set."""
        for one in members:
            self.check_key(one)
            yield one

    def check_protocol(self) -> None:
        """Refuse pickles of the future."""
        found = self.number("B")
        if found not in range(2, pickle.HIGHEST_PROTOCOL + 1):
            raise refusal(f"the pickle is of protocol {found}, and 2 to 5 are read")

    # ---- builders ----

    def ordered_dict(self, pairs: Any = ()) -> Any:
        """An OrderedDict; Python 2 gives it its items at once."""
        expect(pairs, list, tuple)
        made: OrderedDict[Any, Any] = OrderedDict()
        for key, value in pairs:
            self.check_key(key)
            made[key] = value
        return made

    def counter(self, counts: Any = None) -> Any:
        """A Counter."""
        expect(counts, dict, type(None))
        made: Counter[Any] = Counter()
        made.update(counts or {})
        return made

    def new_set(self, members: Any = ()) -> Any:
        """A set."""
        expect(members, list, tuple)
        return set(self.hashable(members))

    def new_frozenset(self, members: Any = ()) -> Any:
        """A frozenset."""
        expect(members, list, tuple)
        return frozenset(self.hashable(members))

    def new_bytearray(self, content: Any = b"") -> Any:
        """A bytearray; never one of a length that only a number says."""
        expect(content, bytes)
        return bytearray(content)

    def new_bytes(self) -> Any:
        """No bytes: others are encoded."""
        return b""

    def encoded(self, content: Any, encoding: Any) -> Any:
        """Bytes, which protocol 2 writes as a string of Latin letters."""
        expect(content, str)
        expect(encoding, str)
        if encoding not in ("latin1", "latin-1"):
            raise refusal(f"bytes are encoded as {encoding!r:.100}")
        return content.encode("latin1")

    def new_complex(self, real: Any, imag: Any) -> Any:
        """A complex number."""
        expect(real, float)
        expect(imag, float)
        return complex(real, imag)

    def new_slice(self, start: Any, stop: Any, step: Any) -> Any:
        """A slice of numbers."""
        for one in (start, stop, step):
            expect(one, int, type(None))
        return slice(start, stop, step)

    def new_range(self, start: Any, stop: Any, step: Any) -> Any:
        """A range."""
        for one in (start, stop, step):
            expect(one, int)
        return range(start, stop, step)

    def plain_tensor(self, *arguments: Any) -> Any:
        """Only names a class: tensors are made on storages."""
        raise refusal("the file makes a tensor on no storage")

    def of_type(self, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
        """A tensor with attributes, or of a class that the program has allowed."""
        made = self.call(function, arguments)
        if not isinstance(made, Tensor):
            raise refusal(f"attributes are set on a {type(made).__name__}")
        if not isinstance(kind, Builder) or kind.name != "torch.Tensor":
            if not isinstance(kind, type) or not self.is_trusted(kind):
                raise refusal("a tensor is of a class that is not allowed")
            if type(made) is not kind:
                made = make_subclass(kind, made.detach(), made.requires_grad)
        if takes_state(made):
            give_state(made, state)
            return made
        if isinstance(state, tuple):
            state = {name: value for part in state for name, value in (part or {}).items()}
        set_attributes(made, state)
        return made


def _shown(value: Any) -> str:
    """What a value is, without its content, which may be without end."""
    return value.name if isinstance(value, Builder) else f"a {type(value).__name__}"


def expect(value: Any, *kinds: type) -> None:
    """Refuse a value that is of none of these types."""
    if type(value) not in kinds:
        raise refusal(f"a {type(value).__name__} is where a {kinds[0].__name__} belongs")


def set_attributes(target: Any, attributes: Any) -> None:
    """Give an instance what a user had set on it, and nothing that it has by its class."""
    expect(attributes, dict)
    for name, value in attributes.items():
        expect(name, str)
        if name.startswith("__") or name in INNER or not _may_have(target, name):
            raise refusal(f"the file replaces {name:.100} of a {type(target).__name__}")
        setattr(target, name, value)


def _may_have(target: Any, name: str) -> bool:
    """Whether an attribute is the instance's own: new, or in place of a method, as programs do it.

    A tensor of a class that the program allows may so hold others as `values`; properties set more.
    """
    if not hasattr(target, name):
        return True
    found = inspect.getattr_static(target, name)
    own_class = isinstance(target, Tensor) and type(target) not in (Tensor, Parameter)
    return own_class and callable(found) and not hasattr(type(found), "__set__")


def _fill(target: Any, state: Any) -> None:
    """Give an instance its attributes, and those it has slots for."""
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for name, value in (plain or {}).items():
        target.__dict__[name] = value
    for name, value in (slots or {}).items():
        setattr(target, name, value)


_OWN: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): WeightsUnpickler.ordered_dict,
    ("collections", "Counter"): WeightsUnpickler.counter,
    ("builtins", "set"): WeightsUnpickler.new_set,
    ("builtins", "frozenset"): WeightsUnpickler.new_frozenset,
    ("builtins", "bytearray"): WeightsUnpickler.new_bytearray,
    ("builtins", "bytes"): WeightsUnpickler.new_bytes,
    ("builtins", "complex"): WeightsUnpickler.new_complex,
    ("builtins", "slice"): WeightsUnpickler.new_slice,
    ("builtins", "range"): WeightsUnpickler.new_range,
    ("torch", "Tensor"): WeightsUnpickler.plain_tensor,
    ("torch._tensor", "_rebuild_from_type_v2"): WeightsUnpickler.of_type,
    ("_codecs", "encode"): WeightsUnpickler.encoded,
}


def _push(make: Callable[[WeightsUnpickler], Any]) -> Callable[[WeightsUnpickler], None]:
    return lambda self: self.stack.append(make(self))


def _integer(form: str) -> Callable[[WeightsUnpickler], None]:
    return _push(lambda self: int.from_bytes(self.take(self.number(form)), "little", signed=True))


# Methods are looked up when an instruction is read, so that a subclass can do less.
_STEPS: dict[bytes, Callable[[WeightsUnpickler], Any]] = {
    pickle.PROTO: lambda self: self.check_protocol(),
    pickle.FRAME: lambda self: self.number("<Q"),
    pickle.NONE: _push(lambda _: None),
    pickle.NEWTRUE: _push(lambda _: True),
    pickle.NEWFALSE: _push(lambda _: False),
    pickle.BININT: _push(lambda self: self.number("<i")),
    pickle.BININT1: _push(lambda self: self.number("B")),
    pickle.BININT2: _push(lambda self: self.number("<H")),
    pickle.LONG1: _integer("B"),
    pickle.LONG4: _integer("<I"),
    pickle.BINFLOAT: _push(lambda self: self.number(">d")),
    pickle.SHORT_BINSTRING: _push(lambda self: self.old_text("B")),
    pickle.BINSTRING: _push(lambda self: self.old_text("<I")),
    pickle.SHORT_BINUNICODE: _push(lambda self: self.text("B")),
    pickle.BINUNICODE: _push(lambda self: self.text("<I")),
    pickle.BINUNICODE8: _push(lambda self: self.text("<Q")),
    pickle.SHORT_BINBYTES: _push(lambda self: self.take(self.number("B"))),
    pickle.BINBYTES: _push(lambda self: self.take(self.number("<I"))),
    pickle.BINBYTES8: _push(lambda self: self.take(self.number("<Q"))),
    pickle.BYTEARRAY8: _push(lambda self: bytearray(self.take(self.number("<Q")))),
    pickle.EMPTY_LIST: _push(lambda _: []),
    pickle.EMPTY_DICT: _push(lambda _: {}),
    pickle.EMPTY_SET: _push(lambda _: set()),
    pickle.EMPTY_TUPLE: _push(lambda _: ()),
    pickle.TUPLE1: lambda self: self.push_tuple(self.last(1)),
    pickle.TUPLE2: lambda self: self.push_tuple(self.last(2)),
    pickle.TUPLE3: lambda self: self.push_tuple(self.last(3)),
    pickle.TUPLE: lambda self: self.push_tuple(self.above_mark()),
    pickle.FROZENSET: _push(lambda self: self.new_frozenset(self.above_mark())),
    pickle.MARK: lambda self: self.marks.append(len(self.stack)),
    pickle.POP: lambda self: self.last(1),
    pickle.POP_MARK: lambda self: self.above_mark(),
    pickle.APPEND: lambda self: self.add_to_list(self.last(1)),
    pickle.APPENDS: lambda self: self.add_to_list(self.above_mark()),
    pickle.SETITEM: lambda self: self.add_to_dict(self.last(2)),
    pickle.SETITEMS: lambda self: self.add_to_dict(self.above_mark()),
    pickle.ADDITEMS: lambda self: self.add_to_set(self.above_mark()),
    pickle.BINPUT: lambda self: self.remember(self.number("B")),
    pickle.LONG_BINPUT: lambda self: self.remember(self.number("<I")),
    pickle.MEMOIZE: lambda self: self.remember(len(self.memo)),
    pickle.BINGET: _push(lambda self: self.memo[self.number("B")]),
    pickle.LONG_BINGET: _push(lambda self: self.memo[self.number("<I")]),
    pickle.GLOBAL: _push(lambda self: self.find(self.line(), self.line())),
    pickle.STACK_GLOBAL: _push(lambda self: self.find(*self.last(2))),
    pickle.BINPERSID: _push(lambda self: self.persistent_load(*self.last(1))),
    pickle.REDUCE: lambda self: self.reduce(),
    pickle.NEWOBJ: lambda self: self.new_object(),
    pickle.NEWOBJ_EX: lambda self: self.new_object_by_names(),
    pickle.BUILD: lambda self: self.build(),
}
