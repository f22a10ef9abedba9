"""Schemas as nobody would write them: each is read, or refused in words that name what is wrong."""

import inspect
import string
import typing

import pytest
from hypothesis import example, given, settings, strategies as st

import adjoint
from adjoint import Tensor, library
from adjoint.library import legacy
from adjoint.library.schema import NAMES, infer_schema
from adjoint.library.schema_text import parse

TOKENS = [
    *NAMES, "x", "y", "from", "f", "a::f.out", "(", ")", "[", "]", "?", ",", "*", "=", "!", "|",
    "->", "a", "(a!)", "(a -> *)", "(a|b)", "[2]", "[]", "1", "-3", "2.5", "1e400", "inf", "nan",
    "1_0", "99999999999999999999", "True", "None", '"text"', "'text'", '"', "'", '"\\', "cpu",
    '"cpu"', "float32", "strided", "...", "#", "٣", "é", "\x00", "\n", "[[", "]]", "9" * 30,
]  # fmt: skip
VALID = [
    "f(Tensor x) -> Tensor",
    "(Tensor? x, Tensor[] y, Tensor?[] z) -> (Tensor, Tensor[])",
    "a::f.out(Tensor(a0!) x, SymInt[]? dims=None, *, float eps=0.5) -> ()",
    'f(str how="sum", bool keep=True, Scalar by=2, int[2] n=[1, 2]) -> ((Tensor))',
    'f(ScalarType kind=float32, Device where="cpu", Layout l=strided) -> Tensor(a)',
    "f(MemoryFormat m=channels_last, float[] z=[1.0, -2e-05]) -> (int first, float second)",
]


def check_read(text):
    """Read a schema, or see it refused; what was read is written so that it is read again."""
    try:
        schema = parse(text)
    except RuntimeError as error:
        assert str(error).startswith("schema ")
        assert " at position " in str(error)
        assert len(str(error)) < 1500
        return False
    again = parse(str(schema))
    assert str(again) == str(schema)
    assert isinstance(schema.signature(), inspect.Signature)
    with library.scoped():
        library.define("fuzz::op", "(" + str(schema).partition("(")[2])
    return True


@st.composite
def damaged(draw):
    """A schema with some characters lost, doubled, moved or put in."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        stop = draw(st.integers(place, min(place + 6, len(text))))
        new = draw(st.one_of(st.just(""), st.sampled_from(TOKENS), st.just(text[place:stop] * 2)))
        text = text[:place] + new + text[stop:]
    return text


tokens = st.lists(st.sampled_from(TOKENS), max_size=20).map(" ".join)
texts = st.one_of(damaged(), damaged(), tokens, st.text(string.printable, max_size=40), st.text())


@given(texts)
@example("f(Tensor x, Tensor x) -> Tensor")
@example("f(Tensor x) -> Tensor ,")
@example("f(Tensor(a->*) x) -> Tensor")
@example("f(int n=inf) -> Tensor")
@example("f(ScalarType t=nothing) -> Tensor")
@example("f(int n=1, Tensor x) -> Tensor")
@example("f(float x=" + "9" * 5000 + ") -> Tensor")
@example("f(int[] x=" + "[" * 100_000)
@example("f(Tensor x)" * 10_000)
def test_any_text(text):
    check_read(text)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(texts)
def test_many_texts(text):
    check_read(text)


def test_the_texts_are_read_as_they_are():
    assert all(check_read(text) for text in VALID)


def test_numbers_keep_their_value_and_kind():
    text = "f(int n=9007199254740993, Scalar s=2.0, int[2] d=0, bool b=1, str t='a\"b') -> (Tensor)"
    schema = parse(text)
    assert [argument.default for argument in schema.arguments] == [
        2**53 + 1,
        2.0,
        [0, 0],
        True,
        'a"b',
    ]
    assert isinstance(schema.arguments[1].default, float)
    assert schema.single


def test_a_schema_of_a_hundred_thousand_arguments():
    arguments = ", ".join(f"int x{i}=0" for i in range(100_000))
    assert len(parse(f"f({arguments}) -> Tensor").arguments) == 100_000


@pytest.mark.parametrize("text", [None, 5, b"f() -> ()", ["f() -> ()"]])
def test_what_is_no_text(text):
    with pytest.raises(TypeError, match="a schema must be a str"):
        parse(text)
    with pytest.raises(TypeError, match="a schema must be a str"):
        library.define("fuzz::op", text)
    with (
        library.Library("fuzz", "FRAGMENT") as lib,
        pytest.raises(TypeError, match="must be a str"),
    ):
        lib.define(text)
    with pytest.raises(TypeError, match="must be a str 'namespace::name'"):
        library.define(text, "() -> ()")


@pytest.mark.parametrize("name", ["from", "_x", "self"])
def test_names_that_the_older_interface_can_not_have(name):
    with pytest.raises(ValueError, match=f"rename {name}"):
        legacy.custom_op("fuzz::op", f"(Tensor {name}) -> Tensor")
    with library.scoped():
        assert library.define("fuzz::op", f"(Tensor {name}) -> Tensor").parameters == [name]


# ---- type hints ----

HINTS = [
    Tensor, int, float, bool, str, adjoint.dtype, adjoint.device, complex, bytes, object, None, ...,
    typing.Any, typing.List, typing.Optional, typing.Union, typing.Tuple,  # noqa: UP006
    typing.Sequence,
    list, tuple, dict, type, 5, 1.5, "Tensor", "int | None", "1 / 0", "(", "", b"int", [int],
    [], {}, {"a": int}, (int, int), typing.Callable[[int], int], typing.Literal[1], print,
    typing.TypeVar("T"), typing.NewType("N", int), typing.Annotated[int, "note"],
    typing.ForwardRef("Tensor"), adjoint.float32,
]  # fmt: skip


def wrapped(hint):
    """Hints made of others, where Python lets them be made."""
    made = []
    for make in (
        lambda: list[hint],
        lambda: typing.Optional[hint],  # noqa: UP045  # both spellings
        lambda: tuple[hint, ...],
        lambda: tuple[hint, hint],
        lambda: dict[str, hint],
        lambda: typing.Sequence[hint],
        lambda: hint | None,
    ):
        try:
            made.append(make())
        except (IndexError, SyntaxError, TypeError):  # of typing's own
            continue
    return st.sampled_from(made) if made else st.just(hint)


hints = st.sampled_from(range(len(HINTS))).map(HINTS.__getitem__)
hints = st.one_of(hints, hints.flatmap(wrapped), hints.flatmap(wrapped).flatmap(wrapped))
defaults = st.sampled_from([inspect.Parameter.empty, None, 1, 2.5, "a", [1], (), object(), Tensor])
mutations = st.sampled_from([(), "unknown", "x", ("x",), ["y"], 5, None, [5], [[]], {"x"}])


@settings(max_examples=400)
@given(hints, hints, defaults, mutations)
def test_any_hint(first, result, default, mutated):
    def function(x, y=1): ...

    function.__annotations__ = {"x": first, "y": int, "return": result}
    function.__defaults__ = (1,) if default is inspect.Parameter.empty else (default, 1)
    try:
        text = infer_schema(function, mutates_args=mutated)
    except (TypeError, ValueError) as error:
        assert "mutates_args" in str(error) or "infer_schema(func)" in str(error)
    else:
        written = str(parse(text))
        assert str(parse(written)) == written


@pytest.mark.parametrize("function", [5, None, "f", [], object()])
def test_what_is_no_function(function):
    with pytest.raises(TypeError, match="func is no function but a"):
        infer_schema(function, mutates_args=())
