"""torch.fx.immutable_collections: lists and dictionaries that arguments of nodes are kept in."""

from typing import Any, NoReturn

from adjoint.pytree import register_pytree_node

_LIST_CHANGES = (
    "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort"
)
_DICT_CHANGES = "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__}: it can't be changed: give the node new arguments, as in "
        "node.args = new_args, so that users of nodes stay known"
    )


class immutable_list(list[Any]):
    """A list that can't be changed."""

    def __hash__(self) -> int:  # type: ignore[override]  # it can't be changed
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[str, Any]):
    """A dictionary that can't be changed."""

    def __hash__(self) -> int:  # type: ignore[override]  # it can't be changed
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (tuple(self.items()),)


for _name in _LIST_CHANGES.split():
    setattr(immutable_list, _name, _refuse)
for _name in _DICT_CHANGES.split():
    setattr(immutable_dict, _name, _refuse)

register_pytree_node(immutable_list, lambda x: (list(x), None), lambda x, _: immutable_list(x))
register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
)
