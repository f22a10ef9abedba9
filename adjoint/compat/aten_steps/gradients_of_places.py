"""The steps of gradients of views and indices."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.gradients import scaled
from adjoint.compat.aten_steps.kept import (
    Kept,
    TooLittleKeptError,
    beside,
    from_front,
    unreduced,
)
from adjoint.compat.aten_steps.places import reshaped


def _gather(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, index = kept.shape(0), kept.value(2)
    if not shape or kept.option(3):
        raise TooLittleKeptError
    dim = from_front(kept.option(1), len(shape))[0]
    zeros = ask("new_zeros", grad, list(shape))
    return (ask("scatter_add", zeros, dim, index, grad),)


def _index_select(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, index = kept.shape(0), kept.value(2)
    dim = from_front(kept.option(1), len(shape))[0]
    zeros = ask("new_zeros", grad, list(shape), **beside(grad))
    return (ask("index_add", zeros, dim, index, grad),)


def _stack(ask: Steps, kept: Kept, grad: Any) -> Any:
    dim = from_front(kept.option(1), grad.ndim)[0]
    return ([ask("select", grad, dim, i) for i in range(grad.shape[dim])],)


def _split(ask: Steps, kept: Kept, *grads: Any) -> Any:
    some = next(grad for grad in grads if grad is not None)
    dim = from_front(kept.option(2), some.ndim)[0]
    parts = [
        ask("zeros", list(spec.shape), **beside(some)) if grad is None else grad
        for grad, spec in zip(grads, kept.node.outputs, strict=True)
    ]
    return (ask("cat", parts, dim),)


def _unbind(ask: Steps, kept: Kept, *grads: Any) -> Any:
    some = next(grad for grad in grads if grad is not None)
    dim = from_front(kept.option(1), some.ndim + 1)[0]
    parts = []
    for grad in grads:
        if grad is None:
            grad = ask("expand", ask("zeros", [], **beside(some)), list(some.shape))
        parts.append(grad)
    return (ask("stack", parts, dim),)


def _unsqueeze(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("squeeze", grad, from_front(kept.option(1), grad.ndim)[0]),)


def _squeeze(ask: Steps, kept: Kept, grad: Any) -> Any:
    dim, shape = kept.option(1), kept.shape(0)
    if not shape:
        return (grad,)
    dims = from_front(range(len(shape)) if dim is None else dim, len(shape))
    return (unreduced(ask, grad, [each for each in dims if shape[each] == 1]),)


def _repeat(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, times = kept.shape(0), kept.option(1)
    counts = list(times)
    if 0 in counts or 0 in shape:
        raise TooLittleKeptError
    fresh = len(counts) - len(shape)
    if fresh:
        grad = ask("sum", grad, list(range(fresh)))
    sizes: list[int] = []
    summed: list[int] = []
    for count, size in zip(counts[fresh:], shape, strict=True):
        if count > 1:
            summed.append(len(sizes))
            sizes += [count, size]
        else:
            sizes.append(size)
    if not summed:
        return (grad,)
    return (ask("sum", reshaped(ask, grad, sizes), summed),)


def _flip(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("flip", grad, from_front(kept.option(1), grad.ndim)),)


def _roll(ask: Steps, kept: Kept, grad: Any) -> Any:
    shifts, dims = kept.option(1), kept.option(2)
    if dims is None:
        raise TooLittleKeptError
    back = [-shift for shift in ([shifts] if isinstance(shifts, int) else shifts)]
    return (ask("roll", grad, back, from_front(dims, grad.ndim)),)


def _diagonal(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape = kept.shape(0)
    dims = from_front((kept.option(2), kept.option(3)), len(shape))
    return (ask("diagonal_backward", grad, list(shape), kept.option(1), *dims),)


def _embedded(ask: Steps, kept: Kept, grad: Any) -> Any:
    number, shape = kept.option(2), kept.shape(0)
    if kept.option(4) or len(shape) != 2:
        raise TooLittleKeptError
    unused = number if isinstance(number, int) else -1
    rest = (shape[0], unused, kept.option(3))
    return (ask("embedding_dense_backward", grad, kept.value(1), *rest),)


def _scatter(ask: Steps, kept: Kept, grad: Any) -> Any:
    index, dim = kept.value(2), kept.option(1)
    if not grad.ndim or kept.option(5) is not None or not _all_is_read(kept, index):
        raise TooLittleKeptError
    place = from_front(dim, grad.ndim)[0]
    by_input = ask("scatter", grad, place, index, 0) if kept.wanted[0] else None
    by_source = ask("gather", grad, place, index) if kept.wanted[1] else None
    return by_input, by_source


def _scatter_add(ask: Steps, kept: Kept, grad: Any) -> Any:
    index = kept.value(2)
    if not grad.ndim or not _all_is_read(kept, index):
        raise TooLittleKeptError
    place = from_front(kept.option(1), grad.ndim)[0]
    by_source = ask("gather", grad, place, index) if kept.wanted[1] else None
    return grad, by_source


def _all_is_read(kept: Kept, index: Any) -> bool:
    """Whether each element of what is scattered, if that is derived, has a place."""
    return not kept.wanted[1] or tuple(index.shape) == kept.shape(3)


def _highest_so_far(ask: Steps, kept: Kept, grad: Any, *others: Any) -> Any:
    shape = kept.shape(0)
    if grad is None or not shape:
        raise TooLittleKeptError
    zeros = ask("zeros", list(shape), **beside(grad))
    place = from_front(kept.option(1), len(shape))[0]
    return (ask("scatter_add", zeros, place, kept.result(1), grad),)


def _constant_pad_nd(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("constant_pad_nd", grad, [-length for length in kept.option(1)]),)


def _rot90(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("rot90", grad, -kept.option(1), from_front(kept.option(2), grad.ndim)),)


def _unfold(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, dim, size, step = kept.shape(0), *(kept.option(place) for place in (1, 2, 3))
    place = dim % max(len(shape), 1)
    return (ask("unfold_backward", grad, list(shape), place, size, step),)


def _picked_back(ask: Steps, kept: Kept, grad: Any) -> Any:
    """The gradient of what index_add and index_copy have written."""
    index, shape = kept.value(2), list(kept.shape(3))
    dim = from_front(kept.option(1), grad.ndim)[0]
    if shape:
        return ask("expand", ask("index_select", grad, dim, index), shape)
    if grad.ndim or index.ndim != 1:
        raise TooLittleKeptError
    return ask("index_select", grad, dim, ask("squeeze", index, 0))


def _index_add(ask: Steps, kept: Kept, grad: Any) -> Any:
    if not kept.wanted[1]:
        return grad, None
    return grad, scaled(ask, _picked_back(ask, kept, grad), kept.option(4))


def _index_copy(ask: Steps, kept: Kept, grad: Any) -> Any:
    by_input = by_source = None
    dim = from_front(kept.option(1), grad.ndim)[0]
    if kept.wanted[0]:
        by_input = ask("index_fill", grad, dim, kept.value(2), 0)
    if kept.wanted[1]:
        by_source = _picked_back(ask, kept, grad)
    return by_input, by_source


def _transpose(ask: Steps, kept: Kept, grad: Any) -> Any:
    """The last two dimensions are called so, others counted from the front."""
    dims = [kept.option(1), kept.option(2)]
    return (ask("transpose", grad, *dims if dims == [-2, -1] else from_front(dims, grad.ndim)),)


STEPS: Final[dict[str, Any]] = {
    "transpose": _transpose,
    "index_add": _index_add,
    "index_copy": _index_copy,
    "unfold": _unfold,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "cummax": _highest_so_far,
    "cummin": _highest_so_far,
    "constant_pad_nd": _constant_pad_nd,
    "rot90": _rot90,
    "gather": _gather,
    "index_select": _index_select,
    "stack": _stack,
    "copied_pieces": _split,
    "split_with_sizes": _split,
    "unbind": _unbind,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "repeat": _repeat,
    "flip": _flip,
    "roll": _roll,
    "diagonal": _diagonal,
    "diagonal_copy": _diagonal,
    "embedded": _embedded,
}
