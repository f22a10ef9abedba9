"""Copies of tensors with others written into them, or taken in, composed as PyTorch does."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from adjoint.compat.aten_forms import bound
from adjoint.compat.aten_steps import gradients_of_places
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.gradients_of_writing import BY_SLICES, taken_in
from adjoint.compat.aten_steps.kept import beside, from_front, unreduced
from adjoint.compat.aten_steps.memory import through
from adjoint.compat.aten_steps.places import LAST, reshaped
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import int32, int64
from adjoint.ops.arranging.conversion import contiguous_format
from adjoint.ops.dims import normal_dim
from adjoint.tensors.concrete import place_of


def _written(name: str, part: str) -> Operation:
    """One that writes a part, which is a view of other arguments; no gradient passes through it."""

    def steps(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        _, src, *where = args
        by_input = by_source = None
        if part == "as_strided" and not grad.is_contiguous():
            grad = ask("clone", grad, memory_format=contiguous_format)
        if wanted[0]:
            zeros = ask("zeros", list(src.shape), **beside(grad))
            by_input = ask(name, grad, zeros, *where)
        if wanted[1]:
            by_source = ask(part, grad, *where)
        return by_input, by_source

    return Operation(name, (0, 1), steps)


_SELECTED: Final = _written("select_scatter", "select")
_SLICED: Final = _written("slice_scatter", "slice")
_STRIDED: Final = _written("as_strided_scatter", "as_strided")


def _select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    place = normal_dim(dim, input.ndim)
    shape = [*input.shape[:place], *input.shape[place + 1 :]]
    fits = list(src.shape) == shape and src.dtype is input.dtype
    return _SELECTED(input, src, dim, index) if fits else NotImplemented


def _slice_scatter(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    if src.ndim != input.ndim or src.dtype is not input.dtype or step < 1:
        return NotImplemented
    place = normal_dim(dim, input.ndim)
    count = len(range(*slice(start, end, step).indices(input.shape[place])))
    shape = [*input.shape[:place], count, *input.shape[place + 1 :]]
    fits = list(src.shape) == shape
    return _SLICED(input, src, dim, start, end, step) if fits else NotImplemented


def _as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> Any:
    fits = tuple(src.shape) == tuple(size) and src.dtype is input.dtype
    if not fits or not input.is_contiguous() or len(size) != len(stride):
        return NotImplemented
    return _STRIDED(input, src, list(size), list(stride), storage_offset)


# ---- copies of memory ----


def _by_copy(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, size, stride, storage_offset = args
    own, strides = place_of(input)
    offset = own if storage_offset is None else storage_offset
    return (through(ask, grad, (size, stride, offset), (input.shape, strides, own), "target"),)


_COPIED: Final = Operation("as_strided_copy", (0,), _by_copy)


def _as_strided_copy(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    if len(size) != len(stride) or input.layer is not None:
        return NotImplemented
    return _COPIED(input, list(size), list(stride), storage_offset)


# ---- copies of views ----


def _summed(ask: Steps, grad: Any, input: Any, size: Any) -> Any:
    """The gradient of what was repeated, in its shape."""
    fresh = grad.ndim - input.ndim
    dims = [d for d, n in enumerate(grad.shape) if d < fresh or input.shape[d - fresh] == 1 != n]
    grad = ask("sum", grad, dims, True) if dims else grad
    return ask("view", grad, list(input.shape)) if fresh else grad


def _unsqueezed(ask: Steps, grad: Any, input: Any, dim: Any = None) -> Any:
    dims = from_front(range(input.ndim) if dim is None else dim, input.ndim)
    return unreduced(ask, grad, [each for each in dims if input.ndim and input.shape[each] == 1])


def _cut(ask: Steps, grad: Any, input: Any, *where: Any) -> Any:
    return ask("slice_backward", grad, list(input.shape), *where)


# The gradients of copies, by what views they are of: those of the views.
_BACK: Final[dict[str, Any]] = {
    "alias": lambda ask, grad, input: grad,
    "expand": _summed,
    "narrow": lambda ask, grad, input, dim, start, length: _cut(
        ask, grad, input, dim, start, start + length, 1
    ),
    "permute": lambda ask, grad, input, dims: ask(
        "permute", grad, sorted(range(input.ndim), key=from_front(dims, input.ndim).__getitem__)
    ),
    "select": lambda ask, grad, input, *where: ask(
        "select_backward", grad, list(input.shape), *where
    ),
    "slice": lambda ask, grad, input, dim, start, end, step: _cut(
        ask, grad, input, dim, start or 0, LAST if end is None else end, step
    ),
    "squeeze": _unsqueezed,
    "t": lambda ask, grad, input: ask("t", grad),
    "transpose": lambda ask, grad, input, *dims: ask("transpose", grad, *dims),
    "unfold": lambda ask, grad, input, *how: ask("unfold_backward", grad, list(input.shape), *how),
    "unsqueeze": lambda ask, grad, input, dim: ask("squeeze", grad, dim),
    "view": lambda ask, grad, input, size: reshaped(ask, grad, list(input.shape)),
}
# The same of several views, and how many those are.
_JOINED: Final[dict[str, Any]] = {
    "split": (
        gradients_of_places.STEPS["split_with_sizes"],
        lambda input, size, dim: -(-input.shape[dim] // max(size, 1)),
    ),
    "split_with_sizes": (
        gradients_of_places.STEPS["split_with_sizes"],
        lambda input, sizes, dim: len(sizes),
    ),
    "unbind": (gradients_of_places.STEPS["unbind"], lambda input, dim: input.shape[dim]),
}


def _copy(name: str, view: str) -> Any:
    """The function that answers a copy of what a view shows; of several in a tuple."""

    def steps(ask: Steps, wanted: Any, args: Any, results: Any, *grads: Any) -> Any:
        if view in _BACK:
            return (_BACK[view](ask, *grads, *args),)
        kept = SimpleNamespace(option=args.__getitem__, node=SimpleNamespace(outputs=results))
        found: tuple[Any, ...] = _JOINED[view][0](ask, kept, *grads)
        return found

    def function(*args: Any, **kwargs: Any) -> Any:
        if "input" in kwargs:
            args = (kwargs.pop("input"),)
        found = bound(name, args, kwargs)
        if found is None or found[0].overload == "dtype":
            return NotImplemented
        form, given = found
        values = [given.get(a.name, a.default) for a in form.arguments if not a.keyword_only]
        operation = Operation(f"{name}.{form.overload}", (0,), steps, changing=(0,))
        if view in _BACK:
            return operation(*values)
        try:
            outputs = tuple(range(_JOINED[view][1](*values)))
        except IndexError:  # of a dimension that there is not
            return NotImplemented
        answer = replace(operation, outputs=outputs)(*values) if outputs else NotImplemented
        return (answer,) if len(outputs) == 1 else answer

    return function


# ---- slices taken in ----


def _by_slices(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, include_self: bool = True
) -> Any:
    input, dim, index, source, reduce = args
    rest = (source, reduce, include_self, results[0])
    return taken_in(ask, BY_SLICES, grad, input, (dim, index), *rest)


_TAKEN_IN: Final = Operation("index_reduce", (0, 3), _by_slices)


def _index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    fits = index.ndim == 1 and index.numel() and index.dtype in (int64, int32)
    if not fits or source.ndim != input.ndim or source.dtype is not input.dtype:
        return NotImplemented
    if reduce not in ("prod", "mean", "amax", "amin"):
        return NotImplemented
    return _TAKEN_IN(input, dim, index, source, reduce, include_self=include_self)


FUNCTIONS: Final[dict[str, Any]] = {
    "select_scatter": _select_scatter,
    "slice_scatter": _slice_scatter,
    "as_strided_scatter": _as_strided_scatter,
    "as_strided_copy": _as_strided_copy,
    "index_reduce": _index_reduce,
    **{f"{view}_copy": _copy(f"{view}_copy", view) for view in (*_BACK, *_JOINED)},
}
