"""Reductions and normalisations that leave masked elements out, as in torch.masked.

A mask is True where an element counts. It has the shape of the input or is broadcast to it; what
does not count is replaced by what changes nothing: 0 in a sum, 1 in a product, and so on.
"""

import math
from typing import Any

from adjoint.creation.factories import ones, tensor
from adjoint.dtypes import FLOAT, as_dtype, bool_, dtype as data_type, float32, int64
from adjoint.nn import functional
from adjoint.ops import PUBLIC
from adjoint.ops.annotations import Value
from adjoint.ops.arranging.conversion import iinfo
from adjoint.ops.elementwise.selection import maximum, where

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_OPS = PUBLIC["adjoint"]
_vector_norm = PUBLIC["linalg"]["vector_norm"]

# ---- what a mask does ----


def _dims(dim: Any, ndim: int) -> list[int]:
    """The dimensions to reduce, counted from the front; all if none is given."""
    if dim is None:
        return list(range(ndim))
    found: list[int] = []
    for each in (dim,) if isinstance(dim, int) else tuple(dim):
        bound = max(ndim, 1)
        if not -bound <= each < bound:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but "
                f"got {each})"
            )
        if each % bound in found:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
        found.append(each % bound)
    return sorted(found)


def _wide(input: Value, mask: Value) -> Value:
    """A mask of the input's shape."""
    if mask.ndim > input.ndim:
        raise IndexError(
            f"expected a mask that is broadcast to the input, {input.ndim} dimensions, got one of "
            f"{mask.ndim}"
        )
    truth = mask.to(bool_)
    return truth if truth.shape == input.shape else truth.expand(input.shape)


def _only(input: Value, mask: Value | None, neutral: Any) -> Value:
    """The input with what does not count replaced."""
    if mask is None:
        return input
    other = tensor(neutral, dtype=input.dtype, device=input.device)
    return where(_wide(input, mask), input, other)


def _least(input: Value) -> Any:
    """What is smaller than any other number of the input's type."""
    if input.dtype.is_complex or input.dtype is bool_:
        raise NotImplementedError(f"there is no least number of {input.dtype}")
    return -math.inf if input.dtype.is_floating_point else iinfo(input.dtype).min


def _greatest(input: Value) -> Any:
    """What is larger than any other number of the input's type."""
    if input.dtype.is_complex or input.dtype is bool_:
        raise NotImplementedError(f"there is no largest number of {input.dtype}")
    return math.inf if input.dtype.is_floating_point else iinfo(input.dtype).max


def _kind(input: Value, dtype: Any, summed: bool = False) -> data_type:
    """The data type of a result: the one asked for, or the input's; of a sum of integers int64."""
    if dtype is not None:
        return as_dtype(dtype)
    return int64 if summed and input.dtype.category < FLOAT else input.dtype


# ---- reductions ----


