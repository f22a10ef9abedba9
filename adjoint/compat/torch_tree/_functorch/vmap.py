"""torch._functorch.vmap: what it has beside vmap itself.

Libraries whose containers know how to lie in a batch replace the three steps of a vmap here; from
then on every vmap is made of them.
"""

from collections.abc import Callable
from typing import Any

from adjoint.call.layers import opened
from adjoint.compat.torch_tree._C import _functorch as levels
from adjoint.compat.torch_tree.utils import _pytree
from adjoint.func import batching
from adjoint.func.batching import Mapped, name_of, no_tensor, place
from adjoint.ops.arranging.shape import movedim
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import Batch, BatchLevel, layered, value_at

_get_name = name_of

# PyTorch's names, under which it has them here too.
_add_batch_dim = levels._add_batch_dim  # noqa: SLF001
_remove_batch_dim = levels._remove_batch_dim  # noqa: SLF001
_vmap_decrement_nesting = levels._vmap_decrement_nesting  # noqa: SLF001
_vmap_increment_nesting = levels._vmap_increment_nesting  # noqa: SLF001
_broadcast_to_and_flatten = _pytree._broadcast_to_and_flatten  # noqa: SLF001


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...], func: Any) -> tuple[Any, ...]:
    """The size of the batch, the dimension it lies along in each leaf, the leaves, their tree."""
    mapped = Mapped(func, in_dims, 0, "error")
    size = mapped.take(args, {})
    return size, mapped.dims, mapped.leaves, tree_flatten(args)[1]


def _create_batched_inputs(
    flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int, args_spec: Any
) -> Any:
    """The arguments as a function of one element sees them."""
    inside = [
        leaf if dim is None else _add_batch_dim(leaf, dim, vmap_level)
        for leaf, dim in zip(flat_args, flat_in_dims)
    ]
    return tree_unflatten(inside, args_spec)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """A result as seen from outside, its batch at a dimension, if it is to have one."""
    if out_dim is None and not isinstance(batched_output, Tensor):
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise no_tensor(name, batched_output)
    mapped = Mapped(name, 0, out_dim, "error")
    return place(mapped.taken_out(levels.batch_level(vmap_level), batched_output, out_dim), out_dim)


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any
) -> Any:
    """The results as seen from outside."""
    results, spec = tree_flatten(batched_outputs)
    dims = Mapped(func, 0, out_dims, "error").dims_of(batched_outputs, results, spec)
    outside = [
        _maybe_remove_batch_dim(name_of(func), result, vmap_level, batch_size, dim)
        for result, dim in zip(results, dims)
    ]
    return tree_unflatten(outside, spec)


_OWN = {
    "_process_batched_inputs": _process_batched_inputs,
    "_create_batched_inputs": _create_batched_inputs,
    "_unwrap_batched": _unwrap_batched,
}
ASSIGNABLE = set(_OWN)


def assign(name: str, value: Any) -> None:
    """Make every vmap take a step in another way."""
    globals()[name] = value
    replaced = any(globals()[step] is not own for step, own in _OWN.items())
    batching.by_steps = _by_steps if replaced else None


def restore(name: str) -> None:
    """Take the step as before."""
    assign(name, _OWN[name])


def _by_steps(
    func: Any, in_dims: Any, out_dims: Any, randomness: str, args: Any, kwargs: Any
) -> Any:
    """A call of a function that vmap has made, by the three steps."""
    size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
    level = _vmap_increment_nesting(size, randomness)
    try:
        inside = _create_batched_inputs(dims, leaves, level, spec)
        return _unwrap_batched(func(*inside, **kwargs), out_dims, level, size, func)
    finally:
        _vmap_decrement_nesting()


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., Any]:
    """A function over a batch that also answers where each result has it; None if nowhere."""

    def batched(*args: Any) -> tuple[Any, Any]:
        mapped = Mapped(func, in_dims, 0, randomness)
        mapped.take_apart(args, {})
        level = BatchLevel(batch_size, randomness)
        with opened(level):
            inside = [
                leaf if dim is None else layered(level, mapped.in_front(leaf, dim), given_dim=dim)
                for leaf, dim in zip(mapped.leaves, mapped.dims)
            ]
            results, spec = tree_flatten(func(*mapped.rebuilt(inside)))
            found = [_restored(level, result) for result in results]
        outputs, dims = [value for value, _ in found], [dim for _, dim in found]
        return tree_unflatten(outputs, spec), tree_unflatten(dims, spec)

    return batched


def _restored(level: BatchLevel, result: Any) -> tuple[Any, int | None]:
    """A result below the level, its batch where it was given, and where that is."""
    value, flag = value_at(level, result)
    if not flag:
        return value, None
    layer = result.layer if isinstance(result, Tensor) else None
    at = layer.given_dim if isinstance(layer, Batch) else 0
    return (movedim(value, 0, at) if at else value), at
