"""Samples of spectra over time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("stft")
def _(rng: Generator) -> Iterator[Sample]:
    signal, batch = rng.normal(size=11), rng.normal(size=(2, 7))
    plain = {"return_complex": True}
    yield Sample((signal, 4), plain)
    yield Sample((batch, 4, 2), plain)
    yield Sample((batch, 5, 3, 4), plain)
    yield Sample((signal, 6, 2, 3, rng.uniform(0.5, 1, size=3)), plain)
    yield Sample((signal, 4), {**plain, "center": False, "normalized": True})
    yield Sample((signal, 4), {"return_complex": False})
    yield Sample((signal, 4), {**plain, "onesided": False, "pad_mode": "constant"})
    yield Sample((signal, 4, 4), {**plain, "pad_mode": "circular"})
    aligned = {**plain, "center": False, "win_length": 4}
    yield Sample((signal, 6), {**aligned, "align_to_window": True})
    yield Sample((signal, 6), {**aligned, "align_to_window": False})
    yield Sample((signal + 1j * signal[::-1], 4))
    yield Sample((signal, 4, None, None, rng.normal(size=4) + 1j))
    yield Sample((signal + 0.5j, 4), {"return_complex": False})


def _spectra(rng: Generator, *shape: int) -> Any:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@samples("istft")
def _(rng: Generator) -> Iterator[Sample]:
    window = rng.uniform(0.5, 1, size=4)
    half, whole = _spectra(rng, 3, 5), _spectra(rng, 2, 4, 3)
    yield Sample((half, 4))
    yield Sample((half, 5))
    yield Sample((_spectra(rng, 2, 3, 3), 4, 2, 4, window))
    yield Sample((half, 4, None, None, window), {"length": 3, "normalized": True})
    yield Sample((half, 4), {"center": False})
    yield Sample((half, 4), {"center": False, "length": 10})
    yield Sample((_spectra(rng, 4, 4), 6, 2, 4, window))
    yield Sample((whole, 4), {"onesided": False})
    both_sides = {"return_complex": True, "onesided": False}
    yield Sample((whole, 4), both_sides)
    yield Sample((whole, 4, 2, None, window + 0.2j), both_sides)
