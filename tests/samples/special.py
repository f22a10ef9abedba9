"""Samples of special functions."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import pairs, shapes


@samples("erf", "erfc")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, -2.0, 2.0):
        yield Sample((x,))
    yield Sample((np.array([-6.0, 0.0, 6.0, np.inf, np.nan]),), differentiate=False)
    yield Sample((rng.normal(size=3).astype("float32"),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


@samples("erfinv")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, -0.9, 0.9):
        yield Sample((x,))
    yield Sample((np.array([-1.0, 1.0, 2.0]),), differentiate=False)
    yield Sample((rng.uniform(size=3).astype("float32"),), second_order=False)


@samples("lgamma", "digamma")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 0.5, 5.0):
        yield Sample((x,))
    yield Sample((np.array([-1.5, -0.3]),))
    yield Sample((np.array([2.5, 3.5], dtype="float32"),), differentiate=False)
    yield Sample((np.array([1, 2, 7]),))


@samples("polygamma")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 0.5, 3.0):
        for order in (0, 1, 2, 3):
            yield Sample((order, x))
    yield Sample((1, rng.uniform(1, 2, size=3).astype("float32")), second_order=False)
    yield Sample((2, np.array([1, 2])))


@samples("polygamma_of_order")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 3.0, size=3)
    yield Sample((x, 2), torch="Tensor.polygamma")


@samples("polygamma_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 3.0, size=3)
    yield Sample((x, 2), torch="Tensor.polygamma_", differentiate=False)


@samples("mvlgamma")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 2.0, 5.0):
        yield Sample((x, 1))
        yield Sample((x, 3))
    yield Sample((np.array([5, 7]), 2))


@samples("sinc")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 0.2, 3.0):
        yield Sample((x,))
    yield Sample((np.array([0.0, 1.0, -0.5]),), second_order=False)
    yield Sample((rng.normal(size=2) + 1j,))
    yield Sample((rng.normal(size=3).astype("float32"),), second_order=False)


@samples("xlogy")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 3.0):
        yield Sample((x, y))
    yield Sample((np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, 3.0])), second_order=False)
    zeros = np.array([0.0, 0.0, 1.0, np.nan])
    yield Sample((zeros, np.array([-1.0, np.nan, 0.0, 1.0])), differentiate=False)
    yield Sample((rng.uniform(1, 2, size=3), 2.5))
    yield Sample((2, rng.uniform(1, 2, size=3)))
    yield Sample((np.array([0, 1]), np.array([0, 2])))


@samples("xlog1py")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 3.0):
        yield Sample((x, y), torch="special.xlog1py")
    zeros = np.array([0.0, 0.0, 1.0])
    values = np.array([-1.0, np.nan, 0.0])
    yield Sample((zeros, values), differentiate=False, torch="special.xlog1py")
    yield Sample((2.0, rng.uniform(1, 2, size=3)), torch="special.xlog1py")


@samples("logit")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 0.1, 0.9):
        yield Sample((x,))
        yield Sample((x, 0.2))
    yield Sample((np.array([-0.5, 0.5, 1.5]), 0.1))
    yield Sample((np.array([-0.5, 0.0, 1.0, 1.5]),), second_order=False)
    yield Sample((np.array([0, 1]),))


@samples("entr")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 0.5, 3.0):
        yield Sample((x,), torch="special.entr")
    special = np.array([0.0, -1.0, np.nan, np.inf])
    yield Sample((special,), differentiate=False, torch="special.entr")
    yield Sample((np.array([1, 0, -1]),), torch="special.entr")


def _of_special(name: str, low: float, high: float) -> None:
    """Samples of a function of one number that only torch.special has."""

    @samples(name)
    def _(rng: np.random.Generator) -> Iterator[Sample]:
        for x in shapes(rng, low, high):
            yield Sample((x,), torch=f"special.{name}")
        x = rng.uniform(low, high, size=3).astype("float32")
        yield Sample((x,), differentiate=False, torch=f"special.{name}")


_of_special("ndtr", -3.0, 3.0)
_of_special("ndtri", 0.1, 0.9)
_of_special("log_ndtr", -10.0, 3.0)
_of_special("erfcx", -1.0, 3.0)
_of_special("i0", -2.0, 2.0)
_of_special("i0e", 0.5, 2.0)
_of_special("i1", 0.5, 2.0)
_of_special("i1e", 0.5, 2.0)
_of_special("bessel_j0", -2.0, 2.0)
_of_special("bessel_j1", -2.0, 2.0)
_of_special("bessel_y0", 0.5, 2.0)
_of_special("bessel_y1", 0.5, 2.0)


@samples("zeta")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 1.5, 3.0):
        yield Sample((x, y), differentiate=False, torch="special.zeta")
    yield Sample((2.5, rng.uniform(1, 2, size=3)), torch="special.zeta")
    yield Sample((np.array([2, 3]), rng.uniform(1, 2, size=2)), torch="special.zeta")


@samples("igamma", "igammac")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    shape = np.array([1, 2, 3])
    yield Sample((shape, rng.uniform(0.5, 3.0, size=(2, 3))))
    yield Sample((np.array([-1.0, 0.0, 0.0]), np.array([2.0, 0.0, 1.0])), differentiate=False)


@samples("mvlgamma_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(2.0, 5.0, size=3)
    yield Sample((x, 2), torch="Tensor.mvlgamma_", differentiate=False)
