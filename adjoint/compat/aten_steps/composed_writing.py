"""Copies of tensors with others written into them, or taken in, composed as PyTorch does."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.gradients_of_writing import BY_SLICES, taken_in
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.memory import through
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import int32, int64
from adjoint.ops.dims import normal_dim
from adjoint.tensors.concrete import place_of


def _written(name: str, part: str) -> Operation:
    """One that writes a part, which is a view of other arguments; no gradient passes through it."""

    def steps(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        _, src, *where = args
        by_input = by_source = None
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
    fits = index.ndim == 1 and index.numel() and index.dtype in (int64, int32) and input.ndim
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
}
