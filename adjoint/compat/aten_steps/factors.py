"""The steps of gradients of factors of matrices: LU, QR and reflections.

Each is given who is asked, what the factors are and their gradients, None where there is none.
"""

from typing import Any

from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.kept import TooLittleKeptError, beside
from adjoint.compat.aten_steps.matrix_products import times, turned

# ---- LU ----


def by_lu(ask: Steps, exchanges: Any, L: Any, U: Any, grad_l: Any, grad_u: Any) -> Any:
    """The gradient of A = exchanges @ L @ U."""
    rows, columns = L.shape[-2], U.shape[-1]
    if rows == columns:
        inner = _by_square_lu(ask, L, U, grad_l, grad_u)
    elif rows < columns:
        inner = _by_wide_lu(ask, L, U, grad_l, grad_u)
    else:
        inner = _by_tall_lu(ask, L, U, grad_l, grad_u)
    return times(ask, exchanges, inner)


def _through_upper(ask: Steps, U: Any, inner: Any) -> Any:
    options = {"upper": False, "left": False}
    return ask("linalg_solve_triangular", turned(ask, U), inner, **options)


def _through_lower(ask: Steps, L: Any, inner: Any) -> Any:
    options = {"upper": True, "unitriangular": True}
    return ask("linalg_solve_triangular", turned(ask, L), inner, **options)


def _by_square_lu(ask: Steps, L: Any, U: Any, grad_l: Any, grad_u: Any) -> Any:
    inner = None
    if grad_l is not None:
        inner = ask("tril", times(ask, turned(ask, L), grad_l), -1)
    if grad_u is not None:
        above = ask("triu", times(ask, grad_u, turned(ask, U)))
        inner = above if inner is None else ask("add", inner, above)
    return _through_lower(ask, L, _through_upper(ask, U, inner))


def _by_wide_lu(ask: Steps, L: Any, U: Any, grad_l: Any, grad_u: Any) -> Any:
    rank, columns = U.shape[-2:]
    inner = None
    if grad_l is not None:
        inner = times(ask, turned(ask, L), grad_l)
    if grad_u is not None:
        above = ask("triu", grad_u)
        both = times(ask, above, turned(ask, U))
        inner = ask("neg", both) if inner is None else ask("sub", inner, both)
    inner = ask("tril", inner, -1)
    inner = _through_upper(ask, ask("slice", U, -1, 0, rank), inner)
    if grad_u is None:
        inner = _through_lower(ask, L, inner)
        rest = ask("zeros_like", ask("slice", U, -1, rank, columns))
        return ask("cat", [inner, rest], -1)
    first = ask("triu", ask("slice", grad_u, -1, 0, rank))
    inner = ask("add", inner, first)
    rest = ask("slice", grad_u, -1, rank, columns)
    return _through_lower(ask, L, ask("cat", [inner, rest], -1))


def _by_tall_lu(ask: Steps, L: Any, U: Any, grad_l: Any, grad_u: Any) -> Any:
    rows, rank = L.shape[-2:]
    inner = None
    if grad_u is not None:
        inner = times(ask, grad_u, turned(ask, U))
    if grad_l is not None:
        over = turned(ask, L)
        both = times(ask, over, ask("tril", grad_l, -1))
        inner = ask("neg", both) if inner is None else ask("sub", inner, both)
    inner = ask("triu", inner)
    inner = _through_lower(ask, ask("slice", L, -2, 0, rank), inner)
    if grad_l is None:
        inner = _through_upper(ask, U, inner)
        rest = ask("zeros_like", ask("slice", L, -2, rank, rows))
        return ask("cat", [inner, rest], -2)
    first = ask("tril", ask("slice", grad_l, -2, 0, rank), -1)
    inner = ask("add", inner, first)
    rest = ask("slice", grad_l, -2, rank, rows)
    return _through_upper(ask, U, ask("cat", [inner, rest], -2))


def by_packed_lu(ask: Steps, factors: Any, pivots: Any, grad: Any) -> Any:
    """The gradient of LU factors in one matrix."""
    exchanges, L, U = ask("lu_unpack", factors, pivots)
    rank = min(factors.shape[-2:])
    grad_l = ask("slice", grad, -1, 0, rank)
    grad_u = ask("slice", grad, -2, 0, rank)
    return by_lu(ask, exchanges, L, U, grad_l, grad_u)


