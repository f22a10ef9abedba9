"""Samples of the Fourier transforms."""

from collections.abc import Callable, Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.matmul import complex_normal

Generator = np.random.Generator
Calls = Callable[[str, np.ndarray], Iterator[Sample]]


def _lines(path: str, x: np.ndarray) -> Iterator[Sample]:
    """Calls of a transform over one dimension."""
    yield Sample((x,), torch=path)
    for norm in ("backward", "ortho", "forward"):
        yield Sample((x,), {"norm": norm}, torch=path)
    for n in (2, 3, 4, 7):
        yield Sample((x, n), torch=path)
    yield Sample((x, 5, 0, "ortho"), torch=path)


def _planes(path: str, x: np.ndarray) -> Iterator[Sample]:
    """Calls of a transform over two or more dimensions."""
    yield Sample((x,), torch=path)
    for norm in ("backward", "ortho", "forward"):
        yield Sample((x,), {"norm": norm}, torch=path)
    yield Sample((x, (2, 5)), torch=path)
    yield Sample((x, (4, -1)), {"dim": (-1, 0), "norm": "forward"}, torch=path)


def _several(path: str, x: np.ndarray) -> Iterator[Sample]:
    """Calls that only the forms for any number of dimensions allow."""
    yield from _planes(path, x)
    yield Sample((x, (3,)), torch=path)
    yield Sample((x,), {"dim": (0,)}, torch=path)


def _declare(name: str, calls: Calls, real: bool) -> None:
    """Register the samples of one transform."""

    @samples(f"fft_{name}")
    def _(rng: Generator) -> Iterator[Sample]:
        inputs = [rng.normal(size=(2, 4)), rng.normal(size=(2, 3))]
        if not real:
            inputs += [complex_normal(rng, 2, 3), complex_normal(rng, 3, 4)]
        for x in inputs:
            yield from calls(f"fft.{name}", x)
        single = rng.normal(size=(2, 4)).astype("float32")
        yield Sample((single,), differentiate=False, torch=f"fft.{name}")
        yield Sample((np.arange(8).reshape(2, 4),), differentiate=False, torch=f"fft.{name}")


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    for _suffix, _calls in (("", _lines), ("2", _planes), ("n", _several)):
        _declare(_name + _suffix, _calls, real=_name in ("rfft", "ihfft"))


def _declare_shift(name: str) -> None:
    """Register the samples of fftshift or its inverse."""

    @samples(f"fft_{name}")
    def _(rng: Generator) -> Iterator[Sample]:
        x = rng.normal(size=(3, 4))
        yield Sample((x,), torch=f"fft.{name}")
        yield Sample((x, 0), torch=f"fft.{name}")
        yield Sample((x, (0, -1)), torch=f"fft.{name}")
        yield Sample((complex_normal(rng, 5),), torch=f"fft.{name}")


for _name in ("fftshift", "ifftshift"):
    _declare_shift(_name)