def sum(
    input: Value,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The sum of the elements that count; 0 if none does."""
    kind = _kind(input, dtype, summed=True)
    return _summed(_only(input, mask, 0), dim, keepdim, kind)


def _summed(input: Value, dim: Any, keepdim: bool, kind: data_type) -> Value:
    dims = _dims(dim, input.ndim)
    total: Value = _OPS["sum"](input, dims, bool(keepdim), dtype=kind)
    return total


def prod(
    input: Value,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The product of the elements that count; 1 if none does."""
    result = _only(input, mask, 1).to(_kind(input, dtype, summed=True))
    for each in reversed(_dims(dim, input.ndim)):
        result = result.prod(each, keepdim=bool(keepdim))
    return result


def cumsum(input: Value, dim: int, *, dtype: Any = None, mask: Value | None = None) -> Value:
    """Sums of all prefixes along dim, of the elements that count."""
    kind = _kind(input, dtype)
    return _only(input, mask, 0).cumsum(_dims(dim, input.ndim)[0], dtype=kind)


def cumprod(input: Value, dim: int, *, dtype: Any = None, mask: Value | None = None) -> Value:
    """Products of all prefixes along dim, of the elements that count."""
    kind = _kind(input, dtype)
    return _only(input, mask, 1).cumprod(_dims(dim, input.ndim)[0], dtype=kind)


def amax(
    input: Value,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The largest element that counts."""
    shown = input if mask is None else _only(input, mask, _least(input))
    return shown.amax(_dims(dim, input.ndim), bool(keepdim)).to(_kind(input, dtype))


def amin(
    input: Value,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The smallest element that counts."""
    shown = input if mask is None else _only(input, mask, _greatest(input))
    return shown.amin(_dims(dim, input.ndim), bool(keepdim)).to(_kind(input, dtype))


def argmax(
    input: Value,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """Where the largest element that counts is, in the data type of the input."""
    shown = input if mask is None else _only(input, mask, _least(input))
    return shown.argmax(dim, bool(keepdim)).to(_kind(input, dtype))


def argmin(
    input: Value,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """Where the smallest element that counts is, in the data type of the input."""
    shown = input if mask is None else _only(input, mask, _greatest(input))
    return shown.argmin(dim, bool(keepdim)).to(_kind(input, dtype))


def _count(input: Value, dim: Any, keepdim: bool, mask: Value | None) -> Value:
    """How many elements count."""
    if mask is None:
        counting: Value = ones(input.shape, dtype=int64, device=input.device)
    else:
        counting = _wide(input, mask)
    return _summed(counting, dim, keepdim, int64)


def mean(
    input: Value,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The mean of the elements that count; nan if none does."""
    kind = _kind(input, dtype)
    if kind.category < FLOAT:
        raise ValueError(f"mean(): a mean is of a floating or complex type, not {kind}")
    count = _count(input, dim, bool(keepdim), mask)
    return sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask) / count


def median(
    input: Value,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The median of the elements that count; nan if none does, which integers can't say."""
    place = _dims(dim, input.ndim)[0]
    floating = input.dtype.is_floating_point
    shown = _only(input if floating else input.to(float32), mask, math.nan)
    result: Value = shown.nanmedian(place, keepdim).values
    if floating:
        return result
    if bool(result.isnan().any()):
        raise ValueError(
            "median(): a row of which nothing counts has no median among integers; convert to float"
        )
    return result.to(_kind(input, dtype))


def logsumexp(
    input: Value,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The logarithm of the sum of the exponentials of the elements that count."""
    shown = input
    if mask is not None:
        shown = _only(input, mask, -math.inf if input.dtype.is_complex else _least(input))
    result = shown.logsumexp(_dims(dim, input.ndim), keepdim=keepdim)
    return result.to(_kind(input, dtype))


def logaddexp(
    input: Value,
    other: Value,
    *,
    dtype: Any = None,
    input_mask: Value | None = None,
    other_mask: Value | None = None,
) -> Value:
    """logaddexp of two tensors, each of which may be masked."""
    first = input if input_mask is None else _only(input, input_mask, _least(input))
    second = other if other_mask is None else _only(other, other_mask, _least(other))
    return _OPS["logaddexp"](first, second).to(_kind(input, dtype))


def norm(
    input: Value,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The vector norm of exponent ord of the elements that count."""
    shown = _only(input, mask, math.inf if ord == -math.inf else 0)
    dims = _dims(dim, input.ndim)
    result: Value = _vector_norm(shown, ord, dims, bool(keepdim), dtype=_kind(input, dtype))
    return result


def _variance(
    input: Value,
    dim: Any,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: Any,
    mask: Value | None,
) -> Value:
    if unbiased is not None and correction is not None:
        raise AssertionError("give unbiased or correction, not both")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    kind = _kind(input, dtype)
    computed = kind if kind.category >= FLOAT else float32
    count = _count(input, dim, True, mask)
    total = sum(input, dim, keepdim=True, dtype=computed, mask=mask)
    aside = input - total / count
    squares = aside * aside.conj()
    spread = sum(squares, dim, keepdim=keepdim, dtype=computed, mask=mask)
    if not keepdim:
        count = count.view(spread.shape)
    if correction:
        count = count.to(computed.to_real()) - correction
        count = maximum(count, count.new_zeros(()))
    return (spread / count).to(computed if dtype is None else kind)


def var(
    input: Value,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The variance of the elements that count."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Value,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The standard deviation of the elements that count."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


# ---- normalisations ----


def softmax(input: Value, dim: int, *, dtype: Any = None, mask: Value | None = None) -> Value:
    """softmax along dim, 0 where an element does not count."""
    shown = input if mask is None else _only(input, mask, _least(input))
    place = _dims(dim, input.ndim)[0]
    return functional.softmax(shown, place, dtype=_kind(input, dtype))


def log_softmax(input: Value, dim: int, *, dtype: Any = None, mask: Value | None = None) -> Value:
    """log_softmax along dim, negative infinity where an element does not count."""
    shown = input if mask is None else _only(input, mask, _least(input))
    place = _dims(dim, input.ndim)[0]
    return functional.log_softmax(shown, place, dtype=_kind(input, dtype))


def softmin(input: Value, dim: int, *, dtype: Any = None, mask: Value | None = None) -> Value:
    """softmin along dim, 0 where an element does not count."""
    shown = input if mask is None else _only(input, mask, _greatest(input))
    place = _dims(dim, input.ndim)[0]
    return functional.softmin(shown, place, dtype=_kind(input, dtype))


def normalize(
    input: Value,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Value | None = None,
) -> Value:
    """The elements that count divided by their norm along dim, at least eps; 0 elsewhere."""
    shown = _only(input, mask, 0)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    least = maximum(length, length.new_full((), eps))
    return shown / least
