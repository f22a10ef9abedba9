"""Chance inside vmap: refused, one sample for all, or one for each, in all that draws."""

from collections.abc import Callable
from typing import Any

import pytest

import adjoint
import adjoint.nn.functional as F
from adjoint.distributions import Uniform
from adjoint.func import grad, vmap
from adjoint.ops.op import TABLE

SIZE = 4
Draw = Callable[[Any, Any], Any]

# Of an element of a batch and of a tensor that is one for all.
FREE: dict[str, Draw] = {
    "rand": lambda x, one: adjoint.rand(6),
    "randn": lambda x, one: adjoint.randn((2, 3)),
    "randint": lambda x, one: adjoint.randint(0, 1000, (6,)),
    "randperm": lambda x, one: adjoint.randperm(9),
    "normal": lambda x, one: adjoint.normal(1.0, 2.0, (6,)),
    "rand_like": lambda x, one: adjoint.rand_like(x),
    "randn_like": lambda x, one: adjoint.randn_like(one),
    "randint_like": lambda x, one: adjoint.randint_like(x, 1000),
    "bernoulli": lambda x, one: adjoint.bernoulli(one),
    "poisson": lambda x, one: adjoint.poisson(one * 1000),
    "binomial": lambda x, one: adjoint.binomial(one * 1000, one),
    "multinomial": lambda x, one: adjoint.multinomial(one, 9),
    "dropout": lambda x, one: F.dropout(adjoint.ones_like(x)),
    "dropout of one": lambda x, one: F.dropout(one),
    "dropout2d": lambda x, one: F.dropout2d(adjoint.ones_like(x).reshape(2, 10, 1)),
    "alpha_dropout": lambda x, one: F.alpha_dropout(one, training=True),
    "feature_alpha_dropout": lambda x, one: F.feature_alpha_dropout(
        one.reshape(2, 10, 1), training=True
    ),
    "rrelu": lambda x, one: F.rrelu(-one, training=True),
    "gumbel_softmax": lambda x, one: F.gumbel_softmax(one),
    "Uniform": lambda x, one: Uniform(one, one + 1, validate_args=False).rsample(),
    "uniform_": lambda x, one: x.clone().uniform_(),
    "normal_": lambda x, one: adjoint.empty_like(x).normal_(),
    "exponential_": lambda x, one: adjoint.zeros_like(x).exponential_(),
    "bernoulli_": lambda x, one: x.clone().bernoulli_(0.5),
    "random_": lambda x, one: x.new_zeros(6).random_(1000),
}

# Probabilities that differ from one element to the next: not one sample for all.
BATCHED: dict[str, Draw] = {
    "bernoulli": lambda x, one: adjoint.bernoulli(x),
    "poisson": lambda x, one: adjoint.poisson(x * 1000),
    "normal": lambda x, one: adjoint.normal(one, x),
    "multinomial": lambda x, one: adjoint.multinomial(x, 9),
    "bernoulli_": lambda x, one: x.clone().bernoulli_(x),
}


def given() -> tuple[Any, Any]:
    """A batch of equal elements, and one of them; probabilities."""
    one = adjoint.linspace(0.3, 0.7, 20)
    return one.expand(SIZE, 20).clone(), one


def distinct(found: Any) -> int:
    """How many of the elements of a batch differ."""
    return len({str(row) for row in found.tolist()})


@pytest.mark.parametrize("name", FREE)
def test_modes(name: str) -> None:
    """Refused with the name of what draws and the ways out; one for all; one for each."""
    draw, (x, one) = FREE[name], given()
    with pytest.raises(RuntimeError, match=r"\w+\(\).*error mode.*'different'.*'same'"):
        vmap(draw, (0, None))(x, one)
    same = vmap(draw, (0, None), randomness="same")(x, one)
    assert distinct(same) == 1
    different = vmap(draw, (0, None), randomness="different")(x, one)
    assert distinct(different) == SIZE
    assert same.shape == different.shape
    assert same.shape[0] == SIZE


@pytest.mark.parametrize("name", BATCHED)
def test_probabilities_of_a_batch(name: str) -> None:
    """Each element draws by its own; one sample for all is refused, as in PyTorch."""
    draw, (x, one) = BATCHED[name], given()
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor"):
        vmap(draw, (0, None), randomness="same")(x, one)
    assert distinct(vmap(draw, (0, None), randomness="different")(x, one)) == SIZE


@pytest.mark.parametrize("draw", [adjoint.rand, adjoint.randn])
def test_the_numbers_are_those_of_a_whole(draw: Any) -> None:
    """A sample for each element is that of a tensor with the batch in front."""
    adjoint.manual_seed(3)
    found = vmap(lambda x: draw((2, 3)), randomness="different")(adjoint.ones(4))
    adjoint.manual_seed(3)
    assert found.tolist() == draw((4, 2, 3)).tolist()
    adjoint.manual_seed(3)
    once = vmap(lambda x: draw((2, 3)), randomness="same")(adjoint.ones(4))
    adjoint.manual_seed(3)
    assert once[2].tolist() == draw((2, 3)).tolist()


