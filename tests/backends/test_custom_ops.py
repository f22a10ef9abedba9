"""Custom ops on JAX arrays: kernels by device, formulas, and what may not be shared."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, library
from adjoint.backends import backend_of
from adjoint.tensors.tensor import AS_IS

pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@pytest.fixture(autouse=True)
def undone():
    with library.scoped():
        yield


def arrays(*values: float) -> Tensor:
    return Tensor(jnp.asarray(values, dtype=jnp.float32), AS_IS)


def leaf(*values: float) -> Tensor:
    return arrays(*values).requires_grad_()


def make_cube(device_types: Any = None) -> library.CustomOpDef:
    @library.custom_op("xla::cube", mutates_args=(), device_types=device_types)
    def cube(x: Tensor) -> Tensor:
        return x * x * x

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    cube.register_autograd(
        lambda ctx, grad: 3 * grad * ctx.saved_tensors[0] ** 2, setup_context=setup_context
    )
    cube.register_fake(adjoint.empty_like)
    return cube


def test_forward_and_backward():
    x = leaf(1.0, 2.0)
    y = make_cube()(x)
    assert backend_of(y.array).name == "jax"
    assert (y.tolist(), y.grad_fn.name()) == ([1.0, 8.0], "xla::cubeBackward")
    (g,) = adjoint.autograd.grad(y.sum(), x, create_graph=True)
    assert (g.tolist(), g.device.type) == ([3.0, 12.0], "xla")
    assert adjoint.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]


def test_a_kernel_of_jax_itself():
    @library.custom_op("xla::swish", mutates_args=(), device_types="xla")
    def swish(x: Tensor) -> Tensor:
        return Tensor(x.array / (1 + jnp.exp(-x.array)), AS_IS)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return grad * s * (1 + x * (1 - s))

    swish.register_autograd(
        backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    )
    x, same = leaf(-1.0, 0.5), leaf(-1.0, 0.5)
    swish(x).sum().backward()
    (same * same.sigmoid()).sum().backward()
    np.testing.assert_allclose(np.asarray(x.grad.array), np.asarray(same.grad.array), rtol=1e-5)


def test_kernels_by_device():
    cube = make_cube("cpu")
    assert cube(adjoint.ones(1)).tolist() == [1.0]
    with pytest.raises(NotImplementedError, match="on xla: xla::cube .*only for cpu"):
        cube(arrays(2.0))
    cube.register_kernel("xla", lambda x: x * 10)
    assert cube(arrays(2.0)).tolist() == [20.0]
    assert cube(adjoint.full((1,), 2.0)).tolist() == [8.0]
    with cube.set_kernel_enabled("xla", enabled=False):  # the decorated function steps in
        assert cube(arrays(2.0)).tolist() == [8.0]


def test_a_number_of_the_cpu_does_not_choose_the_kernel():
    @library.custom_op("xla::scale", mutates_args=(), device_types="cpu")
    def scale(by: Tensor, x: Tensor) -> Tensor:
        raise AssertionError("this kernel is for the CPU alone")

    scale.register_kernel("xla", lambda by, x: x * by.item())
    assert scale(adjoint.tensor(3.0), arrays(2.0)).tolist() == [6.0]


def test_several_results_and_lists():
    @library.custom_op("xla::parts", mutates_args=())
    def parts(xs: list[Tensor], k: float = 2.0) -> tuple[list[Tensor], Tensor]:
        return [x * k for x in xs], xs[0] + xs[1]

    parts.register_autograd(
        lambda ctx, grads, grad: ([g * ctx.k + grad for g in grads], None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]),
    )
    a, b = leaf(1.0), leaf(2.0)
    (first, _), both = parts([a, b])
    (first + both).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([3.0], [1.0])


def test_inputs_are_no_results():
    @library.custom_op("xla::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match=r"xla::same.*must not also be an input"):
        same(arrays(1.0))

    @library.custom_op("xla::twice", mutates_args=())
    def twice(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 2
        return y, y

    with pytest.raises(RuntimeError, match=r"xla::twice.*another output"):
        twice(arrays(1.0))


def test_views_are_no_results():
    """A view follows its base even where arrays can't change; a part of an array does not."""

    @library.custom_op("xla::head", mutates_args=())
    def head(x: Tensor) -> Tensor:
        return x[:1]

    x = arrays(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"xla::head.*share memory"):
        head(x)
    head.register_kernel("xla", lambda x: Tensor(x.array[:1], AS_IS))
    y = head(x)
    x.mul_(3)
    assert (x.tolist(), y.tolist()) == ([3.0, 6.0], [1.0])


def test_changes_are_counted():
    @library.custom_op("xla::bump", mutates_args=("x",))
    def bump(x: Tensor) -> None:
        x.add_(1)

    y = leaf(1.0) * 1
    z = (y * y).sum()
    before = y._version
    bump(y)
    assert (y.tolist(), y._version > before) == ([2.0], True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_it_is_kept_by_selective_checkpoint():
    runs = []
    cube = make_cube()
    cube.register_kernel("xla", lambda x: runs.append(1) or x * x * x)
    contexts = adjoint.utils.checkpoint.create_selective_checkpoint_contexts
    x = leaf(0.5)
    for op, count in (([cube], 1), ([], 2)):
        runs.clear()
        out = adjoint.utils.checkpoint.checkpoint(
            lambda x: cube(x.sin()).cos(),
            x,
            use_reentrant=False,
            context_fn=lambda o=op: contexts(o),
        )
        (g,) = adjoint.autograd.grad(out.sum(), x)
        assert len(runs) == count
        expected = adjoint.autograd.grad((x.sin() ** 3).cos().sum(), x)[0]
        np.testing.assert_allclose(np.asarray(g.array), np.asarray(expected.array), rtol=1e-5)


def test_opcheck():
    outcomes = library.opcheck(make_cube(), (leaf(1.0, 2.0),))
    assert set(outcomes.values()) == {"SUCCESS"}
