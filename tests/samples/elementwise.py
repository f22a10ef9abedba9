"""Samples of arithmetic, powers, rounding, extremes, comparison, angles and complex numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples


def _complex(rng: np.random.Generator, *shape: int) -> Any:
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def _shapes(rng: np.random.Generator, low: float = -2.0, high: float = 2.0) -> Iterator[Any]:
    """A matrix, a number, nothing, and an array in another order of memory."""
    yield rng.uniform(low, high, size=(2, 3))
    yield np.asarray(rng.uniform(low, high))
    yield np.zeros((0, 3)) + (low + high) / 2
    yield rng.uniform(low, high, size=(3, 2)).T


def _pairs(rng: np.random.Generator, low: float = -2.0, high: float = 2.0) -> Iterator[Any]:
    """Two arrays of one shape, of broadcast shapes, 0-d, and empty."""
    for a, b in [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 2), (2,))]:
        yield np.asarray(rng.uniform(low, high, a)), np.asarray(rng.uniform(low, high, b))


@samples("abs")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,), second_order=False)
    yield Sample((np.array([-1.0, 0.0, -0.0]),), second_order=False)
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((np.array([0j, 1j]),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


@samples("sgn")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,), differentiate=False)
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((np.array([0j, 1j]),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


@samples("neg", "positive", "square", "exp", "expm1", "exp2", "conj", "conj_physical")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,))
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((_complex(rng, 2).astype("complex64"),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


@samples("sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng, -1.2, 1.2):
        yield Sample((x,))
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((np.array([-1, 0, 2]),))
    yield Sample((np.array([True, False]),))


@samples("resolve_conj", "resolve_neg", "deg2rad", "rad2deg", "frac", "sign", "floor", "ceil")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,))


@samples("zero_of")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,), torch="zeros_like", differentiate=False)


@samples("trunc")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,))
    yield Sample((np.array([-1, 0, 2]),))
    yield Sample((np.array([3, 4], dtype="int8"),))


@samples("round")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,))
        yield Sample((x,), {"decimals": 1})
    yield Sample((np.array([-1.5, -0.5, 0.5, 1.5, 2.5]),))
    yield Sample((np.array([1234.5, -77.0]),), {"decimals": -2})
    yield Sample((np.array([1, 2]),))


@samples("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng, 0.5, 3.0):
        yield Sample((x,))
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((np.array([1, 4]),))
    yield Sample((np.array([0.0, 1.0]),), second_order=False)


@samples("asin", "acos", "atanh")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng, -0.9, 0.9):
        yield Sample((x,))
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((np.array([0, 1]),))


@samples("acosh")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng, 1.1, 3.0):
        yield Sample((x,))
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((np.array([-2.5 + 0.5j, -0.5 - 1.5j, 0.3 - 0.2j]),))
    yield Sample((np.array([1, 3]),))


@samples("add", "sub")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y))
        yield Sample((x, y), {"alpha": 2.5})
    x = rng.normal(size=(2, 2))
    yield Sample((x, 3))
    yield Sample((x, 2 + 1j))
    yield Sample((_complex(rng, 2, 2), x), {"alpha": 2 - 1j})
    yield Sample((np.array([1, 2]), np.array([3, 4])), {"alpha": 3})
    yield Sample((np.array([1, 2]), 0.5))
    yield Sample((np.array([1, 2], dtype="int8"), np.array([200, 3], dtype="uint8")))
    yield Sample((x.astype("float32"), np.array(2.0)), second_order=False)


@samples("rsub")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 2))
    yield Sample((x, x + 1), {"alpha": 2.5})
    yield Sample((x, 3))


@samples("mul", "true_divide")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 2.0):
        yield Sample((x, y))
    x = rng.normal(size=(2, 2))
    yield Sample((x, 3))
    yield Sample((x, 2 + 1j))
    yield Sample((_complex(rng, 2, 2), x))
    yield Sample((_complex(rng, 2, 2), _complex(rng, 2)))
    yield Sample((x, np.array([1, 2])))
    yield Sample((np.array([1, 2]), np.array([3, 4])))
    yield Sample((np.array([True, False]), np.array([2, 1], dtype="uint8")))
    yield Sample((x.astype("float32"), np.array([100], dtype="int8")), second_order=False)


@samples("div")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 2.0):
        yield Sample((x, y))
        for mode in ("trunc", "floor"):
            yield Sample((x, -y), {"rounding_mode": mode})
    whole = (np.array([7, -7, 6, -6, 0]), np.array([2, 2, -4, -3, 5]))
    for choice in (None, "trunc", "floor"):
        yield Sample(whole, {"rounding_mode": choice})
        yield Sample((np.array([7.5, -7.5]), 2), {"rounding_mode": choice})


def _rounded(input: Any, other: Any, mode: str) -> Any:
    return input.div(other, rounding_mode=mode)


@samples("rounded_divide")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, x[0], "floor"), torch=_rounded)


@samples("div_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    for mode in (None, "trunc", "floor"):
        given: dict[str, Any] = {"rounding_mode": mode}
        yield Sample((x, x[0] + 2), given, differentiate=False, torch="Tensor.div_")
    given = {"rounding_mode": "floor"}
    yield Sample((np.array([5]), 2), given, differentiate=False, torch="Tensor.div_")


@samples("ldexp_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    exponents = np.array([1, -1, 0])
    yield Sample((x, exponents), differentiate=False, torch="Tensor.ldexp_")


@samples("ldexp")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, np.array([1, 2, 0])))
    yield Sample((x, x))
    yield Sample((np.array([1, 2]), np.array([1, -1])))


@samples("floor_divide")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 3.0):
        yield Sample((x, -y), differentiate=False)
    yield Sample((np.array([7, -7]), np.array([2, 2])))
    yield Sample((np.array([7, -7], dtype="int16"), 2))
    yield Sample((np.array([7, -7]), 2.0))


@samples("remainder", "fmod")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 3.0):
        yield Sample((x, -y))
    yield Sample((rng.normal(size=3), 0.7))
    yield Sample((np.array([7, -7]), np.array([-2, 2])))
    yield Sample((np.array([7, -7]), 2.5))


@samples("copysign")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y))
    signs = np.array([-1.0, -0.0, 0.0])
    yield Sample((np.array([0.0, -1.0, 2.0]), signs), second_order=False)
    yield Sample((rng.normal(size=3), -2.0))
    yield Sample((np.array([1, -2]), np.array([-1, 1])))


@samples("pow")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 2.0):
        yield Sample((x, y))
    x = rng.uniform(0.5, 2.0, size=(2, 3))
    for exponent in (2, 2.0, 0, 1, 3, -1, 0.5, -2.5, 1 + 2j):
        yield Sample((x, exponent))
    for base in (2, 0.5, 1, 1 + 2j):
        yield Sample((base, x))
    yield Sample((np.array([-1.5, 0.0, 2.0]), 3))
    yield Sample((np.array([-1.5, 0.0, 2.0]), 2))
    yield Sample((np.array([0.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0])), second_order=False)
    yield Sample((0, np.array([0.0, 1.0, 2.0])), second_order=False)
    yield Sample((_complex(rng, 2, 2), 2))
    yield Sample((_complex(rng, 2, 2), 2.5))
    yield Sample((_complex(rng, 2, 2), _complex(rng, 2)))
    yield Sample((x, np.array([1, 2, 3])))
    yield Sample((np.array([1, 2, 3]), np.array([1, 2, 0])))
    yield Sample((np.array([1, -1, -1, 2, 0, -3]), np.array([[-2], [-3]], dtype="int32")))
    yield Sample((np.array([1, 2, 3]), 2))
    yield Sample((np.array([1, 2, 3]), 0.5))
    yield Sample((2, np.array([1, 2, 3])))
    yield Sample((np.array([1, 2, 3], dtype="int32"), x))


@samples("float_power")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 2.0, size=(2, 3))
    yield Sample((x, x[0]))
    yield Sample((x, 2))
    yield Sample((2.0, x))
    yield Sample((np.array([1, 2]), 2))
    yield Sample((x.astype("float32"), 3), second_order=False)
    yield Sample((_complex(rng, 2), 3))


@samples("logaddexp", "logaddexp2")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y))
    yield Sample((np.array([1000.0, -1000.0]), np.array([1001.0, -999.0])))


@samples("lerp")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y, 0.25))
        yield Sample((x, y, 0.75))
    x = rng.normal(size=(2, 3))
    yield Sample((x, x[0], rng.uniform(0, 1, size=(2, 1))))
    yield Sample((_complex(rng, 2), _complex(rng, 2), 0.25))
    yield Sample((_complex(rng, 2), _complex(rng, 2), _complex(rng, 2)))


@samples("addcmul", "addcdiv")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 2.0):
        z = np.asarray(x + 1)
        yield Sample((x, y, z))
        yield Sample((x, y, z), {"value": -0.5})
    a, b, c = _complex(rng, 2), _complex(rng, 2), _complex(rng, 2, 2)
    yield Sample((a, b, c), {"value": 1 + 2j})
    yield Sample((a, np.array([1.0, 2.0]), c))


@samples("maximum", "minimum", "fmax", "fmin")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y))
    ties = np.array([1.0, 2.0, 3.0])
    yield Sample((ties, np.array([1.0, 1.0, 3.0])))
    yield Sample((ties, np.array([np.nan, 1.0, 3.0])))
    yield Sample((np.array([np.nan, np.nan, 3.0]), np.array([np.nan, 1.0, 3.0])))
    yield Sample((np.array([1, 2]), np.array([2, 1])))


@samples("clamp")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x, -0.5, 0.5))
        yield Sample((x,), {"min": 0.1})
        yield Sample((x,), {"max": 0.1})
    x = rng.normal(size=(2, 3))
    yield Sample((np.array([-1.0, 0.0, 1.0, np.nan]), 0.0, 1.0))
    yield Sample((x, np.array([-0.5, 0.0, 0.2]), np.array([0.5, -0.5, 0.2])))
    yield Sample((x,), {"min": np.array(0.1)})
    yield Sample((x,), {"max": np.array([[0.1], [0.2]])})
    yield Sample((np.array([0.5, 1.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0])))
    yield Sample((np.array([1, 2, 3]), 2))
    yield Sample((np.array([1, 2, 3]), 1.5))


@samples("clamp_min", "clamp_max")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y))
        yield Sample((x, 0.25))
    yield Sample((np.array([1.0, 2.0]), 1.0))
    yield Sample((np.array([1, 2, 3]), 2))


@samples("where")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        positive = np.asarray(x > 0)
        yield Sample((positive, x, y))
        yield Sample((positive, 1, y))
        yield Sample((positive, x, 2.5))
    x = rng.normal(size=(2, 3))
    yield Sample((x > 0, 1, 2))
    yield Sample((x > 0, True, False))
    yield Sample((x > 0, x.astype("float32"), np.array(1.0)), second_order=False)
    yield Sample((x > 0, x, _complex(rng, 3)), differentiate=False)
    yield Sample((x > 0, _complex(rng, 2, 3), 1.5))
    yield Sample((x > 0, np.array([1, 2, 3]), 0.5))
    yield Sample((x > 0,))


@samples("choose")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x > 0, x, x[0]), torch="where")


@samples("nan_to_num")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([[1.0, np.nan], [np.inf, -np.inf]])
    yield Sample((x,))
    yield Sample((x, 1.0, 2.0, 3.0))
    yield Sample((x,), {"neginf": -5.0})
    yield Sample((np.array([1, 2]),))
    yield Sample((x + 1j,), differentiate=False)


@samples("heaviside")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([-1.0, 0.0, 2.0])
    yield Sample((x, np.array([0.5, 0.25, 1.0])), differentiate=False)
    yield Sample((x, np.array([[0.5], [1.0]])), differentiate=False)
    yield Sample((np.array([-1, 0]), np.array([3, 4])))


@samples("atan2", "hypot")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng):
        yield Sample((x, y))
    yield Sample((np.array([0.0]), np.array([0.0])), second_order=False)


@samples("eq", "ne")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([1, 2, 3]), np.array([1.0, 2.5, 3.0])))
    yield Sample((np.array([[1.0], [np.nan]]), np.array([1.0, np.nan])))
    yield Sample((_complex(rng, 3), 1 + 1j))
    yield Sample((np.array([True, False]), True))
    yield Sample((np.zeros((0, 2)), 1))


@samples("lt", "le", "gt", "ge")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([1, 2, 3]), np.array([1.0, 2.5, 2.0])))
    yield Sample((np.array([[1.0], [np.nan]]), np.array([1.0, np.nan])))
    yield Sample((np.array([1.0, 2.0]), 1.5))
    yield Sample((np.array(1.0), 2))


@samples("logical_and", "logical_or", "logical_xor")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, True, False]), np.array([[True], [False]])))
    yield Sample((np.array([0, 1, 2]), np.array([0.0, 0.5, 0.0])))
    yield Sample((np.array([0j, 1j]), np.array([1.0, 0.0])))


@samples("logical_not")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([0, 1, 2]),))
    yield Sample((np.array([0.0, np.nan, 2.0]),))


@samples("bitwise_and", "bitwise_or", "bitwise_xor")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, True, False]), np.array([[True], [False]])))
    yield Sample((np.array([5, 6, -7]), np.array([3, 3, 3], dtype="int8")))
    yield Sample((np.array([5, 6, 7], dtype="uint8"), 3))


@samples("bitwise_not")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([5, -6], dtype="int16"),))


@samples("bitwise_left_shift", "bitwise_right_shift")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([5, -6]), np.array([[1], [2]])))
    yield Sample((np.array([5, 6], dtype="int32"), 3))


@samples("gcd", "lcm")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([12, -18, 0]), np.array([[8], [27]])))
    yield Sample((np.array([12, 18], dtype="int32"), np.array([8, 27], dtype="int32")))


@samples("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([[1.0, np.nan, -0.0], [np.inf, -np.inf, 0.0]]),))
    yield Sample((np.array([1, 2]),))
    yield Sample((np.array([True, False]),))
    yield Sample((np.zeros((0, 2)),))


@samples("isreal")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([1.0, np.nan]),))
    yield Sample((np.array([1j, 2 + 0j]),))


@samples("isclose", "allclose")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([1.0, 2.0, np.nan, np.inf])
    y = np.array([1.0 + 1e-6, 2.1, np.nan, np.inf])
    yield Sample((x, y))
    yield Sample((x, y, 0.1), {"equal_nan": True})
    yield Sample((x, y), {"atol": 0.2, "rtol": 0.0})
    yield Sample((np.array([1, 2]), np.array([1, 3])))
    yield Sample((np.array([1j, 2]), np.array([1j, 2 + 1e-7j])))


@samples("equal")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, x.copy()))
    yield Sample((x, x + 1))
    yield Sample((x, x[0]))


@samples("real", "imag", "view_as_real", "angle")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((_complex(rng, 2, 3),))
    yield Sample((_complex(rng),))
    yield Sample((_complex(rng, 3, 2).T,))
    yield Sample((_complex(rng, 2).astype("complex64"),), second_order=False)


@samples("view_as_complex")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 2)),))
    yield Sample((rng.normal(size=(2,)),))


@samples("complex", "polar")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in _pairs(rng, 0.5, 3.0):
        yield Sample((x, y))
    x = rng.uniform(0.5, 2.0, size=2).astype("float32")
    yield Sample((x, x), second_order=False)
    reason = {"jax": "computes real + 1j * imag, where one infinity makes the other nan"}
    values = (np.array([np.inf, 1.0]), np.array([2.0, np.nan]))
    yield Sample(values, differentiate=False, without=reason)


@samples("abs_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in (rng.normal(size=(2, 3)), np.array([-1, 2])):
        yield Sample((x,), torch="Tensor.abs_", differentiate=False)


@samples("float_power_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 2, size=(2, 3))
    for exponent in (2, 0.5, x[0]):
        yield Sample((x, exponent), torch="Tensor.float_power_", differentiate=False)
