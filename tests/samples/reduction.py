"""Samples of the reductions, norms, cumulative results and statistics."""

import importlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.dtypes import float32, float64
from adjoint.testing import Sample, samples

Generator = np.random.Generator


def complex_normal(rng: Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


# ---- sums and products ----


@samples("sum", "mean")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, (0, -1)), {"keepdim": True})
    yield Sample((x,), {"dim": -2, "keepdim": True})
    yield Sample((x, [1]))
    yield Sample((x, ()))
    yield Sample((x, None, True))
    yield Sample((rng.normal(size=(2, 3, 2)), (0, 2)))
    yield Sample((rng.normal(size=()),))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)),))
    yield Sample((np.zeros((0, 3)), 0))
    yield Sample((np.zeros((0, 3)), 1))
    yield Sample((complex_normal(rng, 2, 3), 1))
    yield Sample((x.astype(np.float32),))
    yield Sample((x.astype(np.float32), 0), {"dtype": float64})
    yield Sample((x.astype(np.float16),), differentiate=False)
    yield Sample((np.arange(6),), {"dtype": float32})


@samples("nansum")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    x[0, 1] = x[2, 3] = math.nan
    yield Sample((x,))
    yield Sample((x, 0))
    yield Sample((x, (0, 1)), {"keepdim": True})
    yield Sample((np.array(math.nan),))
    yield Sample((x.astype(np.float32), 1), {"dtype": float64})
    yield Sample((np.arange(4, dtype=np.int32),))


@samples("nanmean")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    x[0, 1] = x[2, 3] = math.nan
    yield Sample((x,))
    yield Sample((x, 0))
    yield Sample((x, (0, 1)), {"keepdim": True})
    yield Sample((np.array([math.nan, math.nan]),))


@samples("divided_product")
def _(rng: Generator) -> Iterator[Sample]:
    def others(x: Any, whole: Any, dim: int) -> Any:
        import torch

        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(leaf.prod(dim).sum(), leaf)[0]

    x = rng.normal(size=(3, 4))
    for factors in (x, np.where(x < -0.5, 0.0, x)):
        whole = factors.prod(1, keepdims=True)
        yield Sample((factors, whole, 1), torch=others, differentiate=False)


@samples("prod")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, -2, True))
    x = x.copy()
    x[0, 1] = x[2, 3] = x[2, 0] = 0
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, 0, True))
    yield Sample((np.array([0.0, 2.0, 3.0]), 0))
    yield Sample((complex_normal(rng, 2, 3), 1))
    yield Sample((complex_normal(rng, 4) * np.array([1, 0, 1, 1]),))
    yield Sample((rng.normal(size=()),))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)),))
    yield Sample((np.zeros((0, 3)), 0))
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([2, 3], np.uint8),))
    yield Sample((x.astype(np.float32), 0), {"dtype": float64})


@samples("sum_to_size")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 4))
    for size in ((3, 4), (1, 1, 4), (2, 3, 4), (1,), ()):
        yield Sample((x, size), torch=lambda x, size: x.sum_to_size(size))
    yield Sample((x, 3, 1), torch=lambda x, *size: x.sum_to_size(*size))


@samples("trace")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 3)),))
    yield Sample((rng.normal(size=(2, 4)),))
    yield Sample((complex_normal(rng, 3, 2),))
    yield Sample((np.zeros((0, 3)),))
    yield Sample((np.arange(4, dtype=np.int32).reshape(2, 2),))


@samples("count_nonzero")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.integers(0, 2, size=(3, 4)).astype(float)
    yield Sample((x,), differentiate=False)
    yield Sample((x, 1), differentiate=False)
    yield Sample((x, (0, 1)), differentiate=False)
    yield Sample((np.array([0, 1j, math.nan]),), differentiate=False)
    yield Sample((np.array(True),))


@samples("exclusive_or")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.integers(-99, 99, size=(3, 5)),))
    yield Sample((np.array([7]),))


@samples("hash_tensor")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 5))
    yield Sample((x,), differentiate=False)
    yield Sample((x, 1), {"keepdim": True}, differentiate=False)
    yield Sample((x.astype(np.float32), (0, 1)), differentiate=False)
    yield Sample((np.arange(-3, 4).astype(np.int8),), differentiate=False)
    yield Sample((np.array(True),), differentiate=False)


