"""What functions read by name: found in their code, and in that of the functions they name."""

import builtins
import dis
import functools
import gc
import os
import random
import re
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextvars import ContextVar
from io import IOBase
from operator import attrgetter, methodcaller, setitem
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from adjoint.amp.grad_scaler import GradScaler
from adjoint.autograd.hooks import function_of, is_traceable
from adjoint.backends.numpy import numpy_backend
from adjoint.compiling.answers import code_of
from adjoint.compiling.errors import EagerError
from adjoint.compiling.repeated import PARTS
from adjoint.nn.module import Module
from adjoint.optim.lr_scheduler import LRScheduler
from adjoint.optim.optimizer import Optimizer
from adjoint.tensors.core import ABSENT, NDARRAY
from adjoint.tensors.tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))
_ARRAYS = {"adjoint", "torch", "numpy", "jax", "jaxlib", "cupy", "scipy"}
_MOST = 50_000  # values that a call looks at again, in some milliseconds
_TESTING = {"_pytest", "pytest", "pluggy"}  # which rewritten assertions name
_LIBRARIES = (_ARRAYS | _TESTING | sys.stdlib_module_names) - {"__main__"}
_MAPPINGS = (dict, MappingProxyType)
_NESTS = (list, tuple, *_MAPPINGS, set, frozenset, deque)
_METHODS_APART = sys.version_info < (3, 12)  # whether an instruction of its own names a method
_HOLDERS = (
    property,
    classmethod,
    staticmethod,
    functools.partial,
    functools.partialmethod,
    functools.cached_property,
)
_HELD = ("fget", "__func__", "func", "args", "keywords")
_MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"}
# What is not called by what a function does, but by copies, printing and the end of an object.
_APART = {"__repr__", "__str__", "__del__", "__getstate__", "__setstate__", "__reduce__"} | {
    "__reduce_ex__", "__dir__", "__copy__", "__deepcopy__", "extra_repr", "state_dict",
    "load_state_dict",
}  # fmt: skip
_BY_STRING = {"getattr", "hasattr"}
# With these, and what getattr is given besides constants, any attribute may be read.
_BY_ANY = {"vars", "dir", "__dict__", "asdict", "astuple", "getmembers"}
_IN_STRINGS = {*_BY_STRING, *_BY_ANY, "globals", "locals", "eval", "exec", "__import__"} | {
    "attrgetter", "methodcaller", "import_module", "__getattribute__",
}  # fmt: skip
_OF_OPTIMIZERS = {"param_groups", "state", "defaults"}  # which are asked at each call
# Methods of schedulers and scalers that answer what an attribute is.
_ANSWERS = {"get_last_lr": "_last_lr", "get_scale": "_scale", "is_enabled": "_enabled"}
CHANCE = (random.Random, numpy_backend.xp.random.Generator, numpy_backend.xp.random.RandomState)
_SHAPED = {"shape", "size", "ndim", "dim", "numel", "nelement"}
TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_NOTHING_GIVEN: dict[int, Any] = {}
_COMPUTED = ("BINARY", "BUILD", "FORMAT")


def _is_own(name: Any, others: set[str] = _LIBRARIES) -> bool:
    """Whether a module of this name belongs to the user's program."""
    return str(name).partition(".")[0] not in others


def _home(value: Any) -> Any:
    """The name of the module of a class, or of an object's."""
    return (value if isinstance(value, type) else type(value)).__module__


def _dict_of(value: Any) -> Any:
    """The dict of an object, past what its class answers for names that it lacks."""
    try:
        asked = getattr if isinstance(value, threading.local) else object.__getattribute__
        return asked(value, "__dict__")
    except AttributeError:
        return None


