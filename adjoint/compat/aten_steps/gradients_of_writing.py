"""The steps of gradients of what is written into a tensor, or taken in by a reduction."""

from dataclasses import dataclass
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError, beside, from_front
from adjoint.compat.aten_steps.memory import through
from adjoint.compat.aten_steps.places import reshaped


def _index_put(ask: Steps, kept: Kept, grad: Any) -> Any:
    indices = list(kept.value(1))
    by_input = by_values = None
    if kept.wanted[0] and kept.option(3):
        by_input = grad
    elif kept.wanted[0]:
        shape = kept.shape(2) if kept.wanted[1] else ()  # what is not derived is not kept
        zeros = ask("zeros", list(shape), **beside(grad))
        by_input = ask("index_put", grad, indices, zeros, False)
    if kept.wanted[1]:
        by_values = ask("index", grad, indices)
    return by_input, by_values


def _masked_scatter(ask: Steps, kept: Kept, grad: Any) -> Any:
    mask = kept.value(1)
    by_input = ask("masked_fill", grad, mask, 0) if kept.wanted[0] else None
    by_source = None
    if kept.wanted[1]:
        by_source = ask("masked_scatter_backward", grad, mask, list(kept.shape(2)))
    return by_input, by_source


def _strided_view(ask: Steps, kept: Kept, grad: Any) -> Any:
    pattern = tuple(kept.value(place) for place in (1, 2, 3))
    return (through(ask, grad, pattern, kept.value(4), "target"),)


def _diagonal_scatter(ask: Steps, kept: Kept, grad: Any) -> Any:
    where = (kept.option(2), *from_front((kept.option(3), kept.option(4)), grad.ndim))
    by_input = by_source = None
    if kept.wanted[0]:
        with unseen():
            shape = grad.diagonal(*where).shape
        zeros = ask("zeros", list(shape), **beside(grad))
        by_input = ask("diagonal_scatter", grad, zeros, *where)
    if kept.wanted[1]:
        by_source = ask("diagonal", grad, *where)
    return by_input, by_source


def _put(ask: Steps, kept: Kept, grad: Any) -> Any:
    index, by_input, by_source = kept.value(1), grad, None
    if not kept.option(3) and kept.wanted[0]:
        zeros = ask("zeros", list(index.shape), **beside(grad))
        by_input = ask("put", grad, index, zeros, False)
    if kept.wanted[1]:
        by_source = reshaped(ask, ask("take", grad, index), kept.shape(2))
    return by_input, by_source


# ---- taken in ----


@dataclass(frozen=True)
class Way:
    """How places are named: for each element, or for slices along a dimension."""

    add: str
    pick: str
    reduce: str
    clear: str


BY_ELEMENTS: Final = Way("scatter_add", "gather", "scatter_reduce", "scatter")
BY_SLICES: Final = Way("index_add", "index_select", "index_reduce", "index_fill")


def _by_product(
    ask: Steps, way: Way, grad: Any, input: Any, place: Any, src: Any, own: Any, result: Any
) -> tuple[Any, Any]:
    safe = ask("masked_fill", input, ask("eq", input, 0), 1)
    others = ask(way.reduce, safe, *place, src, "prod", **own)
    by_input = ask("div", ask("mul", grad, others), safe)
    zero = ask("eq", src, 0)
    count = ask(way.add, ask("zeros_like", input), *place, ask("_to_copy", zero, dtype=src.dtype))
    count = ask(way.pick, count, *place)
    only = ask("bitwise_and", zero, ask("eq", count, 1))
    rest = ask("masked_fill", src, only, 1)
    rest = ask(way.reduce, input, *place, rest, "prod", **own)
    filled = ask("masked_fill", src, zero, 1)
    usual = ask("div", ask(way.pick, ask("mul", grad, result), *place), filled)
    alone = ask(way.pick, ask("mul", grad, rest), *place)
    by_source = ask("where", only, alone, usual)
    if is_recording() and ask("_local_scalar_dense", ask("any", ask("gt", count, 1))):
        raise TooLittleKeptError  # of several zeros it is not derived again
    return by_input, by_source


def _by_mean(
    ask: Steps, way: Way, grad: Any, place: Any, src: Any, include_self: bool
) -> tuple[Any, Any]:
    start = ask("ones_like" if include_self else "zeros_like", grad)
    count = ask(way.add, start, *place, ask("ones_like", src))
    ask("masked_fill_", count, ask("eq", count, 0), 1)
    by_input = ask("div", grad, count)
    picked = ask(way.pick, grad, *place)
    return by_input, ask("div", picked, ask(way.pick, count, *place))


def _by_extreme(
    ask: Steps, way: Way, grad: Any, input: Any, place: Any, src: Any, result: Any
) -> tuple[Any, Any]:
    value = ask(way.pick, result, *place)
    own = ask("_to_copy", ask("eq", input, result), dtype=input.dtype)
    taken = ask("_to_copy", ask("eq", src, value), dtype=src.dtype)
    share = ask("div", grad, ask(way.add, own, *place, taken))
    if way is BY_SLICES:
        by_input = ask("mul", own, share)
        return by_input, ask("mul", taken, ask(way.pick, share, *place))
    by_input = ask("mul", ask("eq", input, result), share)
    picked = ask(way.pick, share, *place)
    return by_input, ask("mul", ask("eq", src, value), picked)


def taken_in(
    ask: Steps,
    way: Way,
    grad: Any,
    input: Any,
    place: Any,
    src: Any,
    reduce: str,
    include_self: bool,
    result: Any,
) -> tuple[Any, Any]:
    """The gradients of a reduction by a tensor, and by what it takes in at a place."""
    own = {"include_self": include_self}
    if reduce == "sum":
        by_input, by_source = grad, ask(way.pick, grad, *place)
    elif reduce == "mean":
        by_input, by_source = _by_mean(ask, way, grad, place, src, include_self)
    elif reduce == "prod":
        by_input, by_source = _by_product(ask, way, grad, input, place, src, own, result)
    else:
        by_input, by_source = _by_extreme(ask, way, grad, input, place, src, result)
    if not include_self:
        by_input = ask(way.clear, by_input, *place, 0)
    return by_input, by_source


def _scatter_reduce(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, index, src = (kept.value(place) for place in (0, 2, 3))
    if not grad.ndim or index.shape != src.shape or not index.numel():
        raise TooLittleKeptError
    place = (from_front(kept.option(1), grad.ndim)[0], index)
    rest = (src, kept.option(4), kept.option(5), kept.result())
    return taken_in(ask, BY_ELEMENTS, grad, input, place, *rest)


STEPS: Final[dict[str, Any]] = {
    "diagonal_scatter": _diagonal_scatter,
    "put": _put,
    "index_put": _index_put,
    "masked_scatter": _masked_scatter,
    "strided_view": _strided_view,
    "scatter_reduce": _scatter_reduce,
}
