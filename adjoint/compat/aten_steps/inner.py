"""Ops that adjoint's functions and rules are made of and PyTorch has not, in its operations."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.fourier import fitted
from adjoint.compat.aten_steps.kept import beside, from_front
from adjoint.compat.aten_steps.matrix_products import times
from adjoint.compat.aten_steps.memory import through
from adjoint.compat.aten_steps.networks import as_images, rounded_up
from adjoint.compat.aten_steps.places import CHANGES
from adjoint.dtypes import bool_, float32, int32, int64
from adjoint.ops.sampling.implicit import angles
from adjoint.tensors.tensor import Tensor

# ---- placed and picked ----


def _pick_along(ask: Steps, input: Any, index: Any, dim: int) -> Any:
    return ask("gather", input, dim, index) if input.ndim else ask("clone", input)


def _place_along(
    ask: Steps, input: Any, index: Any, dim: int, size: int, distinct: bool = True
) -> Any:
    if not input.ndim:
        return ask("clone", input)
    shape = list(input.shape)
    shape[dim] = size
    zeros = ask("new_zeros", input, shape)
    return ask("scatter" if distinct else "scatter_add", zeros, dim, index, input)


def _unpooled(ask: Steps, input: Any, places: Any, size: int) -> Any:
    return _place_along(ask, input, places, 2, size)


def _spread(ask: Steps, input: Any, shape: Any, dim: int, index: Any) -> Any:
    zeros = ask("new_zeros", input, list(shape))
    return ask("scatter_add", zeros, dim, index, input)


def _times_met(ask: Steps, index: Any, shape: Any, dim: int) -> Any:
    place = {**beside(index), "dtype": float32}
    zeros = ask("zeros", list(shape), **place)
    return ask("scatter_add", zeros, dim, index, ask("ones_like", index, dtype=float32))


def _diagonal_place(ask: Steps, input: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
    dims = from_front((dim1, dim2), len(shape))
    return ask("diagonal_backward", input, list(shape), offset, *dims)


def _folded(ask: Steps, input: Any, shape: Any, dimension: int, size: int, step: int) -> Any:
    dim = dimension % max(len(shape), 1)
    return ask("unfold_backward", input, list(shape), dim, size, step)


def _masked_collect(ask: Steps, input: Any, mask: Any, shape: Any) -> Any:
    return ask("masked_scatter_backward", input, mask, list(shape))


def _masked_deal(ask: Steps, input: Any, mask: Any) -> Any:
    zeros = ask("zeros", list(mask.shape), **beside(input))
    return ask("masked_scatter", zeros, mask, input)


def _on_diagonal(ask: Steps, input: Any, shape: Any) -> Any:
    return ask("mul", ask("eye", *shape, **beside(input)), input)


def _setitem(ask: Steps, input: Any, index: Any, value: Any) -> Any:
    whole = ask("clone", input)
    CHANGES["setitem"](ask, whole, index, value)
    return whole


def _through_memory(ask: Steps, input: Any, source: Any, target: Any, mean: str) -> Any:
    return through(ask, input, source, target, mean)


def _repeated_index(ask: Steps, repeats: Any, size: Any = None, total: Any = None) -> Any:
    if not repeats.ndim:
        repeats = ask("view", repeats, [1])
    if size is not None and repeats.shape[0] == 1 != size:
        repeats = ask("expand", repeats, [size])
    return ask("repeat_interleave.Tensor", repeats, output_size=total)


# ---- along a dimension ----


def _moved(ask: Steps, input: Any, dim: int, step: int, fill: Any = 0) -> Any:
    if not input.ndim:
        return ask("clone", input)
    place, length = dim % input.ndim, input.shape[dim]
    after = input.ndim - place - 1
    sides = [step, -step]
    if abs(step) >= length:
        return ask("full_like", input, fill)
    return ask("constant_pad_nd", input, [0, 0] * after + sides, fill)


def _recurrence(ask: Steps, input: Any, factor: Any, dim: int, step: int) -> Any:
    place, length = dim % max(input.ndim, 1), input.shape[dim] if input.ndim else 0
    if not length:
        return ask("clone", input)
    rows: list[Any] = []
    order = range(length) if step > 0 else range(length - 1, -1, -1)
    for number in order:
        row = ask("select", input, place, number)
        if rows:
            share = ask("mul", ask("select", factor, place, number), rows[-1])
            row = ask("add", row, share)
        rows.append(row)
    return ask("stack", rows if step > 0 else rows[::-1], place)


# ---- windows ----


def _spread_windows(
    ask: Steps, images: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, counting: Any
) -> Any:
    """The gradient of means over windows; a border that is not even is cut off again."""
    rank = len(padding)
    if rank == 1:
        wide = as_images(kernel, stride, padding)
        lines = ask("unsqueeze", images, -2)
        return ask("squeeze", _spread_windows(ask, lines, (1, *sizes), *wide, counting), -2)
    given = rounded_up(sizes, kernel, stride, padding)
    if given is None and counting[1] is None:
        return ask("spread_windows", images, sizes, kernel, stride, padding, counting)
    around = [n + b + a for n, (b, a) in zip(sizes, padding, strict=True)]
    whole = ask("new_zeros", images, [*images.shape[:2], *(around if given is None else sizes)])
    window = (kernel, stride, *(given or ([0] * rank, False)))
    found = ask(f"avg_pool{rank}d_backward", images, whole, *window, *counting)
    if given is not None:
        return found
    return ask("constant_pad_nd", found, [-side for pair in reversed(padding) for side in pair])


def _greatest_in(ask: Steps, input: Any, sizes: Any) -> Any:
    if len(sizes) > 1:
        return ask(f"adaptive_max_pool{len(sizes)}d", input, list(sizes))
    found = ask("adaptive_max_pool2d", ask("unsqueeze", input, -2), [1, *sizes])
    return [ask("squeeze", part, -2) for part in found]


# ---- matrices ----


def _joined_blocks(ask: Steps, tensors: Any) -> Any:
    return ask("block_diag", list(tensors))


def _ldl_factors(ask: Steps, A: Any, hermitian: bool) -> Any:
    return ask("linalg_ldl_factor_ex", A, hermitian=hermitian)


def _ldl_solved(ask: Steps, LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    return ask("linalg_ldl_solve", LD, pivots, B, hermitian=hermitian)


def _pseudo_inverse(
    ask: Steps, A: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Any:
    return ask("linalg_pinv", A, atol=atol, rtol=rtol, hermitian=hermitian)


def _lstsq_facts(ask: Steps, A: Any, rcond: Any = None) -> Any:
    if isinstance(rcond, Tensor):
        rank = ask("linalg_matrix_rank.atol_rtol_tensor", A, rtol=rcond)
    else:
        rank = ask("linalg_matrix_rank.atol_rtol_float", A, rtol=rcond)
    return rank, ask("_linalg_svd", A, False, False)[1]


def _identity_like(ask: Steps, input: Any) -> Any:
    rows, columns = input.shape[-2:]
    one = ask("eye", *((rows,) if rows == columns else (rows, columns)), **beside(input))
    if input.ndim == 2 and input.layer is None:
        return one
    return ask("add", ask("new_zeros", input, list(input.shape)), one)


def _permutation(ask: Steps, pivots: Any, packed: Any) -> Any:
    return ask("lu_unpack", packed, pivots, False, True)[0]


def _first_zero_pivot(ask: Steps, LU: Any) -> Any:
    zero = ask("_to_copy", ask("eq", ask("diagonal", LU, 0, -2, -1), 0), dtype=int32)
    if not zero.shape[-1]:
        return ask("sum", zero, [-1], dtype=int32)
    number = ask("add.Scalar", ask("argmax", zero, -1), 1)
    return ask("_to_copy", ask("mul", number, ask("amax", zero, [-1])), dtype=int32)


def _cofactors(ask: Steps, A: Any) -> Any:
    """Of each singular value the product of the others, between the vectors."""
    left, values, right = ask("_linalg_svd", A, False, True)
    count = A.shape[-1]
    own = ask("eye", count, **{**beside(values), "dtype": bool_})
    each = ask("expand", ask("unsqueeze", values, -2), list(A.shape))
    others = ask("prod", ask("masked_fill", each, own, 1), -1)
    sign = ask("mul", ask("_linalg_det", left)[0], ask("_linalg_det", right)[0])
    if A.array.dtype.kind == "c":
        left, right = ask("_conj", left), ask("_conj", right)
    scaled = ask("mul", left, ask("unsqueeze", others, -2))
    return ask("mul", ask("unsqueeze", ask("unsqueeze", sign, -1), -1), times(ask, scaled, right))


def _solve_with_info(ask: Steps, A: Any, B: Any, left: bool = True) -> Any:
    found = ask("_linalg_solve_ex", A, B, left=left)
    return found[0], found[3]


def _rank_of(ask: Steps, A: Any, atol: Any = None, rtol: Any = None, hermitian: Any = False) -> Any:
    kind = "tensor" if isinstance(atol, Tensor) or isinstance(rtol, Tensor) else "float"
    ends = {"atol": atol, "rtol": rtol, "hermitian": hermitian}
    return ask(f"linalg_matrix_rank.atol_rtol_{kind}", A, **ends)


# ---- bags ----


def _bag_numbers(ask: Steps, offsets: Any, places: int, count: int) -> Any:
    numbers = ask("arange", places, **{**beside(offsets), "dtype": int64})
    starts = ask("slice", offsets, 0, 0, count)
    return ask("sub", ask("bucketize", numbers, starts, right=True), 1)


def _bag_sizes(ask: Steps, bags: Any, counted: Any, count: int) -> Any:
    zeros = ask("zeros", [count], **{**beside(bags), "dtype": int64})
    return ask("scatter_add", zeros, 0, bags, ask("_to_copy", counted, dtype=int64))


def _regrouped_rows(ask: Steps, input: Any, sources: Any, targets: Any, count: int) -> Any:
    zeros = ask("new_zeros", input, [count, input.shape[1]])
    return ask("index_add", zeros, 0, targets, ask("index_select", input, 0, sources))


def _summed_rows(ask: Steps, input: Any, indices: Any, count: int) -> Any:
    return ask("embedding_dense_backward", input, indices, count, -1, False)


# ---- parts of gradients ----


def _gated_slopes(ask: Steps, slope: Any, input: Any, dim: int) -> Any:
    return ask("glu_backward", slope, input, dim)


def _interior_scaled(ask: Steps, input: Any, factor: float, size: int, dim: int) -> Any:
    whole = ask("clone", input)
    end = min((size + 1) // 2, input.shape[dim])
    if end > 1:
        ask("mul_", ask("slice", whole, dim % input.ndim, 1, end), factor)
    return whole


def _fitted(ask: Steps, input: Any, sizes: Any, dims: Any) -> Any:
    return fitted(ask, input, sizes, from_front(dims, input.ndim))


# ---- distinct elements ----


def _unique_all(
    ask: Steps, input: Any, dim: int | None = None, numbered: bool = True, counted: bool = True
) -> Any:
    if dim is None:
        return ask("_unique2", input, True, numbered, counted)
    return ask("unique_dim", input, dim % max(input.ndim, 1), True, numbered, counted)


def _unique_runs(
    ask: Steps, input: Any, dim: int | None = None, numbered: bool = True, counted: bool = True
) -> Any:
    return ask("unique_consecutive", input, numbered, counted, dim)


def _laguerre(ask: Steps, input: Any, n: Any, alpha: float = 0.0) -> Any:
    if alpha:  # which PyTorch has not: a sum of those of lower degrees, told by who asks
        return ask("laguerre", input, n, alpha)
    return ask("special_laguerre_polynomial_l", input, n)


def _power_before(ask: Steps, input: Any, exponent: Any, power: Any) -> Any:
    if isinstance(exponent, Tensor):
        return ask("pow", input, ask("sub.Scalar", exponent, 1))
    return ask("pow", input, exponent - 1)


# ---- drawn ----


def _angles(ask: Steps, loc: Any, concentration: Any, generator: Any = None) -> Any:
    if loc.layer is not None or concentration.layer is not None:  # a class answers it itself
        return ask("angles", loc, concentration, generator)
    with unseen():
        drawn = angles(loc, concentration, generator)
    return ask("lift_fresh", drawn)


STEPS: Final[dict[str, Any]] = {
    "identity_like": _identity_like,
    "permutation": _permutation,
    "first_zero_pivot": _first_zero_pivot,
    "cofactors": _cofactors,
    "cholesky_lower_ex": lambda ask, A, check_errors=False: ask(
        "linalg_cholesky_ex", A, check_errors=check_errors
    ),
    "solve_with_info": _solve_with_info,
    "solve_adjoint": lambda ask, factors, pivots, B: ask(
        "linalg_lu_solve", factors, pivots, B, adjoint=True
    ),
    "rank_of": _rank_of,
    "masked_deal": _masked_deal,
    "on_diagonal": _on_diagonal,
    "scaled_power": lambda ask, slope, input, whole: ask(
        "mul", slope, ask("exp", ask("sub", input, whole))
    ),
    "power_before": _power_before,
    "angles": _angles,
    "pick_along": _pick_along,
    "place_along": _place_along,
    "unpooled": _unpooled,
    "spread": _spread,
    "times_met": _times_met,
    "diagonal_place": _diagonal_place,
    "folded": _folded,
    "masked_collect": _masked_collect,
    "setitem": _setitem,
    "through_memory": _through_memory,
    "repeated_index": _repeated_index,
    "moved": _moved,
    "recurrence": _recurrence,
    "spread_windows": _spread_windows,
    "greatest_in": _greatest_in,
    "lstsq_facts": _lstsq_facts,
    "bag_numbers": _bag_numbers,
    "bag_sizes": _bag_sizes,
    "regrouped_rows": _regrouped_rows,
    "summed_rows": _summed_rows,
    "gated_slopes": _gated_slopes,
    "interior_scaled": _interior_scaled,
    "fitted": _fitted,
    "joined_blocks": _joined_blocks,
    "ldl_factors": _ldl_factors,
    "ldl_solved": _ldl_solved,
    "pseudo_inverse": _pseudo_inverse,
    "unique_all": _unique_all,
    "unique_runs": _unique_runs,
    "laguerre": _laguerre,
}
