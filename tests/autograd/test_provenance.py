"""Where nodes and in-place changes were made, as told by nodes, errors and explain."""

import gc
import weakref

import pytest

import adjoint
from adjoint import nn
from adjoint.autograd.graph import is_provenance_enabled, set_provenance_enabled
from adjoint.nn.functional import cross_entropy
from tests.interpreter import fresh_python


def line_of(node):
    """The text of the line that made a node."""
    return node.source().text


@pytest.fixture
def switched_off():
    assert set_provenance_enabled(False) is True
    yield
    set_provenance_enabled(True)


def test_ops_of_every_path_name_the_line_of_the_caller():
    x = adjoint.ones(2, 3, requires_grad=True)
    unary = x.tanh()
    binary = x * x
    number = 2 * x
    matrix = x @ x.T
    general = adjoint.addcmul(x, x, x)
    several = adjoint.unbind(x)[0]
    composite = cross_entropy(x, adjoint.tensor([0, 1]))
    indexed = x[0, 1]
    changed = x.clone()
    changed += 1
    made = [unary, binary, number, matrix, general, several, composite, indexed]
    names = ["unary", "binary", "number", "matrix", "general", "several", "composite", "indexed"]
    for tensor, name in zip(made, names, strict=True):
        assert line_of(tensor.grad_fn).startswith(f"{name} =")
        source = tensor.grad_fn.source()
        assert source.filename == __file__
        assert source.function.endswith("test_ops_of_every_path_name_the_line_of_the_caller")
    assert line_of(changed.grad_fn) == "changed += 1"


def test_functions_name_the_line_of_apply():
    class Double(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = adjoint.ones(2, requires_grad=True)
    result = Double.apply(x)
    assert line_of(result.grad_fn) == "result = Double.apply(x)"


def test_an_error_in_backward_names_the_line_and_the_module():
    class Inner(nn.Module):
        def forward(self, x):
            y = x.exp()
            y.register_hook(self.fail)
            return y

        def fail(self, grad):
            raise ValueError("mine")

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Inner()])

        def forward(self, x):
            return self.blocks[0](x)

    x = adjoint.ones(2, requires_grad=True)
    net = Outer()
    out = net(x)
    with pytest.raises(ValueError, match="mine") as caught:
        out.sum().backward()
    (note,) = caught.value.__notes__
    assert "ExpBackward0" in note
    assert "fail" in note
    assert "y = x.exp()" in note
    assert "Outer.blocks.0" in note
    assert out.grad_fn.module_path == "Outer.blocks.0"
    assert out.sum().grad_fn.module_path is None


def test_a_changed_saved_tensor_names_both_places():
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    z = y.sin()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace") as caught:
        z.sum().backward()
    text = str(caught.value)
    assert "z = y.sin()" in text.split("saved:")[1].splitlines()[0]
    assert "y.add_(1)" in text.split("changed:")[1].splitlines()[0]


def test_frames_are_not_kept_alive():
    class Thing:
        pass

    def make():
        local = Thing()
        result = adjoint.ones(1, requires_grad=True) * 2
        return weakref.ref(local), result

    gc.disable()
    try:
        reference, result = make()
        assert reference() is None
        assert result.grad_fn.source().function.endswith("make")
    finally:
        gc.enable()


def test_modules_are_not_kept_alive():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2

    net = Net()
    out = net(adjoint.ones(1, requires_grad=True))
    assert out.grad_fn.module_path == "Net"
    reference = weakref.ref(net)
    del net
    gc.collect()
    assert reference() is None
    assert out.grad_fn.module_path is None


def test_it_can_be_switched_off(switched_off):
    assert not is_provenance_enabled()
    x = adjoint.ones(1, requires_grad=True)
    y = x * 2
    assert y.grad_fn.source() is None
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        y.backward()
    (note,) = caught.value.__notes__
    assert "its forward" not in note


def test_changes_of_views_have_lines_too():
    x = adjoint.ones(3, requires_grad=True)
    y = x * 2
    y[0].mul_(3)
    assert y.grad_fn.name() == "CopySlices"
    assert line_of(y.grad_fn) == "y[0].mul_(3)"
    z = x * 2
    z.eq_(1)
    assert z.grad_fn.name() == "EqBackward0"
    assert line_of(z.grad_fn) == "z.eq_(1)"


def test_ops_that_no_python_calls(tmp_path):
    program = (
        "import _thread, time, adjoint; x = adjoint.ones(2, requires_grad=True); "
        "_thread.start_new_thread(adjoint.tanh, (x,)); time.sleep(0.1); print('done')"
    )
    assert fresh_python("-c", program, cwd=tmp_path).split() == ["done"]


@pytest.mark.parametrize("kind", ["SGD", "Adam", "LBFGS", "Adagrad"])
@pytest.mark.parametrize("size", [1, 20], ids=["one", "many"])
def test_a_step_of_an_optimizer_is_a_change_with_its_line(kind, size):
    parameters = [adjoint.nn.Parameter(adjoint.ones(3)) for _ in range(size)]
    with adjoint.no_grad():
        for parameter in parameters:
            parameter.add_(1)  # the line that must not be named
    optimizer = getattr(adjoint.optim, kind)(parameters, lr=0.1)
    loss = sum((parameter * parameter).sum() for parameter in parameters)
    loss.backward(retain_graph=True)
    optimizer.step(lambda: loss.detach())  # this line
    with pytest.raises(RuntimeError, match=r"changed: .*# this line"):
        loss.backward()