@samples("any", "all")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.integers(0, 2, size=(3, 4))
    for kind in (bool, np.uint8, np.int64, np.float64):
        yield Sample((x.astype(kind),), differentiate=False)
    yield Sample((x, 1))
    yield Sample((x, 0, True))
    yield Sample((x, (0, 1)))
    yield Sample((x, ()))
    yield Sample((x.astype(np.uint8), -1))
    yield Sample((np.zeros((0, 3)),), differentiate=False)
    yield Sample((np.zeros((0, 3)), 0), differentiate=False)
    yield Sample((np.array(3), 0))


# ---- moments ----


@samples("var", "std", "var_mean", "std_mean")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x, False))
    yield Sample((x, True))
    yield Sample((x,), {"unbiased": False})
    yield Sample((x, 1))
    yield Sample((x, (0, 1), False, True))
    yield Sample((x, -1), {"correction": 0})
    yield Sample((x,), {"dim": 0, "correction": 0.5, "keepdim": True})
    yield Sample((x, None), {"correction": 2})
    yield Sample((x, ()), {"correction": 1}, differentiate=False)
    yield Sample((complex_normal(rng, 3, 4),))
    yield Sample((complex_normal(rng, 3, 4), 0, True, True))
    yield Sample((np.ones((2, 3)), 1), second_order=False)
    yield Sample((np.arange(3.0),), {"correction": 3}, second_order=False)
    yield Sample((np.arange(3.0),), {"correction": 5}, second_order=False)
    yield Sample((rng.normal(size=()),), second_order=False)
    yield Sample((np.zeros((0, 3)),))
    yield Sample((x.astype(np.float32),))


# ---- extremes ----


def distinct(rng: Generator, *shape: int) -> np.ndarray:
    return rng.permutation(math.prod(shape)).reshape(shape).astype(float)


@samples("amax", "amin")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, (0, -1), True))
    yield Sample((x, ()))
    yield Sample((np.array([[1.0, 3, 3], [1, 1, 3]]), 1))
    yield Sample((np.array([[1.0, 3, 3], [1, 1, 3]]),))
    yield Sample((np.array([1.0, math.nan, 3]),))
    yield Sample((rng.normal(size=()),))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 1))
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([1, 2], np.uint8),))


@samples("aminmax")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x,))
    yield Sample((x,), {"dim": 1})
    yield Sample((x,), {"dim": -2, "keepdim": True})
    yield Sample((np.array([[1.0, 3, 3], [1, 1, 3]]),), {"dim": 1})
    yield Sample((rng.normal(size=()),), {"dim": 0})
    yield Sample((np.array([3, 1]),))


@samples("max", "min")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x,))
    yield Sample((np.array([[1.0, 3, 3], [1, 1, 3]]),))
    yield Sample((np.array([1.0, math.nan, 3, math.nan]),))
    yield Sample((x, 1))
    yield Sample((x, -2, True))
    yield Sample((x,), {"dim": 0, "keepdim": True})
    yield Sample((np.array([[1.0, 3, 3], [1, 1, 3]]), 1))
    yield Sample((np.array([1.0, math.nan, 3, math.nan]), 0))
    yield Sample((x, distinct(rng, 4) + 0.5))
    yield Sample((x,), {"other": distinct(rng, 3, 1) + 0.5})
    yield Sample((rng.normal(size=()),))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 1))
    yield Sample((np.array([True, False]), 0))
    yield Sample((np.array([1, 3, 3, 2]), 0))


@samples("argmax", "argmin")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    for arguments in ((x,), (x, 1), (x, -2, True), (x, None, True)):
        yield Sample(arguments, differentiate=False)
    yield Sample((np.array([1, 3, 3, 1]),))
    yield Sample((np.array([1.0, math.nan, 3, math.nan]),), differentiate=False)
    yield Sample((rng.normal(size=()), 0, True), differentiate=False)
    yield Sample((np.zeros((0, 3)), 1), differentiate=False)


# ---- exponentials ----


