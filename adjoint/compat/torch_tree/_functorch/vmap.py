"""torch._functorch.vmap: what it has beside vmap itself."""

from collections.abc import Callable
from typing import Any

from adjoint.call.layers import opened
from adjoint.func.batching import Mapped
from adjoint.ops.arranging.shape import movedim
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import Batch, BatchLevel, layered, value_at


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
