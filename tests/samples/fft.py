"""Samples of the Fourier transforms."""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

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


# ---- the ops behind the functions ----


def _transform(name: str) -> Callable[..., Any]:
    """PyTorch's function of the same arguments."""
    return lambda x, *args: getattr(importlib.import_module("torch").fft, name)(x, *args)


def _either(x: Any, sizes: Any, dims: Any, norm: str, inverse: bool) -> Any:
    return _transform("ifftn" if inverse else "fftn")(x, sizes, dims, norm)


@samples("complex_transform")
def _(rng: Generator) -> Iterator[Sample]:
    x = complex_normal(rng, 3, 4)
    yield Sample((x, (4,), (1,), "backward", False), torch=_either)
    yield Sample((x, (2, 5), (0, 1), "ortho", True), torch=_either)
    yield Sample((x, (3, 4), (0, 1), "forward", False), torch=_either)


@samples("real_to_half")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for sizes in ((3, 4), (2, 5)):
        yield Sample((x, sizes, (0, 1), "backward"), torch=_transform("rfftn"))
    yield Sample((x, (5,), (0,), "ortho"), torch=_transform("rfftn"))


@samples("half_to_real")
def _(rng: Generator) -> Iterator[Sample]:
    x = complex_normal(rng, 3, 3)
    for sizes in ((3, 4), (2, 5)):
        yield Sample((x, sizes, (0, 1), "backward"), torch=_transform("irfftn"))
    yield Sample((x, (4,), (0,), "forward"), torch=_transform("irfftn"))


@samples("fitted")
def _(rng: Generator) -> Iterator[Sample]:
    def fitted(x: Any, sizes: Any, dims: Any) -> Any:
        y = x.new_zeros([max(n, *sizes) for n in x.shape])
        y[: x.shape[0], : x.shape[1]] = x
        for size, dim in zip(sizes, dims):
            y = y.narrow(dim, 0, size)
        return y

    x = rng.normal(size=(3, 4))
    yield Sample((x, (2, 5), (0, 1)), torch=fitted)
    yield Sample((complex_normal(rng, 3, 4), (5, 2), (0, 1)), torch=fitted)


@samples("interior_scaled")
def _(rng: Generator) -> Iterator[Sample]:
    def scaled(x: Any, factor: float, size: int, dim: int) -> Any:
        inner = [factor if 0 < k < (size + 1) // 2 else 1.0 for k in range(x.shape[dim])]
        return (x.movedim(dim, -1) * x.real.new_tensor(inner)).movedim(-1, dim)

    yield Sample((complex_normal(rng, 3, 4), 0.5, 6, 1), torch=scaled)
    yield Sample((complex_normal(rng, 3, 4), 2.0, 5, 0), torch=scaled)