@samples("scaled_power")
def _(rng: Generator) -> Iterator[Sample]:
    slope, whole = rng.normal(size=(3, 1)), rng.normal(size=(3, 1))
    yield Sample(
        (slope, rng.normal(size=(3, 4)), whole),
        torch=lambda slope, input, whole: slope * (input - whole).exp(),
    )
    yield Sample(
        tuple(complex_normal(rng, 3) for _ in range(3)),
        torch=lambda slope, input, whole: slope * (input - whole).exp(),
    )


@samples("logsumexp")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 1))
    yield Sample((x, (0, 1), True))
    yield Sample((x * 1000, -1))
    yield Sample((complex_normal(rng, 3, 4), 0))
    yield Sample((np.array([[-math.inf, -math.inf], [-math.inf, 1.0]]), 1), second_order=False)
    yield Sample((np.array([math.inf, 1.0]), 0), second_order=False)
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 0))
    yield Sample((np.zeros((0, 3)), 1))
    yield Sample((np.arange(3), 0))
    yield Sample((x.astype(np.float32), 0))


@samples("softmax", "log_softmax")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 1))
    yield Sample((x, -2))
    yield Sample((x * 1000, 0))
    yield Sample((np.array([[-math.inf, 0.0], [1.0, 2.0]]), 1))
    yield Sample((x.astype(np.float32), 0), {"dtype": float64})
    yield Sample((x.astype(np.float32), 0))
    yield Sample((x.astype(np.float16), 0), differentiate=False, compare_values=False)
    yield Sample((np.arange(3), 0, float64))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 0))


@samples("softmin")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 1), torch="nn.functional.softmin")
    yield Sample((x.astype(np.float32), 0), {"dtype": float64}, torch="nn.functional.softmin")


# ---- norms ----


@samples("norm")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for p in ("fro", 0, 0.5, 1, 1.5, 2, 3, -1, math.inf, -math.inf):
        yield Sample((x, p))
        yield Sample((x, p, 1))
        if p != 0:
            yield Sample((complex_normal(rng, 2, 3), p, 1, True))
    yield Sample((x,))
    yield Sample((x, 2, (0, 1), True))
    yield Sample((x,), {"p": 3, "keepdim": True})
    for p in (0.5, 1, 1.5, 2, 3, math.inf):
        yield Sample((np.zeros((2, 3)), p, 1), second_order=False)
        yield Sample((np.array([[0.0, 2.0, -3.0]]), p), second_order=False)
    yield Sample((np.array([2.0, -2.0, 1.0]), math.inf))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros(0),))
    yield Sample((x.astype(np.float32),), {"dtype": float64})


@samples("dist")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    yield Sample((x, y))
    yield Sample((x, y[0]))
    for p in (1, 1.5, 3, math.inf):
        yield Sample((x, y, p))
    yield Sample((x, x.copy()), second_order=False)


@samples("renorm")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 2, 0, 1.0))
    yield Sample((x, 1, -1, 0.5))
    yield Sample((rng.normal(size=(2, 3, 2)), 3, 1, 1.0))
    yield Sample((complex_normal(rng, 2, 3), 2, 0, 1.0))


# ---- cumulative ----


@samples("cumsum", "cumprod")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 5))
    yield Sample((x, 1))
    yield Sample((x, -2))
    x = x.copy()
    x[0, 1] = x[0, 3] = x[2, 0] = 0
    yield Sample((x, 1))
    yield Sample((np.array([0.0, 0.0, 2.0]), 0))
    yield Sample((complex_normal(rng, 2, 3), 1))
    yield Sample((complex_normal(rng, 4) * np.array([1, 0, 1, 1]), 0))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 0))
    yield Sample((np.zeros((0, 3)), 1))
    yield Sample((np.array([True, True, False]), 0))
    yield Sample((np.array([1, 2], np.uint8), 0))
    yield Sample((x.astype(np.float32), 0), {"dtype": float64})


@samples("cumsum_", "cumprod_")
def _(rng: Generator) -> Iterator[Sample]:
    for x in (rng.normal(size=(3, 4)), np.arange(1, 5).reshape(2, 2)):
        yield Sample((x, 1), differentiate=False)
    yield Sample((np.zeros((0, 2)), -1), differentiate=False)


