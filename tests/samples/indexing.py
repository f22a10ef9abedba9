"""Samples of indexing, gathering and scattering."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.shape import added, complex_normal

Rng = np.random.Generator


def written(x: Any, index: Any, value: Any) -> Any:
    """What PyTorch makes of x[index] = value."""
    y = x.clone()
    y[index] = value
    return y


I2 = np.array([0, 2])
GRID = np.array([[0, 1], [2, 0]])
MASK = np.array(
    [[True, False, True, False], [False, True, True, False], [True, True, False, False]]
)
WHOLE = slice(None)

VIEWS: tuple[Any, ...] = (
    0,
    -1,
    (1, 2),
    slice(1, None),
    slice(0, 3, 2),
    slice(-2, None),
    slice(5, None),
    None,
    Ellipsis,
    (),
    (Ellipsis, 1),
    (0, Ellipsis, None),
    (WHOLE, 1),
    (slice(1, 2), None, slice(None, None, 3)),
    np.array(1),
)
COPIES: tuple[Any, ...] = (
    I2,
    -I2,
    I2.astype(np.int32),
    GRID,
    (I2, I2),
    (I2[:, None], I2),
    (WHOLE, I2),
    (0, I2),
    (I2, 0),
    (slice(1, None), I2),
    (None, I2),
    (I2, None),
    (Ellipsis, I2),
    [0, 2],
    [0, 0, 0],
    [[0, 1], [1, 2]],
    (WHOLE, [1, 1]),
    [],
    MASK,
    (WHOLE, MASK[0]),
    MASK[:, 0],
    (MASK[:, 0], 1),
    (MASK[:, 0], [0, 1]),
    (None, MASK),
    [True, False, True],
    True,
    False,
    (True, 0),
    (True, I2),
    np.array(True),
    np.zeros(0, np.int64),
)


@samples("getitem")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for index in (*VIEWS, *COPIES):
        yield Sample((x, index), torch=lambda x, index: x[index])
    cube = rng.normal(size=(2, 3, 2))
    # Index tensors apart from one another go to the front; an int in between does not count.
    places: tuple[Any, ...] = (
        (GRID % 2, WHOLE, GRID % 2),
        (WHOLE, I2, 0),
        (0, WHOLE, GRID % 2),
        (I2 % 2, None, I2),
        (I2 % 2, 0, I2 % 2),
    )
    for index in places:
        yield Sample((cube, index), torch=lambda x, index: x[index])
    yield Sample((rng.normal(size=()), ()), torch=lambda x, index: x[index])
    yield Sample((rng.normal(size=()), True), torch=lambda x, index: x[index])
    yield Sample((complex_normal(rng, (3, 2)), I2), torch=lambda x, index: x[index])


@samples("setitem")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    row, number = rng.normal(size=4), rng.normal(size=())
    cases: tuple[tuple[Any, Any], ...] = (
        ((0,), row),
        ((0,), row[None]),
        ((0,), row[None, None]),
        ((slice(1, None),), rng.normal(size=(2, 1))),
        ((Ellipsis, 1), number),
        ((None, 1), row),
        ((0, 1), rng.normal(size=(1, 1))),
        ((I2,), row),
        ((I2,), rng.normal(size=(2, 4))),
        ((I2, I2), rng.normal(size=2)),
        ((0, I2), rng.normal(size=(1, 2))),
        ((slice(1, None), I2), rng.normal(size=2)),
        ((MASK,), rng.normal(size=6)),
        ((MASK,), number),
        ((MASK[:, 0],), row),
        ((True,), number),
        ((False,), number),
        ((slice(2, 1),), row),
        ((), number),
    )
    for index, value in cases:
        yield Sample((x, index, value), torch=written)
    yield Sample((x, (0,), 2.5), torch=written)
    yield Sample((np.arange(12).reshape(3, 4), (0,), 2.5), torch=written)
    yield Sample((complex_normal(rng, (3,)), (I2,), complex_normal(rng, (2,))), torch=written)
    yield Sample((rng.normal(size=()), (), 2.0), torch=written)


@samples("index_put")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, (I2,), rng.normal(size=(2, 4))))
    yield Sample((x, (I2, I2), rng.normal(size=2)))
    yield Sample((x, (MASK,), rng.normal(size=())))
    yield Sample((x, [np.array([0, 0, 2])], rng.normal(size=(3, 4)), True))
    yield Sample((x, (GRID, GRID), rng.normal(size=(2, 1))), {"accumulate": True})
    yield Sample((x, (GRID,), rng.normal(size=4)), {"accumulate": True})


@samples("gather")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0, GRID))
    yield Sample((x, -1, np.array([[0, 3, 3], [1, 1, 0]])))
    yield Sample((x, 1, GRID.astype(np.int32)))
    yield Sample((x, 0, np.zeros((0, 2), np.int64)))
    yield Sample((rng.normal(size=()), 0, np.array(0)))
    yield Sample((rng.normal(size=(2, 2, 2)), 1, np.array([[[0, 1], [1, 0], [1, 1]]])))
    yield Sample((complex_normal(rng, (3, 2)), 0, GRID))


@samples("take_along_dim")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, np.array([[0, 3, 1]]), 1))
    yield Sample((x, np.array([[0], [2], [2]]), -1))
    yield Sample((x, GRID))


@samples("index_select")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0, np.array([0, 2, 2])))
    yield Sample((x, -1, I2))
    yield Sample((x, 1, np.array(1)))
    yield Sample((rng.normal(size=()), 0, np.array([0])))
    yield Sample((x, 0, np.zeros(0, np.int64)))


@samples("scatter_add")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0, GRID, rng.normal(size=(2, 2))))
    yield Sample((x, 1, np.array([[0, 3, 3], [1, 1, 0]]), rng.normal(size=(2, 3))))
    yield Sample((x, 0, GRID, rng.normal(size=(3, 4))), differentiate=False)
    yield Sample((x, 0, np.zeros((0, 4), np.int64), rng.normal(size=(0, 4))))
    yield Sample((rng.normal(size=()), 0, np.array([0, 0]), rng.normal(size=2)))


@samples("scatter")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 2))
    yield Sample((x, 0, GRID, y))
    yield Sample((x, -1, GRID, y))
    yield Sample((x, 0, GRID, rng.normal(size=(3, 4))), differentiate=False)
    yield Sample((x, 0, GRID, 2.5))
    yield Sample((x, 0, GRID), {"value": 2})
    yield Sample((x, 0, GRID, y), {"reduce": "add"}, differentiate=False)
    yield Sample((x, 0, GRID, y), {"reduce": "multiply"}, differentiate=False)
    yield Sample((x, 0, GRID, 3.0), {"reduce": "multiply"}, differentiate=False)
    yield Sample((np.arange(12).reshape(3, 4), 0, GRID, 2.5))


@samples("scatter_reduce")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    index = np.array([[0, 0, 2, 1], [0, 1, 2, 1]])
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            yield Sample((x, 0, index, y, reduce), {"include_self": include_self})
        yield Sample((x, 1, np.array([[0, 0, 0, 1], [1, 1, 2, 1]]), y, reduce))
        yield Sample((x, 0, index, rng.normal(size=(3, 5)), reduce), differentiate=False)
    with_zeros = np.array([[0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 4.0, 5.0]])
    yield Sample((x, 0, index, with_zeros, "prod"), second_order=False)
    ties, ones = np.ones((3, 4)), np.ones((2, 4))
    yield Sample((ties, 0, index, ones, "amax"), second_order=False)
    yield Sample((x, 0, index, ones, "amin"), {"include_self": False}, second_order=False)
    whole = np.arange(12).reshape(3, 4)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        yield Sample((whole, 0, index, whole, reduce), {"include_self": False})


@samples("index_add")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0, np.array([0, 2, 2, 0]), rng.normal(size=(4, 4))))
    yield Sample((x, -1, I2, rng.normal(size=(3, 2))), {"alpha": 2.5})
    yield Sample((x, 0, np.array(1), rng.normal(size=(1, 4))))


@samples("index_copy")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0, I2, rng.normal(size=(2, 4))))
    yield Sample((x, -1, I2, rng.normal(size=(3, 2))))


@samples("index_fill")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 0, I2, 2.5))
    yield Sample((x, -1, I2, rng.normal(size=())))
    yield Sample((x, 0, I2 - 1, 1.5), differentiate=False)
    yield Sample((np.arange(12).reshape(3, 4), 0, I2, 2.5))


@samples("index_reduce")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for reduce in ("prod", "mean", "amax", "amin"):
        yield Sample((x, 0, np.array([0, 2, 2, 0]), rng.normal(size=(4, 4)), reduce))
        yield Sample((x, 1, I2, rng.normal(size=(3, 2)), reduce), {"include_self": False})


@samples("masked_fill")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, MASK, 2.5))
    yield Sample((x, MASK[0], rng.normal(size=())))
    yield Sample((x[0], MASK, -np.inf))
    yield Sample((np.arange(4), MASK[0], 2.5))
    yield Sample((complex_normal(rng, (3, 4)), MASK, 1j))


@samples("masked_select")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, MASK))
    yield Sample((x, MASK[0]))
    yield Sample((x[0], MASK))
    yield Sample((rng.normal(size=()), np.array(True)))


@samples("masked_scatter")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(2, 5))
    yield Sample((x, MASK, y))
    yield Sample((x, MASK[0], y))
    yield Sample((x[0], MASK, y))
    yield Sample((x, np.zeros((3, 4), bool), np.zeros(0)))


@samples("take")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, GRID))
    yield Sample((x, np.array([0, -1, 11, 0])))
    yield Sample((x, np.array(5)))


@samples("put")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, np.array([0, -1, 5]), rng.normal(size=3)))
    yield Sample((x, GRID, rng.normal(size=4), True))


@samples("fill")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 2.5))
    yield Sample((x, rng.normal(size=())))
    yield Sample((np.arange(3), 2.5))


@samples("zero")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),), torch=lambda x: x.clone().zero_())


@samples("fill_diagonal")
def _(rng: Rng) -> Iterator[Sample]:
    def changed(x: Any, *args: Any) -> Any:
        return x.clone().fill_diagonal_(*args)

    yield Sample((rng.normal(size=(3, 4)), 2.0), torch=changed)
    yield Sample((rng.normal(size=(7, 3)), 2.0, True), torch=changed)
    yield Sample((rng.normal(size=(7, 3)), 2.0), torch=changed)
    yield Sample((rng.normal(size=(2, 2, 2)), 2.0), torch=changed)


@samples("select_scatter")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), rng.normal(size=4), 0, 1))
    yield Sample((rng.normal(size=(3, 4)), rng.normal(size=3), -1, -2))


@samples("slice_scatter")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), rng.normal(size=(2, 4)), 0, 1))
    yield Sample((rng.normal(size=(3, 4)), rng.normal(size=(3, 2)), 1, 0, 4, 2))


@samples("diagonal_scatter")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), rng.normal(size=3)))
    yield Sample((rng.normal(size=(3, 4)), rng.normal(size=2), -1))
    yield Sample((rng.normal(size=(2, 3, 2)), rng.normal(size=(3, 2)), 0, 2, 0))


@samples("setitem_")
def _(rng: Rng) -> Iterator[Sample]:
    # In place: PyTorch refuses to change a leaf that requires grad, and so do we.
    x, row = rng.normal(size=(3, 4)), rng.normal(size=4)
    for index in (0, (slice(1, None), None), I2, [0, 1], (WHOLE, MASK[0]), True):
        value = 2.5 if index is True or isinstance(index, tuple) else row
        yield Sample((x, index, value), torch=written, differentiate=False)


@samples("index_reduce_")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for reduce in ("prod", "mean", "amax", "amin"):
        yield Sample(
            (x, 0, np.array([0, 2]), rng.normal(size=(2, 4)), reduce),
            torch="Tensor.index_reduce_",
            differentiate=False,
        )


# ---- helpers, which PyTorch has no name for ----


@samples("pick")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for index in ((I2,), (0, I2), (MASK,), (slice(1, None), [0, 0])):
        yield Sample((x, index), torch=lambda x, index: x[index])


@samples("place")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), (3, 4), (np.array([0, 2, 2]),)), torch=added)
    yield Sample((rng.normal(size=2), (3, 4), (0, I2)), torch=added)
    yield Sample((rng.normal(size=6), (3, 4), (MASK,)), torch=added)
    yield Sample((rng.normal(size=(2, 2)), (3, 4), (slice(1, None), [0, 0])), torch=added)


@samples("spread")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample(
        (rng.normal(size=(2, 2)), (3, 4), 0, GRID),
        torch=lambda x, shape, dim, index: x.new_zeros(shape).scatter_add(dim, index, x),
    )


@samples("times_met")
def _(rng: Rng) -> Iterator[Sample]:
    def met(index: Any, shape: Any, dim: int) -> Any:
        ones = index.new_ones(index.shape).float()
        return ones.new_zeros(shape).scatter_add(dim, index, ones)

    for dim in (0, 1):
        yield Sample((GRID, (3, 4), dim), torch=met, differentiate=False)
    repeated = np.broadcast_to(np.array([[1], [1], [0]]), (3, 4))
    yield Sample((repeated, (2, 4), 0), torch=met, differentiate=False)


@samples("masked_deal")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample(
        (rng.normal(size=(4, 2)), MASK),
        torch=lambda x, mask: x.new_zeros(mask.shape).masked_scatter(mask, x),
    )


@samples("masked_collect")
def _(rng: Rng) -> Iterator[Sample]:
    def collected(x: Any, mask: Any, shape: Any) -> Any:
        found = x.masked_select(mask)
        return x.new_zeros(shape).flatten().slice_scatter(found, 0, 0, len(found)).reshape(shape)

    yield Sample((rng.normal(size=(3, 4)), MASK, (4, 2)), torch=collected)
