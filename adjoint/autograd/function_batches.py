"""Functions and custom operators over a batch: their own rule is called below the level of vmap."""

from typing import Any, NamedTuple

from adjoint.call.layers import Below
from adjoint.ops.arranging.shape import movedim
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import BatchLevel, layered, value_at


class VmapInfo(NamedTuple):
    """What a rule over batches is told of the vmap it is called for."""

    batch_size: int
    randomness: str


def taken_below(level: BatchLevel, tree: Any) -> tuple[Any, Any]:
    """Arguments below a level, and where the batch of each lies, None for those that have none."""
    leaves, spec = tree_flatten(tree)
    inner: list[Any] = []
    dims: list[int | None] = []
    for leaf in leaves:
        value, batched = value_at(level, leaf)
        if batched and leaf.layer.given_dim:
            value = movedim(value, 0, leaf.layer.given_dim)
        inner.append(value)
        dims.append(leaf.layer.given_dim if batched else None)
    return tree_unflatten(inner, spec), tree_unflatten(dims, spec)


def has_batch(dims: Any) -> bool:
    """Whether one of the arguments has a batch."""
    return any(dim is not None for dim in tree_flatten(dims)[0])


def put_above(name: str, level: BatchLevel, output: Any, dims: Any) -> Any:
    """Results below a level as tensors of it, given where the batch of each lies."""
    leaves, spec = tree_flatten(output)
    if dims is None or isinstance(dims, int):
        each: list[Any] = [dims] * len(leaves)
    else:
        each, found = tree_flatten(dims)
        if found != spec:
            raise RuntimeError(
                f"the vmap rule of {name} returned an incompatible (output, out_dims): output has "
                f"structure {spec}, out_dims {found}; give a dimension, or None, for each tensor"
            )
    placed = [
        leaf if not isinstance(leaf, Tensor) else at_level(level, leaf, dim)
        for leaf, dim in zip(leaves, each)
    ]
    return tree_unflatten(placed, spec)


def at_level(level: BatchLevel, value: Any, dim: int | None) -> Tensor:
    """A tensor of a level, from one below whose batch lies along a dimension, if it has one."""
    if dim is None:
        return layered(level, value, batched=False)
    front = movedim(value, dim, 0) if dim else value
    if front.shape[0] != level.size:
        raise RuntimeError(
            f"a vmap rule says that the batch lies along dimension {dim} of a result of shape "
            f"{list(value.shape)}, but there are {level.size} elements in it"
        )
    return layered(level, front)


def by_rule(name: str, rule: Any, level: BatchLevel, values: list[Any], named: Any) -> Any:
    """What a rule of the user's answers over a batch: (output, out_dims), as tensors of the level.

    With no batch among the arguments the rule is `None`, and what `named` answers is for all.
    """
    inner, dims = taken_below(level, tuple(values))
    with Below(level.number):
        if not has_batch(dims):
            return put_above(name, level, named(list(inner)), None)
        answer = rule(VmapInfo(level.size, level.randomness), dims, *inner)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise RuntimeError(
            f"Expected the vmap rule of {name} to have two returns, (output, out_dims), got "
            f"{type(answer).__name__ if not isinstance(answer, tuple) else len(answer)}"
        )
    return put_above(name, level, *answer)