@samples("logcumsumexp")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 5))
    yield Sample((x, 1))
    yield Sample((x * 300, 1), second_order=False)
    yield Sample((x, -2))
    yield Sample((x - 2000, 0))
    yield Sample((x.astype(np.float32), 1), second_order=False)
    yield Sample((complex_normal(rng, 2, 3), 1))
    yield Sample((np.array([-math.inf, -math.inf, 0.0, 1.0]), 0), second_order=False)
    yield Sample((np.array([0.0, math.inf, 0.0, 1.0]), 0), second_order=False)
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 0))


@samples("cummax", "cummin")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 5)
    yield Sample((x, 1))
    yield Sample((x, -2))
    yield Sample((np.array([1.0, 3, 3, 2, math.nan, 4, math.nan]), 0))
    yield Sample((np.array([3.0, 1, 1, 2, 1]), 0))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 3)), 0), second_order=False)
    yield Sample((np.array([True, False]), 0))


# ---- statistics ----


@samples("histc")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 5))
    yield Sample((x,), differentiate=False)
    yield Sample((x, 4), differentiate=False)
    yield Sample((x, 4, -1, 0.5), differentiate=False)
    yield Sample((np.ones(3, np.float32), 4), differentiate=False)
    yield Sample((np.array([1.0, math.nan, 2.0]), 4, 0, 2), differentiate=False)
    yield Sample((np.zeros(0), 3), differentiate=False)


@samples("bincount")
def _(rng: Generator) -> Iterator[Sample]:
    x = np.array([1, 1, 3])
    yield Sample((x,))
    yield Sample((x,), {"minlength": 6})
    yield Sample((x, np.array([0.5, 1.0, 2.0])), differentiate=False)
    yield Sample((x, np.array([0.5, 1.0, 2.0], np.float32)), differentiate=False)
    yield Sample((x.astype(np.uint8), np.array([1, 2, 3])))
    yield Sample((np.zeros(0, np.int64),))


@samples("cov")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x[0],))
    yield Sample((x,), {"correction": 0})
    yield Sample((x,), {"correction": 4}, second_order=False, differentiate=False)
    yield Sample((x,), {"fweights": np.array([1, 2, 0, 1])})
    yield Sample((x,), {"aweights": rng.uniform(0.1, 1, size=4)})
    yield Sample(
        (x,), {"fweights": np.array([1, 2, 0, 1]), "aweights": rng.uniform(0.1, 1, size=4)}
    )
    yield Sample((complex_normal(rng, 2, 3),))
    yield Sample((np.arange(6).reshape(2, 3),))


@samples("corrcoef")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 4)),))
    yield Sample((rng.normal(size=4),), second_order=False)
    yield Sample((complex_normal(rng, 2, 4),))


@samples("diff")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x, 2, 0))
    yield Sample((x, 0))
    yield Sample((x, 5))
    yield Sample((x,), {"prepend": rng.normal(size=(3, 1)), "append": rng.normal(size=(3, 2))})
    yield Sample((np.array([True, False, True]),))
    yield Sample((np.zeros((2, 0)),))


@samples("trapezoid", "trapz", "cumulative_trapezoid")
def _(rng: Generator) -> Iterator[Sample]:
    y = rng.normal(size=(3, 4))
    yield Sample((y,))
    yield Sample((y,), {"dx": 0.5, "dim": 0})
    yield Sample((y, rng.normal(size=4)))
    yield Sample((y, rng.normal(size=3)), {"dim": 0})
    yield Sample((y, rng.normal(size=(1, 4))), {"dim": 1})
    yield Sample((y[:, :1],))
    yield Sample((np.arange(4),))
    yield Sample((np.zeros((2, 0)),), differentiate=False)


# ---- the ops behind overloads and gradients ----


def _extremes(rng: Generator, path: str) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)),), torch=path)
    yield Sample((rng.normal(size=()),), torch=path)
    yield Sample((np.array([2.0, 2, 1, 1]),), torch=path)


@samples("max_all")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _extremes(rng, "max")


@samples("min_all")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _extremes(rng, "min")


@samples("max_dim")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0), torch="max")
    yield Sample((x, -1, True), torch="max")
    yield Sample((rng.normal(size=(1,)).reshape(()), 0), torch="max")


@samples("min_dim")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0), torch="min")
    yield Sample((x, -1, True), torch="min")


