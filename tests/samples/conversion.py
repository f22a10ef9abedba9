"""Samples of copies and conversions."""

from collections.abc import Iterator

import numpy as np

from adjoint import dtypes
from adjoint.device import CPU
from adjoint.testing import Sample, samples


@samples("clone")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)),))
    yield Sample((rng.normal(size=(3, 4)).T,))
    yield Sample((np.broadcast_to(rng.normal(size=(1, 3)), (2, 3)),))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros((0, 3)),))
    yield Sample((rng.normal(size=3) + 1j * rng.normal(size=3),))


@samples("contiguous")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)),), torch=lambda x: x.contiguous())
    yield Sample((rng.normal(size=(3, 4)).T,), torch=lambda x: x.contiguous())


@samples("alias")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),), torch=lambda x: x.view_as(x))
    yield Sample((rng.normal(size=()),), torch=lambda x: x.view_as(x))


@samples("_to_copy")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    for kind in (dtypes.float64, dtypes.complex128, dtypes.int64, dtypes.bool_):
        yield Sample((x,), {"dtype": kind}, torch=lambda x, dtype: x.to(dtype, copy=True))
    # Rounded to single precision, gradients of float64 differ from exact ones by that much.
    yield Sample(
        (np.arange(6.0),), {"dtype": dtypes.float32}, torch=lambda x, dtype: x.to(dtype, copy=True)
    )
    yield Sample((x + 1j * x,), torch=lambda x: x.to(x.dtype, copy=True))


@samples("copy")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x, row = rng.normal(size=(2, 3)), rng.normal(size=3)

    def copied(x, src):
        return x.clone().copy_(src)

    yield Sample((x, rng.normal(size=(2, 3))), torch=copied)
    yield Sample((x, row), torch=copied)
    yield Sample((x + 1j * x, row), torch=copied)
    yield Sample((x, np.arange(3)), torch=copied)


@samples("zeros_of")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),), torch=lambda x: x * 0)
    yield Sample((rng.normal(size=()),), torch=lambda x: x * 0)


@samples("numel", "is_floating_point", "is_complex", "is_signed")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for array in (
        rng.normal(size=(2, 3)),
        np.arange(3),
        np.zeros((0, 2), np.uint8),
        np.ones(2) * 1j,
    ):
        yield Sample((array,), differentiate=False)


@samples("is_same_size")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.zeros((2, 3)), np.ones((2, 3))), differentiate=False)
    yield Sample((np.zeros((2, 3)), np.ones((3, 2))), differentiate=False)


@samples("transfer")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    other = "the device it names is the CPU"
    yield Sample(
        (rng.normal(size=(2, 3)), CPU, CPU),
        torch=lambda x, *places: x.clone(),
        without={"jax": other, "cupy": other},
    )