def test_a_tensor_without_a_batch_in_place() -> None:
    """There is no room for a sample of each element in a tensor that is one for all."""
    x = adjoint.ones(SIZE)
    with pytest.raises(RuntimeError, match="on an unbatched tensor"):
        vmap(lambda x: adjoint.zeros(3).normal_(), randomness="different")(x)
    found = vmap(lambda x: adjoint.zeros(3).normal_(), randomness="same")(x)
    assert distinct(found) == 1
    with pytest.raises(RuntimeError, match="error mode"):
        vmap(lambda x: adjoint.zeros(3).normal_())(x)


@pytest.mark.parametrize("inner", ["same", "different"])
@pytest.mark.parametrize("outer", ["same", "different"])
@pytest.mark.parametrize("name", ["randn", "bernoulli", "randperm", "dropout of one"])
def test_nested(name: str, outer: str, inner: str) -> None:
    """Each vmap says for its own elements."""
    draw, (_, one) = FREE[name], given()
    rows = vmap(lambda x: vmap(lambda y: draw(y, one), randomness=inner)(x), randomness=outer)(
        adjoint.ones(3, SIZE)
    )
    assert rows.shape[:2] == (3, SIZE)
    assert distinct(rows[0]) == (SIZE if inner == "different" else 1)
    assert distinct(rows) == (3 if outer == "different" else 1)


def test_batch_of_an_outer_vmap_in_an_inner_one() -> None:
    """A tensor that only the outer vmap maps draws for the elements of the inner one."""
    found = vmap(
        lambda p: vmap(lambda x: adjoint.bernoulli(p), randomness="different")(adjoint.ones(3)),
        randomness="different",
    )(adjoint.full((2, 40), 0.5))
    assert distinct(found.reshape(6, 40)) == 6
    with pytest.raises(RuntimeError, match="error mode"):
        vmap(lambda p: vmap(lambda x: p.clone().uniform_())(adjoint.ones(3)), randomness="same")(
            adjoint.ones(2, 3)
        )


def test_grad_inside() -> None:
    """What is dropped in forward is dropped in backward."""
    x = adjoint.ones(SIZE, 30)
    found = vmap(grad(lambda x: F.dropout(x * 1.0).sum()), randomness="different")(x)
    assert distinct(found) == SIZE
    assert set(found.reshape(-1).tolist()) == {0.0, 2.0}
    leaf = adjoint.ones(SIZE, 30, requires_grad=True)
    out = vmap(lambda x: F.dropout(x), randomness="different")(leaf)
    out.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == out.tolist()


def test_generators() -> None:
    """A generator of one's own is drawn from, and the default one is left alone."""
    before = adjoint.get_rng_state().tolist()
    own = adjoint.Generator().manual_seed(5)
    found = vmap(lambda x: adjoint.rand(3, generator=own), randomness="different")(adjoint.ones(2))
    own.manual_seed(5)
    assert found.tolist() == adjoint.rand(2, 3, generator=own).tolist()
    assert adjoint.get_rng_state().tolist() == before


def test_out_is_refused() -> None:
    """A tensor to write to would get what each element drew."""
    y = adjoint.zeros(3)
    with pytest.raises(RuntimeError, match="out"):
        vmap(lambda x: adjoint.rand(3, out=y), randomness="same")(adjoint.ones(2))


def test_factories_like_a_batched_tensor() -> None:
    """They make a batch, so that what differs may be written into it."""
    x = adjoint.arange(6.0).reshape(2, 3)
    makes: list[Callable[[Any], Any]] = [
        adjoint.zeros_like,
        adjoint.empty_like,
        lambda x: adjoint.full_like(x, 2.0),
        lambda x: x.new_zeros(3),
        lambda x: x.new_ones((3,)),
        lambda x: x.new_empty(3),
        lambda x: x.new_full((3,), 2.0),
    ]
    for make in makes:
        assert vmap(lambda x, make=make: make(x).copy_(x))(x).tolist() == x.tolist()
        twice = vmap(vmap(lambda x, make=make: make(x.reshape(1).expand(3)).copy_(x)))(x)
        assert twice.shape == (2, 3, 3)
    made = vmap(lambda x: adjoint.zeros_like(x, dtype=adjoint.int32))(x)
    assert made.dtype is adjoint.int32
    slopes = vmap(lambda x: grad(lambda y: (y * x).sum())(adjoint.ones_like(x)))(x)
    assert slopes.tolist() == x.tolist()


def test_ops_that_draw_say_so() -> None:
    """An op of the table that draws by chance asks vmap what to do."""
    drawing = {
        name for name, op in TABLE.items() if "generator" in op.parameters or "dropout" in name
    }
    assert {name for name in drawing if not TABLE[name].draws} == set()
    assert drawing
