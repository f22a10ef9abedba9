"""The steps of gradients of products of matrices."""

import math
from typing import Any, Final

from adjoint.autograd.node import AccumulateGrad
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.gradients import scaled
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError, beside
from adjoint.compat.aten_steps.places import reshaped
from adjoint.dtypes import int64


def _in_columns(matrix: Any) -> bool:
    """Whether a matrix lies in memory column by column."""
    return tuple(matrix.stride()) == (1, matrix.shape[0])


def _lies_in_columns(kept: Kept, place: int) -> bool:
    """The same of a factor; of one that is not kept, what made it tells if it was turned over."""
    factor = kept.option(place)
    if factor is not None:
        return _in_columns(factor)
    made, _ = kept.node.edges()[kept.node.op.inputs.index(place)]
    op = getattr(made, "op", None)
    if op is None or op.name != "t":
        return False
    before, _ = made.edges()[0]
    return not (isinstance(before, AccumulateGrad) and _in_columns(before.variable))


def _by_left(ask: Steps, grad: Any, left: Any, right: Any) -> Any:
    """The gradient of a product of matrices by the first; that itself only says how it lies."""
    if left is not None and _in_columns(left):
        return ask("t", ask("mm", right, ask("t", grad)))
    return ask("mm", grad, ask("t", right))


def _by_right(ask: Steps, grad: Any, left: Any, in_columns: bool) -> Any:
    if in_columns:
        return ask("t", ask("mm", ask("t", grad), left))
    return ask("mm", ask("t", left), grad)


