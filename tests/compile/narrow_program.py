"""Training on XLA by a JAX that runs without types of 64 bits: run by test_narrow.py."""

import itertools
import warnings
from typing import Any

import jax
import numpy as np

import adjoint
from adjoint import nn, optim

F = nn.functional
LARGE = 2**40 + 3
assert not jax.config.jax_enable_x64
warnings.simplefilter("error")


def network() -> Any:
    """Tokens in, scores of four classes out: with chance, and a buffer of whole numbers."""
    return nn.Sequential(
        nn.Embedding(9, 5),
        nn.Flatten(),
        nn.Linear(30, 8, bias=False),
        nn.BatchNorm1d(8),
        nn.Dropout(0.2),
        nn.Linear(8, 4),
    )


def trained(where: str, wrap: Any) -> list[Any]:
    """Losses of ten steps with whole numbers as targets, and what they leave behind."""
    adjoint.manual_seed(0)
    model = network().to(where)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    tokens, classes = adjoint.randint(0, 9, (12, 6)), adjoint.randint(0, 4, (12,))
    weight = adjoint.rand(4).to(where)
    assert classes.dtype == adjoint.int64

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y) + F.cross_entropy(scores, y, weight, ignore_index=2)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    run = wrap(step)
    losses = [run(tokens.to(where), classes.to(where)) for _ in range(10)]
    return [np.asarray(each.detach().cpu()) for each in (*losses, *model.state_dict().values())]


def assert_training_is_that_of_numpy() -> None:
    """Eagerly and compiled, with tensors of NumPy and of XLA."""
    expected = trained("cpu", lambda step: step)
    for where, wrap in (("cpu", adjoint.compile), ("xla", lambda f: f), ("xla", adjoint.compile)):
        for mine, theirs in zip(trained(where, wrap), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-4, 1e-5)


MAKERS = {
    "to": lambda values: adjoint.tensor(values).to("xla"),
    "tensor": lambda values: adjoint.tensor(values, device="xla"),
    "full": lambda values: adjoint.full(
        (2,), values[-1].item(), dtype=adjoint.tensor(values).dtype, device="xla"
    ),
}


def assert_what_does_not_fit_is_refused() -> None:
    """A number that JAX has no type for is an error, not another number."""
    beyond = (np.array([1, LARGE]), np.array([-LARGE]), np.array([1e300]), np.array([1e300j]))
    for name, values in itertools.product(MAKERS, beyond):
        try:
            made = MAKERS[name](values)
        except (OverflowError, RuntimeError) as error:
            assert "jax_enable_x64" in str(error), error
        else:
            raise AssertionError(f"{name} made {made} of {values}")
    edge = adjoint.tensor([2**31 - 1, -(2**31)]).to("xla")
    assert edge.tolist() == [2**31 - 1, -(2**31)]
    assert edge.dtype == adjoint.int32
    assert adjoint.tensor([np.inf, np.nan]).to("xla").isinf().tolist() == [True, False]


def assert_fractions_are_rounded_aloud() -> None:
    """JAX warns where digits of float64 are lost."""
    try:
        adjoint.tensor([1 / 3], dtype=adjoint.float64).to("xla")
    except (UserWarning, RuntimeError) as warning:
        assert "float64" in str(warning), warning
    else:
        raise AssertionError("nothing was said")


@adjoint.compile(warm_up=0)
def widened(ones: Any) -> Any:
    """What needs 64 bits."""
    return ones.long() * LARGE, ones.double() / 3


def assert_programs_have_all_types() -> None:
    """In compiled code whole numbers and fractions have 64 bits, as have its results."""
    for where in ("cpu", "xla"):
        whole, third = widened(adjoint.ones(2).to(where))
        assert whole.tolist() == [LARGE] * 2
        assert third.tolist() == [1 / 3] * 2
        assert whole.cpu().dtype == adjoint.int64


assert_training_is_that_of_numpy()
assert_what_does_not_fit_is_refused()
assert_fractions_are_rounded_aloud()
assert_programs_have_all_types()
print("as with 64 bits")
