"""A program that only computes has a short form of its call: it notices what the long one does."""

import numpy as np
import pytest

import adjoint
from adjoint.nn.module_hooks import register_module_forward_hook

pytest.importorskip("jax")

FACTOR = 2.0


class Case:
    """A gradient by a tensor on XLA, compiled, and called until its short form is taken."""

    def __init__(self):
        self.x = x = adjoint.arange(3.0).to("xla").requires_grad_()
        shift = 1.0

        def gradient():
            return adjoint.autograd.grad((x * x * FACTOR + shift * x).sum(), [x])

        def set_shift(value):
            nonlocal shift
            shift = value

        self.set_shift = set_shift
        self.plain, self.compiled = gradient, adjoint.compile(gradient)
        for _ in range(4):
            self.compiled()
        (signature,) = self.compiled.signatures.values()
        assert signature.programs[0].repeated is not None
        assert signature.programs[0].repeated.results() is not None

    def agrees(self):
        """Whether it computes what the function does, twice."""
        expected = np.array(self.plain()[0].cpu())
        for _ in range(3):
            np.testing.assert_allclose(np.array(self.compiled()[0].cpu()), expected, rtol=1e-6)


def test_each_call_answers_new_tensors():
    case = Case()
    first, second = case.compiled(), case.compiled()
    assert type(first) is tuple
    assert first[0] is not second[0]
    first[0].zero_()
    case.agrees()


def test_a_tensor_that_changed():
    case = Case()
    with adjoint.no_grad():
        case.x += 1
    case.agrees()
    case.x.data = adjoint.ones(3).to("xla")
    case.agrees()
    case.x.data = adjoint.ones(5).to("xla")
    case.agrees()


def test_a_name_that_means_another_value(monkeypatch):
    case = Case()
    case.set_shift(5.0)
    case.agrees()
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    case.agrees()
    case.set_shift(float("5.0"))  # an equal one
    case.agrees()


def test_a_hook_of_a_tensor_is_called():
    case = Case()
    heard = []
    handle = case.x.register_hook(heard.append)
    case.agrees()
    assert len(heard) >= 4
    handle.remove()
    case.agrees()


def test_a_hook_of_all_modules_is_looked_for():
    case = Case()
    (signature,) = case.compiled.signatures.values()
    short = signature.programs[0].repeated
    with register_module_forward_hook(lambda *given: None):
        assert short.results() is None
        case.agrees()
    assert short.results() is not None
    case.agrees()


def test_whether_a_gradient_is_needed():
    case = Case()
    case.x.requires_grad_(False)
    with pytest.raises(RuntimeError):
        case.compiled()
    case.x.requires_grad_()
    case.agrees()


def test_inside_other_modes():
    case = Case()
    with adjoint.no_grad(), pytest.raises(RuntimeError):
        case.compiled()
    case.agrees()
    before = adjoint.get_default_dtype()
    try:
        adjoint.set_default_dtype(adjoint.float64)
        case.agrees()
    finally:
        adjoint.set_default_dtype(before)
    case.agrees()
