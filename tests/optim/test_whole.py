"""Muon and Adafactor beyond PyTorch's numbers: all or nothing, copies, backends."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import optim

KINDS = (optim.Muon, optim.Adafactor)
every_kind = pytest.mark.parametrize("kind", KINDS)


def parameters(*shapes: tuple[int, ...]) -> list[Any]:
    generator = np.random.default_rng(0)
    made = []
    for shape in shapes or ((4, 3), (2, 5)):
        param = adjoint.tensor(generator.normal(size=shape), requires_grad=True)
        param.grad = adjoint.tensor(generator.normal(size=shape))
        made.append(param)
    return made


def state_of(optimizer: Any) -> Any:
    """The state as plain lists."""
    return [
        {name: value.tolist() for name, value in own.items()}
        for own in optimizer.state_dict()["state"].values()
    ]


@every_kind
@pytest.mark.parametrize("first", [True, False])
def test_a_step_changes_all_or_nothing(kind: Any, first: bool) -> None:
    """A parameter that can't be changed leaves those before it as they were, and their state."""
    params = parameters()
    optimizer = kind(params)
    if not first:
        optimizer.step()
    before = [param.tolist() for param in params], state_of(optimizer)
    last = adjoint.ones(2, 2, dtype=adjoint.complex128, requires_grad=True)
    last.grad = adjoint.ones(2, 2, dtype=adjoint.complex128)
    optimizer.add_param_group({"params": [last]})
    with pytest.raises(RuntimeError, match="complex"):
        optimizer.step()
    assert ([param.tolist() for param in params], state_of(optimizer)) == before


@every_kind
def test_state_stays_where_it_is(kind: Any) -> None:
    """Later steps change the tensors of the state, so that references to them stay true."""
    params = parameters()
    optimizer = kind(params)
    optimizer.step()
    known = dict(optimizer.state[params[0]])
    optimizer.step()
    assert all(optimizer.state[params[0]][name] is value for name, value in known.items())


@every_kind
def test_copies_go_on(kind: Any) -> None:
    """A pickled and a copied optimizer make the steps that the first one makes."""
    params = parameters()
    optimizer = kind(params)
    optimizer.step()
    for made in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        own = made.param_groups[0]["params"]
        for param, mine in zip(params, own, strict=True):
            mine.grad = param.grad.clone()
        made.step()
        later = parameters()
        again = kind(later)
        again.step()
        again.step()
        for mine, wanted in zip(own, later, strict=True):
            np.testing.assert_allclose(mine.tolist(), wanted.tolist())


@every_kind
def test_a_parameter_listed_twice_makes_two_steps(kind: Any) -> None:
    """As with other optimizers, the second goes on from where the first led."""
    (twice,), (once,) = parameters((4, 3)), parameters((4, 3))
    with pytest.warns(UserWarning, match="duplicate"):
        both = kind([twice, twice])
    both.step()
    single = kind([once])
    single.step()
    single.step()
    np.testing.assert_allclose(twice.tolist(), once.tolist())


@every_kind
def test_a_state_that_does_not_fit_is_refused(kind: Any) -> None:
    """A state of another shape is named, and what there was stays."""
    params, others = parameters(), parameters((3, 4), (2, 5))
    optimizer, other = kind(params), kind(others)
    optimizer.step()
    other.step()
    before = state_of(optimizer)
    with pytest.raises(ValueError, match="shape"):
        optimizer.load_state_dict(other.state_dict())
    assert state_of(optimizer) == before


@every_kind
def test_on_jax(kind: Any) -> None:
    """Arrays that can't be changed are replaced."""
    pytest.importorskip("jax")
    params, moved = parameters(), parameters()
    elsewhere = [param.detach().to("xla").requires_grad_() for param in moved]
    for param, mine in zip(moved, elsewhere, strict=True):
        mine.grad = param.grad.to("xla")
    for made in (kind(params), kind(elsewhere)):
        made.step()
        made.step()
    for param, mine in zip(params, elsewhere, strict=True):
        assert mine.device.type == "xla"
        np.testing.assert_allclose(mine.tolist(), param.tolist(), atol=1e-4)  # 16 bits within


def test_a_count_that_is_a_number_is_taken_over() -> None:
    """Old versions kept one."""
    optimizer = optim.Adafactor(parameters())
    optimizer.step()
    saved = optimizer.state_dict()
    for own in saved["state"].values():
        own["step"] = 1.0
    other = optim.Adafactor(parameters())
    other.load_state_dict(saved)
    other.step()
    assert [float(own["step"]) for own in other.state.values()] == [2.0, 2.0]
