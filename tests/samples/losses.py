"""Samples of losses."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

REDUCTIONS = ("mean", "sum", "none")
PATH = "nn.functional."


def _pair(rng: Generator) -> tuple[Any, Any]:
    return rng.normal(size=(2, 3)), rng.normal(size=(2, 3))


@samples("mse_loss", "l1_loss", "huber_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = _pair(rng)
    weight = rng.uniform(0.5, 2, size=(2, 3))
    for reduction in REDUCTIONS:
        yield Sample((x, y), {"reduction": reduction})
        yield Sample((x, y), {"reduction": reduction, "weight": weight}, differentiate=False)
    yield Sample((rng.normal(size=()), rng.normal(size=())))


@samples("smooth_l1_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = _pair(rng)
    for reduction, beta in itertools.product(REDUCTIONS, (1.0, 0.3, 0.0)):
        yield Sample((x, y), {"reduction": reduction, "beta": beta})


@samples("squared_error")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((*_pair(rng),), torch=lambda x, y: (x - y) ** 2)


@samples("mean_squared_error")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((*_pair(rng),), torch=lambda x, y: ((x - y) ** 2).mean())
    yield Sample((np.zeros(0), np.zeros(0)), torch=lambda x, y: ((x - y) ** 2).mean())


@samples("huber_error")
def _(rng: Generator) -> Iterator[Sample]:
    def huber(x: Any, y: Any, delta: float) -> Any:
        import torch

        return torch.nn.functional.huber_loss(x, y, "none", delta)

    for delta in (1.0, 0.4):
        yield Sample((*_pair(rng), delta), torch=huber)


# ---- probabilities ----


@samples("binary_cross_entropy")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.uniform(0.1, 0.9, size=(2, 3)), rng.uniform(size=(2, 3))
    for reduction in REDUCTIONS:
        yield Sample((x, y), {"reduction": reduction})
        yield Sample((x, y, rng.uniform(size=3)), {"reduction": reduction}, differentiate=False)
    edges = np.array([0.0, 1.0, 0.0, 1.0])
    yield Sample((edges, np.array([0.0, 1.0, 1.0, 0.0])), differentiate=False)


def _chance_error(x: Any, y: Any) -> Any:
    """chance_error in PyTorch."""
    import torch

    return torch.nn.functional.binary_cross_entropy(
        *torch.broadcast_tensors(x, y), reduction="none"
    )


@samples("chance_error")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.uniform(0.1, 0.9, size=4), rng.uniform(size=4)
    yield Sample((x, y), torch=_chance_error)


@samples("binary_cross_entropy_with_logits")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.uniform(size=(2, 3))
    path = PATH + "binary_cross_entropy_with_logits"
    for reduction in REDUCTIONS:
        given: dict[str, Any] = {"reduction": reduction}
        yield Sample((x, y), given, torch=path)
        yield Sample((x * 50, y, rng.uniform(size=3)), given, torch=path, differentiate=False)
        more = {"pos_weight": rng.uniform(0.5, 2, size=3), **given}
        yield Sample((x, y), more, torch=path, differentiate=False)


@samples("logit_error")
def _(rng: Generator) -> Iterator[Sample]:
    def error(x: Any, y: Any) -> Any:
        import torch

        return torch.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")

    yield Sample((*_pair(rng),), torch=error)


@samples("kl_div")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = np.log(rng.dirichlet(np.ones(3), size=2)), rng.dirichlet(np.ones(3), size=2)
    path = PATH + "kl_div"
    for reduction in ("sum", "none", "batchmean"):
        yield Sample((x, y), {"reduction": reduction}, torch=path)
        yield Sample((x, np.log(y)), {"reduction": reduction, "log_target": True}, torch=path)
    zero = np.array([[0.0, 1.0, 0.0]])
    yield Sample((x[:1], zero), {"reduction": "sum"}, torch=path, differentiate=False)


@samples("poisson_nll_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.uniform(0.5, 2, size=(2, 3)), rng.integers(0, 5, size=(2, 3)).astype(float)
    path = PATH + "poisson_nll_loss"
    for reduction, log_input, full in itertools.product(REDUCTIONS, (True, False), (True, False)):
        given = {"reduction": reduction, "log_input": log_input, "full": full}
        yield Sample((x, y), given, torch=path, differentiate=not full)


@samples("gaussian_nll_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = _pair(rng)
    path = PATH + "gaussian_nll_loss"
    var = rng.uniform(0.5, 2, size=(2, 3))
    for reduction in REDUCTIONS:
        yield Sample((x, y, var), {"reduction": reduction, "full": True}, torch=path)
    yield Sample((x, y, var[:, 0]), torch=path)
    yield Sample((x, y, var[:, :1]), torch=path)
    yield Sample((x, y, 0.5), torch=path)
    yield Sample((x, y, var), {"eps": 1.0}, torch=path, differentiate=False)


# ---- margins ----


@samples("soft_margin_loss")
def _(rng: Generator) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        args = (rng.normal(size=(2, 3)), rng.choice([-1.0, 1.0], size=(2, 3)))
        yield Sample(args, {"reduction": reduction}, differentiate=False)
    yield Sample((rng.normal(size=3), np.array([1, -1, 1])))


@samples("hinge_embedding_loss")
def _(rng: Generator) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        args = (rng.normal(size=(2, 3)), np.array([[1, -1, 1], [-1, -1, 1]]), 0.7)
        yield Sample(args, {"reduction": reduction}, torch=PATH + "hinge_embedding_loss")


@samples("margin_ranking_loss")
def _(rng: Generator) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        x, y = _pair(rng)
        yield Sample(
            (x, y, np.array([[1, -1, 1]]), 0.3),
            {"reduction": reduction},
            torch=PATH + "margin_ranking_loss",
        )


@samples("cosine_embedding_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = _pair(rng)
    for reduction in REDUCTIONS:
        yield Sample(
            (x, y, np.array([1, -1]), -0.5),
            {"reduction": reduction},
            torch=PATH + "cosine_embedding_loss",
        )
        yield Sample(
            (x[0], y[0], np.array(-1)),
            {"reduction": reduction},
            torch=PATH + "cosine_embedding_loss",
        )


@samples("triplet_margin_loss")
def _(rng: Generator) -> Iterator[Sample]:
    points = tuple(rng.normal(size=(3, 2)) for _ in range(3))
    for reduction in REDUCTIONS:
        yield Sample(points, {"reduction": reduction}, torch=PATH + "triplet_margin_loss")
        yield Sample(
            points,
            {"reduction": reduction, "swap": True, "p": 1.0, "margin": 3.0},
            torch=PATH + "triplet_margin_loss",
        )


@samples("triplet_margin_with_distance_loss")
def _(rng: Generator) -> Iterator[Sample]:
    points = tuple(rng.normal(size=(3, 2)) for _ in range(3))
    for reduction in REDUCTIONS:
        yield Sample(points, {"reduction": reduction})
    own = {"distance_function": lambda a, b: ((a - b) ** 2).sum(-1), "swap": True, "margin": 4.0}
    yield Sample(points, own)
