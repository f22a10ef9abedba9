"""torch.testing: assert_close and make_tensor, with PyTorch's arguments and tolerances."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint import dtypes
from adjoint.creation.factories import empty
from adjoint.creation.from_memory import as_tensor
from adjoint.dtypes import dtype, promote_types
from adjoint.ops.arranging.conversion import (
    finfo,
    iinfo,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)
from adjoint.ops.elementwise.comparison import isclose
from adjoint.tensors.tensor import Tensor

_ABSOLUTE = 1e-5
_RELATIVE = {
    dtypes.float16: 1e-3,
    dtypes.bfloat16: 1.6e-2,
    dtypes.float32: 1.3e-6,
    dtypes.complex32: 1e-3,
    dtypes.complex64: 1.3e-6,
}
_DOUBLES = (dtypes.float64, dtypes.complex128)


class _Rules:
    """What assert_close was told to compare, and how nearly."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool) -> None:
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.checks: dict[str, Callable[[Tensor], Any]] = {}

    def tolerances(self, *kinds: dtype) -> tuple[float, float]:
        """The relative and absolute tolerance for tensors of these types."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_default_tolerance(kind) for kind in kinds]
        return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def _default_tolerance(kind: dtype) -> tuple[float, float]:
    if kind in _DOUBLES:
        return 1e-7, 1e-7
    return (_RELATIVE[kind], _ABSOLUTE) if kind in _RELATIVE else (0.0, 0.0)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Fail unless both are nearly equal tensors, numbers, or sequences or mappings of them."""
    rules = _Rules(rtol, atol, equal_nan)
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError(f"assert_close: {type(actual)} and {type(expected)} are different types")
    checks: list[tuple[bool, str, Callable[[Any], Any]]] = [
        (check_layout, "layout", lambda tensor: tensor.layout),
        (check_device, "device", lambda tensor: tensor.device),
        (check_dtype, "dtype", lambda tensor: tensor.dtype),
        (check_stride, "stride", lambda tensor: tensor.stride()),
    ]
    rules.checks = {name: ask for wanted, name, ask in checks if wanted}
    try:
        _compare(actual, expected, "", rules)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg if isinstance(msg, str) else msg(str(error))) from None


def _compare(actual: Any, expected: Any, where: str, rules: _Rules) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise AssertionError(f"keys differ{where}: {set(actual) ^ set(expected)}")
        for key in actual:
            _compare(actual[key], expected[key], f"{where} [{key!r}]", rules)
    elif _is_row(actual) and _is_row(expected):
        if len(actual) != len(expected):
            raise AssertionError(f"lengths differ{where}: {len(actual)} and {len(expected)}")
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            _compare(one, other, f"{where} [{i}]", rules)
    elif actual is None or expected is None:
        if actual is not expected:
            raise AssertionError(f"one of them is None{where}")
    else:
        _compare_tensors(actual, expected, where, rules)


def _is_row(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


# What sparse tensors are compared by: where their elements are, and these.
_PARTS: dict[Any, tuple[str, ...]] = {
    sparse_coo: ("_indices", "_values"),
    sparse_csr: ("crow_indices", "col_indices", "values"),
    sparse_csc: ("ccol_indices", "row_indices", "values"),
    sparse_bsr: ("crow_indices", "col_indices", "values"),
    sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def _compare_tensors(actual: Any, expected: Any, where: str, rules: _Rules) -> None:
    if (rules.rtol is None) != (rules.atol is None):
        raise ValueError("assert_close: give both rtol and atol, or neither")
    numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    a: Any = _as_tensor(actual)
    b: Any = _as_tensor(expected)
    if a.shape != b.shape:
        raise AssertionError(f"shapes differ{where}: {tuple(a.shape)} and {tuple(b.shape)}")
    for name, ask in rules.checks.items():
        if not numbers and ask(a) != ask(b):
            raise AssertionError(f"{name} differs{where}: {ask(a)} and {ask(b)}")
    if a.layout is not b.layout:
        a, b = a.to_dense(), b.to_dense()
    for part in _PARTS.get(a.layout, ()):
        _compare_tensors(getattr(a, part)(), getattr(b, part)(), f"{where}, {part}", rules)
    if a.layout in _PARTS or (a.is_meta and b.is_meta):
        return
    rtol, atol = rules.tolerances(a.dtype, b.dtype)
    common = promote_types(a.dtype, b.dtype)
    one, other = a.detach().cpu().to(common), b.detach().cpu().to(common)
    close = isclose(one, other, rtol, atol, rules.equal_nan)
    if not bool(close.all()):
        wrong = int((~close).sum())
        first = (~close).nonzero()[0].tolist()
        place = tuple(first)
        raise AssertionError(
            f"{wrong} of {close.numel()} elements differ{where}, the first at {place}: "
            f"{one[place].item()} and {other[place].item()} (rtol {rtol}, atol {atol})"
        )


def _as_tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, float):
        return as_tensor(value, dtype=dtypes.float64)
    if isinstance(value, complex):
        return as_tensor(value, dtype=dtypes.complex128)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"assert_close compares no {type(value).__name__}, got {value!r}")
    return as_tensor(value)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """assert_close as it was before: types may differ, and NaN equals NaN."""
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=False,
        check_dtype=False,
        msg=msg or None,
    )


def _bounds(kind: Any, low: float | None, high: float | None, whole: bool) -> tuple[float, float]:
    """The bounds of random numbers, brought to what a data type can hold."""
    least = (0 if kind is dtypes.bool_ else -9) if low is None else low
    most = (2 if kind is dtypes.bool_ else 10 if whole else 9) if high is None else high
    if math.isnan(least) or math.isnan(most) or least > most or (whole and least == most):
        raise ValueError(f"make_tensor: low must be below high, got {least} and {most}")
    if kind is dtypes.bool_:
        limits: tuple[float, float] = (0, 2)
    elif whole:
        info = iinfo(kind)
        limits = info.min, info.max + (kind is not dtypes.int64)  # PyTorch's bounds are int64
    else:
        limits = finfo(kind).min, finfo(kind).max
    if most < limits[0] or least >= limits[1]:
        raise ValueError(f"make_tensor: no {kind} lies in [{least}, {most})")
    return max(least, limits[0]), min(most, limits[1])


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Numbers at random from low on, below high; of each type those that it can hold."""
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: noncontiguous=True leaves no memory_format to be kept")
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    room = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    made: Any = empty(room, dtype=dtype, device=device)
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if whole and requires_grad:
        raise ValueError(f"make_tensor: {dtype} has no gradient: requires_grad must be False")
    least, most = _bounds(dtype, low, high, whole)
    if whole:
        made.random_(math.ceil(least), math.ceil(most))
    else:
        # A distance that overflows is halved, and doubled again.
        apart = 1 if most - least < finfo(dtype).max else 2
        for part in (made.real, made.imag) if dtype.is_complex else (made,):
            part.uniform_(least / apart, most / apart).mul_(apart)
    if exclude_zero:
        made[made == 0] = 1 if whole else finfo(dtype).tiny
    made = made[..., ::2] if noncontiguous and sizes else made
    made = made if memory_format is None else made.clone(memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made
