"""What functions read by name: found in their code, and in that of the functions they name."""

import dis
import functools
import inspect
import sys
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from adjoint.nn.module import Module
from adjoint.optim.optimizer import Optimizer
from adjoint.tensors.tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LIBRARIES = {"adjoint", "numpy", "jax", "jaxlib", "cupy", "scipy", *sys.stdlib_module_names}
_LIBRARIES.discard("__main__")
_METHODS_APART = sys.version_info < (3, 12)  # whether an instruction of its own names a method


def _is_own(name: Any) -> bool:
    """Whether a module of this name belongs to the user's program."""
    return str(name).partition(".")[0] not in _LIBRARIES


class _Names:
    """The names in a code: those of globals and attributes that it reads, and that it binds."""

    def __init__(self) -> None:
        self.plain: set[str] = set()  # read from around
        self.read: set[str] = set()  # attributes
        self.called: set[str] = set()  # methods
        self.bound: set[str] = set()  # attributes that get other values

    def add(self, code: CodeType) -> None:
        """Add those of a code, and of the codes inside."""
        for each in dis.get_instructions(code):
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                self.plain.add(each.argval)
            elif each.opname == "LOAD_METHOD":
                self.called.add(each.argval)
            elif each.opname == "LOAD_ATTR":
                is_method = not _METHODS_APART and (each.arg or 0) & 1
                (self.called if is_method else self.read).add(each.argval)
            elif each.opname == "STORE_ATTR":
                self.bound.add(each.argval)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.add(constant)


class Reads:
    """What a function reads by name, itself and through what it names."""

    def __init__(self, functions: list[Any]) -> None:
        self.found: dict[
            tuple[int, Any], tuple[Any, Any, str, Any]
        ] = {}  # holder, key, name, value
        self.modules: dict[int, Any] = {}
        self.optimizers: dict[int, Any] = {}
        self.tensors: dict[int, Any] = {}
        self._names = _Names()
        self._objects: dict[int, Any] = {}
        self._seen: dict[int, Any] = {}
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

    def _read(self, holder: Any, key: Any, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            if _is_own(value.__name__):
                self._objects[id(value)] = value
        elif not isinstance(value, type):
            self.found.setdefault((id(holder), key), (holder, key, name, value))
            self._value(value)

    def _value(self, value: Any) -> None:
        if isinstance(value, PLAIN) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
        elif isinstance(value, (list, tuple, set, frozenset)):
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
        elif hasattr(value, "__wrapped__"):
            self._value(inspect.unwrap(value))
        elif hasattr(value, "__dict__") and _is_own(type(value).__module__):
            self._objects[id(value)] = value
            self._class_function(value, "__call__")

    def _function(self, function: Any) -> None:
        plain = inspect.unwrap(function)
        if not isinstance(plain, FunctionType) or not _is_own(plain.__module__):
            return
        self._seen[id(plain)] = plain
        code = plain.__code__
        self._names.add(code)
        for name, cell in zip(code.co_freevars, plain.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # it is not bound yet
                continue
            self._read(cell, None, name, value)
        names = _Names()
        names.add(code)
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
        for name in (self._names.read - self._names.bound) & fields.keys():
            self._read(fields, name, name, fields[name])
        for name in self._names.called & fields.keys():  # a function, or an object that is called
            self._read(fields, name, name, fields[name])
        if not isinstance(value, ModuleType):
            for name in self._names.called | self._names.read:
                self._class_function(value, name)

    def _member(self, module: Any) -> None:
        """What is read of a module: all plain values of a layer, of others as of objects."""
        self._objects[id(module)] = module
        self._class_function(module, "forward")
        if all(_is_own(each.__module__) for each in type(module).__mro__ if _is_module(each)):
            return
        fields = vars(module)
        for name, value in list(fields.items()):
            if isinstance(value, (*PLAIN, tuple)) and name[0] != "_" and name != "training":
                self._read(fields, name, name, value)


def _is_module(kind: type) -> bool:
    return issubclass(kind, Module) and kind is not Module
