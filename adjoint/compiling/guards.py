"""What a program takes for granted of the world outside its arguments, looked at before each call.

Modules that took part must have the same members, mode and hooks; optimizers the same parameters;
what functions read by name must be the same tensors, objects and plain values.
"""

from collections import deque
from itertools import repeat
from operator import getitem, is_
from typing import Any

from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.reads import PLAIN, Reads, held_at
from adjoint.nn.module_hooks import BACKWARD, BACKWARD_PRE, FORWARD, FORWARD_PRE
from adjoint.tensors.core import NDARRAY, are_without_hooks, bound, hold
from adjoint.tensors.tensor import Tensor

_MEMBERS = ("_parameters", "_buffers", "_modules")
_TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_WATCHED = (*_MEMBERS, *_TABLES)
_EVERYONE = (FORWARD_PRE, FORWARD, BACKWARD_PRE, BACKWARD)


class ModuleGuard:
    """The mode, members and hooks of a module."""

    __slots__ = ("empty", "found", "hooks", "members", "module", "training")

    def __init__(self, module: Any, watched: list[str]) -> None:
        self.module = module
        fields = module.__dict__
        self.found = fields.__getitem__
        self.training = module.training
        members = [name for name in watched if name in _MEMBERS and fields[name]]
        self.members = [(name, tuple(map(id, fields[name].values()))) for name in members]
        self.hooks = [(name, tuple(fields[name])) for name in _TABLES if fields[name]]
        self.empty = [name for name in watched if not fields[name]]

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

    def __init__(self, modules: list[Any], replaced: set[int]) -> None:
        self.fields = [module.__dict__ for module in modules]
        self.training = [fields["training"] for fields in self.fields]
        watched = [[n for n in _WATCHED if id(each[n]) not in replaced] for each in self.fields]
        self.each = [ModuleGuard(module, names) for module, names in zip(modules, watched)]
        self.owners = [fields for fields, names in zip(self.fields, watched) for _ in names]
        self.names = [name for names in watched for name in names]
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


DEPTH = 6  # of containers that are looked into
MANY = 1000  # elements of a container, which is then known by itself and their number
LARGE = 1 << 18  # bytes of an array that is known by itself, and not by its values
_NESTS = (list, tuple, dict, deque, set, frozenset)


class Contents:
    """What a container held, and what the containers in it did; of a large one how much."""

    __slots__ = ("keys", "kind", "large", "parts", "plain", "size")

    def __init__(self, value: Any, around: tuple[int, ...]) -> None:
        self.kind = type(value)
        self.size = len(value)
        self.large = value if self.size > MANY else None
        self.keys = list(value) if isinstance(value, dict) and self.large is None else None
        parts = () if self.large is not None else value if self.keys is None else value.values()
        self.parts = [kept(each, (*around, id(value))) for each in parts]
        self.plain = not any(isinstance(each, Contents) for each in self.parts)

    def fits(self, now: Any) -> bool:
        """Whether a container holds the same."""
        if type(now) is not self.kind or len(now) != self.size:
            return False
        if self.large is not None:
            return now is self.large
        if self.keys is not None:
            if list(now) != self.keys:
                return False
            now = now.values()
        return (self.plain and all(map(is_, now, self.parts))) or all(map(fits, now, self.parts))

    def counts_otherwise(self, now: Any) -> bool:
        """Whether a container has got or lost something, or holds other values but tensors."""
        if type(now) is not self.kind or len(now) != self.size:
            return True
        if self.keys is not None:
            if list(now) != self.keys:
                return True
            now = now.values()
        return any(map(is_otherwise, now, self.parts))


class Members(Contents):
    """What a set held, or an array of NumPy's that is not large."""

    __slots__ = ("members",)

    def __init__(self, value: Any) -> None:
        super().__init__((), ())
        self.members = _members(value)

    def fits(self, now: Any) -> bool:
        """Whether another holds the same."""
        return bool(_members(now) == self.members)

    def counts_otherwise(self, now: Any) -> bool:
        """Whether it holds other values."""
        return not self.fits(now)


def _members(value: Any) -> Any:
    if type(value) is NDARRAY:
        return value.shape, value.dtype, value.tobytes()
    return type(value), set(value) if isinstance(value, (set, frozenset)) else value


def kept(value: Any, around: tuple[int, ...] = ()) -> Any:
    """A value as others are compared with it later; `around` it are containers."""
    if type(value) is NDARRAY:
        return Members(value) if value.nbytes <= LARGE else value
    if isinstance(value, (set, frozenset)) and len(value) <= MANY:
        return Members(value)
    if not isinstance(value, _NESTS) or id(value) in around or len(around) == DEPTH:
        return value
    return Contents(value, around)


def fits(now: Any, then: Any) -> bool:
    """Whether a value is as good as one from before: plain ones and containers may be others."""
    if isinstance(then, Contents):
        return then.fits(now)
    if now is then:
        return True
    return type(now) is type(then) and isinstance(then, PLAIN) and repr(now) == repr(then)


