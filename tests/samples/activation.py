"""Samples of activations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples


def _shapes(rng: np.random.Generator) -> Iterator[Any]:
    """A matrix, a number, and nothing."""
    yield rng.normal(size=(2, 3)) * 2
    yield np.asarray(rng.normal())
    yield np.zeros((0, 3))


def _of(
    name: str,
    torch: str,
    *options: dict[str, Any],
    kinks: tuple[float, ...] = (0.0,),
    second_order: bool = True,
) -> None:
    """Samples with default arguments and with each set of options, and at the kinks."""
    far = np.array([-800.0, -30.0, 30.0, 800.0])

    @samples(name)
    def _(rng: np.random.Generator) -> Iterator[Sample]:
        for x in _shapes(rng):
            for given in ({}, *options):
                yield Sample((x,), given, torch=torch, second_order=second_order)
        yield Sample((np.array(kinks),), torch=torch, second_order=False)
        yield Sample((far,), torch=torch, second_order=False)
        x = rng.normal(size=3).astype("float32") + 2
        yield Sample((x,), torch=torch, second_order=False)


_of("relu", "relu")
_of("relu6", "nn.functional.relu6", kinks=(0.0, 6.0))
_of("leaky_relu", "nn.functional.leaky_relu", {"negative_slope": 0.2}, {"negative_slope": -0.5})
_of("elu", "nn.functional.elu", {"alpha": 0.5})
_of("selu", "nn.functional.selu")
_of("celu", "nn.functional.celu", {"alpha": 0.5})
_of("gelu", "nn.functional.gelu", {"approximate": "tanh"})
_of("silu", "nn.functional.silu")
_of("mish", "nn.functional.mish")
_of("softplus", "nn.functional.softplus", {"beta": 2.0, "threshold": 3.0})
_of("hardtanh", "nn.functional.hardtanh", {"min_val": -0.5, "max_val": 2.0}, kinks=(-1.0, 1.0))
_of("hardsigmoid", "nn.functional.hardsigmoid", kinks=(-3.0, 3.0), second_order=False)
_of("hardswish", "nn.functional.hardswish", kinks=(-3.0, 3.0))
_of("softsign", "nn.functional.softsign", kinks=(1.0,))
_of("tanhshrink", "nn.functional.tanhshrink")
_of("softshrink", "nn.functional.softshrink", {"lambd": 1.0}, kinks=(-0.5, 0.5, np.nan))
_of("hardshrink", "nn.functional.hardshrink", {"lambd": 1.0}, kinks=(-0.5, 0.5, np.nan))
_of("logsigmoid", "nn.functional.logsigmoid")


@samples("silu_back")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    slope, x = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    yield Sample((slope + 1j * rng.normal(size=(2, 3)), x + 1j * rng.normal(size=(2, 3))))


@samples("gelu_back")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=(2, 3))), {"approximate": "tanh"})


@samples("sigmoid")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x,))
    yield Sample((np.array([-800.0, -30.0, 30.0, 800.0]),))
    yield Sample((rng.normal(size=3) + 1j * rng.normal(size=3),))
    yield Sample((np.array([-1, 0, 1]),))
    yield Sample((np.array([-200.0, 200.0], dtype="float32"),), second_order=False)


@samples("threshold")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _shapes(rng):
        yield Sample((x, 0.25, -1.0), torch="nn.functional.threshold")
    yield Sample((np.array([1, 2, -3]), 0, 5), torch="nn.functional.threshold")


@samples("prelu")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, np.array([0.2])))
    yield Sample((x, np.array(0.2)))
    yield Sample((x, rng.uniform(size=3)))
    yield Sample((rng.normal(size=(2, 3, 2)), rng.uniform(size=3)))
    yield Sample((rng.normal(size=3), np.array([0.2])))
    yield Sample((np.asarray(rng.normal()), np.array([0.2])))


@samples("leaky_by")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, rng.uniform(size=(1, 3))), torch="_prelu_kernel")


def _gate(input: Any, dim: int) -> Any:
    first, second = input.chunk(2, dim)
    return first * second.sigmoid()


def _gate_slopes(slope: Any, input: Any, dim: int) -> Any:
    import torch

    first, second = input.chunk(2, dim)
    step = second.sigmoid()
    return torch.cat([slope * step, slope * first * step * (1 - step)], dim)


@samples("gated_halves")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 4)), -1), torch=_gate)
    yield Sample((rng.normal(size=(4, 3)), 0), torch=_gate)


@samples("gated_slopes")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2)), rng.normal(size=(2, 4)), -1), torch=_gate_slopes)
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=(4, 3)), 0), torch=_gate_slopes)


@samples("glu")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 4))
    yield Sample((x,), torch="nn.functional.glu")
    yield Sample((x, 0), torch="nn.functional.glu")
    yield Sample((x,), {"dim": -2}, torch="nn.functional.glu")


@samples("constant_in")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 4))
    yield Sample((x, x + 1), torch=lambda input, source: input + 0 * source)


@samples("rrelu")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x,))
    yield Sample((x, 0.1, 0.2, False))
    yield Sample((x, 0.1, 0.2, True), compare_values=False)


@samples("near_zero")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    def near(input: Any, bound: float) -> Any:
        return input.abs() <= bound

    for x in _shapes(rng):
        yield Sample((x, 0.5), torch=near)
    yield Sample((np.array([-1.0, -0.5, 0.0, 0.5, np.nan]), 0.5), torch=near)


@samples("rrelu_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x,), differentiate=False)
    yield Sample((x, 0.1, 0.2, False), differentiate=False)
    yield Sample((x, 0.1, 0.2, True), differentiate=False, compare_values=False)
