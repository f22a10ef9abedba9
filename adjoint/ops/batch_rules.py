"""Rules over batches that many tables share.

They get values with the batch in front, where there is one; shapes are those of one element.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from adjoint.ops.arranging.shape import expand, reshape
from adjoint.ops.dims import product


def with_batch(value: Any, batched: bool, size: int) -> Any:
    """A value with the batch in front; one for all elements is shown to each."""
    return value if batched else expand(value, (size, *value.shape))


def of_rank(value: Any, batched: bool, rank: int) -> Any:
    """A value with as many dimensions behind its batch, to broadcast as one element would."""
    if not batched or value.ndim > rank:
        return value
    shape = value.shape
    return reshape(value, (shape[0], *(1,) * (rank + 1 - len(shape)), *shape[1:]))


def reduced(op: Any, shape: Any, values: list[Any]) -> Any:
    """A reduction of each element; without a dim, of all its dimensions.

    The values are in the order of the op's parameters.
    """
    place, keep = op.index_of["dim"], op.index_of.get("keepdim")
    dim = values[place]
    every = dim is None or (isinstance(dim, (tuple, list)) and not dim)
    if shape and not every:
        return op.run(values)
    size = values[0].shape[0]
    keepdim = keep is not None and values[keep]
    if len(shape) != 1:
        values[0] = reshape(values[0], (size, product(shape)))
    values[place] = -1
    if keepdim:
        values[keep] = False
    out = op.run(values)
    if not keepdim:
        return out
    kept = (size, *(1,) * len(shape))
    return tuple([reshape(o, kept) for o in out]) if isinstance(out, tuple) else reshape(out, kept)


def refused(name: str, instead: str) -> Callable[[], NoReturn]:
    """The rule of an op whose result's shape depends on values."""

    def rule() -> NoReturn:
        raise refusal(name, instead)

    return rule


def refusal(name: str, instead: str) -> RuntimeError:
    """Why there is no batch of results of different shapes."""
    return RuntimeError(
        f"vmap: the shape of what {name} answers depends on values, which differ from one element "
        f"of the batch to the next; {instead}"
    )
