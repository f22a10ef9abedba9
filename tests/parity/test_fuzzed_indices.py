"""Indices that hypothesis chooses, of every kind and mixed: what they read and write.

An index is a text, evaluated in either library, so that a failure can be read and typed. Values,
shapes, types and gradients must be PyTorch's, and so must the class of an exception, if the index
has one part: of several, either library may look at another first. adjoint allows more in three
things: index tensors of int8 and int16, values of another type (cast, as by `x[0] = value`), and
NumPy's numbers as values. It is stricter in two: what is out of range, or can't be written for its
shape, is refused even if the index names no element; and so is a list that is no array.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import adjoint

torch = pytest.importorskip("torch")

SHAPES = [(), (1,), (3,), (0,), (3, 4), (1, 3), (2, 0, 3), (2, 3, 4), (3, 1, 2, 2)]
INTEGERS = ["int8", "int16", "int32", "int64"]
ODD = ["1.5", "'a'", "1j", "object", "b''", "{}", "slice(1.5, 2)", "slice('a')", "float('nan')"]


def joined(parts):
    return ", ".join(parts)


small = st.integers(-4, 4)
bound = st.one_of(st.just(""), small.map(str), st.sampled_from(["9", "-9", str(2**62)]))
step = st.sampled_from(["", "1", "2", "3", "0", "-1", "-2"])
slices = st.tuples(bound, bound, step).map(":".join)
numbers = st.one_of(small.map(str), st.sampled_from([str(2**31), str(-(2**63)), "np.int64(1)"]))
truths = st.sampled_from(["True", "False"])


def lists(elements, most=4):
    return st.lists(elements, max_size=most).map(lambda parts: f"[{joined(parts)}]")


inside = st.integers(-2, 2).map(str)
rectangles = st.tuples(inside, inside, inside, inside).map(
    "[[{0[0]}, {0[1]}], [{0[2]}, {0[3]}]]".format
)
nests = st.one_of(lists(inside), lists(truths), rectangles, lists(st.one_of(inside, truths), 3))
ragged = st.one_of(
    lists(lists(inside, 2), 2),
    lists(st.one_of(inside, st.sampled_from(["None", "1.5", "...", "slice(1)", "'a'"])), 3),
)


@st.composite
def tensors(draw):
    """A tensor of an integer type, of any shape, most of whose elements are in range."""
    shape = draw(st.sampled_from([(), (0,), (1,), (2,), (3,), (2, 1), (1, 2), (2, 2), (0, 2)]))
    count = math.prod(shape)
    reach = st.integers(-2, 2) if draw(st.integers(0, 4)) else st.integers(-9, 9)
    values = draw(st.lists(reach, min_size=count, max_size=count))
    kind = draw(st.sampled_from(INTEGERS))
    return f"of({values}, {shape}, '{kind}')"


@st.composite
def masks(draw):
    """A mask of bools, whose shape is that of some dimensions of the tensor, or is not."""
    start = draw(st.integers(0, 3))
    stop = draw(st.integers(start, 4))
    seed = draw(st.integers(0, 9))
    other = draw(st.sampled_from(["", "", "", ", 1"]))
    return f"mask(x.shape[{start}:{stop}], {seed}{other})"


arrays = st.sampled_from(
    ["np.array([0, 1])", "np.array(1)", "np.array([True, False, True])", "np.zeros((0,), int)"]
)
meaningful = st.one_of(
    numbers,
    slices,
    slices,
    st.sampled_from(["None", "...", ":"]),
    truths,
    nests,
    tensors(),
    tensors(),
    masks(),
    arrays,
    st.sampled_from(["range(2)", "(0, 1)", "(True,)", "()"]),
)
anything = st.one_of(meaningful, meaningful, ragged, st.sampled_from(ODD))


@st.composite
def indices(draw, parts=meaningful, most=4):
    found = draw(st.lists(parts, min_size=1, max_size=most))
    form = draw(st.sampled_from(["{}", "{}", "{}", "{},", "[{}]"]))
    text = joined(found)
    if form == "[{}]" and ":" in text:
        return text
    return form.format(text)


class World:
    """One library, and the names that an index may use."""

    def __init__(self, lib, shape, kind="float64"):
        self.lib = lib
        self.x = self.of(list(range(1, math.prod(shape) + 1)), shape, kind)

    def of(self, values, shape, kind):
        made = self.lib.tensor(values, dtype=self.lib.int64).to(getattr(self.lib, kind))
        return made.reshape(shape)

    def mask(self, shape, seed, off=0):
        shape = tuple(n + off for n in shape)
        bits = np.random.default_rng(seed).integers(0, 2, shape).astype(bool)
        return self.lib.tensor(bits.tolist(), dtype=self.lib.bool).reshape(shape)

    def names(self):
        return {"x": self.x, "of": self.of, "mask": self.mask, "np": np}


class Key:
    """Gives what it is indexed with."""

    def __getitem__(self, index):
        return index


def shown(tensor):
    return [list(tensor.shape), str(tensor.dtype).split(".")[-1], tensor.detach().tolist()]


REFUSALS = (IndexError, TypeError, ValueError, RuntimeError)


def outcome(lib, shape, action):
    """What an action on one library gives, or which class of exception it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action(World(lib, shape))
        except REFUSALS as error:
            return type(error).__name__


