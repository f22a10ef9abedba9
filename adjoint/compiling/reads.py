"""What functions read by name: found in their code, and in that of the functions they name."""

import dis
import functools
import inspect
import sys
from collections import deque
from collections.abc import Iterable
from operator import setitem
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from adjoint.compiling.answers import code_of
from adjoint.nn.module import Module
from adjoint.optim.optimizer import Optimizer
from adjoint.tensors.tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))
_ARRAYS = {"adjoint", "numpy", "jax", "jaxlib", "cupy", "scipy"}
_LIBRARIES = (_ARRAYS | sys.stdlib_module_names) - {"__main__"}
_NESTS = (list, tuple, dict, set, frozenset)
_METHODS_APART = sys.version_info < (3, 12)  # whether an instruction of its own names a method


def _is_own(name: Any, others: set[str] = _LIBRARIES) -> bool:
    """Whether a module of this name belongs to the user's program."""
    return str(name).partition(".")[0] not in others


class _Names:
    """The names in a code: those of globals and attributes that it reads, and that it binds."""

    def __init__(self, left_out: set[Any]) -> None:
        self.left_out = left_out  # codes that the host runs at each call
        self.plain: set[str] = set()  # read from around, or bound there
        self.read: set[str] = set()  # attributes
        self.called: set[str] = set()  # methods
        self.bound: set[str] = set()  # attributes that get other values

    def add(self, code: CodeType) -> None:
        """Add those of a code, and of the codes inside."""
        for each in dis.get_instructions(code):
            if each.opname.endswith(("_GLOBAL", "_NAME", "DEREF")):
                self.plain.add(each.argval)
            elif each.opname == "LOAD_METHOD":
                self.called.add(each.argval)
            elif each.opname == "LOAD_ATTR":
                is_method = not _METHODS_APART and (each.arg or 0) & 1
                (self.called if is_method else self.read).add(each.argval)
            elif each.opname == "STORE_ATTR":
                self.bound.add(each.argval)
        for constant in code.co_consts:
            if isinstance(constant, CodeType) and constant not in self.left_out:
                self.add(constant)


