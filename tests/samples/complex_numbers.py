"""Samples of complex numbers."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import any_number, complex_array, pairs, real_numbers

samples("conj", "conj_physical")(any_number)


@samples("conjugate_of")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((complex_array(rng, 2, 3),), torch="conj_physical")
    for sample in any_number(rng):
        yield dataclasses.replace(sample, torch="conj_physical")


@samples("conj_physical_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((complex_array(rng, 2, 3),), differentiate=False, torch="Tensor.conj_physical_")
    yield Sample((rng.normal(size=3),), differentiate=False, torch="Tensor.conj_physical_")


samples("resolve_conj", "resolve_neg")(real_numbers)


@samples("real_part", "imag", "view_as_real", "angle")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((complex_array(rng),))
    yield Sample((complex_array(rng, 3, 2).T,))
    yield Sample((complex_array(rng, 2).astype("complex64"),), second_order=False)


@samples("view_as_complex")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 2)),))
    yield Sample((rng.normal(size=(2,)),))


@samples("joined_pairs")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    def joined(input: Any) -> Any:
        import torch

        return torch.view_as_complex(input.contiguous())

    yield Sample((rng.normal(size=(3, 2)),), torch=joined)
    yield Sample((rng.normal(size=(2, 3)).T,), torch=joined)


@samples("complex", "polar")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 3.0):
        yield Sample((x, y))
    x = rng.uniform(0.5, 2.0, size=2).astype("float32")
    yield Sample((x, x), second_order=False)
    reason = {"jax": "computes real + 1j * imag, where one infinity makes the other nan"}
    values = (np.array([np.inf, 1.0]), np.array([2.0, np.nan]))
    yield Sample(values, differentiate=False, without=reason)
