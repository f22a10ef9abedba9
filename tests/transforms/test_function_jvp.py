"""Functions and custom operators under forward mode, beside PyTorch's."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import library
from adjoint.autograd import forward_ad as fw
from adjoint.func import grad, jvp

torch: Any = pytest.importorskip("torch")
import torch.autograd.forward_ad as torch_fw  # after the check that it is there

BOTH = [(adjoint, fw), (torch, torch_fw)]


def product_of(lib: Any) -> Any:
    """A Function with everything that jvp may use."""

    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any, y: Any, whole: Any) -> Any:
            ctx.save_for_backward(x, y)
            ctx.save_for_forward(x, y)
            ctx.factor = factor
            sizes = (x > 1).long()
            ctx.mark_non_differentiable(sizes)
            return factor * x * y, x + y, sizes

        @staticmethod
        def backward(ctx: Any, on_product: Any, on_sum: Any, on_sizes: Any) -> Any:
            x, y = ctx.saved_tensors
            by_x = ctx.factor * y * on_product + on_sum
            return by_x, None, ctx.factor * x * on_product + on_sum, None

        @staticmethod
        def jvp(ctx: Any, x_t: Any, factor_t: Any, y_t: Any, whole_t: Any) -> Any:
            assert factor_t is None
            assert whole_t is None
            x, y = ctx.saved_tensors
            return ctx.factor * (x_t * y + x * y_t), x_t + y_t, None

    return Product


@pytest.mark.parametrize("which", ["x", "y", "both"])
@pytest.mark.parametrize("needed", [False, True])
def test_jvp(which: str, needed: bool) -> None:
    def program(lib: Any, forward: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=needed)
        y = lib.tensor([3.0, 4.0], requires_grad=needed)
        whole = lib.tensor([1, 2])
        with forward.dual_level():
            a = forward.make_dual(x, lib.tensor([0.5, 0.25])) if which != "y" else x
            b = forward.make_dual(y, lib.tensor([2.0, 8.0])) if which != "x" else y
            product, total, sizes = product_of(lib).apply(a, 2.0, b, whole)
            assert forward.unpack_dual(sizes).tangent is None
            answers = [*forward.unpack_dual(product), *forward.unpack_dual(total)]
            if needed:
                tangent = forward.unpack_dual(product).tangent
                answers += lib.autograd.grad(tangent.sum(), (x, y), retain_graph=True)
                for found in lib.autograd.grad((product * total).sum(), (x, y)):
                    answers += forward.unpack_dual(found)
            return [each.tolist() for each in answers]

    ours, theirs = (program(lib, forward) for lib, forward in BOTH)
    np.testing.assert_allclose(ours, theirs)


def test_changed_in_place() -> None:
    def program(lib: Any, forward: Any) -> Any:
        class Doubled(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def jvp(ctx: Any, x_t: Any) -> Any:
                return x_t.mul_(2)

        with forward.dual_level():
            x = forward.make_dual(lib.ones(2), lib.tensor([1.0, 3.0])).clone()
            view = x[1:]
            out = Doubled.apply(x)
            assert out is x
            return [t.tolist() for each in (out, view) for t in forward.unpack_dual(each)]

    ours, theirs = (program(lib, forward) for lib, forward in BOTH)
    assert ours == theirs


def test_views() -> None:
    def program(lib: Any, forward: Any) -> Any:
        class First(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x[:2], x

            @staticmethod
            def jvp(ctx: Any, x_t: Any) -> Any:
                return x_t[:2], x_t.view_as(x_t)

        with forward.dual_level():
            x = forward.make_dual(lib.ones(3), lib.tensor([1.0, 3.0, 5.0]))
            outs = First.apply(x)
            return [t.tolist() for each in outs for t in forward.unpack_dual(each)]

    ours, theirs = (program(lib, forward) for lib, forward in BOTH)
    assert ours == theirs


def answering(lib: Any, answer: Any) -> Any:
    """A Function whose jvp answers what it is given to answer."""

    class Answering(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def jvp(ctx: Any, x_t: Any) -> Any:
            return answer(x_t)

    return Answering


@pytest.mark.parametrize(
    "answer",
    [lambda t: (t, t), lambda t: t[:1], lambda t: 3.0],
    ids=["too many", "another shape", "no tensor"],
)
def test_wrong_answers(answer: Any) -> None:
    for lib, forward in BOTH:
        with forward.dual_level(), pytest.raises((RuntimeError, TypeError)):
            answering(lib, answer).apply(forward.make_dual(lib.ones(2), lib.ones(2)))


def test_no_tangent_of_an_output() -> None:
    with fw.dual_level():
        out = answering(adjoint, lambda t: None).apply(
            fw.make_dual(adjoint.ones(2), adjoint.ones(2))
        )
        assert fw.unpack_dual(out).tangent is None


def test_without_jvp() -> None:
    for lib, forward in BOTH:

        class Plain(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

        with forward.dual_level(), pytest.raises(RuntimeError, match="must implement the jvp"):
            Plain.apply(forward.make_dual(lib.ones(2), lib.ones(2)))


def test_in_nested_transforms() -> None:
    product = product_of(adjoint)
    x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64)
    y = adjoint.tensor([3.0, 4.0], dtype=adjoint.float64)

    def f(a: Any) -> Any:
        out = product.apply(a, 2.0, y * a, None)
        return out[0].sum() + (out[1] ** 2).sum()

    def g(a: Any) -> Any:
        return (2.0 * a * (y * a)).sum() + ((a + y * a) ** 2).sum()

    direction = adjoint.tensor([0.3, 0.7], dtype=adjoint.float64)
    programs = [
        lambda h: jvp(h, (x,), (direction,))[1],
        lambda h: jvp(lambda z: jvp(h, (z,), (direction,))[1], (x,), (direction,))[1],
        lambda h: jvp(grad(h), (x,), (direction,))[1],
        lambda h: grad(lambda z: jvp(h, (z,), (direction,))[1])(x),
    ]
    for program in programs:
        np.testing.assert_allclose(program(f).tolist(), program(g).tolist())


def test_custom_operators_go_through_their_formula() -> None:
    with fw.dual_level():

        @library.custom_op("forward_test::cube", mutates_args=())
        def cube(x: adjoint.Tensor) -> adjoint.Tensor:
            return x * x * x

        with pytest.raises(NotImplementedError, match="does not support it"):
            cube(fw.make_dual(adjoint.ones(2), adjoint.ones(2)))

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        def backward(ctx: Any, on_cube: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * on_cube

        cube.register_autograd(backward, setup_context=setup)
        x = adjoint.tensor([1.0, 2.0], requires_grad=True)
        out = cube(fw.make_dual(x, adjoint.tensor([1.0, 0.5])))
        assert fw.unpack_dual(out).primal.tolist() == [1.0, 8.0]
        assert fw.unpack_dual(out).tangent.tolist() == [3.0, 6.0]
        (found,) = adjoint.autograd.grad(out.sum(), x)
        assert fw.unpack_dual(found).primal.tolist() == [3.0, 12.0]
        assert fw.unpack_dual(found).tangent.tolist() == [6.0, 6.0]