def by_unpacked_lu(ask: Steps, packed: Any, grad_l: Any, grad_u: Any) -> Any:
    """The gradient of factors in one matrix by those of L and U, which are its triangles."""
    rows, columns = packed.shape[-2:]
    rank = min(rows, columns)
    if grad_l is not None and grad_u is not None:
        wide, tall = rows < columns, rows > columns
        above = ask("triu", ask("slice", grad_u, -1, 0, rank) if wide else grad_u)
        below = ask("tril", ask("slice", grad_l, -2, 0, rank) if tall else grad_l, -1)
        square = ask("add", below, above)
        if wide:
            return ask("cat", [square, ask("slice", grad_u, -1, rank, columns)], -1)
        return ask("cat", [square, ask("slice", grad_l, -2, rank, rows)], -2) if tall else square
    part = ask("triu", grad_u) if grad_l is None else ask("tril", grad_l, -1)
    lacking = (rows if grad_l is None else columns) - rank
    if not lacking:
        return part
    dim = -2 if grad_l is None else -1
    shape = list(part.shape)
    shape[dim] = lacking
    return ask("cat", [part, ask("zeros", shape, **beside(part))], dim)


def by_solved_lu(
    ask: Steps, args: Any, result: Any, grad: Any, left: bool = True, adjoint: bool = False
) -> Any:
    """The gradient of a solution by LU factors, by those."""
    factors, pivots, _ = args
    if left is not adjoint:
        _, L, U = ask("lu_unpack", factors, pivots, True, False)
        pair = (grad, turned(ask, result)) if left else (turned(ask, grad), result)
        inner = ask("neg", times(ask, *pair))
        above = ask("linalg_solve_triangular", turned(ask, U), inner, upper=False)
        below = times(ask, above, turned(ask, U))
        below = _through_lower(ask, L, below)
        return ask("add", ask("tril", below, -1), ask("triu", above))
    exchanges, L, U = ask("lu_unpack", factors, pivots)
    back = turned(ask, exchanges)
    if left:
        first = times(ask, back, result)
        inner = times(ask, first, turned(ask, grad))
    else:
        over = turned(ask, result)
        inner = times(ask, times(ask, back, over), grad)
    inner = ask("neg", times(ask, inner, exchanges))
    options: dict[str, Any] = {"upper": True, "left": False, "unitriangular": True}
    below = ask("linalg_solve_triangular", turned(ask, L), inner, **options)
    inner = times(ask, turned(ask, L), below)
    above = _through_upper(ask, U, inner)
    upper = ask("triu", above)
    return ask("add", ask("tril", below, -1), upper)


# ---- QR ----


def by_qr(ask: Steps, Q: Any, R: Any, grad_q: Any, grad_r: Any) -> Any:
    """The gradient of reduced factors Q and R."""
    inner = None if grad_q is None else times(ask, turned(ask, Q), grad_q)
    if grad_r is not None:
        outer = times(ask, grad_r, turned(ask, R))
        inner = outer if inner is None else ask("sub", outer, inner)
    else:
        inner = ask("neg", inner)
    if Q.shape[-2] < R.shape[-1]:
        return _by_wide_qr(ask, Q, R, inner, grad_r)
    inner = ask("triu", inner)
    inner = ask("add", inner, turned(ask, inner))
    ask("mul_.Scalar", ask("diagonal", inner, 0, -2, -1), 0.5)
    whole = times(ask, Q, inner)
    whole = whole if grad_q is None else ask("add", whole, grad_q)
    return _through_upper(ask, R, whole)


def _by_wide_qr(ask: Steps, Q: Any, R: Any, inner: Any, grad_r: Any) -> Any:
    """R has further columns, which move with Q alone."""
    rank, columns = R.shape[-2:]
    inner = ask("neg", inner)
    inner = ask("sub", inner, turned(ask, inner))
    whole = times(ask, Q, ask("tril", inner))
    whole = _through_upper(ask, ask("slice", R, -1, 0, rank), whole)
    rest = ask("new_zeros", whole, [*whole.shape[:-1], columns - rank])
    whole = ask("cat", [whole, rest], -1)
    return whole if grad_r is None else ask("add", whole, times(ask, Q, grad_r))


# ---- reflections ----


def _column(ask: Steps, tensor: Any, place: int) -> Any:
    return ask("slice", tensor, -1, place, place + 1)


