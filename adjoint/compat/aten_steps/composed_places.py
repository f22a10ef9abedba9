"""Elements that are picked, written and compared, composed as PyTorch does."""

from typing import Any, Final

from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.products import common
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import BOOL, bool_
from adjoint.ops.arranging.indexing import gather
from adjoint.ops.arranging.shape import expand, reshape
from adjoint.ops.dims import normal_dim

# ---- picked ----


def _by_taken(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, index = args
    return (ask("put", ask("zeros_like", input), index, grad, True),)


def _by_masked(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, mask = args
    shape = common(input.shape, mask.shape)
    zeros = ask("zeros_like", ask("expand", input, list(shape)))
    return (ask("masked_scatter", zeros, mask, grad),)


_TAKEN: Final = Operation("take", (0,), _by_taken)
_MASKED: Final = Operation("masked_select", (0,), _by_masked)


def _take(input: Any, index: Any) -> Any:
    return _TAKEN(input, index)


def _masked_select(input: Any, mask: Any) -> Any:
    return _MASKED(input, mask) if mask.dtype is bool_ else NotImplemented


def _take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    if indices.dtype.category <= BOOL or indices.dtype.category > indices.long().dtype.category:
        return NotImplemented
    if dim is None:
        input, indices, dim = reshape(input, (-1,)), reshape(indices, (-1,)), 0
    if input.ndim != indices.ndim:
        return NotImplemented
    place = normal_dim(dim, input.ndim)
    front = [common((a,), (b,))[0] for a, b in zip(input.shape, indices.shape, strict=True)]
    wide = [size if d == place else front[d] for d, size in enumerate(input.shape)]
    many = [size if d == place else front[d] for d, size in enumerate(indices.shape)]
    input, indices = expand(input, wide), expand(indices, many)
    with asking() as ask:
        indices = ask("remainder", indices, input.shape[place])
    return gather(input, place, indices)


# ---- at indices that may be any where a mask does not hold ----


def _by_unsafe(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, mask, indices, _ = args
    zeros = ask("new_zeros", grad, list(input.shape), **beside(grad))
    return (ask("_unsafe_masked_index_put_accumulate", zeros, mask, indices, grad),)


def _by_unsafe_put(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    _, mask, indices, _ = args
    return grad, ask("_unsafe_masked_index", grad, mask, indices, 0) if wanted[1] else None


OPERATIONS: Final[dict[str, Any]] = {
    "_unsafe_masked_index": Operation("_unsafe_masked_index", (0,), _by_unsafe, changing=(0,)),
    "_unsafe_masked_index_put_accumulate": Operation(
        "_unsafe_masked_index_put_accumulate", (0, 3), _by_unsafe_put, changing=(0, 3)
    ),
}


# ---- on a diagonal ----


def _by_diagonal(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    _, offset, first, second = args
    return (ask("diagonal", grad, offset, first, second),)


_EMBEDDED: Final = Operation("diag_embed", (0,), _by_diagonal, changing=(0,))


def _diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return _EMBEDDED(input, offset, dim1, dim2) if input.ndim else NotImplemented


# ---- compared ----


def _equal(input: Any, other: Any) -> Any:
    with asking() as ask:
        return ask("equal", input, other)


def _allclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    with asking() as ask:
        return ask("allclose", input, other, rtol, atol, equal_nan)


FUNCTIONS: Final[dict[str, Any]] = {
    "take": _take,
    "masked_select": _masked_select,
    "take_along_dim": _take_along_dim,
    "diag_embed": _diag_embed,
    "equal": _equal,
    "allclose": _allclose,
}
