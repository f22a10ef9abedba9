"""A program that only computes has a short form of its call: it notices what the long one does."""

import gc
import threading
import weakref

import numpy as np
import pytest

import adjoint
from adjoint.nn.module_hooks import register_module_forward_hook
from adjoint.tensors.core import ABSENT

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
        (program,) = signature.programs
        assert program.repeated is not None
        assert program.repeated.answer(program, ()) is not ABSENT

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
    (program,) = signature.programs
    short = program.repeated
    with register_module_forward_hook(lambda *given: None):
        assert short.answer(program, ()) is ABSENT
        case.agrees()
    assert short.answer(program, ()) is not ABSENT
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


def scaled(x, by=2.0, *, plus=0.0):
    return x * by + plus


def scaled_otherwise(x, by=3.0, *, plus=0.5):
    return x * by - plus


def called_often(function):
    """A compiled function that has taken its short form."""
    compiled = adjoint.compile(function)
    for _ in range(4):
        compiled()
    (signature,) = compiled.signatures.values()
    (program,) = signature.programs
    assert program.repeated.answer(program, ()) is not ABSENT
    return compiled


@pytest.mark.parametrize("part", ["__code__", "__defaults__", "__kwdefaults__"])
def test_a_function_of_other_code_or_defaults(monkeypatch, part):
    x = adjoint.arange(3.0).to("xla")
    compiled = called_often(lambda: scaled(x))
    monkeypatch.setattr(scaled, part, getattr(scaled_otherwise, part))
    for _ in range(3):
        assert compiled().tolist() == scaled(x).tolist()
    monkeypatch.undo()
    for _ in range(3):
        assert compiled().tolist() == [0, 2, 4]


def test_a_variable_around_it_that_is_deleted():
    x = adjoint.ones(2).to("xla")
    factor = 3.0

    def delete():
        nonlocal factor
        del factor

    compiled = called_often(lambda: x * factor)
    delete()
    with pytest.raises(NameError, match="factor"):
        compiled()
    factor = 4.0
    assert compiled().tolist() == [4, 4]


def test_an_attribute_of_an_object():
    class Scale:
        by = 2.0

    x, scale = adjoint.ones(2).to("xla"), Scale()
    compiled = called_often(lambda: x * scale.by)
    scale.by = 5.0
    assert compiled().tolist() == [5, 5]
    del scale.by
    Scale.by = 7.0
    assert compiled().tolist() == [7, 7]


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x + 1, lambda one, two: one),
        (lambda x: (x + 1, x + 2), lambda one, two: (one, two)),
        (lambda x: (x + 2, x + 1), lambda one, two: (two, one)),
        (lambda x: [x + 1], lambda one, two: [one]),
        (lambda x: {"a": x + 1, "b": (x + 2, 3)}, lambda one, two: {"a": one, "b": (two, 3)}),
        (lambda x: (x + 1, x), lambda one, two: (one, [0, 1, 2])),
    ],
)
def test_each_kind_of_answer(function, shape):
    x = adjoint.arange(3.0).to("xla")
    compiled = called_often(lambda: function(x))
    lists = adjoint.pytree.tree_map(
        lambda each: each.tolist() if isinstance(each, adjoint.Tensor) else each, compiled()
    )
    assert lists == shape([1, 2, 3], [2, 3, 4])


def test_one_tensor_that_is_answered_twice_is_one():
    x = adjoint.arange(3.0).to("xla")

    def twice():
        made = x + 1
        return made, made

    one, other = called_often(twice)()
    assert one is other


def test_threads_call_it_at_once():
    x = adjoint.arange(1000.0).to("xla")
    compiled = called_often(lambda: (x * 2).sum())
    wrong = []

    def call_often():
        for _ in range(200):
            if compiled().item() != 999_000:
                wrong.append(threading.current_thread().name)

    threads = [threading.Thread(target=call_often) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_a_program_of_another_limit_is_let_go():
    x = adjoint.arange(3.0).to("xla").requires_grad_()
    compiled = adjoint.compile(lambda: adjoint.autograd.grad((x * x).sum(), x)[0], limit=1)
    for _ in range(4):
        compiled()
    (signature,) = compiled.signatures.values()
    program = weakref.ref(signature.programs.pop())
    x.register_hook(lambda grad: grad + 1)
    with pytest.warns(UserWarning, match="limit"):
        assert compiled().tolist() == [1, 3, 5]
    del signature
    gc.collect()
    assert program() is None
