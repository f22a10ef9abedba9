"""Loops of neural ops, against their declarations on NumPy: odd sizes, strides, NaN, infinities."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace
from adjoint.backends.numpy import NumpyNamespace, numpy_backend
from adjoint.ops.op import TABLE

pytestmark = pytest.mark.skipif(written("running_sum") is None, reason="the package is pure")

KINDS = [np.float32, np.float64]
PLAIN = numpy_backend.xp


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = adjoint.get_num_threads()
    yield
    adjoint.set_num_threads(before)


def run(name: str, *args: Any) -> tuple[Any, ...]:
    """The results of an op on arrays, the same with one thread and with two."""
    found = []
    for threads in (1, 2):
        adjoint.set_num_threads(threads)
        with np.errstate(all="ignore"):
            results = TABLE[name].forward(PLAIN, *args)
        found.append(results if isinstance(results, tuple) else (results,))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
    return found[0]


def agree(name: str, without: tuple[str, ...], limit: float, *args: Any) -> None:
    """Compare what loops answer with what a declaration does without them."""
    own = run(name, *args)
    with pytest.MonkeyPatch.context() as patch:
        for method in without:
            patch.setattr(NumpyNamespace, method, getattr(Namespace, method))
        expected = run(name, *args)
    for one, other in zip(own, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=limit, atol=limit)


def limit_of(kind: Any) -> float:
    """What rounding may add up to."""
    return 1e-4 if kind is np.float32 else 1e-11


def apart(array: Any) -> Any:
    """The same elements, every second one of a wider array, from its end."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::-2] = array
    return wide[..., ::-2]


IMAGES = [
    ((1, 1, 1, 1), (1, 1, 3, 2)),
    ((2, 3, 5, 4), (2, 7, 3, 2)),
    ((9, 16, 13, 17), (9, 21, 19, 2)),  # so much that threads share it
    ((3, 35, 6, 1), (3, 9, 9, 2)),
    ((2, 5, 3, 4, 6), (2, 3, 5, 7, 3)),
    ((1, 17, 1, 3, 2), (1, 2, 2, 5, 3)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", IMAGES, ids=str)
def test_sampled(sizes: Any, kind: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=sizes[0]).astype(kind)
    grid = rng.uniform(-3, 3, size=sizes[1]).astype(kind)
    places = grid.reshape(-1)
    places[:6] = [np.nan, np.inf, -np.inf, 1, -1, 0]
    slope = rng.normal(size=(*sizes[0][:2], *sizes[1][1:-1])).astype(kind)
    name = "plane_sampled" if x.ndim == 4 else "volume_sampled"
    loops = ("sampled", "sampled_back", "mixed_rows", "dealt_rows", "matched_rows")
    for padding in ("zeros", "border", "reflection"):
        for align in (False, True):
            agree(name, loops, limit_of(kind), x, grid, padding, align)
            given = (slope, x, grid, padding, align, (True, True))
            agree("sampled_slopes", loops, limit_of(kind), *given)
    given = (apart(slope), apart(x), apart(grid), "border", False, (True, True))
    agree("sampled_slopes", loops, limit_of(kind), *given)
    agree(name, loops, limit_of(kind), apart(x), apart(grid), "zeros", True)


def test_sampled_pixels_that_are_no_numbers() -> None:
    x = np.ones((1, 2, 3, 3), np.float32)
    x[0, 0, 1, 1] = np.nan
    grid = np.array([[[-1, -1], [0, 0], [1, 1], [5, 5]]], np.float32)[None]
    (found,) = run("plane_sampled", x, grid, "zeros", True)
    np.testing.assert_array_equal(np.isnan(found[0, 0, 0]), [True, True, False, False])
    np.testing.assert_array_equal(found[0, 1, 0], [1, 1, 1, 0])


PATHS = [(1, 1, 2, 0), (5, 2, 3, 2), (9, 7, 40, 3), (100, 16, 64, 30)]


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", PATHS, ids=str)
def test_paths(sizes: Any, kind: Any, zero: bool) -> None:
    frames, batch, classes, length = sizes
    rng = np.random.default_rng(0)
    x = rng.normal(size=(frames, batch, classes))
    x = (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(kind)
    x[0, 0, 0] = -np.inf
    if batch > 2:
        x[1, 1, 1] = np.nan
    targets = rng.integers(0, classes - 1, (batch, length))
    blank = classes - 1
    lengths = rng.integers(0, frames + 1, batch), rng.integers(0, length + 1, batch)
    grad = rng.normal(size=batch).astype(kind)
    loops = ("paths", "path_slopes")
    for given in (x, apart(x), np.asfortranarray(x)):
        agree("path_losses", loops, limit_of(kind), given, targets, *lengths, blank, zero)
        agree("path_slopes", loops, limit_of(kind), grad, given, targets, *lengths, blank, zero)


def test_labels_beyond_the_classes_are_left_to_numpy() -> None:
    x = np.zeros((3, 1, 2), np.float32)
    labels, lengths = np.array([[0, 2, 0]]), np.array([3])
    assert PLAIN.paths(x, labels, lengths, 0) is None
    sums = np.zeros((3, 1, 3), np.float32)
    given = (np.ones(1, np.float32), x, sums, labels, lengths, np.array([1]))
    assert PLAIN.path_slopes(*given, 0, 0.0) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "width", "places"), [(1, 1, 1), (7, 3, 20), (40, 33, 9)])
def test_regrouped_rows(rows: int, width: int, places: int, kind: Any) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(rows, width)).astype(kind)
    table[0, 0] = np.nan
    table[-1, -1] = np.inf
    sources, targets = rng.integers(0, rows, places), rng.integers(0, 5, places)
    for given in (table, apart(table), np.asfortranarray(table)):
        agree("regrouped_rows", ("regrouped_rows",), limit_of(kind), given, sources, targets, 5)
    nothing = np.zeros(0, np.int64)
    agree("regrouped_rows", ("regrouped_rows",), 0, table, nothing, nothing, 3)
