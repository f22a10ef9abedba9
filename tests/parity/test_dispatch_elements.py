"""What a mode below autograd sees of functions of elements, and of tensors that are made anew."""

import re

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode
from tests.parity.dispatch_elements import DERIVED, MADE, MADE_BY_NAMES
from tests.parity.test_dispatch_modes import logged, unknown_names

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's, of what it may change


class Looking(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def results(expression, library, x, y):
    """The tensors that an expression gives."""
    found = eval(expression, {"torch": library, "x": x, "y": y})
    parts = found if isinstance(found, (tuple, list)) else (found,)
    return [part for part in parts if isinstance(part, library.Tensor)]


def loss(expression, library, x, y):
    parts = [each for each in results(expression, library, x, y) if each.requires_grad]
    return sum((each.abs() if each.is_complex() else each).sum() for each in parts)


def both_logs(torch, program):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    logs = logged(compat, TorchDispatchMode, program), logged(torch, Theirs, program)
    # A generator is told by its address.
    return [[re.sub(r"=<[^>]*>", "", step) for step in log] for log in logs]


def names_of(log):
    return [step.partition("(")[0] for step in log]


def assert_close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-4)


LOST = ("torch.sinc(x*0)",)  # in PyTorch's recorded steps, whose gradient is no number


@pytest.mark.parametrize("recorded", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize("expression", DERIVED)
def test_a_mode_sees_the_same_operations(torch, expression, recorded):
    found = []

    def derived(library, x, y):
        total = loss(expression, library, x, y)
        if isinstance(total, library.Tensor):
            options = {"allow_unused": True, "create_graph": recorded}
            grads = library.autograd.grad(total, [x, y], **options)
            found.append([None if grad is None else grad.detach() for grad in grads])

    ours, theirs = both_logs(torch, derived)
    assert names_of(ours) == names_of(theirs) or (recorded and expression in LOST)
    if found:
        assert_close(*found)


def twice(expression, library, mode):
    """Gradients of squares, and of their sum, under a mode or not."""
    x = library.tensor([[0.1, 0.2, 0.3], [0.5, 0.7, 0.9]], requires_grad=True)
    y = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    with mode or library.enable_grad():
        total = loss(expression, library, x * x, y * 1)
        if not isinstance(total, library.Tensor):
            return []
        first = library.autograd.grad(total, [x, y], allow_unused=True, create_graph=True)
        slopes = [(each**2).sum() for each in first if each is not None and each.requires_grad]
        second = library.autograd.grad(sum(slopes), [x, y], allow_unused=True) if slopes else ()
    return [None if each is None else each.detach() for each in (*first, *second)]


@pytest.mark.parametrize("expression", DERIVED)
def test_a_recorded_pass_has_the_same_gradients_under_a_mode(expression):
    assert_close(twice(expression, compat, Looking()), twice(expression, compat, None))


@pytest.mark.parametrize("expression", DERIVED)
def test_a_mode_sees_no_names_but_pytorchs(expression):
    def program(library, x, y):
        return loss(expression, library, x, y) + 0 * x.sum()

    for recorded in (False, True):
        assert unknown_names(program, compat.float32, recorded) == []


@pytest.mark.parametrize("expression", MADE)
def test_a_mode_sees_what_is_made_anew(torch, expression):
    ours, theirs = both_logs(torch, lambda library, x, y: loss(expression, library, x, y))
    assert ours == theirs
    assert ours


@pytest.mark.parametrize("expression", MADE_BY_NAMES)
def test_a_mode_sees_what_is_made_anew_by_names(torch, expression):
    ours, theirs = both_logs(torch, lambda library, x, y: loss(expression, library, x, y))
    assert names_of(ours) == names_of(theirs)


FILLED = {
    "zeros": lambda torch, out: torch.zeros(3, out=out),
    "ones": lambda torch, out: torch.ones(3, out=out),
    "full": lambda torch, out: torch.full((3,), 2.5, out=out),
    "arange": lambda torch, out: torch.arange(3, out=out),
    "linspace": lambda torch, out: torch.linspace(0, 1, 3, out=out),
    "logspace": lambda torch, out: torch.logspace(0, 1, 3, out=out),
    "range": lambda torch, out: torch.range(1, 3, out=out),
}


@pytest.mark.parametrize("name", FILLED)
def test_what_is_made_under_a_mode_is_written_where_it_is_to_go(torch, name):
    ours, theirs = compat.full((3,), 7.0), torch.full((3,), 7.0)
    with Looking():
        assert FILLED[name](compat, ours) is ours
    FILLED[name](torch, theirs)
    assert_close([ours], [theirs])


UNNAMED = {
    "the rank of a matrix": lambda x, y: compat.linalg.matrix_rank(x),
    "von Mises": lambda x, y: compat.distributions.VonMises(x, y).sample(),
    "gamma": lambda x, y: compat.distributions.Gamma(x, y).rsample().sum(),
    "dirichlet": lambda x, y: compat.distributions.Dirichlet(y).rsample()[0].sum(),
    "binomial": lambda x, y: compat.binomial(y.detach(), x.detach()),
    "cofactors": lambda x, y: compat.linalg.det(x @ y.t()),
    "lu": lambda x, y: sum(each.sum() for each in compat.linalg.lu(x @ y.t())),
    "lu_factor_ex": lambda x, y: compat.linalg.lu_factor_ex(x @ y.t())[0].sum(),
    "cholesky_ex": lambda x, y: compat.linalg.cholesky_ex(y @ y.t())[0].sum(),
    "solve_ex": lambda x, y: compat.linalg.solve_ex(x @ y.t(), x)[0].sum(),
    "trace": lambda x, y: x.trace() ** 2,
    "logsumexp": lambda x, y: x.logsumexp(1).sum(),
    "masked_scatter": lambda x, y: x.masked_scatter(x > 0.2, y).sum(),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_parts_of_adjoints_own_are_not_seen(name):
    def program(library, x, y):
        answer = UNNAMED[name](x, y)
        return answer + 0 * x.sum() if answer.is_floating_point() else x.sum()

    for recorded in (False, name not in ("gamma", "dirichlet")):  # which have no second one
        assert unknown_names(program, compat.float32, recorded) == []


def test_what_is_drawn_around_tensors_has_a_history(torch):
    for library, mode in ((compat, Looking()), (torch, None)):
        x = library.ones(3, requires_grad=True)
        with mode or library.enable_grad():
            drawn = library.normal(x, 1.0)
            (grad,) = library.autograd.grad(drawn.sum(), x)
        assert grad.tolist() == [0.0, 0.0, 0.0]
