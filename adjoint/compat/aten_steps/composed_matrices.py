"""Products, powers and norms of matrices, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.composed_factors import bounds, told
from adjoint.compat.aten_steps.kept import beside, from_front
from adjoint.compat.aten_steps.matrices import by_inverse_kept, by_norm
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import FLOAT, float64, int64
from adjoint.ops.arranging.conversion import contiguous_format, finfo, strided
from adjoint.ops.arranging.shape import (
    cat,
    expand,
    narrow,
    permute,
    reshape,
    squeeze,
    unsqueeze,
)
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.arithmetic import div, mul, reciprocal
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.decompositions import linalg_svdvals
from adjoint.ops.matrices.linalg import linalg_inv, linalg_slogdet
from adjoint.ops.matrices.matmul import matmul
from adjoint.ops.matrices.matrix_norms import MATRIX_ORDERS
from adjoint.ops.matrices.other_products import chain_order
from adjoint.ops.reducing.cumulative import cumprod
from adjoint.ops.reducing.extremes import amax, amin
from adjoint.ops.reducing.norms import p_norm
from adjoint.ops.reducing.reduction import sum
from adjoint.tensors.tensor import Tensor


def _logdet(input: Any) -> Any:
    sign, logarithm = linalg_slogdet(input)
    return where(sign == -1.0, math.nan, logarithm)


# ---- products ----


def _by_reshaped(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return (ask("view", grad, list(args[0].shape)),)


_LAID_OUT: Final = Operation("_unsafe_view", (0,), _by_reshaped, changing=(0,))


def _kron(input: Any, other: Any) -> Any:
    count = max(input.ndim, other.ndim)
    if not count:
        return NotImplemented
    outer = [1] * (count - input.ndim) + list(input.shape)
    inner = [1] * (count - other.ndim) + list(other.shape)
    spread = _LAID_OUT(input, [size for each in outer for size in (each, 1)])
    tiled = _LAID_OUT(other, [size for each in inner for size in (1, each)])
    return _LAID_OUT(mul(spread, tiled), [m * n for m, n in zip(outer, inner, strict=True)])


def _outer(input: Any, vec2: Any) -> Any:
    if input.ndim != 1 or vec2.ndim != 1:
        return NotImplemented
    return mul(reshape(input, (input.shape[0], 1)), vec2)


def _multi_dot(tensors: Any) -> Any:
    operands = list(tensors)
    ranks = [operand.ndim for operand in operands]
    ends = {ranks[0], ranks[-1]} if operands else set()
    if len(operands) < 2 or not ends <= {1, 2} or set(ranks[1:-1]) - {2}:
        return NotImplemented
    if ranks[0] == 1:
        operands[0] = unsqueeze(operands[0], 0)
    if ranks[-1] == 1:
        operands[-1] = unsqueeze(operands[-1], -1)
    sizes = [operands[0].shape[0], *(operand.shape[1] for operand in operands)]
    if any(each.shape[0] != size for each, size in zip(operands[1:], sizes[1:], strict=False)):
        return NotImplemented
    split = chain_order(sizes)

    def product(i: int, j: int) -> Any:
        if i == j:
            return operands[i]
        return matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    result = product(0, len(operands) - 1)
    shape = [sizes[0]] * (ranks[0] == 2) + [sizes[-1]] * (ranks[-1] == 2)
    return result.view(shape)


def _chain_matmul(*matrices: Any) -> Any:
    if len(matrices) < 2 or any(matrix.ndim != 2 for matrix in matrices):
        return NotImplemented
    return _multi_dot(matrices)


def _matrix_power(A: Any, n: int) -> Any:
    is_whole = isinstance(n, int) and not isinstance(n, bool)
    if not is_whole or A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        return NotImplemented
    if n in (0, 1):
        made = A.clone(memory_format=contiguous_format)
        return made if n else made.copy_(_identity(A))
    if n == -1:
        return linalg_inv(A)
    return _power(linalg_inv(A) if n < 0 else A, abs(n))


def _identity(A: Any) -> Any:
    with asking() as ask:
        return ask("eye", A.shape[-1], **beside(A))


def _power(A: Any, n: int) -> Any:
    """By repeated squaring; the third is a product of the square and the first."""
    if n <= 3:
        square = matmul(A, A)
        return square if n == 2 else matmul(square, A)
    result = power = None
    while n:
        power = A if power is None else matmul(power, power)
        if n & 1:
            result = power if result is None else matmul(result, power)
        n >>= 1
    return result


def _vander(x: Any, *, N: int | None = None) -> Any:
    size = x.shape[-1] if x.ndim and N is None else N
    if x.dtype.category < FLOAT or size is None or size < 2:
        return NotImplemented
    x = x if x.ndim else unsqueeze(x, 0)
    powers = cumprod(expand(unsqueeze(x, -1), (*x.shape, size - 1)), -1)
    with asking() as ask:
        ones = ask("new_ones", powers, [*x.shape, 1])
    return cat([ones, powers], -1)


# ---- inverses of tensors ----

_INVERTED: Final = Operation(
    "linalg_inv_ex",
    (0,),
    lambda ask, wanted, args, results, grad: (by_inverse_kept(ask, results[0], grad),),
    after=told("inv", 1),
)


def _tensorinv(A: Any, ind: int = 2) -> Any:
    rows, columns = list(A.shape[:ind]), list(A.shape[ind:])
    size = math.prod(rows)
    if ind <= 0 or math.prod(columns) != size:
        return NotImplemented
    return reshape(_INVERTED(reshape(A, (size, size))), [*columns, *rows])


def _tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    if dims is not None:
        A = COMPOSITES["movedim"](A, list(dims), [A.ndim - len(dims) + i for i in range(len(dims))])
    unknown = list(A.shape[B.ndim :])
    size = math.prod(B.shape)
    if math.prod(unknown) != size:
        return NotImplemented
    right = B if B.ndim == 1 else reshape(B, (size,))
    return reshape(COMPOSITES["linalg_solve"](reshape(A, (size, size)), right), unknown)


# ---- norms ----


def _by_length(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, dtype: Any = None
) -> Any:
    input, p, dim, keepdim = args
    dims = [] if dim is None else from_front(dim, input.ndim)
    return (by_norm(ask, input, p, dims, keepdim, results[0], grad),)


_LENGTH: Final = Operation("linalg_vector_norm", (0,), _by_length)


def _length(A: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    dims = dim if dim is None or not isinstance(dim, int) else [dim]
    if dtype is None or dtype is A.dtype:
        return p_norm(A, p, dims, keepdim)
    return _LENGTH(A, p, dims, keepdim, dtype=dtype)


def _is_other_kind(A: Any, dtype: Any) -> bool:
    """Whether a norm in another type than the input's is to be refused, or left to others."""
    return A.dtype.category < FLOAT or (dtype is not None and dtype.category < FLOAT)


