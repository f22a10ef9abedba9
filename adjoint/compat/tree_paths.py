"""The ways to the leaves of a tree, and containers of one kind taken apart."""

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from adjoint import pytree

KeyPath = tuple[Any, ...]
IsLeaf = Callable[[Any], bool] | None


class MappingKey(NamedTuple):
    """The way to a value of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value there."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The way to an element of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The element there."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The way to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The value of the attribute."""
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """A way as Python would write it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What lies at the end of a way."""
    for key in kp:
        obj = key.get(obj)
    return obj


WITH_KEYS: dict[type, Any] = {}  # what programs registered to take a class apart with steps


def _apart_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The children of a container, each after the step to it, and its context."""
    if type(tree) in WITH_KEYS:
        pairs, context = WITH_KEYS[type(tree)](tree)
        return list(pairs), context
    children, context = pytree.container_of(type(tree)).flatten(tree)
    return list(zip(_steps(tree), children, strict=True)), context


def _steps(tree: Any) -> list[Any]:
    """The steps into a container."""
    if isinstance(tree, dict):
        return [MappingKey(key) for key in tree]
    if hasattr(tree, "_fields"):
        return [GetAttrKey(name) for name in tree._fields]
    if isinstance(tree, (list, tuple, deque)):
        return [SequenceKey(i) for i in range(len(tree))]
    if dataclasses.is_dataclass(tree):
        return [GetAttrKey(field.name) for field in dataclasses.fields(tree)]
    raise ValueError(
        f"the steps into a {type(tree).__name__} are not known: register it with "
        "flatten_with_keys_fn"
    )


def _ways(tree: Any, is_leaf: IsLeaf, way: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    spec = pytree.tree_structure(tree, is_leaf)
    if spec.is_leaf():
        yield way, tree
        return
    for step, child in _apart_with_keys(tree)[0]:
        yield from _ways(child, is_leaf, (*way, step))


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each after the way to it."""
    return list(_ways(tree, is_leaf, ()))


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], pytree.TreeSpec]:
    """The leaves of a tree, each after the way to it, and its shape."""
    return tree_leaves_with_path(tree, is_leaf), pytree.tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """The tree with func's answers to the way to each leaf, the leaf, and those of other trees."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(
        func(way, leaf, *(column[i] for column in others)) for i, (way, leaf) in enumerate(found)
    )


# ---- containers of one kind, as PyTorch's table has functions for each ----


def _apart(kind: Any) -> Any:
    def flatten(tree: Any) -> tuple[list[Any], Any]:
        children, context = pytree.container_of(kind).flatten(tree)
        return list(children), context

    return flatten


def _together(kind: Any) -> Any:
    return lambda children, context: pytree.container_of(kind).unflatten(list(children), context)


_KINDS: dict[str, Any] = {
    "tuple": tuple,
    "list": list,
    "dict": dict,
    "ordereddict": OrderedDict,
    "odict": OrderedDict,
    "defaultdict": defaultdict,
    "deque": deque,
}


def _namedtuple_apart(tree: Any) -> tuple[list[Any], Any]:
    return list(tree), type(tree)


def _namedtuple_together(children: Any, context: Any) -> Any:
    return context(*children)


BY_KIND: dict[str, Any] = {
    **{f"_{name}_flatten": _apart(kind) for name, kind in _KINDS.items()},
    **{f"_{name}_flatten_with_keys": _apart_with_keys for name in (*_KINDS, "namedtuple")},
    **{f"_{name}_unflatten": _together(kind) for name, kind in _KINDS.items()},
    "_namedtuple_flatten": _namedtuple_apart,
    "_namedtuple_unflatten": _namedtuple_together,
}
