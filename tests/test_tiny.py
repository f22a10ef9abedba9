"""The smoke test: everything once, in two seconds. What fails here fails everywhere."""

import numpy as np
import pytest

from adjoint import Tensor, autograd
from adjoint.autograd.node import AccumulateGrad
from adjoint.tensors.tensor import AS_IS
from adjoint.testing import check_second_order, check_vjp, make_tensor


def leaf(*values: float) -> Tensor:
    """A vector that requires grad."""
    return Tensor(np.array(values, np.float64), AS_IS).requires_grad_()


def test_backward_fills_grad() -> None:
    x = leaf(1, 2, 3)
    autograd.backward((x * x).sum())
    assert x.grad.tolist() == [2, 4, 6]


def test_backward_adds_to_grad() -> None:
    x = leaf(1)
    for _ in range(2):
        autograd.backward((3 * x).sum())
    assert x.grad.tolist() == [6]


def test_grad_returns_gradients_and_touches_nothing() -> None:
    x, y = leaf(2), leaf(5)
    gx, gy = autograd.grad((x * y).sum(), (x, y))
    assert (gx.item(), gy.item(), x.grad) == (5, 2, None)


def test_derivatives_of_derivatives() -> None:
    x = leaf(2)
    (first,) = autograd.grad((x * x * x).sum(), x, create_graph=True)
    (second,) = autograd.grad(first.sum(), x, create_graph=True)
    (third,) = autograd.grad(second.sum(), x)
    assert (first.item(), second.item(), third.item()) == (12, 12, 6)


def test_broadcasting_is_undone() -> None:
    x, y = make_tensor(3, 1, requires_grad=True), make_tensor(4, requires_grad=True)
    gx, gy = autograd.grad((x * y).sum(), (x, y))
    assert (gx.shape, gy.shape) == ((3, 1), (4,))


def test_a_product_of_matrices() -> None:
    a, b = make_tensor(2, 3, requires_grad=True), make_tensor(3, 4, requires_grad=True)
    autograd.backward((a @ b).sum())
    assert np.allclose(a.grad.numpy_array(), b.numpy_array().sum(1), rtol=1e-5)
    assert b.grad.shape == (3, 4)


def test_a_graph_is_freed_after_use() -> None:
    x = leaf(2)
    loss = x.exp().sum()
    autograd.backward(loss)
    with pytest.raises(RuntimeError, match="second time"):
        autograd.backward(loss)


def test_modes() -> None:
    x = leaf(1)
    with autograd.no_grad():
        assert not (x * 2).requires_grad
        with autograd.enable_grad():
            assert (x * 2).requires_grad
    with autograd.inference_mode():
        assert (x * 2).is_inference()


def test_detach_cuts() -> None:
    x = leaf(3)
    autograd.backward((x * x.detach()).sum())
    assert x.grad.item() == 3


def test_views_share_memory_and_history() -> None:
    x = leaf(1, 2, 3, 4)
    y = x * 1
    view = y.reshape(2, 2)[0]
    view.mul_(10)
    assert y.tolist() == [10, 20, 3, 4]
    autograd.backward(y.sum())
    assert x.grad.tolist() == [10, 10, 1, 1]


def test_indexing_reads_and_writes() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    y[1] = 0
    autograd.backward((y[Tensor(np.array([0, 0, 1]), AS_IS)] + y[-1]).sum())
    assert x.grad.tolist() == [2, 0, 3]


def test_changing_what_backward_needs_is_refused() -> None:
    x = leaf(1)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        autograd.backward(y.sum())
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)


def test_hooks_see_and_replace_gradients() -> None:
    x = leaf(1)
    y = x * 2
    seen: list[float] = []
    y.register_hook(lambda grad: seen.append(grad.item()))
    x.register_hook(lambda grad: grad * 100)
    autograd.backward(y.sum())
    assert (seen, x.grad.item()) == ([1], 200)


def test_the_graph_can_be_walked() -> None:
    x = leaf(1)
    node = (x * 2).sum().grad_fn
    assert node is not None and node.name() == "SumBackward0"
    product = node.next_functions[0][0]
    assert product.name() == "MulBackward0"
    assert isinstance(product.next_functions[0][0], AccumulateGrad)


def test_complex_gradients_point_uphill() -> None:
    z = Tensor(np.array([3 + 4j]), AS_IS).requires_grad_()
    autograd.backward(z.abs().sum())
    assert np.allclose(z.grad.numpy_array(), [0.6 + 0.8j])


def test_integers_are_promoted_and_have_no_gradient() -> None:
    whole = Tensor(np.array([1, 2]), AS_IS)
    assert whole.exp().dtype.name == "float32"
    with pytest.raises(RuntimeError, match="floating point"):
        whole.requires_grad_()


def test_errors_name_the_op_and_the_shapes() -> None:
    with pytest.raises(RuntimeError, match=r"add\(float32\[2\], float32\[3\]\)"):
        make_tensor(2) + make_tensor(3)


def test_finite_differences_agree() -> None:
    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        return [(x * y).tanh().sum(), x.exp()]

    arrays = [np.array([0.3, -0.7]), np.array([[0.5], [1.5]])]
    check_vjp(function, arrays)
    check_second_order(function, arrays)