def _matmul(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.option(0), kept.option(1)
    right_rank = len(kept.shape(1)) if kept.wanted[1] else other.ndim
    left_rank = input.ndim if input is not None else _left_rank(grad, right_rank)
    by_input = by_other = None
    if left_rank > 1 and right_rank == 2:
        shape, grad, input = (*grad.shape[:-1], -1), _in_rows(ask, grad), _rows_of(input)
        if kept.wanted[1]:
            by_other = _by_right(ask, grad, input, _lies_in_columns(kept, 1))
        if kept.wanted[0]:
            by_input = _back(ask, _by_left(ask, grad, input, other), shape)
    elif (left_rank, right_rank) == (2, 1):
        if kept.wanted[0]:
            by_input = ask("mul", ask("view", grad, [grad.shape[0], 1]), other)
        if kept.wanted[1]:
            by_other = ask("mv", ask("t", input), grad)
    elif (left_rank, right_rank) == (1, 1):
        by_input = ask("mul", grad, other) if kept.wanted[0] else None
        by_other = ask("mul", grad, input) if kept.wanted[1] else None
    elif left_rank == right_rank and input is not None and other is not None:
        return _batches(ask, kept, grad, input, other)
    else:
        raise TooLittleKeptError
    return by_input, by_other


def _in_rows(ask: Steps, grad: Any) -> Any:
    """A gradient as a matrix, with all dimensions but the last in one."""
    if grad.ndim == 2:
        return grad
    return reshaped(ask, grad, (math.prod(grad.shape[:-1]), grad.shape[-1]))


def _rows_of(input: Any) -> Any:
    """A factor as the matrix that was multiplied."""
    if input is None or input.ndim == 2:
        return input
    with unseen():
        return input.reshape((math.prod(input.shape[:-1]), input.shape[-1]))


def _back(ask: Steps, grad: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of such a matrix in the shape of the factor, of which the last is not said."""
    return grad if len(shape) == 2 else ask("view", grad, [*shape[:-1], grad.shape[-1]])


def _left_rank(grad: Any, right_rank: int) -> int:
    """How many dimensions the first factor has, of which only the product is known."""
    if right_rank > 2:
        raise TooLittleKeptError
    return int(grad.ndim) + 1 if right_rank == 1 else int(grad.ndim)


def _batches(ask: Steps, kept: Kept, grad: Any, input: Any, other: Any) -> Any:
    front = input.shape[:-2]
    if front != other.shape[:-2]:
        raise TooLittleKeptError
    by_input = by_other = None
    count = math.prod(front)
    with unseen():
        left, right = (each.reshape((count, *each.shape[-2:])) for each in (input, other))
    grad = reshaped(ask, grad, (count, *grad.shape[-2:]))
    if kept.wanted[1]:
        by_other = ask("bmm", ask("transpose", left, 1, 2), grad)
    if kept.wanted[0]:
        by_input = ask("bmm", grad, ask("transpose", right, 1, 2))
    if by_other is not None:
        by_other = ask("view", by_other, list(other.shape))
    if by_input is not None:
        by_input = ask("view", by_input, list(input.shape))
    return by_input, by_other


def _addmm(ask: Steps, kept: Kept, grad: Any) -> Any:
    left, right, beta, alpha = (kept.option(place) for place in (1, 2, 3, 4))
    found: list[Any] = [None, None, None]
    if kept.wanted[1]:
        found[1] = scaled(ask, _by_left(ask, grad, left, right), alpha)
    if kept.wanted[2]:
        by_right = _by_right(ask, grad, left, _lies_in_columns(kept, 2))
        found[2] = scaled(ask, by_right, alpha)
    if kept.wanted[0]:
        found[0] = scaled(ask, grad, beta)
    return found


def _linear(ask: Steps, kept: Kept, grad: Any) -> Any:
    """Of matrices: a product with the weight turned over, which lies in columns so."""
    input, weight = kept.option(0), kept.option(1)
    is_row = not grad.ndim or (input is not None and input.ndim != grad.ndim)
    if is_row or any(len(each) != 2 for each in _weight_shapes(kept, weight)):
        raise TooLittleKeptError
    has_bias = kept.wanted[2]
    if grad.ndim == 1 and not has_bias:
        return _linear_of_row(ask, kept, grad)
    found: list[Any] = [None, None, None]
    turned = None
    if kept.wanted[0]:
        with unseen():
            turned = weight.t()
    shape, grad, input = (*grad.shape[:-1], -1), _in_rows(ask, grad), _rows_of(input)
    if has_bias and turned is not None:
        found[0] = _by_left(ask, grad, input, turned)
    if kept.wanted[1]:
        found[1] = _by_right(ask, grad, input, True)
    if not has_bias and turned is not None:
        found[0] = _back(ask, _by_left(ask, grad, input, turned), shape)
    if has_bias:
        total = ask("sum", grad, [0], True)
        found[2] = ask("view", total, [grad.shape[1]])
    if found[1] is not None:
        found[1] = ask("t", found[1])
    if has_bias and turned is not None:
        found[0] = _back(ask, found[0], shape)
    return found


def _linear_of_row(ask: Steps, kept: Kept, grad: Any) -> Any:
    """Of a vector, which is a matrix of one row then, and no shift."""
    with unseen():
        row = kept.value(0).unsqueeze(0) if kept.wanted[1] else None
        turned = kept.value(1).t() if kept.wanted[0] else None
    grad = ask("unsqueeze", grad, 0)
    by_weight = _by_right(ask, grad, row, True) if kept.wanted[1] else None
    by_input = ask("squeeze", _by_left(ask, grad, row, turned), 0) if kept.wanted[0] else None
    return by_input, None if by_weight is None else ask("t", by_weight), None


def _weight_shapes(kept: Kept, weight: Any) -> list[Any]:
    """What is known of the shape of a layer's weight."""
    known = [] if weight is None else [tuple(weight.shape)]
    return [*known, kept.shape(1)] if kept.wanted[1] else known


def _across(ask: Steps, batch: Any) -> Any:
    """A batch of matrices, transposed."""
    return ask("transpose", batch, 1, 2)


def _baddbmm(ask: Steps, kept: Kept, grad: Any) -> Any:
    left, right, beta, alpha = (kept.option(place) for place in (1, 2, 3, 4))
    found: list[Any] = [None, None, None]
    if kept.wanted[1]:
        found[1] = scaled(ask, ask("bmm", grad, _across(ask, right)), alpha)
    if kept.wanted[2]:
        found[2] = scaled(ask, ask("bmm", _across(ask, left), grad), alpha)
    if kept.wanted[0]:
        found[0] = scaled(ask, grad, beta)
    return found


def _addbmm(ask: Steps, kept: Kept, grad: Any) -> Any:
    left, right, beta, alpha = (kept.option(place) for place in (1, 2, 3, 4))
    count = (left if left is not None else right).shape[0]
    found: list[Any] = [None, None, None]

    def spread() -> Any:
        return ask("expand", ask("unsqueeze", grad, 0), [count, *grad.shape])

    if kept.wanted[1]:
        whole = spread()
        found[1] = scaled(ask, ask("bmm", whole, _across(ask, right)), alpha)
    if kept.wanted[2]:
        over = _across(ask, left)
        found[2] = scaled(ask, ask("bmm", over, spread()), alpha)
    if kept.wanted[0]:
        found[0] = scaled(ask, grad, beta)
    return found


def _addmv(ask: Steps, kept: Kept, grad: Any) -> Any:
    matrix, vector, beta, alpha = (kept.option(place) for place in (1, 2, 3, 4))
    found: list[Any] = [None, None, None]
    if kept.wanted[1]:
        column = ask("view", grad, [grad.shape[0], 1])
        found[1] = scaled(ask, ask("mul", column, vector), alpha)
    if kept.wanted[2]:
        found[2] = scaled(ask, ask("mv", ask("t", matrix), grad), alpha)
    if kept.wanted[0]:
        found[0] = scaled(ask, grad, beta)
    return found


def _addr(ask: Steps, kept: Kept, grad: Any) -> Any:
    first, second, beta, alpha = (kept.option(place) for place in (1, 2, 3, 4))
    found: list[Any] = [None, None, None]
    if kept.wanted[1]:
        found[1] = scaled(ask, ask("mv", grad, second), alpha)
    if kept.wanted[2]:
        found[2] = scaled(ask, ask("mv", ask("t", grad), first), alpha)
    if kept.wanted[0]:
        found[0] = scaled(ask, grad, beta)
    return found


def _trace(ask: Steps, kept: Kept, grad: Any) -> Any:
    rows, columns = kept.shape(0)
    flat = ask("zeros", [rows * columns], **beside(grad))
    place = {**beside(grad), "dtype": int64}
    step = columns + 1
    places = ask("arange", 0, min(rows, columns) * step, step, **place)
    return (ask("view", ask("index_fill", flat, 0, places, grad), [rows, columns]),)


STEPS: Final[dict[str, Any]] = {
    "baddbmm": _baddbmm,
    "addbmm": _addbmm,
    "addmv": _addmv,
    "addr": _addr,
    "trace": _trace,
    "matmul": _matmul,
    "addmm": _addmm,
    "linear": _linear,
}
