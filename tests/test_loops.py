"""Loops of the wheel: each computes what its declaration does, however arrays lie."""

import importlib
import importlib.util
import itertools
import marshal
from pathlib import Path

import numpy as np
import pytest

from adjoint.backends import loops
from adjoint.backends.loops import LEVELS, compiled, instructions
from adjoint.backends.loops.symbols import SPECIAL
from adjoint.backends.numpy import numpy_backend
from adjoint.ops.op import MISSING, TABLE
from adjoint.ops.pushing import FORWARD, PUSH
from adjoint.ops.tracing import (
    ARRAY,
    KINDS,
    NUMBER,
    Refusal,
    Traced,
    is_worth_a_loop,
    parts,
    rule_at,
    traced_ops,
)

NOTE = Path(__file__).parents[1] / "docs" / "notes" / "kernels.md"

FOUND = list(traced_ops())
TRACED = [each for each in FOUND if isinstance(each, Traced)]
REFUSED = [each for each in FOUND if isinstance(each, Refusal)]
EDGES = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, -1e-40, 1e-300, 1.0, -1.0, 30.0, -30.0, 0.5]


def name_of(each):
    return f"{each.op.name}-{each.place}-{'-'.join(map(str, each.key))}-{each.conditions}"


def computed(symbol, values):
    """An expression by NumPy, a function at a time."""
    known = {}
    xp = numpy_backend.xp
    with np.errstate(all="ignore"):
        for part in parts(symbol):
            operands = [known[id(operand)] for operand in part.operands]
            if part.function in ("array", "number"):
                found = values[part.value]
            elif part.function == "constant":
                found = part.dtype.type(part.value)
            elif part.function == "cast":
                found = np.asarray(operands[0]).astype(part.dtype)
            elif part.function in SPECIAL:
                pytest.importorskip("scipy")
                found = xp.special(part.function)(operands[0])
            elif part.function == "trigamma":
                pytest.importorskip("scipy")
                found = xp.special("zeta")(2.0, operands[0])
            elif part.function == "power_before":
                found = xp.power_before(*operands)
            else:
                found = getattr(np, part.function)(*operands)
            known[id(part)] = found
    return known[id(symbol)]


def numbers_for(each):
    """Numbers for which a trace holds, and which are none of those it was made with."""
    names = [i for i, kind in enumerate(each.key) if kind == NUMBER]
    for sample in itertools.product((1.25, 0.3, -0.6, -2.5, 1, 2, 0, 1e5), repeat=len(names)):
        values = dict(zip(names, sample, strict=True))
        for name, place, other, holds in each.conditions:
            compared = values[other] if type(other) is int else other
            if bool(getattr(np, name)(values[place], compared)) != holds:
                break
        else:
            return values
    raise AssertionError(f"no number found for which {each.conditions} hold")


def arrays_for(each, kind, count=1037):
    """Arrays for the arguments of a trace: of its domain, then edges in all combinations."""
    source = np.random.default_rng(len(each.op.name))
    low, high = each.op.domain or (-3.0, 3.0)
    edges = np.array(list(itertools.product(EDGES, repeat=min(len(each.arrays), 2)))).T
    with np.errstate(all="ignore"):
        arrays = [
            np.concatenate([source.uniform(low, high, count), edges[i % len(edges)]]).astype(kind)
            for i in range(len(each.arrays))
        ]
        names = [each.names[i] for i in each.arrays]
        if (
            "power_before" in [part.function for part in parts(each.results[0])]
            and "result" in names
        ):
            given = {each.names[i]: number for i, number in numbers_for(each).items()}
            given.update(zip(names, arrays, strict=True))
            power = np.power(given["input"], given["exponent"])  # from which it goes on
            arrays[names.index("result")] = power.astype(kind)
    return arrays


def arguments(each, arrays):
    """The arguments of a forward or a rule, in their order."""
    numbers = numbers_for(each)
    given = dict(zip(each.arrays, arrays, strict=True))
    args = []
    for i, kind in enumerate(each.key):
        if kind == NUMBER:
            args.append(numbers[i])
        elif kind == ARRAY:
            args.append(given.get(i, arrays[0]))
        else:
            args.append("some other text" if kind == "" else kind)
    return args


