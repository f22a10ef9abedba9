"""torch.utils._pytree: classes of containers, and how they are taken apart."""

from typing import Any, NamedTuple

from adjoint import pytree


class MappingKey(NamedTuple):
    """The way to a value of a dictionary."""

    key: Any


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    """The values of a dictionary with the ways to them, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **unused: Any) -> None:
    """Take instances of cls apart; how a file would name them, or a path, is of no use here."""
    pytree.register_pytree_node(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: Any
    flatten_fn: Any
    unflatten_fn: Any


class _SupportedNodes:
    """The classes of containers that are taken apart, as a table."""

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
