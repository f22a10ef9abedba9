"""Samples of Bessel functions; PyTorch has values of these, and no derivatives."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import shapes


def _of_special(name: str, low: float, high: float, *edges: float) -> None:
    """Samples with derivatives, and values to compare with PyTorch's."""

    @samples(name)
    def _(rng: np.random.Generator) -> Iterator[Sample]:
        for x in shapes(rng, low, high):
            yield Sample((x,), beyond_torch=True, torch=f"special.{name}")
        x = rng.uniform(low, high, size=20)
        for values in (x, x.astype("float32"), np.array([*edges, high])):
            yield Sample((values,), differentiate=False, torch=f"special.{name}")


_of_special("modified_bessel_i0", 0.5, 2.0, 0.0, -1.5)
_of_special("modified_bessel_i1", 0.5, 2.0, 0.0, -1.5)
_of_special("modified_bessel_k0", 0.5, 2.0, 0.0, -1.5)
_of_special("modified_bessel_k1", 0.5, 2.0, 0.0, -1.5)
_of_special("scaled_modified_bessel_k0", 0.5, 2.0, 0.0, -1.5)
_of_special("scaled_modified_bessel_k1", 0.5, 2.0, 0.0, -1.5)
_of_special("spherical_bessel_j0", 0.5, 3.0, 0.0, 1e-3, -2.0, np.inf)
_of_special("airy_ai", -2.0, 3.0, 0.0)  # below, PyTorch is right to five digits only


@samples("airy_slope")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, -3.0, 3.0):
        yield Sample((x,))
    yield Sample((np.array([0.0]),), second_order=False)