class _Names:
    """The names in a code: those of globals and attributes that it reads, and that it binds."""

    def __init__(self, left_out: set[Any]) -> None:
        self.left_out = left_out  # codes that the host runs at each call
        self.plain: set[str] = set()  # of globals, read or bound
        self.cells: set[str] = set()  # of what functions around have, likewise
        self.read: set[str] = set()  # attributes
        self.called: set[str] = set()  # methods
        self.bound: set[str] = set()  # attributes that get other values
        self.texts: set[str] = set()  # constants
        self.any = False  # attributes may be read that are not named
        self.compares = False  # objects may be compared

    def add(self, code: CodeType) -> None:
        """Add those of a code, and of the codes inside."""
        steps = list(dis.get_instructions(code))
        for number, each in enumerate(steps):
            kind, name = each.opname, each.argval
            if kind.endswith("DEREF"):
                self.cells.add(name)
            elif kind.endswith(("_GLOBAL", "_GLOBALS", "_NAME")):
                self.plain.add(name)
                if name in _BY_STRING:
                    self._note_asked(steps[number:])
            elif kind in ("LOAD_METHOD", "LOAD_ATTR", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
                method = not _METHODS_APART and kind != "IMPORT_FROM" and (each.arg or 0) & 1
                (self.called if method or kind == "LOAD_METHOD" else self.read).add(name)
            elif kind == "STORE_ATTR":
                self.bound.add(name)
            elif kind in ("COMPARE_OP", "CONTAINS_OP"):
                self.compares |= steps[number - 1].opname != "LOAD_CONST"
            self.any |= kind == "MATCH_CLASS"
        texts = set(_texts(code.co_consts))
        self.texts |= texts
        used = {*code.co_names, *code.co_freevars}
        self.any |= not _BY_ANY.isdisjoint(used)
        if not _IN_STRINGS.isdisjoint(used):
            words = {word for text in texts for word in re.findall(r"\w+", text)}
            self.plain |= words
            self.cells |= words
            self.read |= words
        for constant in code.co_consts:
            if isinstance(constant, CodeType) and constant not in self.left_out:
                self.add(constant)

    def _note_asked(self, steps: list[Any]) -> None:
        """Note whether getattr is called with a name that is a constant."""
        end = next((n for n, each in enumerate(steps) if "CALL" in each.opname), 0)
        given = [each for each in steps[:end] if each.opname == "LOAD_CONST"]
        computed = any(each.opname.startswith(_COMPUTED) for each in steps[:end])
        self.any |= computed or not any(isinstance(each.argval, str) for each in given)


def _texts(constants: Iterable[Any]) -> Iterable[str]:
    for each in constants:
        if isinstance(each, str):
            yield each
        elif isinstance(each, (tuple, frozenset)):
            yield from _texts(each)


class Asked:
    """What a function of no arguments answers, to be read as what a cell holds."""

    __slots__ = ("ask",)

    def __init__(self, ask: Any) -> None:
        self.ask = ask

    @property
    def cell_contents(self) -> Any:
        """Its answer; as of a cell, ValueError if there is none."""
        try:
            return self.ask()
        except (LookupError, AttributeError) as error:
            raise ValueError from error


class Reads:
    """What a function reads by name, itself and through what it names."""

    def __init__(
        self,
        functions: list[Any],
        host_calls: Iterable[Any] = (),
        given: dict[int, Any] = _NOTHING_GIVEN,
    ) -> None:
        hosts: list[Any] = [getattr(call, "function", None) for call in host_calls]
        kinds = [each.kind for each in hosts if hasattr(each, "kind")]  # Functions
        steps = [getattr(each, n) for each in kinds for n in ("forward", "backward")]
        self._left_out = {code_of(each) for each in (*hosts, *steps)}
        self.found: dict[
            tuple[int, Any], tuple[Any, Any, str, Any]
        ] = {}  # holder, key, name, value
        self.bound: dict[tuple[int, Any], tuple[Any, Any, str, Any]] = {}  # likewise
        self.modules: dict[int, Any] = {}
        self.optimizers: dict[int, Any] = {}
        self.tensors: dict[int, Any] = {}
        self.iterators: list[str] = []  # names of those that are not the user's own, and chance
        self.owners: dict[int, Any] = {}  # the user's objects, whose class and fields may change
        self.fields: dict[int, dict[str, Any]] = {}  # of those and of classes
        self._names = _Names(self._left_out)
        self._objects: dict[int, Any] = {}
        self._made: set[type] = set()  # classes that are named, of which objects may be made
        self._seen: dict[int, Any] = {}
        self._asked: dict[tuple[int, str], Asked] = {}  # the slots of dicts and lists
        self._value(functions)
        for number, each in given.items():  # objects among the arguments
            self._read(given, number, f"a {type(each).__name__} among the arguments", each)
        before = -1
        while before != len(self._seen) + len(self.found):  # an attribute may lead to others
            before = len(self._seen) + len(self.found)
            for each in list(self._objects.values()):
                self._object(each)

    @property
    def names(self) -> set[str]:
        """Names of attributes that are looked for."""
        return self._names.read | self._names.called

    def has(self, tensor: Any) -> bool:
        """Whether a tensor is read by name, or a member of a module that is."""
        if id(tensor) in self.tensors:
            return True
        tables = [t for m in self.modules.values() for t in (m._parameters, m._buffers)]  # noqa: SLF001
        return any(each is tensor for table in tables for each in table.values())

    def held(self) -> list[tuple[Any, Any, Any]]:
        """Where tensors are held that may be replaced by others: holder, key and tensor."""
        nests = [each for each in self._seen.values() if type(each) in (list, dict)]
        held = [(holder, key, value) for holder, key, _, value in self.found.values()]
        held += [(nest, n, each) for nest in nests for n, each in _items(nest)]
        for module in self.modules.values():
            for table in (module._buffers, module._parameters):  # noqa: SLF001
                held += [(table, name, each) for name, each in table.items()]
        return [each for each in held if isinstance(each[2], Tensor)]

    def empty(self) -> list[tuple[Any, Any, Any]]:
        """Names that mean nothing yet and may get a tensor: likewise."""
        found = (*self.found.values(), *self.bound.values())
        return [(holder, key, None) for holder, key, _, value in found if value is None]

    def _read(self, holder: Any, key: Any, name: str, value: Any) -> None:
        if (id(holder), key) in self.found:
            return
        if len(self.found) >= _MOST:
            raise EagerError(
                f"it reaches more than {_MOST:,} values by the names that it reads, the last one "
                f"{name!r}: pass what it needs as arguments"
            )
        self.found[id(holder), key] = (holder, key, name, value)
        if isinstance(value, (ContextVar, weakref.ref)):
            asked = Asked(value.get if isinstance(value, ContextVar) else value)
            self._read(asked, None, name, held_at(asked, None))
        elif isinstance(value, (Iterator, random.SystemRandom)) and not isinstance(value, IOBase):
            if not _is_own(type(value).__module__):
                self.iterators.append(name)
        self._value(value)

    def _value(self, value: Any) -> None:
        if isinstance(value, (*PLAIN, CodeType)) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self.tensors[id(value)] = self._objects[id(value)] = value
        elif isinstance(value, type):
            if _is_own(value.__module__):
                self._made.add(value)
                self._objects[id(value)] = value
                for each in vars(value).get("_member_map_", {}).values():  # of an enumeration
                    self._value(each)
        elif isinstance(value, ModuleType):
            self._objects[id(value)] = value
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, Module):
            for each in value.modules():
                self.modules[id(each)] = self._seen[id(each)] = each
                self._member(each)
        elif isinstance(value, Optimizer):
            self.optimizers[id(value)] = value
            self._objects[id(value)] = value
        else:
            self._parts(value)
            if "__wrapped__" in (_dict_of(value) or ()):  # compiled, or cached
                self._value(value.__wrapped__)
            else:
                self._objects[id(value)] = value

    def _parts(self, value: Any) -> None:
        """What a value holds that is no object of the user's."""
        if isinstance(value, _NESTS):
            for each in value:
                self._value(each)
            if isinstance(value, _MAPPINGS):
                for each in (*value.values(), getattr(value, "default_factory", None)):
                    self._value(each)
        elif isinstance(value, NDARRAY) and value.dtype.hasobject:
            self._value(value.tolist())
        elif isinstance(value, _HOLDERS):
            for name in _HELD:
                if hasattr(value, name):
                    self._read(value, name, name, getattr(value, name))
        elif isinstance(value, (MethodType, BuiltinMethodType)):
            if not isinstance(value.__self__, (ModuleType, *PLAIN)):
                self._read(value, "__self__", value.__name__, value.__self__)
            self._value(getattr(value, "__func__", None))
        elif isinstance(value, (attrgetter, methodcaller)):
            given: Any = value.__reduce__()[1]
            self._names.read.update(word for each in given for word in str(each).split("."))
            self._names.called.add(str(given[0]))
        elif hasattr(type(value), "cache_info"):
            for each in gc.get_referents(value):  # the answers that it knows
                self._value(each)
        elif isinstance(value, (Mapping, Sequence, Set)):  # as UserDict, or os.environ
            fields = _dict_of(value) or {}
            for name, part in fields.items():
                self._read(fields, name, name, part)

    def _function(self, plain: Any) -> None:
        self._value(getattr(plain, "__wrapped__", None))
        code = plain.__code__
        if "registry" in vars(plain):  # of functools.singledispatch
            self._read(vars(plain), "registry", plain.__name__, vars(plain)["registry"])
        if plain is os.getenv:
            self._value(os.environ)
        if code in self._left_out or not _is_own(plain.__globals__.get("__name__")):
            return
        self._names.add(code)
        names = _Names(self._left_out)
        names.add(code)
        for name, cell in zip(code.co_freevars, plain.__closure__ or ()):
            if name in names.cells:
                self._read(cell, None, name, held_at(cell, None))
        around = plain.__globals__
        for name in names.plain:
            if name in around:
                self._read(around, name, name, around[name])
            elif hasattr(builtins, name):  # which a global would hide
                self._read(around, name, name, ABSENT)
            elif name in sys.modules:
                self._value(sys.modules[name])
        for name in PARTS:
            self._read(plain, name, f"{plain.__name__}.{name}", getattr(plain, name))
        if vars(plain):
            self._objects[id(plain)] = plain

    def _object(self, value: Any) -> None:
        """What is read of an object: attributes with names that functions read, and methods."""
        names = self._names
        fields = self._fields_of(value)
        if isinstance(value, Optimizer) and "param_groups" in names.read:
            for group in value.param_groups:
                for name in names.texts & group.keys() - {"params"}:
                    self._read(group, name, name, group[name])
        if isinstance(value, Tensor) and value.extras is not None:
            self._hooks(value.extras.hooks, value.extras.post_accumulate)
        if isinstance(value, ModuleType):
            library = not _is_own(value.__name__)
        else:
            library = not isinstance(value, (type, Module)) and not _is_own(_home(value), _ARRAYS)
        if library:
            if isinstance(value, (LRScheduler, GradScaler)):
                for name in _ANSWERS.keys() & self.names:
                    if _ANSWERS[name] in fields:
                        self._read(fields, _ANSWERS[name], name, fields[_ANSWERS[name]])
            for name in self.names & fields.keys():
                self._setting(fields, name, fields[name])
            return
        apart = isinstance(value, (type, ModuleType, FunctionType, Module, Optimizer))
        named = names.read if apart or not names.any else fields.keys()
        if isinstance(value, Optimizer):
            named = named - _OF_OPTIMIZERS
        for name in (named | names.called | names.bound) & fields.keys():
            found = fields[name]
            if name in named or isinstance(found, (Tensor, *_HOLDERS)) or callable(found):
                written = isinstance(value, type) and isinstance(found, Tensor)
                apart = written or isinstance(value, threading.local)
                self._read(value if apart else fields, name, name, found)
            elif name in names.bound:
                self.bound.setdefault((id(fields), name), (fields, name, name, found))
        kinds: Any = type(value).__mro__
        if isinstance(value, type):
            self._class(value, fields)
            kinds += value.__mro__
        elif not isinstance(value, (ModuleType, FunctionType)):
            self._slots(value)
        for kind in kinds:
            if _is_own(kind.__module__):
                self._objects.setdefault(id(kind), kind)
                self._seen.setdefault(id(kind), kind)

    def _setting(self, fields: dict[str, Any], name: str, found: Any) -> None:
        """What is read of an object or module of a library's: plain values, and chance."""
        chance = isinstance(getattr(found, "__self__", None), CHANCE)
        if chance or isinstance(found, ModuleType) or found is os.getenv:
            self._value(found)
        elif name in self._names.read and name not in _OF_OPTIMIZERS:
            if isinstance(found, (*PLAIN, *_NESTS, Mapping)):
                self._read(fields, name, name, found)

    def _fields_of(self, value: Any) -> Any:
        """The dict of an object, or of a class, which can be looked at but not written to."""
        fields = _dict_of(value)
        if isinstance(value, type):
            fields = gc.get_referents(fields)[0]
        elif type(fields) is not dict:
            return {}
        if _is_own(_home(value), _ARRAYS) and not isinstance(value, ModuleType):
            self.fields[id(fields)] = fields
            if not isinstance(value, type):
                self.owners[id(value)] = value
        return fields

    def _class(self, kind: type, fields: dict[str, Any]) -> None:
        """The methods of a class that are called without being named."""
        theirs = [each for each in kind.__mro__[1:-1] if not _is_own(each.__module__)]
        for name, found in list(fields.items()):
            if name in _APART or (name in _MAKING and kind not in self._made):
                continue
            if not isinstance(found, (FunctionType, *_HOLDERS)):
                continue
            special = name[:2] == "__" == name[-2:]
            file = getattr(getattr(found, "__code__", None), "co_filename", None)
            if special and file == "<string>" and name not in _MAKING:
                special = self._names.compares  # made by a data class
            if special or any(name in vars(each) for each in theirs):
                self._read(fields, name, name, found)

    def _slots(self, value: Any) -> None:
        for kind in type(value).__mro__:
            for name, found in list(vars(kind).items()) if _is_own(kind.__module__) else ():
                wanted = self._names.any or name in self.names
                if wanted and isinstance(found, MemberDescriptorType):
                    if isinstance(value, (dict, list)):  # whose keys are those of items
                        ask = Asked(functools.partial(found.__get__, value))
                        holder = self._asked.setdefault((id(value), name), ask)
                        self._read(holder, None, name, held_at(holder, None))
                    else:
                        self._read(value, name, name, held_at(value, name))

    def _hooks(self, *tables: Any) -> None:
        """What is read by hooks that are parts of a program."""
        for hook in [hook for table in tables if table for hook in table.values()]:
            if is_traceable(hook) or getattr(hook, "traceable", False):
                self._value(function_of(hook))

    def look(self, lifted: Any) -> None:
        """What is read of tensors that no op has met: their shapes, and whether they need grad."""
        wanted = {"requires_grad", "is_leaf", "dtype"} & self._names.read
        if not _SHAPED.isdisjoint(self.names):
            wanted.add("shape")
        for each in list(self._objects.values()) if wanted else ():
            if isinstance(each, Tensor) and id(each) not in lifted:
                for name in wanted:
                    self._read(each, name, name, getattr(each, name))

    def _member(self, module: Any) -> None:
        """What is read of a module: all plain values of a layer, of others as of objects."""
        self._objects[id(module)] = module
        fields = vars(module)
        for table in (fields["_parameters"], fields["_buffers"]):
            self._objects.update((id(each), each) for each in table.values() if each is not None)
        self._hooks(*(fields[name] for name in TABLES))
        self._read(fields, "forward", "forward", fields.get("forward", ABSENT))
        if all(_is_own(each.__module__) for each in type(module).__mro__ if _is_module(each)):
            return
        for name, value in list(fields.items()):
            known = isinstance(value, (*PLAIN, tuple, Tensor))
            if known and name[0] != "_" and name != "training":
                self._read(fields, name, name, value)


def _items(nest: Any) -> Any:
    return nest.items() if isinstance(nest, dict) else enumerate(nest)


def held_at(holder: Any, key: Any) -> Any:
    """What a dict or list, a cell, whose key is None, or an object holds; ABSENT if nothing."""
    try:
        if isinstance(holder, dict):
            return dict.get(holder, key, ABSENT)  # not what a class answers for absent keys
        if isinstance(holder, list):
            return holder[key]
        return holder.cell_contents if key is None else getattr(holder, key)
    except (ValueError, LookupError, AttributeError):
        return ABSENT


def putting(holder: Any, key: Any, value: Any) -> tuple[Any, ...]:
    """The call that lets it hold a value."""
    if isinstance(holder, (dict, list)):
        return (setitem, holder, key, value)
    return (setattr, holder, "cell_contents" if key is None else key, value)


def _is_module(kind: type) -> bool:
    return issubclass(kind, Module) and kind is not Module