class ClassAttribute:
    """An attribute of a class, to be read and bound as what a cell holds."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: type, name: str) -> None:
        self.kind = kind
        self.name = name

    @property
    def cell_contents(self) -> Any:
        """Its value; as of a cell, ValueError if there is none."""
        if self.name not in vars(self.kind):
            raise ValueError(self.name)
        return vars(self.kind)[self.name]

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        setattr(self.kind, self.name, value)


class Reads:
    """What a function reads by name, itself and through what it names."""

    def __init__(self, functions: list[Any], host_calls: Iterable[Any] = ()) -> None:
        self._left_out = {code_of(getattr(call, "function", None)) for call in host_calls}
        self.found: dict[
            tuple[int, Any], tuple[Any, Any, str, Any]
        ] = {}  # holder, key, name, value
        self.bound: dict[tuple[int, Any], tuple[Any, Any, str, Any]] = {}  # likewise
        self.modules: dict[int, Any] = {}
        self.optimizers: dict[int, Any] = {}
        self.tensors: dict[int, Any] = {}
        self._names = _Names(self._left_out)
        self._objects: dict[int, Any] = {}
        self._seen: dict[int, Any] = {}
        self._classes: dict[tuple[type, str], ClassAttribute] = {}
        self._value(functions)
        before = -1
        while before != len(self._seen) + len(self.found):  # an attribute may lead to others
            before = len(self._seen) + len(self.found)
            for each in list(self._objects.values()):
                self._object(each)

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

    def _read(self, holder: Any, key: Any, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            if _is_own(value.__name__):
                self._objects[id(value)] = value
        elif not isinstance(value, type):
            self.found.setdefault((id(holder), key), (holder, key, name, value))
            self._value(value)

    def _value(self, value: Any) -> None:
        if isinstance(value, (*PLAIN, type)) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            for each in value:
                self._value(each)
        elif isinstance(value, dict):
            for each in value.values():
                self._value(each)
        elif isinstance(value, functools.partial):
            for each in (value.func, value.args, value.keywords):
                self._value(each)
        elif isinstance(value, MethodType):
            self._value(value.__self__)
            self._function(value.__func__)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, Module):
            for each in value.modules():
                self.modules[id(each)] = self._seen[id(each)] = each
                self._member(each)
        elif isinstance(value, Optimizer):
            self.optimizers[id(value)] = value
        elif "__wrapped__" in getattr(value, "__dict__", ()):  # compiled, or cached
            self._value(value.__wrapped__)
        elif type(getattr(value, "__dict__", None)) is dict and _is_own(
            type(value).__module__, _ARRAYS
        ):
            self._objects[id(value)] = value
            self._class_function(value, "__call__")

    def _function(self, plain: Any) -> None:
        if not isinstance(plain, FunctionType):
            return
        self._seen[id(plain)] = plain
        self._value(getattr(plain, "__wrapped__", None))
        code = plain.__code__
        if code in self._left_out or not _is_own(plain.__module__):
            return
        self._names.add(code)
        names = _Names(self._left_out)
        names.add(code)
        for name, cell in zip(code.co_freevars, plain.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # it is not bound yet
                continue
            if name in names.plain:
                self._read(cell, None, name, value)
        for name in names.plain & plain.__globals__.keys():
            self._read(plain.__globals__, name, name, plain.__globals__[name])
        for each in (*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()):
            self._value(each)

    def _class_function(self, value: Any, name: str) -> None:
        found = inspect.getattr_static(type(value), name, None)
        found = found.fget if isinstance(found, property) else found
        found = getattr(found, "__func__", found)
        if callable(found) and id(found) not in self._seen:
            self._seen[id(found)] = found
            self._function(found)

    def _object(self, value: Any) -> None:
        """What is read of an object: attributes with names that functions read, and methods."""
        fields = vars(value)
        names = self._names
        for name in (names.read | names.called | names.bound) & fields.keys():
            found = fields[name]
            # What a function binds itself is none of what it depends on, unless it is a tensor.
            wanted = name in names.read and name not in names.bound
            if wanted or isinstance(found, Tensor) or (name in names.called and callable(found)):
                self._read(fields, name, name, found)
            elif name in names.bound:
                self.bound.setdefault((id(fields), name), (fields, name, name, found))
        for name in names.read - fields.keys():
            self._class_attribute(value, name)
        if not isinstance(value, ModuleType):
            for name in self._names.called | self._names.read:
                self._class_function(value, name)

    def _class_attribute(self, value: Any, name: str) -> None:
        for kind in type(value).__mro__:
            if name in vars(kind):
                found = vars(kind)[name]
                if _is_own(kind.__module__) and isinstance(found, (*PLAIN, *_NESTS, Tensor)):
                    holder = self._classes.setdefault((kind, name), ClassAttribute(kind, name))
                    self._read(holder, None, name, found)
                return

    def _member(self, module: Any) -> None:
        """What is read of a module: all plain values of a layer, of others as of objects."""
        self._objects[id(module)] = module
        self._class_function(module, "forward")
        self._read(vars(module), "forward", "forward", vars(module).get("forward"))
        if all(_is_own(each.__module__) for each in type(module).__mro__ if _is_module(each)):
            return
        fields = vars(module)
        for name, value in list(fields.items()):
            known = isinstance(value, (*PLAIN, tuple, Tensor))
            if known and name[0] != "_" and name != "training":
                self._read(fields, name, name, value)


def _items(nest: Any) -> Any:
    return nest.items() if isinstance(nest, dict) else enumerate(nest)


def held_at(holder: Any, key: Any) -> Any:
    """What a cell, whose key is None, a dict or a list holds; None if there is nothing."""
    try:
        return holder.cell_contents if key is None else holder[key]
    except (ValueError, LookupError):
        return None


def putting(holder: Any, key: Any, value: Any) -> tuple[Any, ...]:
    """The call that lets it hold a value."""
    return (
        (setattr, holder, "cell_contents", value) if key is None else (setitem, holder, key, value)
    )


def _is_module(kind: type) -> bool:
    return issubclass(kind, Module) and kind is not Module
