"""The greatest of windows, and images made of them again, composed as PyTorch does."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.recorded import Operation, undone
from adjoint.creation.factories import rand
from adjoint.ops.arranging.conversion import contiguous_format
from adjoint.ops.arranging.shape import squeeze, unsqueeze
from adjoint.ops.neural.adaptive_pooling import fractional_sizes, wanted_sizes
from adjoint.ops.neural.convolution import each
from adjoint.ops.neural.pooling import unpooled_sizes

# ---- windows that divide images ----


def _picked(ask: Steps, grad: Any, indices: Any, rank: int) -> Any:
    """Of each image what is at some places of it."""
    sizes = [*indices.shape[:-rank], -1]
    places = ask("view", indices, sizes)
    if not grad.is_contiguous():
        grad = ask("clone", grad, memory_format=contiguous_format)
    picked = ask("gather", ask("view", grad, sizes), -1, places)
    return ask("view", picked, list(indices.shape))


def put_back(name: str, rank: int) -> Operation:
    """The operation of the gradient of one that picks elements; indices come last."""
    return undone(f"{name}_backward", lambda ask, args, grad: _picked(ask, grad, args[-1], rank))


def _by_places(name: str, sizes: bool) -> Any:
    def steps(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, by_places: Any) -> Any:
        given = args[1:3] if sizes else ()
        return (ask(f"{name}_backward", grad, args[0], *given, results[1]),)

    return steps


def _picking(kind: str, rank: int, sizes: bool = False) -> Operation:
    """One of those that give the greatest elements, and their places."""
    name = f"{kind}_max_pool{rank}d"
    steps = _by_places(name, sizes)
    return Operation(name, (0,), steps, outputs=(0, 1), back=put_back(name, rank))


_ADAPTIVE: Final = {rank: _picking("adaptive", rank) for rank in (2, 3)}
_FRACTIONAL: Final = {rank: _picking("fractional", rank, True) for rank in (2, 3)}


def _adaptive(rank: int) -> Any:
    name = f"adaptive_max_pool{rank}d"

    def function(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        sizes = list(wanted_sizes(name, input, output_size))
        if min(sizes) < 1 or not input.numel():
            return NotImplemented
        if rank > 1:
            found = _ADAPTIVE[rank](input, sizes)
        else:
            found = _ADAPTIVE[2](unsqueeze(input, -2), [1, *sizes])
            found = tuple(squeeze(part, -2) for part in found)
        return found if return_indices else found[0]

    return function


def _fractional(rank: int) -> Any:
    name = f"fractional_max_pool{rank}d"

    def function(
        input: Any,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        listed = isinstance(kernel_size, (tuple, list))
        if (listed and len(kernel_size) != rank) or input.ndim not in (rank + 1, rank + 2):
            return NotImplemented
        samples = _random_samples
        if samples is not None and samples.dtype != input.dtype:
            return NotImplemented
        kernel = each(kernel_size, rank, f"{name}(): kernel_size")
        sizes = fractional_sizes(name, input, kernel, output_size, output_ratio)
        if samples is None:
            lead = (1, input.shape[0]) if input.ndim == rank + 1 else input.shape[:2]
            samples = rand((*lead, rank), dtype=input.dtype, device=input.device)
        found = _FRACTIONAL[rank](input, list(kernel), list(sizes), samples)
        return found if return_indices else found[0]

    return function


# ---- and back ----


def _by_picked(rank: int) -> Any:
    def steps(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        return (_picked(ask, grad, args[1], rank),)

    return steps


_UNPOOLED: Final = {
    rank: Operation(f"max_unpool{rank}d", (0,), _by_picked(rank), changing=(0,)) for rank in (2, 3)
}


def _max_unpool(rank: int) -> Any:
    name = f"max_unpool{rank}d"

    def function(
        input: Any,
        indices: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Any:
        if input.ndim not in (rank + 1, rank + 2) or not indices.is_contiguous():
            return NotImplemented
        sizes, *window = unpooled_sizes(name, input, kernel_size, stride, padding, output_size)
        if rank == 3:
            return _UNPOOLED[3](input, indices, list(sizes), *map(list, window))
        if rank == 2:
            return _UNPOOLED[2](input, indices, list(sizes))
        found = _UNPOOLED[2](unsqueeze(input, -1), unsqueeze(indices, -1), [*sizes, 1])
        return squeeze(found, -1)

    return function


FUNCTIONS: Final[dict[str, Any]] = {
    **{f"adaptive_max_pool{rank}d": _adaptive(rank) for rank in (1, 2, 3)},
    **{f"fractional_max_pool{rank}d": _fractional(rank) for rank in (2, 3)},
    **{f"max_unpool{rank}d": _max_unpool(rank) for rank in (1, 2, 3)},
}
