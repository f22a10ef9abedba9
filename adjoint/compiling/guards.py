"""What a program takes for granted of the world outside its arguments, looked at before each call.

Modules that took part must have the same members, mode and hooks; optimizers the same parameters;
what functions read by name must be the same tensors, objects and plain values.
"""

import pickle
import random
from array import array
from collections import deque
from itertools import repeat
from operator import getitem, is_, is_not
from types import MappingProxyType
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.compiling.errors import EagerError, OutdatedError
from adjoint.compiling.reads import CHANCE, PLAIN, TABLES, Reads, held_at, putting
from adjoint.compiling.repeated import Bindings
from adjoint.nn.module_hooks import BACKWARD, BACKWARD_PRE, FORWARD, FORWARD_PRE
from adjoint.tensors.core import ABSENT, NDARRAY, are_without_hooks, hold
from adjoint.tensors.tensor import Tensor

_np: Any = numpy_backend.xp
_MEMBERS = ("_parameters", "_buffers", "_modules")
_WATCHED = (*_MEMBERS, *TABLES)
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
        self.hooks = [(name, tuple(fields[name])) for name in TABLES if fields[name]]
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


DEPTH = 100  # of containers that are looked into
_NESTS = (list, tuple, dict, deque, MappingProxyType)
_BYTES = (bytearray, memoryview, array)
FREE: Any = object()  # instead of what may be anything


class Contents:
    """What a container held, and what the containers in it did."""

    __slots__ = ("keys", "kind", "lasting", "parts", "plain", "size")

    def __init__(self, value: Any, around: tuple[int, ...], free: Any) -> None:
        self.kind = type(value)
        self.size = len(value)
        mapping = isinstance(value, (dict, MappingProxyType))
        self.keys = list(value) if mapping else None
        parts = value.values() if mapping else _flat(value)
        places = self.keys if self.keys is not None else range(self.size)
        around = (*around, id(value))
        self.parts = [
            FREE if (id(value), place) in free else kept(each, around, free)
            for place, each in zip(places, parts)
        ]
        self.plain = not any(isinstance(each, Contents) or each is FREE for each in self.parts)
        lasting = isinstance(value, tuple) and all(map(lasts, self.parts))
        self.lasting = value if lasting else ABSENT

    def fits(self, now: Any) -> bool:
        """Whether a container holds the same."""
        if now is self.lasting:
            return True
        if type(now) is not self.kind or len(now) != self.size:
            return False
        if self.keys is not None:
            if list(now) != self.keys:
                return False
            now = now.values()
        else:
            now = _flat(now)
        return (self.plain and all(map(is_, now, self.parts))) or all(map(fits, now, self.parts))

    def counts_otherwise(self, now: Any) -> bool:
        """Whether a container has got or lost something, or holds other values but tensors."""
        if type(now) is not self.kind or len(now) != self.size:
            return True
        if self.keys is not None:
            if list(now) != self.keys:
                return True
            now = now.values()
        return any(map(is_otherwise, _flat(now), self.parts))


class Members(Contents):
    """What a set held, or an array of NumPy's or Python's."""

    __slots__ = ("members",)

    def __init__(self, value: Any) -> None:
        super().__init__([], (), ())
        self.members = _members(value)

    def fits(self, now: Any) -> bool:
        """Whether another holds the same."""
        return bool(_members(now) == self.members)

    def counts_otherwise(self, now: Any) -> bool:
        """Whether it holds other values."""
        return not self.fits(now)


def _flat(value: Any) -> Any:
    return value.ravel().tolist() if isinstance(value, NDARRAY) else value


def lasts(then: Any) -> bool:
    """Whether nothing in a value can change."""
    return then.lasting is not ABSENT if isinstance(then, Contents) else then is not FREE


def _members(value: Any) -> Any:
    if isinstance(value, NDARRAY):
        held = value.tobytes() if type(value) is NDARRAY else value.dumps()
        return type(value), value.shape, value.dtype, held
    if isinstance(value, _BYTES):
        return type(value), bytes(value)
    return type(value), set(value) if isinstance(value, (set, frozenset)) else value