def _reflect_left(ask: Steps, place: int, vector: Any, factor: Any, inside: Any) -> Any:
    """The rows of `inside` reflected; in place, and from a place on, unless that is recorded."""
    if is_recording():
        along = times(ask, turned(ask, vector), inside)
        scaled = ask("mul", ask("unsqueeze", factor, -1), vector)
        return ask("sub", inside, ask("mul", scaled, along))
    rows = vector.shape[-2]
    own, other = (ask("slice", vector, -2, place, rows) for _ in range(2))
    over = turned(ask, other)
    along = times(ask, over, ask("slice", inside, -2, place, rows))
    changed = ask("slice", inside, -2, place, rows)
    scaled = ask("mul", ask("unsqueeze", factor, -1), own)
    ask("sub_", changed, ask("mul", scaled, along))
    return inside


def _reflect_right(ask: Steps, place: int, vector: Any, factor: Any, inside: Any) -> Any:
    """The same of columns."""
    if is_recording():
        over = turned(ask, vector)
        along = times(ask, inside, ask("mul", ask("unsqueeze", factor, -1), vector))
        return ask("sub", inside, ask("mul", along, over))
    rows = vector.shape[-2]
    own = ask("slice", vector, -2, place, rows)
    read = ask("slice", inside, -1, place, rows)
    other = ask("slice", vector, -2, place, rows)
    along = times(ask, read, ask("mul", ask("unsqueeze", factor, -1), other))
    changed = ask("slice", inside, -1, place, rows)
    ask("sub_", changed, ask("mul", along, turned(ask, own)))
    return inside


def _by_reflection(ask: Steps, place: int, vector: Any, factor: Any, inside: Any) -> Any:
    """The gradients by one vector and its factor."""
    rows = vector.shape[-2]
    part = ask("slice", vector, -2, place, rows)
    over = turned(ask, part)
    above = times(ask, over, ask("slice", inside, -2, place, rows))
    beside = times(ask, ask("slice", inside, -1, place, rows), part)
    factor = ask("unsqueeze", factor, -1)
    second = ask("squeeze", ask("mul", factor, beside), -1)
    first = ask("squeeze", ask("mul", ask("neg", factor), above), -2)
    by_vector = ask("sub", first, second)
    along = times(ask, ask("slice", above, -1, place, rows), part)
    by_factor = ask("squeeze", ask("neg", along), -1)
    return ask("unsqueeze", by_vector, -1), by_factor


def by_reflections(
    ask: Steps, grad: Any, result: Any, input: Any, tau: Any, from_last: bool = False
) -> Any:
    """The gradients of a product of reflections by their vectors and factors.

    What is between the reflections is unrolled one by one, so it starts with the inverse of one.
    """
    count, width = tau.shape[-1], input.shape[-1]
    if not count or 0 in input.shape:
        raise TooLittleKeptError
    vectors = ask("tril", input, -1)
    ask("fill_.Scalar", ask("diagonal", vectors, 0, -2, -1), 1)
    some = ask("slice", vectors, -1, 0, count)
    lengths = ask("sum", ask("mul", some, some), [-2])
    undone = ask("div", tau, ask("sub.Scalar", ask("mul", tau, lengths), 1))
    inside = times(ask, result, turned(ask, grad))
    order = list(range(count))[:: -1 if from_last else 1]
    ahead, behind = (
        (_reflect_right, _reflect_left) if from_last else (_reflect_left, _reflect_right)
    )
    factor = _column(ask, undone, order[0])
    inside = ahead(ask, order[0], _column(ask, vectors, order[0]), factor, inside)
    found: dict[int, Any] = {}
    for number, place in enumerate(order):
        vector, factor = _column(ask, vectors, place), _column(ask, tau, place)
        found[place] = _by_reflection(ask, place, vector, factor, inside)
        if number + 1 < count:
            later = order[number + 1]
            own = _column(ask, vectors, later), _column(ask, undone, later)
            inside = ahead(ask, later, *own, inside)
            inside = behind(ask, place, vector, factor, inside)
    parts = [found[place][0] for place in range(count)]
    if count < width:
        shape = [*input.shape[:-1], width - count]
        parts.append(ask("zeros", shape, **beside(input)))
    by_input = ask("cat", parts, -1)
    by_tau = ask("cat", [found[place][1] for place in range(count)], -1)
    return ask("tril_", by_input, -1), by_tau