def by_declaration(each, args):
    """What the declaration itself makes of arrays."""
    with np.errstate(all="ignore"):
        if each.place != FORWARD:
            return rule_at(each.op, each.place).function(*args)
        op = each.op
        named = dict(zip(op.parameters[op.positional :], args[op.positional :], strict=True))
        return op.forward(numpy_backend.xp, *args[: op.positional], **named)


def assert_close(found, wanted, each, kind):
    wanted = np.asarray(wanted)
    # Chebyshev's are differences of large numbers that nearly cancel.
    scale = 1e3 if each.op.name.startswith("chebyshev") else 1.0
    assert found.dtype == wanted.dtype
    if found.dtype == bool:
        np.testing.assert_array_equal(found, wanted)
        return
    rough, least = (3e-5, 1e-35) if kind == "float32" else (1e-12, 1e-290)
    np.testing.assert_allclose(found, wanted, rtol=rough, atol=max(least, rough * scale * 0.03))


@pytest.mark.parametrize("each", TRACED, ids=name_of)
@pytest.mark.parametrize("kind", KINDS)
def test_an_expression_is_what_its_declaration_computes(each, kind):
    args = arguments(each, arrays_for(each, kind))
    values = {each.names[i]: args[i] for i in (*each.arrays, *each.numbers)}
    found = computed(each.results[KINDS.index(kind)], values)
    assert_close(found, by_declaration(each, args), each, kind)


def test_what_is_refused_is_said():
    reasons = {}
    for each in REFUSED:
        parts = {FORWARD: "forward", PUSH: "tangent"}
        part = parts.get(each.place) or each.op.parameters[each.op.inputs[each.place]]
        reasons.setdefault(each.reason, []).append(f"{each.op.name} {part}")
    rows = [f"| {reason} | {', '.join(names)} |" for reason, names in reasons.items()]
    text = NOTE.read_text(encoding="utf-8")
    stale = [row for row in rows if row not in text]
    assert not stale, "docs/notes/kernels.md lacks:\n" + "\n".join(rows)


# ---- the compiled loops ----

MODULE = compiled()
USED = (
    {}
    if MODULE is None
    else {
        (name, place, key, conditions): (order, MODULE.loops[loop])
        for name, place, key, order, conditions, _, loop in marshal.loads(MODULE.table)[0]
    }
)
LOOPED = [t for t in TRACED if (t.op.name, t.place, t.key, t.conditions) in USED]
needs_loops = pytest.mark.skipif(MODULE is None, reason="the pure package has no loops")


def loop_of(each):
    return USED[each.op.name, each.place, each.key, each.conditions]


@needs_loops
def test_every_trace_worth_a_loop_has_one():
    assert [name_of(t) for t in TRACED if is_worth_a_loop(t.results[0]) and t not in LOOPED] == []


@needs_loops
@pytest.mark.parametrize("each", LOOPED, ids=name_of)
@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_computes_what_numpy_does(each, kind):
    args = arguments(each, arrays_for(each, kind))
    values = {each.names[i]: args[i] for i in (*each.arrays, *each.numbers)}
    order, loop = loop_of(each)
    with np.errstate(all="raise"):  # what a branch does that is not taken is nobody's concern
        found = loop(*[args[i] for i in order])
    assert_close(found, computed(each.results[KINDS.index(kind)], values), each, kind)


def layouts(array):
    """The same elements in other places: apart, backwards, not at the beginning, in columns."""
    spaced = np.zeros(2 * len(array), array.dtype)
    spaced[::2] = array
    shifted = np.zeros(len(array) + 3, array.dtype)
    shifted[3:] = array
    return {
        "spaced": spaced[::2],
        "backwards": array[::-1].copy()[::-1],
        "shifted": shifted[3:],
        "columns": np.array(np.broadcast_to(array[:, None], (len(array), 3)), order="F")[:, 1],
    }


def same_bits(found, wanted):
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