def is_otherwise(now: Any, then: Any) -> bool:
    """Whether a value has changed; tensors are not looked at."""
    if isinstance(then, Contents):
        return then.counts_otherwise(now)
    return not (isinstance(now, Tensor) and isinstance(then, Tensor)) and not fits(now, then)


class PythonState:
    """What a function may change of Python's own objects, as it was before it ran."""

    def __init__(self, reads: Reads) -> None:
        found = (*reads.found.values(), *reads.bound.values())
        self.before = [(holder, key, name, kept(value)) for holder, key, name, value in found]

    def changed(self) -> list[str]:
        """The names of what is otherwise now."""
        return [
            name
            for holder, key, name, then in self.before
            if is_otherwise(held_at(holder, key), then)
        ]


class NamesGuard:
    """Values that functions read by name: from around them, and of modules and objects."""

    __slots__ = ("found", "holders", "keys", "nests", "values")

    def __init__(self, found: list[tuple[Any, Any, str, Any]]) -> None:
        self.found = [(holder, key, name, kept(value)) for holder, key, name, value in found]
        self._arrange()

    def _arrange(self) -> None:
        single = [each for each in self.found if not isinstance(each[3], Contents)]
        self.holders = [each[0] for each in single]
        self.keys = [each[1] for each in single]
        self.values = [each[3] for each in single]
        self.nests = [each for each in self.found if isinstance(each[3], Contents)]

    def holds(self) -> bool:
        """Whether all are the same; what is equal only may count as another."""
        if not bound(self.holders, self.keys, self.values):
            return False
        return all(then.fits(held_at(holder, key)) for holder, key, _, then in self.nests)

    def check(self) -> None:
        """Raise OutdatedError if one is another now."""
        if self.holds():
            return
        for holder, key, name, then in self.found:
            if not fits(held_at(holder, key), then):
                raise OutdatedError(f"'{name}' is another value now, or holds others")
        self._renew(self.found)

    def settle(self) -> None:
        """A call has ended: what it has changed itself is none of what it depends on."""
        if not self.holds():
            self._renew([each for each in self.found if fits(held_at(each[0], each[1]), each[3])])

    def _renew(self, found: list[tuple[Any, Any, str, Any]]) -> None:
        self.found = [
            each if isinstance(each[3], Contents) else (*each[:3], held_at(each[0], each[1]))
            for each in found
        ]
        self._arrange()


def settle(guards: list[Any]) -> None:
    """The first call of a program has ended: leave out what it changes itself."""
    for guard in guards:
        if isinstance(guard, NamesGuard):
            guard.settle()


class GroupsGuard:
    """The groups of optimizers, and the parameters in them."""

    __slots__ = ("each",)

    def __init__(self, optimizers: list[Any]) -> None:
        self.each = [(o, [list(group["params"]) for group in o.param_groups]) for o in optimizers]

    def holds(self) -> bool:
        """Whether they are as they were."""
        for optimizer, known in self.each:
            groups = optimizer.param_groups
            if len(groups) != len(known):
                return False
            for group, params in zip(groups, known):
                now = group["params"]
                if len(now) != len(params) or not all(map(is_, now, params)):
                    return False
        return True

    def check(self) -> None:
        """Raise OutdatedError if they are not."""
        if not self.holds():
            raise OutdatedError("an optimizer has got other parameters")


def listed(guards: list[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]] | None:
    """What hooks, modules and others have to be, in lists: see `compiling.repeated`.

    Tensors without hooks, tables that are empty, guards of names and groups, and those of modules;
    None if there is more to look at.
    """
    hooks = [guard for guard in guards if isinstance(guard, HookGuard)]
    modules = [guard for guard in guards if isinstance(guard, ModulesGuard)]
    others = [guard for guard in guards if isinstance(guard, (NamesGuard, GroupsGuard))]
    if any(guard.hooked or guard.everyone for guard in hooks):
        return None
    return [each for guard in hooks for each in guard.bare], list(_EVERYONE), others, modules


def guards_of(
    reads: Reads, optimizers: list[Any], tensors: list[Any], bound: list[tuple[Any, Any]]
) -> list[Any]:
    """All that is looked at before each call of a program, but for what that binds itself."""
    places = {(id(holder), key) for holder, key in bound}
    modules, holders = list(reads.modules.values()), {place[0] for place in places}
    guards: list[Any] = [ModulesGuard(modules, holders)] if modules else []
    guards.append(HookGuard(tensors))
    found = [each for place, each in reads.found.items() if place not in places]
    if found:
        guards.append(NamesGuard(found))
    every = {**reads.optimizers, **{id(each): each for each in optimizers}}
    return [*guards, GroupsGuard(list(every.values()))] if every else guards
