"""Samples of the ops in adjoint/ops/sparse/products.py."""

from adjoint.testing import Sample, samples


@samples("coordinate_product")
def _(rng):
    rows, columns = rng.integers(0, 4, 7), rng.integers(0, 3, 7)
    yield Sample((rng.normal(size=7), rng.normal(size=(3, 2)), rows, columns, 4))
    none = rng.integers(0, 4, 0)
    yield Sample((rng.normal(size=0), rng.normal(size=(3, 2)), none, none, 4))
