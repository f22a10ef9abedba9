"""Loops of the wheel over rows: each computes what its declaration does, however arrays lie."""

import marshal

import numpy as np
import pytest

import adjoint
from adjoint.backends.loops import compiled
from adjoint.backends.numpy import numpy_backend
from adjoint.ops.op import TABLE
from adjoint.ops.pushing import FORWARD, JOINT
from adjoint.ops.tracing_rows import COLUMN, COMPUTED, traced_rows

TRACED = list(traced_rows())
MODULE = compiled()
USED = {}
if MODULE is not None:
    for name, place, key, order, _, loop in marshal.loads(MODULE.table)[1]:
        USED[name, place, key] = (order, MODULE.loops[loop])
needs_loops = pytest.mark.skipif(MODULE is None, reason="the pure package has no loops")
SHAPES = [(1,), (5, 1), (3, 7), (2, 3, 64), (4, 300), (2, 1031)]


def name_of(each):
    return f"{each.op.name}-{each.place}-{'-'.join(map(str, each.key))}"


def arguments(each, kind, shape):
    source = np.random.default_rng(len(name_of(each)))
    args = []
    for option in each.key:
        if option in ("array", COLUMN):
            size = shape if option == "array" else (*shape[:-1], 1)
            values = source.uniform(0.1, 2.0, size).astype(kind)
            args.append(values)
        else:
            args.append(0.01 if option == "number" else option)
    return args


def by_declaration(each, args):
    """The results that are computed, by the declaration itself on NumPy."""
    op = each.op
    with np.errstate(all="ignore"):
        if each.place == FORWARD:
            found = op.forward(numpy_backend.xp, *args)
        else:
            rule = op.joint if each.place == JOINT else op.rules[each.place]
            count = 1 if op.outputs is None else len(op.outputs._fields)
            grads = [tuple(args[:count])] if each.place == JOINT else args[:count]
            found = rule.function(*grads, *args[count:])
    found = found if isinstance(found, tuple) else (found,)
    return [f for f, answer in zip(found, each.answers, strict=True) if answer == COMPUTED]


def by_loop(each, args):
    order, loop = USED[each.op.name, each.place, each.key]
    with np.errstate(all="raise"):
        found = loop(*[args[i] for i in order])
    return list(found) if isinstance(found, tuple) else [found]


def test_the_ops_of_rows_are_traced():
    names = {each.op.name for each in TRACED}
    assert {"softmax", "log_softmax", "layer_standardized", "root_scaled"} <= names
    assert {each.place for each in TRACED if each.op.name == "layer_standardized"} == {
        FORWARD,
        JOINT,
    }


@needs_loops
@pytest.mark.parametrize("each", TRACED, ids=name_of)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_loop_computes_what_numpy_does(each, kind):
    rough = 2e-5 if kind == "float32" else 1e-12
    for shape in SHAPES:
        args = arguments(each, kind, shape)
        for found, wanted in zip(by_loop(each, args), by_declaration(each, args), strict=True):
            assert found.dtype == kind
            np.testing.assert_allclose(found, wanted, rtol=rough, atol=rough)


@needs_loops
@pytest.mark.parametrize("each", TRACED, ids=name_of)
def test_what_is_not_finite_is_as_in_numpy(each):
    args = arguments(each, "float32", (6, 300))
    first = next(i for i, option in enumerate(each.key) if option == "array")
    for row, value in enumerate([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40]):
        args[first][row, 3 * row] = value
        args[first][row, 299] = value
    for found, wanted in zip(by_loop(each, args), by_declaration(each, args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=3e-5, atol=3e-5)


@needs_loops
@pytest.mark.parametrize("each", TRACED, ids=name_of)
def test_bits_do_not_depend_on_where_elements_lie(each):
    args = arguments(each, "float32", (5, 261))
    wanted = [found.tobytes() for found in by_loop(each, args)]
    columns = [np.asfortranarray(a) if isinstance(a, np.ndarray) else a for a in args]
    assert [np.ascontiguousarray(f).tobytes() for f in by_loop(each, columns)] == wanted
    spaced = [np.repeat(a, 2, 0)[::2] if isinstance(a, np.ndarray) else a for a in args]
    assert [f.tobytes() for f in by_loop(each, spaced)] == wanted
    alone = [a[2:3] if isinstance(a, np.ndarray) else a for a in args]
    for found, full in zip(by_loop(each, alone), by_loop(each, args), strict=True):
        assert found.tobytes() == full[2:3].tobytes()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 0)])
def test_nothing_is_left_to_the_declaration(shape):
    x = adjoint.zeros(shape, requires_grad=True)
    y = adjoint.softmax(x, -1)
    y.sum().backward()
    assert y.shape == x.grad.shape == adjoint.Size(shape)


@pytest.mark.parametrize("name", sorted({each.op.name for each in TRACED}))
def test_other_dimensions_are_left_to_the_declaration(name):
    if "axes" in TABLE[name].parameters:
        return
    x = np.random.default_rng(0).normal(size=(4, 5)).astype("float32")
    across = adjoint.tensor(x.T.copy())
    along = TABLE[name](adjoint.tensor(x), -1)
    np.testing.assert_allclose(TABLE[name](across, 0).numpy(), along.numpy().T, rtol=1e-5)
