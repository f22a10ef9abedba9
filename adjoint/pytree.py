"""Nests of containers, taken apart into leaves and put together again.

Tuples, lists, dicts, ordered and default dicts, deques, named tuples and dataclasses are taken
apart; whatever else, None included, is a leaf. A container is known by its very class: a subclass
of one of these is a leaf until it is registered, because it may mean something by being one.
"""

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple

Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[list[Any], Any], Any]


class _Container(NamedTuple):
    """How one class is taken apart, into children and a context, and put together."""

    flatten: Flatten
    unflatten: Unflatten
    children_in: Callable[[Any, Any], list[Any]] | None  # in another tree, by a given context


class TreeSpec:
    """The shape of a tree without its leaves: a container's class, context and children."""

    __slots__ = ("children_specs", "context", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: "Iterable[TreeSpec]") -> None:
        self.type = type  # None: this is a leaf
        self.context = context
        self.children_specs = tuple(children_specs)
        leaves, nodes = 1 if type is None else 0, 1
        for child in self.children_specs:
            leaves += child.num_leaves
            nodes += child.num_nodes
        self.num_leaves: int = leaves
        self.num_nodes: int = nodes

    @property
    def num_children(self) -> int:
        """How many children the container has."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether it stands for a single leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this shape; see tree_unflatten."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"tree_unflatten: {len(given)} leaves came for a tree of {self.num_leaves}"
            )
        return self.built(iter(given))

    def built(self, leaves: Any) -> Any:
        """A tree of this shape from an iterator of leaves, which may go on after it."""
        if self.type is None:
            return next(leaves)
        if self.num_nodes == self.num_leaves + 1:  # one container of leaves, as most trees are
            children = list(islice(leaves, self.num_leaves))
        else:
            children = [child.built(leaves) for child in self.children_specs]
        return container_of(self.type).unflatten(children, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What stands in another tree in the places of this one's leaves."""
        found: list[Any] = []
        self.collect(tree, found)
        return found

    def collect(self, tree: Any, found: list[Any]) -> None:
        """Append what stands in the places of the leaves."""
        if self.type is None:
            found.append(tree)
            return
        if type(tree) is not self.type:
            raise ValueError(
                f"trees differ: a {self.type.__name__} was expected, a {type(tree).__name__} came"
            )
        container = container_of(self.type)
        if container.children_in is not None:
            children = container.children_in(tree, self.context)
        else:
            children = list(container.flatten(tree)[0])
        if len(children) != len(self.children_specs):
            raise ValueError(
                f"trees differ: a {self.type.__name__} of {len(self.children_specs)} was expected, "
                f"one of {len(children)} came"
            )
        for spec, child in zip(self.children_specs, children, strict=True):
            spec.collect(child, found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        named = issubclass(self.type, tuple) and self.context is self.type
        parts = [repr(child).replace("\n", "\n  ") for child in self.children_specs]
        inner = ",\n  ".join(parts)
        return (
            f"TreeSpec({'namedtuple' if named else self.type.__name__}, {self.context}, [{inner}])"
        )


LEAF = TreeSpec(None, None, ())


def _values_at(tree: Any, keys: Any) -> list[Any]:
    """The values of a dictionary in the order of another's keys."""
    if len(tree) != len(keys) or any(key not in tree for key in keys):
        raise ValueError(f"trees differ: the keys {list(keys)} were expected, {list(tree)} came")
    return [tree[key] for key in keys]


def _dictionary(kind: Any) -> _Container:
    return _Container(
        lambda tree: (tree.values(), list(tree)),
        lambda children, keys: kind(zip(keys, children, strict=True)),
        _values_at,
    )


_CONTAINERS: dict[type, _Container] = {
    tuple: _Container(lambda tree: (tree, None), lambda children, _: tuple(children), None),
    list: _Container(lambda tree: (tree, None), lambda children, _: children, None),
    dict: _dictionary(dict),
    OrderedDict: _dictionary(OrderedDict),
    defaultdict: _Container(
        lambda tree: (tree.values(), [tree.default_factory, list(tree)]),
        lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
        lambda tree, context: _values_at(tree, context[1]),
    ),
    deque: _Container(
        lambda tree: (tree, tree.maxlen), lambda children, length: deque(children, length), None
    ),
}
_NAMED_TUPLE = _Container(
    lambda tree: (tree, type(tree)), lambda children, kind: kind._make(children), None
)


def _fields_of(tree: Any) -> tuple[list[Any], Any]:
    return [getattr(tree, f.name) for f in dataclasses.fields(tree)], type(tree)


def _dataclass_of(children: list[Any], kind: Any) -> Any:
    """An instance with these fields; not by __init__, which may check or change its arguments."""
    made = object.__new__(kind)
    for field, child in zip(dataclasses.fields(kind), children, strict=True):
        object.__setattr__(made, field.name, child)  # frozen ones too
    return made


_DATACLASS = _Container(_fields_of, _dataclass_of, None)


@functools.lru_cache(maxsize=256)  # each leaf comes here
def _container_of(kind: type) -> Any:
    found = _CONTAINERS.get(kind)
    if found is None:
        if issubclass(kind, tuple):
            return _NAMED_TUPLE if hasattr(kind, "_fields") else None
        # What dataclasses.is_dataclass asks.
        if hasattr(kind, "__dataclass_fields__") and not issubclass(kind, (dict, list)):
            return _DATACLASS
    return found


# How a class is taken apart; None if its instances are leaves.
container_of: Callable[[type], Any] = _container_of


def register_pytree_node(cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten) -> None:
    """Take instances of cls apart as well.

    flatten_fn answers the children and a context that can be compared; unflatten_fn is given a
    list of children and that context.
    """
    if cls in _CONTAINERS:
        raise ValueError(f"{cls.__name__} is registered as a pytree node already")
    _CONTAINERS[cls] = _Container(flatten_fn, unflatten_fn, None)
    _container_of.cache_clear()


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, from the left, and its shape; `is_leaf` may stop at a container."""
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, leaves, is_leaf)


def _taken_apart(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    container = container_of(type(tree))
    if container is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    children, context = container.flatten(tree)
    specs = [_taken_apart(child, leaves, is_leaf) for child in children]
    return TreeSpec(type(tree), context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a shape with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten: expected a TreeSpec after the leaves, got {type(treespec).__name__}"
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree, from the left."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The shape of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """A tree of what func makes of each leaf, and of what stands at its place in the rests."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(*group) for group in zip(leaves, *others, strict=True))