@needs_loops
@pytest.mark.parametrize("each", LOOPED, ids=name_of)
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_where_elements_lie(each, kind):
    arrays = arrays_for(each, kind)
    order, loop = loop_of(each)
    args = arguments(each, arrays)
    wanted = loop(*[args[i] for i in order])
    for name in ("spaced", "backwards", "shifted", "columns"):
        moved = arguments(each, [layouts(array)[name] for array in arrays])
        assert same_bits(loop(*[moved[i] for i in order]), wanted), name
    first = [array[:5] for array in arrays]
    some = arguments(each, first)
    assert same_bits(loop(*[some[i] for i in order]), wanted[:5])
    one = arguments(each, [array[4] for array in arrays])
    assert same_bits(np.asarray(loop(*[one[i] for i in order])), wanted[4])
    none = arguments(each, [array[:0] for array in arrays])
    assert loop(*[none[i] for i in order]).shape == (0,)
    if wanted.dtype == arrays[0].dtype:
        written = [array.copy() for array in arrays]
        target = arguments(each, written)
        loop(*[target[i] for i in order], out=written[0])
        assert same_bits(written[0], wanted)


@needs_loops
@pytest.mark.parametrize("each", [t for t in LOOPED if len(t.arrays) > 1], ids=name_of)
def test_a_loop_broadcasts(each):
    arrays = [array[:700] for array in arrays_for(each, "float32")]
    order, loop = loop_of(each)
    args = arguments(each, [arrays[0], *[array[7] for array in arrays[1:]]])
    full = arguments(each, [arrays[0], *[np.full_like(arrays[0], a[7]) for a in arrays[1:]]])
    assert same_bits(loop(*[args[i] for i in order]), loop(*[full[i] for i in order]))


@needs_loops
@pytest.mark.parametrize("name", sorted({t.op.name for t in LOOPED if t.place == FORWARD}))
def test_other_types_still_reach_the_forward(name):
    op = TABLE[name]
    for kind in ("float16", "int64", "complex64"):
        count = op.defaults.count(MISSING)
        args = [2 if i in op.constants else np.array([1, 2, 3], kind) for i in range(count)]
        try:
            wanted = op.forward(numpy_backend.xp, *args)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                op(*args)
        else:
            np.testing.assert_array_equal(op(*args), wanted)


@needs_loops
@pytest.mark.parametrize("level", LEVELS)
def test_all_sets_of_instructions_agree(level, tmp_path):
    if LEVELS[level] & instructions() != LEVELS[level]:
        pytest.skip("this machine has not these instructions")
    if importlib.util.find_spec(f"adjoint.backends.loops.{level}") is None:
        pytest.skip("this architecture has other sets")
    other = importlib.import_module(f"adjoint.backends.loops.{level}")
    assert other.table == MODULE.table
    x = np.linspace(-5, 5, 1001, dtype="float32")
    for each in LOOPED:
        if each.op.name in ("silu", "gelu", "elu", "huber_error", "tanh"):
            args = arguments(each, [x + 0.1 * i for i in range(len(each.arrays))])
            order, loop = loop_of(each)
            own = other.loops[loop.__name__](*[args[i] for i in order])
            np.testing.assert_allclose(own, loop(*[args[i] for i in order]), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("built", "machine", "named", "wanted"),
    [
        (("avx2", "avx512"), 3, "", "avx512"),
        (("avx2", "avx512"), 1, "", "avx2"),
        (("avx2", "avx512"), 0, "", None),  # NumPy serves, as in the pure package
        (("avx2", "avx512"), 3, "avx2", "avx2"),
        (("avx2", "avx512"), 1, "avx512", None),
        (("plain",), 0, "", "plain"),
        (("plain",), 0, "0", None),
    ],
)
def test_a_machine_takes_the_best_set_that_was_built(monkeypatch, built, machine, named, wanted):
    monkeypatch.setenv("ADJOINT_LOOPS", named)
    monkeypatch.setattr(loops, "instructions", lambda: machine)
    monkeypatch.setattr(loops, "_module", lambda name: name if name in built else None)
    assert compiled() == wanted