@samples("on_diagonal")
def _(rng: Generator) -> Iterator[Sample]:
    def spread(x: Any, shape: Any) -> Any:
        return x * (x.new_zeros(shape).fill_diagonal_(1))

    yield Sample((rng.normal(size=()), (3, 3)), torch=spread)
    yield Sample((complex_normal(rng, 1).reshape(()), (2, 4)), torch=spread)


@samples("spread_sum")
def _(rng: Generator) -> Iterator[Sample]:
    for x in (rng.normal(size=(1,)), complex_normal(rng, 1)):
        yield Sample((x.reshape(()), (2, 3)), torch=lambda x, shape: x.expand(shape))


@samples("p_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    path = "linalg.vector_norm"
    for p in (2, 1, 3.5, math.inf):
        yield Sample((x, p), torch=path)
    yield Sample((x, 0), torch=path, second_order=False)
    yield Sample((x, 2, (0, 1), True), torch=path)
    yield Sample((complex_normal(rng, 2, 3), 3, 1), torch=path)


@samples("pick_along")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, np.array([[0, 3], [1, 1], [2, 0]]), 1), torch="take_along_dim")
    yield Sample((x, np.array([[2, 0, 1, 1]]), 0), torch="take_along_dim")


@samples("place_along")
def _(rng: Generator) -> Iterator[Sample]:
    def placed(x: Any, index: Any, dim: int, size: int, distinct: bool = True) -> Any:
        shape = [size if d == dim else n for d, n in enumerate(x.shape)]
        return x.new_zeros(shape).scatter_add(dim, index, x)

    x = rng.normal(size=(2, 3))
    yield Sample((x, np.array([[0, 3, 1], [4, 1, 2]]), 1, 5), torch=placed)
    yield Sample((x, np.array([[0, 1, 1], [0, 0, 2]]), 1, 4, False), torch=placed)


@samples("moved")
def _(rng: Generator) -> Iterator[Sample]:
    def moved(x: Any, dim: int, step: int, fill: float = 0) -> Any:
        y = x.roll(step, dim)
        count = abs(step)
        start = 0 if step > 0 else x.shape[dim] - count
        index = x.new_tensor(range(start, start + count)).long()
        return y.index_fill(dim, index, fill)

    x = rng.normal(size=(3, 4))
    yield Sample((x, 1, 1), torch=moved)
    yield Sample((x, 0, -2, 1.5), torch=moved)
    yield Sample((complex_normal(rng, 3), 0, 3), torch=moved)


@samples("recurrence")
def _(rng: Generator) -> Iterator[Sample]:
    def recurrence(x: Any, factor: Any, dim: int, step: int) -> Any:
        rows, factors = list(x.unbind(dim)), factor.unbind(dim)
        for i in range(len(rows))[::step]:
            if 0 <= i - step < len(rows):
                rows[i] = rows[i] + factors[i] * rows[i - step]
        return importlib.import_module("torch").stack(rows, dim)

    x, factor = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    yield Sample((x, factor, 1, 1), torch=recurrence)
    yield Sample((x, factor, 0, -1), torch=recurrence)
    yield Sample((complex_normal(rng, 4), complex_normal(rng, 4), 0, 1), torch=recurrence)


@samples("renorm_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 2, 0, 0.5), torch="Tensor.renorm_", differentiate=False)


@samples("gradient")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    rows, columns = np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.5, 2.0, 2.2])
    for edge_order in (1, 2):
        order = {"edge_order": edge_order}
        yield Sample((x,), order)
        yield Sample((x,), {**order, "spacing": 2.0, "dim": 1})
        yield Sample((x,), {**order, "spacing": [2.0, 0.5]})
        yield Sample((x,), {**order, "spacing": (rows, columns)}, second_order=False)
        yield Sample((x,), {**order, "spacing": (rows,), "dim": 0}, second_order=False)
    yield Sample((x[:2],), {"dim": (0, -1)})
    yield Sample((x[:2],), {"spacing": [np.array([0.0, 2.0])], "dim": 0}, second_order=False)
    yield Sample((np.array([1, 2, 4]),))
    yield Sample((rng.normal(size=()),), differentiate=False)
    yield Sample((x + 1j * x[::-1],), {"dim": 0})


@samples("norm_except_dim")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 2, 2))
    for dim in (0, 1, 2, -1):
        yield Sample((x, 2, dim))
    yield Sample((x,))
    yield Sample((x, 1, 1))