def _vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    if dtype is None or _is_other_kind(x, dtype) or isinstance(ord, str):
        return NotImplemented
    return _length(x, ord, dim, keepdim, dtype)


def _old_norm(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Any:
    if dtype is None or _is_other_kind(input, dtype) or dtype.itemsize < input.dtype.itemsize:
        return NotImplemented
    if p == "nuc" or (isinstance(dim, (tuple, list)) and len(dim) > 2 and p in (None, "fro")):
        return NotImplemented
    return _length(input, 2 if p in (None, "fro") else p, dim, keepdim, dtype)


def _matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    refused = A.ndim < 2 or ord not in MATRIX_ORDERS or len(dim) != 2
    if (
        refused
        or _is_other_kind(A, dtype)
        or normal_dim(dim[0], A.ndim) == normal_dim(dim[1], A.ndim)
    ):
        return NotImplemented
    first, second = (normal_dim(d, A.ndim) for d in dim)
    if ord == "fro":
        return _length(A, 2, (first, second), keepdim, dtype)
    if ord in ("nuc", 2, -2):
        return _spectral_norm(A if dtype is None else A.to(dtype), ord, first, second, keepdim)
    across, along = (first, second) if abs(ord) == 1 else (second, first)
    totals = _length(A, 1.0, across, keepdim, dtype)
    along -= along > across and not keepdim
    return (amax if ord > 0 else amin)(totals, along, keepdim)


def _spectral_norm(A: Any, ord: Any, first: int, second: int, keepdim: bool) -> Any:
    order = [*(d for d in range(A.ndim) if d not in (first, second)), first, second]
    values = linalg_svdvals(permute(A, order))
    reduced = sum if ord == "nuc" else amax if ord > 0 else amin
    result = reduced(values, -1, keepdim)
    if not keepdim:
        return result
    return permute(unsqueeze(result, -1), [order.index(d) for d in range(A.ndim)])


def _norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    if _is_other_kind(A, dtype):
        return NotImplemented
    if ord is None:
        return _length(A, 2.0, dim, keepdim, dtype)
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if (dims is None and A.ndim == 2) or (dims is not None and len(dims) == 2):
        return _matrix_norm(A, ord, dims or (0, 1), keepdim, dtype=dtype)
    of_vectors = A.ndim == 1 if dims is None else len(dims) == 1
    if isinstance(ord, str) or not of_vectors:
        return NotImplemented
    return _length(A, float(ord), dims, keepdim, dtype)


def _cond(A: Any, p: Any = None) -> Any:
    if A.ndim < 2 or _is_other_kind(A, None) or 0 in A.shape:
        return NotImplemented
    if p not in (None, 2, -2, "nuc"):
        return _cond_by_inverse(A, p)
    if p == "nuc":
        values = linalg_svdvals(A)
        inverse = sum(reciprocal(values), -1)
        return mul(inverse, sum(values, -1))
    values = linalg_svdvals(A)
    count = values.shape[-1]
    largest, smallest = narrow(values, -1, 0, 1), narrow(values, -1, count - 1, 1)
    ratio = div(smallest, largest) if p == -2 else div(largest, smallest)
    return squeeze(ratio, -1)


def _cond_by_inverse(A: Any, p: Any) -> Any:
    """By the norm of the inverse, which PyTorch changes in place: it has no gradient here."""
    derived = is_recording() and A.requires_grad
    if derived or p not in MATRIX_ORDERS or A.shape[-2] != A.shape[-1]:
        return NotImplemented
    with asking() as ask:
        inverse, faults = ask("linalg_inv_ex", A)
        faults = ask("unsqueeze_", ask("unsqueeze_", faults, -1), -1)
        inverse = ask("masked_fill_", inverse, ask("gt", faults, 0), math.inf)
    found = mul(_matrix_norm(A, p), _matrix_norm(inverse, p))
    with asking() as ask:
        return ask("nan_to_num_", found, math.inf, math.inf, -math.inf)


def _matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    given = any(isinstance(each, Tensor) for each in (tol, atol, rtol))
    if given or A.ndim < 2 or 0 in A.shape or _is_other_kind(A, None):
        return NotImplemented
    with asking() as ask:
        place = {"layout": strided, "device": A.device}
        ask("empty", [*A.shape[:-2]], dtype=int64, **place)
    if tol is not None or atol is not None or rtol is not None:
        least, share = bounds(A, atol if tol is None else tol, None if tol is not None else rtol)
    else:
        with asking() as ask:
            least = ask("zeros", [], dtype=float64, **place)
            size = finfo(A.dtype).eps * max(A.shape[-2:])
            share = ask("full", [], size, dtype=float64, **place)
    with asking() as ask:
        return _count_above(ask, A, least, share, hermitian)


def _count_above(ask: Steps, A: Any, least: Any, share: Any, hermitian: bool) -> Any:
    """How many singular values are above the larger of two bounds."""
    if hermitian:
        values = ask("abs", ask("_linalg_eigh", A)[0])
        largest = ask("amax", values, [-1], True)
    else:
        values = ask("_linalg_svd", A)[1]
        largest = ask("slice", values, -1, 0, 1)
    share = ask("mul", ask("unsqueeze", share, -1), largest)
    bound = ask("maximum", ask("unsqueeze", least, -1), share)
    return ask("sum", ask("gt", values, bound), [-1])


def _normalize(
    input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    lengths = COMPOSITES["norm"](input, p, dim, True).clamp_min(eps)
    return div(input, expand(lengths, tuple(input.shape)))


FUNCTIONS: Final[dict[str, Any]] = {
    "logdet": _logdet,
    "kron": _kron,
    "outer": _outer,
    "linalg_multi_dot": _multi_dot,
    "chain_matmul": _chain_matmul,
    "linalg_matrix_power": _matrix_power,
    "linalg_vander": _vander,
    "linalg_tensorinv": _tensorinv,
    "linalg_tensorsolve": _tensorsolve,
    "linalg_vector_norm": _vector_norm,
    "norm": _old_norm,
    "linalg_matrix_norm": _matrix_norm,
    "linalg_norm": _norm,
    "linalg_cond": _cond,
    "linalg_matrix_rank": _matrix_rank,
    "normalize": _normalize,
}