def kept(value: Any, around: tuple[int, ...] = (), free: Any = frozenset()) -> Any:
    """A value as others are compared with it later; `around` it are containers.

    What is held at the places `free` may be anything.
    """
    if isinstance(value, NDARRAY) and not value.dtype.hasobject:
        fixed = type(value) is NDARRAY and value.base is None and not value.flags.writeable
        return value if fixed else Members(value)
    if isinstance(value, (set, frozenset, *_BYTES)):
        return Members(value)
    if not isinstance(value, (*_NESTS, NDARRAY)) or id(value) in around:
        return value
    if len(around) == DEPTH:
        raise EagerError(f"it reads containers inside of containers, more than {DEPTH} deep")
    return Contents(value, around, free)


def fits(now: Any, then: Any) -> bool:
    """Whether a value is as good as one from before: plain ones and containers may be others."""
    if isinstance(then, Contents):
        return then.fits(now)
    if now is then or then is FREE:
        return True
    return type(now) is type(then) and isinstance(then, PLAIN) and repr(now) == repr(then)


def is_otherwise(now: Any, then: Any) -> bool:
    """Whether a value has changed; tensors are not looked at."""
    if isinstance(then, Contents):
        return then.counts_otherwise(now)
    return not (isinstance(now, Tensor) and isinstance(then, Tensor)) and not fits(now, then)


def refuse_iterators(name: str, reads: Reads) -> None:
    """Refuse a function that may go on with an iterator: a program would not."""
    for each in reads.iterators:
        raise EagerError(
            f"{name} reads '{each}', which gives other values each time, and none to a program. "
            "Take them outside, and pass them as arguments"
        )


def _put_back(source: Any, before: Any) -> None:
    """Let a source of random numbers go on from where another of its kind is."""
    if isinstance(source, random.Random):
        source.setstate(before.getstate())
    elif isinstance(source, _np.random.RandomState):
        source.set_state(before.get_state())
    else:
        source.bit_generator.state = before.bit_generator.state


class PythonState:
    """What a function may change of Python's own objects, as it was before it ran."""

    def __init__(self, reads: Reads) -> None:
        found = (*reads.found.values(), *reads.bound.values())
        self.before = [(holder, key, name, kept(value)) for holder, key, name, value in found]
        sources = [each for each in found if isinstance(each[3], CHANCE)]
        self.chance = [(name, value, pickle.dumps(value)) for _, _, name, value in sources]
        self.places: list[tuple[Any, Any]] = []  # of what was found to be otherwise

    def changed(self, carried: Any = ()) -> list[str]:
        """The names of what is otherwise now, but for tensors at places that a program fills."""
        for name, source, before in self.chance:
            if pickle.dumps(source) != before:
                _put_back(source, pickle.loads(before))  # noqa: S301  # written above
                raise EagerError(
                    f"it draws from '{name}', random numbers of Python's or NumPy's, which would "
                    "be the same at each call; draw by adjoint's functions, or outside"
                )
        now = [held_at(*each[:2]) for each in self.before]
        found = [
            each
            for each, value in zip(self.before, now)
            if is_otherwise(value, each[3])
            and not (isinstance(value, Tensor) and (id(each[0]), each[1]) in carried)
        ]
        self.places = [each[:2] for each in found]
        return [each[2] for each in found]

    def put_back(self) -> None:
        """Let what was changed be as before: plain values, and what lists and dicts hold."""
        for holder, key, _, before in self.before:
            now = held_at(holder, key)
            if not is_otherwise(now, before):
                continue
            if isinstance(before, PLAIN) and isinstance(now, PLAIN):
                act, *given = putting(holder, key, before)
                act(*given)
            else:
                _fill_again(now, before)


def _fill_again(now: Any, before: Any) -> None:
    """Let a list or dict hold what it held; what was a container and is gone stays gone."""
    if type(before) is not Contents or type(now) is not before.kind:
        return
    if before.kind not in (list, dict):
        return
    places = range(before.size) if before.keys is None else before.keys
    there = dict(enumerate(now)) if before.kind is list else dict(now)
    parts = [
        there.get(place, ABSENT) if isinstance(part, Contents) or part is FREE else part
        for place, part in zip(places, before.parts)
    ]
    for part, known in zip(parts, before.parts):
        _fill_again(part, known)
    kept = [(place, part) for place, part in zip(places, parts) if part is not ABSENT]
    if before.kind is list:
        now[:] = [part for _, part in kept]
    else:
        now.clear()
        now.update(kept)


