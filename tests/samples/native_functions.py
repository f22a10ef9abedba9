"""Samples of functions of networks with the arguments that the top level's take."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("adjoint_kl_div")
def _(rng: Generator) -> Iterator[Sample]:
    x, target = rng.normal(size=(2, 2, 3))
    yield Sample((x, np.abs(target)), torch="kl_div")
    yield Sample((x, target, 1), {"log_target": True}, torch="kl_div")
    yield Sample((x, target, 2), {"log_target": True}, torch="kl_div")


@samples("adjoint_embedding")
def _(rng: Generator) -> Iterator[Sample]:
    weight = rng.normal(size=(4, 3))
    yield Sample((weight, np.array([[0, 3], [3, 1]])), torch="embedding")
    given = (weight, np.array([0, 3, 3]), 3, True)  # whose gradient is no derivative
    yield Sample(given, torch="embedding", differentiate=False)


@samples("embedding_renorm_")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(4, 3)), np.array([0, 3, 3]), 0.5, 2.0), differentiate=False)


@samples("adjoint_adaptive_max_pool1d")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3, 7)), 3), torch="adaptive_max_pool1d")


@samples("max_pool1d_with_indices")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 7))
    yield Sample((x, 3))
    yield Sample((x, 3, 2, 1, 1, True))


@samples("grid_sampler")
@samples("grid_sampler_2d")
def _(rng: Generator) -> Iterator[Sample]:
    images, grid = rng.normal(size=(2, 3, 4, 5)), rng.uniform(-0.9, 0.9, size=(2, 2, 3, 2))
    for mode, padding in ((0, 0), (1, 1), (2, 2)):
        yield Sample((images, grid, mode, padding, True), second_order=False)


@samples("grid_sampler_3d")
def _(rng: Generator) -> Iterator[Sample]:
    volumes, grid = rng.normal(size=(1, 2, 3, 4, 5)), rng.uniform(-0.9, 0.9, size=(1, 2, 2, 2, 3))
    yield Sample((volumes, grid, 0, 0, False), second_order=False)


@samples("native_layer_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = rng.normal(size=(2, 3, 4)), rng.normal(size=4), rng.normal(size=4)
    yield Sample((x, (4,), weight, bias, 1e-5), differentiate=False)


@samples("native_group_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = rng.normal(size=(2, 4, 3)), rng.normal(size=4), rng.normal(size=4)
    yield Sample((x, weight, bias, 2, 4, 3, 2, 1e-5), differentiate=False)


@samples("native_batch_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = rng.normal(size=(3, 2, 4)), rng.normal(size=2), rng.normal(size=2)
    yield Sample((x, weight, bias, None, None, True, 0.1, 1e-5), differentiate=False)
    known = (rng.normal(size=2), rng.uniform(0.5, 2, size=2))
    yield Sample((x, weight, bias, *known, False, 0.1, 1e-5), differentiate=False)


@samples("adjoint_embedding_bag")
def _(rng: Generator) -> Iterator[Sample]:
    weight, indices = rng.normal(size=(4, 3)), np.array([0, 1, 2, 3, 1])
    for mode in (1, 2):  # of sums PyTorch answers no sizes
        sample = (weight, indices, np.array([0, 2, 2]), False, mode)
        yield Sample(sample, torch="embedding_bag", differentiate=False)
    last = (weight, indices, np.array([0, 2, 5]), False, 1, False, None, True, 1)
    yield Sample(last, torch="embedding_bag", differentiate=False)
