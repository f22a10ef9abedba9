"""What a program takes for granted of the world outside its arguments, looked at before each call.

Modules that took part must have the same members, mode and hooks; what a function reads by name,
the same tensors and plain values.
"""

import inspect
from itertools import repeat
from operator import getitem
from types import CodeType
from typing import Any

from adjoint.compiling.errors import OutdatedError
from adjoint.nn.module_hooks import BACKWARD, BACKWARD_PRE, FORWARD, FORWARD_PRE
from adjoint.tensors.core import are_without_hooks, hold
from adjoint.tensors.tensor import Tensor

_MEMBERS = ("_parameters", "_buffers", "_modules")
_TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_WATCHED = (*_MEMBERS, *_TABLES)
_EVERYONE = (FORWARD_PRE, FORWARD, BACKWARD_PRE, BACKWARD)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class ModuleGuard:
    """The mode, members and hooks of a module."""

    __slots__ = ("empty", "found", "hooks", "members", "module", "training")

    def __init__(self, module: Any) -> None:
        self.module = module
        fields = module.__dict__
        self.found = fields.__getitem__
        self.training = module.training
        self.members = [(n, tuple(map(id, fields[n].values()))) for n in _MEMBERS if fields[n]]
        self.hooks = [(name, tuple(fields[name])) for name in _TABLES if fields[name]]
        self.empty = [name for name in (*_MEMBERS, *_TABLES) if not fields[name]]

    def check(self) -> None:
        """Raise OutdatedError if something has changed."""
        if self.found("training") is not self.training:
            raise OutdatedError(f"training of a {type(self.module).__name__} has changed")
        if any(map(self.found, self.empty)):
            raise OutdatedError(f"a {type(self.module).__name__} has got a member, or a hook")
        for name, ids in self.members:
            if tuple(map(id, self.found(name).values())) != ids:
                raise OutdatedError(f"a member of a {type(self.module).__name__} was replaced")
        for name, keys in self.hooks:
            if tuple(self.found(name)) != keys:
                raise OutdatedError(f"the hooks of a {type(self.module).__name__} have changed")


class ModulesGuard:
    """All modules that took part: seen to be as they were at once, or else one by one."""

    __slots__ = ("each", "fields", "names", "owners", "training", "values")

    def __init__(self, modules: list[Any]) -> None:
        self.each = [ModuleGuard(module) for module in modules]
        self.fields = [module.__dict__ for module in modules]
        self.training = [fields["training"] for fields in self.fields]
        self.owners = [fields for fields in self.fields for _ in _WATCHED]
        self.names = list(_WATCHED) * len(modules)
        self.values = [list(o[n].values()) for o, n in zip(self.owners, self.names)]

    def check(self) -> None:
        """Raise OutdatedError if something has changed."""
        training = list(map(getitem, self.fields, repeat("training")))
        if training != self.training or not hold(self.owners, self.names, self.values):
            for guard in self.each:
                guard.check()


class HookGuard:
    """The hooks of tensors and those of all modules."""

    __slots__ = ("bare", "everyone", "hooked")

    def __init__(self, tensors: list[Any]) -> None:
        self.everyone = _keys_of_everyone() if any(_EVERYONE) else []
        self.hooked = [(tensor, hooks_of(tensor)) for tensor in tensors if hooks_of(tensor)]
        self.bare = [tensor for tensor in tensors if not hooks_of(tensor)]

    def check(self) -> None:
        """Raise OutdatedError if one was added or removed."""
        if FORWARD_PRE or FORWARD or BACKWARD_PRE or BACKWARD or self.everyone:
            if _keys_of_everyone() != self.everyone:
                raise OutdatedError("the hooks of all modules have changed")
        if self.hooked and any(hooks_of(tensor) != keys for tensor, keys in self.hooked):
            raise OutdatedError("the hooks of a tensor have changed")
        if not are_without_hooks(self.bare):
            raise OutdatedError("a tensor has got a hook")


def _keys_of_everyone() -> list[tuple[int, ...]]:
    return [tuple(table) for table in _EVERYONE]


def hooks_of(tensor: Any) -> Any:
    """The ids of a leaf's hooks; None if it has none."""
    extras = tensor.extras
    if extras is None or (not extras.hooks and not extras.post_accumulate):
        return None
    return tuple(extras.hooks or ()), tuple(extras.post_accumulate or ())


class NameGuard:
    """A value that a function reads by name, from around it or from its module."""

    __slots__ = ("holder", "key", "name", "parts", "value")

    def __init__(self, holder: Any, key: Any, name: str, value: Any) -> None:
        self.holder = holder
        self.key = key  # None: the holder is a cell
        self.name = name
        self.value = value
        self.parts = tuple(map(id, value)) if type(value) in (list, tuple) else None

    def check(self) -> None:
        """Raise OutdatedError if it is another now."""
        now = self.holder.cell_contents if self.key is None else self.holder.get(self.key)
        if now is not self.value and not self._equals(now):
            raise OutdatedError(f"'{self.name}' is another value now")
        if self.parts is not None and tuple(map(id, now)) != self.parts:
            raise OutdatedError(f"'{self.name}' has other elements now")

    def _equals(self, now: Any) -> bool:
        """Whether another object is as good: a tensor never is, of a list the elements count."""
        if type(now) is not type(self.value) or isinstance(now, Tensor):
            return False
        return self.parts is not None or bool(now == self.value)


def _guarded(value: Any) -> bool:
    """Whether a value that is read by name can change what a program does."""
    if isinstance(value, (Tensor, *_PLAIN)):
        return True
    if type(value) in (list, tuple):
        return all(isinstance(each, (Tensor, *_PLAIN)) for each in value)
    return False


def names_of(function: Any) -> list[NameGuard]:
    """The values that a function reads by name: from around it, and those of its module."""
    plain = inspect.unwrap(function)
    owner = getattr(plain, "__self__", None)
    plain = getattr(plain, "__func__", plain)
    code = getattr(plain, "__code__", None)
    found: list[NameGuard] = []
    if not isinstance(code, CodeType):
        return found
    for name, cell in zip(code.co_freevars, plain.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:  # it is not bound yet
            continue
        if _guarded(value):
            found.append(NameGuard(cell, None, name, value))
    for name in code.co_names:
        for holder in (plain.__globals__, getattr(owner, "__dict__", {})):
            if name in holder and _guarded(holder[name]):
                found.append(NameGuard(holder, name, name, holder[name]))
    return found


def listed(guards: list[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]] | None:
    """What hooks, names and modules have to be, in lists: see `compiling.repeated`.

    Tensors without hooks, tables that are empty, holders with names and values, and the guards of
    modules; None if there is more to look at.
    """
    hooks = [guard for guard in guards if isinstance(guard, HookGuard)]
    names = [guard for guard in guards if isinstance(guard, NameGuard) and guard.parts is None]
    modules = [guard for guard in guards if isinstance(guard, ModulesGuard)]
    more = len(hooks) + len(names) + len(modules) < len(guards)
    if more or any(guard.hooked or guard.everyone for guard in hooks):
        return None
    bare = [tensor for guard in hooks for tensor in guard.bare]
    values = [(guard.holder, guard.key, guard.value) for guard in names]
    return bare, list(_EVERYONE), values, modules


def guards_of(function: Any, modules: list[Any], tensors: list[Any]) -> list[Any]:
    """All that is looked at before each call of a program."""
    every: dict[int, Any] = {}
    for module in modules:
        every.update((id(each), each) for each in module.modules())
    modules_guards = [ModulesGuard(list(every.values()))] if every else []
    return [*modules_guards, HookGuard(tensors), *names_of(function)]