def _is_single(found: tuple[Any, ...]) -> bool:
    """Whether a value is as it was if it is the same; tensors make their shapes anew."""
    return lasts(found[4]) and not (isinstance(found[0], Tensor) and found[1] == "shape")


class NamesGuard:
    """Values that functions read by name: from around them, and of modules and objects."""

    __slots__ = (
        "bindings", "dicts", "fields", "found", "kinds", "lacking", "names", "nests", "owners",
    )  # fmt: skip

    def __init__(self, reads: Reads, free: set[tuple[int, Any]]) -> None:
        self.found = [
            (*each, kept(each[3], free=free))
            for place, each in reads.found.items()
            if place not in free
        ]
        self.owners = list(reads.owners.values())
        self.fields = list(reads.fields.values())
        self.lacking = [reads.names - fields.keys() for fields in self.fields]
        self.bindings = Bindings([])
        self._arrange()

    def _arrange(self) -> None:
        single = [each for each in self.found if _is_single(each)]
        self.bindings.renew([(holder, key, value) for holder, key, _, value, _ in single])
        self.nests = [each for each in self.found if not _is_single(each)]
        self.kinds = list(map(type, self.owners))
        self.dicts = list(map(vars, self.owners))
        self.names = list(map(tuple, self.fields))

    def holds(self) -> bool:
        """Whether all else is the same but bindings; what is equal only may count as another."""
        if self.fields and not self._looks_same():
            return False
        return not self.nests or all(
            fits(held_at(each[0], each[1]), each[4]) for each in self.nests
        )

    def _looks_same(self) -> bool:
        same = list(map(tuple, self.fields)) == self.names
        same = same and all(map(is_, map(type, self.owners), self.kinds))
        return same and all(map(is_, map(vars, self.owners), self.dicts))

    def check(self) -> None:
        """Raise OutdatedError if one is another now."""
        if self.bindings.hold() and self.holds():
            return
        for holder, key, name, _, then in self.found:
            if not fits(held_at(holder, key), then):
                raise OutdatedError(f"'{name}' is another value now, or holds others")
        if any(map(is_not, map(vars, self.owners), self.dicts)) or any(
            map(is_not, map(type, self.owners), self.kinds)
        ):
            raise OutdatedError("an object has got another class, or other attributes")
        for fields, lacking in zip(self.fields, self.lacking):
            for name in lacking & fields.keys():
                raise OutdatedError(f"there is an attribute '{name}' now, which there was not")
        self.found = [
            (*each[:3], held_at(*each[:2]), each[4]) if lasts(each[4]) else each
            for each in self.found
        ]
        self._arrange()


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


def listed(guards: list[Any]) -> Any:
    """What hooks, names, modules and others have to be, in lists: see `compiling.repeated`.

    Tensors without hooks, tables that are empty, bindings, guards of names that look at more and
    of groups, and those of modules; None if there is more to look at.
    """
    hooks = [guard for guard in guards if isinstance(guard, HookGuard)]
    if any(guard.hooked or guard.everyone for guard in hooks):
        return None
    modules = [guard for guard in guards if isinstance(guard, ModulesGuard)]
    names = [guard for guard in guards if isinstance(guard, NamesGuard)]
    bindings = [guard.bindings for guard in names]
    others = [guard.holds for guard in names if guard.fields or guard.nests]
    others += [guard.holds for guard in guards if isinstance(guard, GroupsGuard)]
    bare = [each for guard in hooks for each in guard.bare]
    return bare, list(_EVERYONE), bindings, others, modules


def guards_of(
    reads: Reads, optimizers: list[Any], tensors: list[Any], bound: list[tuple[Any, Any]]
) -> list[Any]:
    """All that is looked at before each call of a program, but for what that binds itself."""
    places = {(id(holder), key) for holder, key in bound}
    modules, holders = list(reads.modules.values()), {place[0] for place in places}
    guards: list[Any] = [ModulesGuard(modules, holders)] if modules else []
    guards.append(HookGuard(tensors))
    if reads.found:
        guards.append(NamesGuard(reads, places))
    every = {**reads.optimizers, **{id(each): each for each in optimizers}}
    return [*guards, GroupsGuard(list(every.values()))] if every else guards
