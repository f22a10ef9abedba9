"""Samples of arithmetic."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import (
    any_number,
    complex_array,
    pairs,
    positive_numbers,
    real_numbers,
    shapes,
)

samples("neg", "positive")(any_number)
samples("sign")(real_numbers)
samples("reciprocal")(positive_numbers)


@samples("abs")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng):
        yield Sample((x,), second_order=False)
    yield Sample((np.array([-1.0, 0.0, -0.0]),), second_order=False)
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((np.array([0j, 1j]),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


@samples("sgn")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng):
        yield Sample((x,), differentiate=False)
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((np.array([0j, 1j]),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


@samples("add", "sub")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y))
        yield Sample((x, y), {"alpha": 2.5})
    x = rng.normal(size=(2, 2))
    yield Sample((x, 3))
    yield Sample((x, 2 + 1j))
    yield Sample((complex_array(rng, 2, 2), x), {"alpha": 2 - 1j})
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
    for x, y in pairs(rng, 0.5, 2.0):
        yield Sample((x, y))
    x = rng.normal(size=(2, 2))
    yield Sample((x, 3))
    yield Sample((x, 2 + 1j))
    yield Sample((complex_array(rng, 2, 2), x))
    yield Sample((complex_array(rng, 2, 2), complex_array(rng, 2)))
    yield Sample((x, np.array([1, 2])))
    yield Sample((np.array([1, 2]), np.array([3, 4])))
    yield Sample((np.array([True, False]), np.array([2, 1], dtype="uint8")))
    yield Sample((x.astype("float32"), np.array([100], dtype="int8")), second_order=False)


@samples("div")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 2.0):
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


@samples("floor_divide")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 3.0):
        yield Sample((x, -y), differentiate=False)
    yield Sample((np.array([7, -7]), np.array([2, 2])))
    yield Sample((np.array([7, -7], dtype="int16"), 2))
    yield Sample((np.array([7, -7]), 2.0))


@samples("remainder", "fmod")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 3.0):
        yield Sample((x, -y))
    yield Sample((rng.normal(size=3), 0.7))
    yield Sample((np.array([7, -7]), np.array([-2, 2])))
    yield Sample((np.array([7, -7]), 2.5))


@samples("copysign")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y))
    signs = np.array([-1.0, -0.0, 0.0])
    yield Sample((np.array([0.0, -1.0, 2.0]), signs), second_order=False)
    yield Sample((rng.normal(size=3), -2.0))
    yield Sample((np.array([1, -2]), np.array([-1, 1])))


@samples("lerp")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y, 0.25))
        yield Sample((x, y, 0.75))
    x = rng.normal(size=(2, 3))
    yield Sample((x, x[0], rng.uniform(0, 1, size=(2, 1))))
    yield Sample((complex_array(rng, 2), complex_array(rng, 2), 0.25))
    yield Sample((complex_array(rng, 2), complex_array(rng, 2), complex_array(rng, 2)))


@samples("addcmul", "addcdiv")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 2.0):
        z = np.asarray(x + 1)
        yield Sample((x, y, z))
        yield Sample((x, y, z), {"value": -0.5})
    a, b, c = complex_array(rng, 2), complex_array(rng, 2), complex_array(rng, 2, 2)
    yield Sample((a, b, c), {"value": 1 + 2j})
    yield Sample((a, np.array([1.0, 2.0]), c))


@samples("abs_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in (rng.normal(size=(2, 3)), np.array([-1, 2])):
        yield Sample((x,), torch="Tensor.abs_", differentiate=False)
