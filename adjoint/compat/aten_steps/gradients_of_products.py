"""The steps of gradients of products of matrices."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.gradients import scaled
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError


def _in_columns(matrix: Any) -> bool:
    """Whether a matrix lies in memory column by column."""
    return tuple(matrix.stride()) == (1, matrix.shape[0])


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
    if (left_rank, right_rank) == (2, 2):
        if kept.wanted[1]:
            by_other = _by_right(ask, grad, input, other is not None and _in_columns(other))
        if kept.wanted[0]:
            by_input = _by_left(ask, grad, input, other)
    elif (left_rank, right_rank) == (2, 1):
        if kept.wanted[0]:
            by_input = ask("mul", ask("view", grad, [grad.shape[0], 1]), other)
        if kept.wanted[1]:
            by_other = ask("mv", ask("t", input), grad)
    elif (left_rank, right_rank) == (1, 1):
        by_input = ask("mul", grad, other) if kept.wanted[0] else None
        by_other = ask("mul", grad, input) if kept.wanted[1] else None
    elif left_rank == right_rank == 3 and input is not None and other is not None:
        return _batches(ask, kept, grad, input, other)
    else:
        raise TooLittleKeptError
    return by_input, by_other


def _left_rank(grad: Any, right_rank: int) -> int:
    """How many dimensions the first factor has, of which only the product is known."""
    if right_rank > 2:
        raise TooLittleKeptError
    return int(grad.ndim) + 1 if right_rank == 1 else int(grad.ndim)


def _batches(ask: Steps, kept: Kept, grad: Any, input: Any, other: Any) -> Any:
    if input.shape[0] != other.shape[0]:
        raise TooLittleKeptError
    by_input = by_other = None
    grad = ask("view", grad, list(grad.shape))
    if kept.wanted[1]:
        by_other = ask("bmm", ask("transpose", input, 1, 2), grad)
    if kept.wanted[0]:
        by_input = ask("bmm", grad, ask("transpose", other, 1, 2))
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
        in_columns = right is not None and _in_columns(right)
        found[2] = scaled(ask, _by_right(ask, grad, left, in_columns), alpha)
    if kept.wanted[0]:
        found[0] = scaled(ask, grad, beta)
    return found


def _linear(ask: Steps, kept: Kept, grad: Any) -> Any:
    """Of matrices: a product with the weight turned over, which lies in columns so."""
    input, weight = kept.option(0), kept.option(1)
    factors = [each for each in (grad, input, weight) if each is not None]
    if any(each.ndim != 2 for each in factors) or (kept.wanted[1] and len(kept.shape(1)) != 2):
        raise TooLittleKeptError
    has_bias = kept.wanted[2]
    found: list[Any] = [None, None, None]
    turned = None
    if kept.wanted[0]:
        with unseen():
            turned = weight.t()
    if has_bias and turned is not None:
        found[0] = _by_left(ask, grad, input, turned)
    if kept.wanted[1]:
        found[1] = _by_right(ask, grad, input, True)
    if not has_bias and turned is not None:
        found[0] = _by_left(ask, grad, input, turned)
    if has_bias:
        total = ask("sum", grad, [0], True)
        found[2] = ask("view", total, [grad.shape[1]])
    if found[1] is not None:
        found[1] = ask("t", found[1])
    return found


STEPS: Final[dict[str, Any]] = {
    "matmul": _matmul,
    "addmm": _addmm,
    "linear": _linear,
}
