"""Loops of the wheel that make a result with its tangent: as both are made apart."""

import numpy as np
import pytest

import adjoint
from adjoint.autograd import forward_ad
from adjoint.backends.numpy import numpy_backend
from adjoint.call.dispatch import run_forward
from adjoint.ops.op import TABLE
from adjoint.ops.tracing import KINDS, paired_ops
from tests.test_loops import (
    EDGES,
    assert_close,
    computed,
    layouts,
    needs_loops,
    same_bits,
)

PAIRS = list(paired_ops())
MADE = [pair for pair in PAIRS if pair.op.pairs[pair.moved] is not None]


def name_of(pair):
    return f"{pair.op.name}-{pair.moved}"


def arrays_for(pair, kind):
    """Values of the domain with edges after them, and tangents that are ordinary numbers."""
    source = np.random.default_rng(len(pair.op.name))
    low, high = pair.op.domain or (-3.0, 3.0)
    edges = [np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))]
    found = []
    with np.errstate(all="ignore"):
        for i, name in enumerate(pair.names):
            inner = source.uniform(low, high, 1037)
            outer = edges[i] if i < pair.op.required else np.full(len(edges[0]), 0.75)
            assert ("_tangent" in name) == (i >= pair.op.required)
            found.append(np.concatenate([inner, outer]).astype(kind))
    return found


@needs_loops
def test_pairs_are_made_of_short_and_of_long_functions():
    names = {pair.op.name for pair in MADE}
    assert names >= {"abs", "mul", "maximum", "erfinv", "gelu", "true_divide"}
    assert not any(pair.op.name in ("sin", "exp", "pow") for pair in MADE)


@needs_loops
@pytest.mark.parametrize("pair", MADE, ids=name_of)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_is_the_result_and_its_tangent(pair, kind):
    arrays = arrays_for(pair, kind)
    count = pair.op.required
    with np.errstate(all="raise"):
        out, moved = pair.op.pairs[pair.moved](*arrays)
    with np.errstate(all="ignore"):
        values = [*arrays[:count], *pair.op.defaults[count:]]
        wanted = run_forward(pair.op, numpy_backend.xp, values)
    np.testing.assert_array_equal(out, wanted)
    expression = pair.results[KINDS.index(kind)][1]
    values = dict(zip(pair.names, arrays, strict=True))
    assert_close(moved, computed(expression, values), pair, kind)


@needs_loops
@pytest.mark.parametrize("pair", MADE, ids=name_of)
def test_bits_of_a_pair_do_not_depend_on_where_elements_lie(pair):
    arrays = arrays_for(pair, "float32")
    function = pair.op.pairs[pair.moved]
    wanted = function(*arrays)
    for name in ("spaced", "backwards", "shifted", "columns"):
        found = function(*[layouts(array)[name] for array in arrays])
        assert all(same_bits(f, w) for f, w in zip(found, wanted, strict=True)), name


@pytest.mark.parametrize("name", sorted({pair.op.name for pair in PAIRS}))
def test_a_dual_has_the_result_of_a_plain_call(name):
    op = TABLE[name]
    low, high = op.domain or (0.1, 0.9)
    for kind in (adjoint.float32, adjoint.float64, adjoint.float16):
        plain = [adjoint.linspace(low, high, 37).to(kind) for _ in range(op.required)]
        with forward_ad.dual_level(), adjoint.no_grad():
            duals = [forward_ad.make_dual(x, adjoint.ones_like(x)) for x in plain]
            result = op(*duals)
            found = forward_ad.unpack_dual(result)
            alone = op(*plain)
        assert found.primal.equal(alone)
        assert found.tangent.dtype == result.dtype == alone.dtype
        assert found.tangent.shape == alone.shape


@pytest.mark.parametrize("name", ["mul", "add", "true_divide", "maximum"])
def test_a_pair_broadcasts_and_takes_numbers(name):
    function = getattr(adjoint, name)
    x, y = adjoint.linspace(1, 2, 12).reshape(3, 4), adjoint.linspace(3, 4, 4)
    with forward_ad.dual_level(), adjoint.no_grad():
        a = forward_ad.make_dual(x, adjoint.full((3, 4), 2.0))
        b = forward_ad.make_dual(y, adjoint.full((4,), 3.0))
        rows = forward_ad.make_dual(y.expand(3, 4).clone(), adjoint.full((3, 4), 3.0))
        plain_rows = y.expand(3, 4).clone()
        for one, other, first, second in (
            (a, b, a, rows),
            (a, y, a, plain_rows),
            (x, b, x, rows),
            (b, a, rows, a),
        ):
            found = forward_ad.unpack_dual(function(one, other))
            wanted = forward_ad.unpack_dual(function(first, second))
            assert found.tangent.shape == (3, 4)
            assert (found.tangent - wanted.tangent).abs().max() < 1e-6
        if name != "maximum":
            point = forward_ad.make_dual(adjoint.tensor(2.0), adjoint.tensor(1.0))
            found = forward_ad.unpack_dual(function(point, 4))
            assert found.primal.shape == found.tangent.shape == ()
            assert found.tangent.item() == {"mul": 4.0, "add": 1.0, "true_divide": 0.25}[name]
