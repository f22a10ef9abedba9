"""torch.utils._pytree: what it has beside adjoint's pytree."""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from adjoint import pytree
from adjoint.compat import tree_texts
from adjoint.compat.tree_paths import (
    BY_KIND,
    WITH_KEYS,
    GetAttrKey as GetAttrKey,
    KeyPath as KeyPath,
    MappingKey as MappingKey,
    SequenceKey as SequenceKey,
    key_get as key_get,
    keystr as keystr,
    tree_flatten_with_path as tree_flatten_with_path,
    tree_leaves_with_path as tree_leaves_with_path,
    tree_map_with_path as tree_map_with_path,
)
from adjoint.pytree import (
    LEAF,
    TreeSpec,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
)

PyTree = DumpableContext = Any
PyTreeSpec = TreeSpec
IsLeaf = Callable[[Any], bool] | None
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]
globals().update(BY_KIND)


# ---- classes of containers, and how they are taken apart ----


def register_pytree_node(
    cls: type,
    flatten_fn: Any,
    unflatten_fn: Any,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Take instances of cls apart; the others are for texts of shapes, see treespec_dumps."""
    pytree.register_pytree_node(cls, flatten_fn, unflatten_fn)
    tree_texts.remember(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    if flatten_with_keys_fn is not None:
        WITH_KEYS[cls] = flatten_with_keys_fn


def _register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **named: Any) -> None:
    """The older name of register_pytree_node."""
    warnings.warn(
        "_register_pytree_node has a public name: register_pytree_node",
        FutureWarning,
        stacklevel=2,
    )
    if cls in pytree._CONTAINERS:  # noqa: SLF001  # PyTorch's own is private, too
        warnings.warn(f"{cls.__name__} is registered as a pytree node already", stacklevel=2)
        _deregister_pytree_node(cls)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **named)


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Name a class of named tuples, which are taken apart anyway, in texts of shapes."""
    tree_texts.remember_tuple(cls, serialized_type_name)


def _deregister_pytree_node(cls: Any) -> None:
    """Leave instances of a class whole again."""
    pytree._CONTAINERS.pop(cls)  # noqa: SLF001  # PyTorch's own is private, too
    pytree._container_of.cache_clear()  # noqa: SLF001
    WITH_KEYS.pop(cls, None)
    tree_texts.forget(cls)


def _fields_to_take(cls: Any, field_names: Any, drop_field_names: Any) -> list[str]:
    """The fields of a class that are leaves: all that its constructor takes, or those named."""
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                f"field_names must be specified: {cls} is no dataclass, so that nothing says what "
                "it is made of"
            )
        return list(field_names)
    known = {each.name for each in dataclasses.fields(cls) if each.init}
    taken = [each.name for each in dataclasses.fields(cls) if each.init]
    dropped = set(drop_field_names or ())
    if field_names is None:
        return [name for name in taken if name not in dropped]
    missing, unexpected = known - set(field_names) - dropped, set(field_names) - known
    for what, names in (("Missing", missing), ("Unexpected", unexpected)):
        if names:
            raise ValueError(f"{what} fields in field_names of {cls}: {', '.join(sorted(names))}")
    return list(field_names)


def register_dataclass(
    cls: Any,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Take instances of a dataclass apart by its fields; those that are None are no leaves."""
    names = _fields_to_take(cls, field_names, drop_field_names)

    def parted(tree: Any) -> tuple[list[Any], Any]:
        given = [name for name in names if getattr(tree, name) is not None]
        empty = [name for name in names if getattr(tree, name) is None]
        return [getattr(tree, name) for name in given], [given, empty]

    def whole(leaves: Iterable[Any], context: Any) -> Any:
        given, empty = context
        return cls(**dict(zip(given, leaves, strict=True)), **dict.fromkeys(empty))

    def with_keys(tree: Any) -> tuple[list[Any], Any]:
        leaves, context = parted(tree)
        keys = [GetAttrKey(name) for name in context[0]]
        return list(zip(keys, leaves, strict=True)), context

    register_pytree_node(
        cls,
        parted,
        whole,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys,
    )


_constants: set[Any] = set()  # classes whose instances have no leaves, and are compared whole


def register_constant(cls: Any) -> None:
    """Take instances of cls for parts of a tree's shape; they must be comparable and hashable."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            f"register_constant(cls): {cls} has no __eq__ of its own, by which trees are compared"
        )
    if cls.__hash__ is None:
        raise TypeError(
            f"register_constant(cls): {cls} has no __hash__, which a tree's shape needs"
        )
    register_pytree_node(cls, lambda value: ([], value), lambda children, value: value)
    _constants.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether instances of cls were registered as parts of a tree's shape."""
    return cls in _constants


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: Any
    flatten_fn: Any
    unflatten_fn: Any