def compare(shape, action, exact=False, strict=True):
    """The same outcome; `exact`: to the class of an exception; `strict`: no more is refused."""
    ours, theirs = outcome(adjoint, shape, action), outcome(torch, shape, action)
    refused = isinstance(ours, str)
    if refused and isinstance(theirs, str):
        assert not exact or ours == theirs
    elif not refused or (strict and not theirs[-1]):  # the last: nothing is read or written
        assert ours == theirs


def index_of(world, text):
    return eval(f"key[{text}]", {**world.names(), "key": Key()})  # made above


def reading(text):
    def read(world):
        x = world.x.requires_grad_()
        y = x[index_of(world, text)]
        weights = world.of(list(range(2, 2 + y.numel())), tuple(y.shape), "float64")
        (y * weights).sum().backward()
        return [shown(y), shown(x.grad), y._is_view(), y.numel() == 0]

    return read


VALUES = [
    "7",
    "1.5",
    "True",
    "of([5], (), 'float64')",
    "of([5], (1,), 'int64')",
    "of([5], (1, 1), 'float64')",
    "of([5, 6], (2,), 'float64')",
    "of([5, 6, 7], (3,), 'float32')",
    "of([5, 6, 7], (1, 3), 'float64')",
    "x[:1]",
    "np.float64(2)",
    "None",
    "[1, 2]",
    "1j",
]


def as_wanted(world, value, kind):
    """A value to write; PyTorch wants it as it would be cast."""
    if world.lib is not torch:
        return value
    if isinstance(value, np.generic):
        return value.item()
    return value.to(kind) if isinstance(value, torch.Tensor) else value


def writing(text, value):
    def write(world):
        x, of = world.x.requires_grad_(), world.of
        index = index_of(world, text)
        chosen = x.detach()[index]
        if value == "like":
            like = tuple(chosen.shape)
            new = of(list(range(50, 50 + chosen.numel())), like, "float64").requires_grad_()
        else:
            new = as_wanted(world, eval(value, world.names()), x.dtype)  # see VALUES
        y = x * 1
        y[index] = new
        weights = of(list(range(2, 2 + y.numel())), tuple(y.shape), "float64")
        (y * weights).sum().backward()
        written = value == "like" and new.numel() and shown(new.grad)
        return [shown(y), shown(x.grad), written, chosen.numel() == 0]

    return write


shapes = st.sampled_from(SHAPES)
values = st.one_of(st.just("like"), st.sampled_from(VALUES))


@given(shapes, indices(most=1))
def test_one_part(shape, text):
    compare(shape, reading(text), exact=True)


@settings(max_examples=400)
@given(shapes, indices())
def test_reads(shape, text):
    compare(shape, reading(text))


@settings(max_examples=400)
@given(shapes, indices(), values)
def test_writes(shape, text, value):
    compare(shape, writing(text, value))


@given(shapes, indices(anything), values)
def test_what_is_no_index(shape, text, value):
    compare(shape, reading(text), strict=False)
    compare(shape, writing(text, value), strict=False)


@pytest.mark.slow
@settings(max_examples=6000)
@given(shapes, indices(anything), values)
def test_many(shape, text, value):
    compare(shape, reading(text), strict=False)
    compare(shape, writing(text, value), strict=False)
