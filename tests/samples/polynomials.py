"""Samples of orthogonal polynomials; PyTorch has their values, and no derivatives."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import shapes

DEGREES = np.array([-1, 0, 1, 2, 3, 6, 9])
PLACES = np.array([-1.0, 0.0, 1.0, -1.7, 2.5])


def _of_special(name: str, low: float, high: float) -> None:
    """Samples with derivatives, and values to compare with PyTorch's, at the ends and beyond."""

    @samples(name)
    def _(rng: np.random.Generator) -> Iterator[Sample]:
        for x in shapes(rng, low, high):
            yield Sample((x, 4), beyond_torch=True, torch=f"special.{name}")
        x = rng.uniform(low, high, size=(7,))
        yield Sample((x, DEGREES), beyond_torch=True, torch=f"special.{name}")
        # Of a high degree 32 bits don't hold enough to be compared between libraries.
        for values, degrees in ((PLACES, DEGREES), (PLACES.astype("float32"), DEGREES[:-1])):
            path = f"special.{name}"
            yield Sample((values[:, None], degrees), differentiate=False, torch=path)


for _name in "tuvw":
    _of_special(f"chebyshev_polynomial_{_name}", -0.9, 0.9)
    _of_special(f"shifted_chebyshev_polynomial_{_name}", 0.1, 0.9)
_of_special("hermite_polynomial_h", -1.0, 1.0)
_of_special("hermite_polynomial_he", -1.0, 1.0)
_of_special("laguerre_polynomial_l", 0.5, 3.0)
_of_special("legendre_polynomial_p", -0.9, 0.9)


@samples("gegenbauer", "laguerre")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.1, 0.9, size=7)
    yield Sample((x, DEGREES))
    yield Sample((x, 3, 1.5))