class _SupportedNodes(Mapping[Any, "NodeDef"]):
    """The classes of containers that are taken apart, as a table."""

    def __iter__(self) -> Iterator[Any]:
        return iter(pytree._CONTAINERS)  # noqa: SLF001

    def __len__(self) -> int:
        return len(pytree._CONTAINERS)  # noqa: SLF001

    def __contains__(self, kind: Any) -> bool:
        return pytree.container_of(kind) is not None

    def __getitem__(self, kind: Any) -> NodeDef:
        container = pytree.container_of(kind)
        if container is None:
            raise KeyError(kind)
        return NodeDef(kind, container.flatten, container.unflatten)


SUPPORTED_NODES = _SupportedNodes()


def _get_node_type(tree: Any) -> Any:
    """The class by which a tree is taken apart."""
    return type(tree)


def _is_leaf(tree: Any, is_leaf: Any = None) -> bool:
    """Whether a tree is a single leaf."""
    return type(tree) not in SUPPORTED_NODES or bool(is_leaf is not None and is_leaf(tree))


def LeafSpec() -> pytree.TreeSpec:  # noqa: N802  a class in PyTorch
    """The shape of a single leaf."""
    return pytree.TreeSpec(None, None, ())


# ---- trees and their shapes ----


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is a single leaf."""
    return tree_structure(tree, is_leaf).is_leaf()


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree itself, after func was called on each leaf."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chosen(choice: Any) -> Callable[[Any], bool]:
    """Whether a leaf is meant: by one class or several, or by a function that tells."""
    if callable(choice) and not isinstance(choice, type):
        return lambda leaf: bool(choice(leaf))
    return lambda leaf: isinstance(leaf, choice)


def map_only(choice: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is for some leaves, and the others stay as they are."""
    meant = _chosen(choice)
    return lambda func: lambda leaf: func(leaf) if meant(leaf) else leaf


def tree_map_only(
    choice: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """tree_map on the leaves of a class, or those that a function chooses."""
    return tree_map(map_only(choice)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    choice: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """The tree itself, after func was called on the leaves that are meant."""
    return tree_map_(map_only(choice)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether pred holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether pred holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    choice: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Whether pred holds for every leaf of a class."""
    return all(map(pred, filter(_chosen(choice), tree_leaves(tree, is_leaf))))


def tree_any_only(
    choice: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Whether pred holds for some leaf of a class."""
    return any(map(pred, filter(_chosen(choice), tree_leaves(tree, is_leaf))))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> Any:
    """The leaves of a tree for each leaf of a larger shape; None if it is no part of that."""
    leaves, spec = tree_flatten(tree, is_leaf)
    found: list[Any] = []
    return found if _spread(iter(leaves), spec, treespec, found) else None


def _spread(leaves: Iterator[Any], spec: TreeSpec, wanted: TreeSpec, found: list[Any]) -> bool:
    """Add a leaf for each of those that stand at its place; False where two shapes differ."""
    if spec.is_leaf():
        found.extend([next(leaves)] * wanted.num_leaves)
        return True
    if (spec.type, spec.context) != (wanted.type, wanted.context):
        return False
    if spec.num_children != wanted.num_children:
        return False
    pairs = zip(spec.children_specs, wanted.children_specs)
    return all(_spread(leaves, ours, theirs, found) for ours, theirs in pairs)


treespec_dumps = tree_texts.dumps
treespec_loads = tree_texts.loads


def treespec_leaf() -> TreeSpec:
    """The shape of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The shape of a tuple of shapes."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """The shape of a dict of shapes."""
    entries = dict(mapping, **kwargs)
    shape = tree_structure(dict.fromkeys(entries, 0))
    return TreeSpec(dict, shape.context, entries.values())


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one that collections.namedtuple made, or derived from one."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(isinstance(field, str) for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple(obj: object | type) -> bool:
    """Whether this is a named tuple, or the class of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Whether this is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of Python's own tuples with names, such as time.struct_time."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in _SEQUENCE_FIELDS)
        and not cls.__flags__ & _DERIVABLE
    )


def is_structseq(obj: object | type) -> bool:
    """Whether this is one of Python's own tuples with names, or the class of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: object) -> bool:
    """Whether this is one of Python's own tuples with names."""
    return is_structseq_class(type(obj))


_SEQUENCE_FIELDS = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
_DERIVABLE = 1 << 10  # the flag of classes that can be derived from, in CPython's type objects


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


class _Leaf:
    """What stands for a leaf where a tree is shown."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The shape of a tree as text, with * for each leaf."""
    return repr(treespec.unflatten([_Leaf()] * treespec.num_leaves))
