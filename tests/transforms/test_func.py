"""func: transforms of functions, in any nesting, against finite sums, loops and PyTorch."""

import copy
import gc
import math
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, func, nn
from adjoint.call.layers import change_tracking
from adjoint.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

LAST = adjoint.channels_last
RNG = np.random.default_rng(0)


def numbers(*shape: int) -> Tensor:
    """Doubles that no test changes."""
    return adjoint.tensor(RNG.normal(size=shape))


def assert_close(got: Any, expected: Any) -> None:
    """Two tensors or arrays, to rounding."""
    got = got.detach().numpy() if isinstance(got, Tensor) else got
    expected = expected.detach().numpy() if isinstance(expected, Tensor) else expected
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def cube(x: Any) -> Any:
    """A function whose derivatives are easy to say."""
    return (x**3).sum()


def mixed(x: Any, w: Any) -> Any:
    """One of two arguments, with a matrix, a reduction and a bend."""
    return (w @ x).tanh().sum() + (x * x).mean()


class TestGradients:
    def test_grad(self) -> None:
        x = numbers(4)
        assert_close(grad(cube)(x), 3 * x.numpy() ** 2)
        assert x.grad is None and not x.requires_grad

    def test_the_value_comes_along(self) -> None:
        x = numbers(4)
        slope, value = grad_and_value(cube)(x)
        assert_close(slope, 3 * x.numpy() ** 2)
        assert_close(value, (x.numpy() ** 3).sum())
        assert not value.requires_grad and not slope.requires_grad

    @pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0), -1])
    def test_argnums(self, argnums: Any) -> None:
        x, w = numbers(3), numbers(2, 3)
        leaves = (x.clone().requires_grad_(), w.clone().requires_grad_())
        expected = adjoint.autograd.grad(mixed(*leaves), leaves)
        found = grad(mixed, argnums)(x, w)
        if isinstance(argnums, tuple):
            for number, each in zip(argnums, found, strict=True):
                assert_close(each, expected[number])
        else:
            assert_close(found, expected[argnums])

    def test_structures(self) -> None:
        x = {"a": numbers(3), "b": [numbers(2), numbers(1)]}
        found = grad(lambda t: cube(t["a"]) + cube(t["b"][0]))(x)
        assert_close(found["a"], 3 * x["a"].numpy() ** 2)
        assert_close(found["b"][0], 3 * x["b"][0].numpy() ** 2)
        assert_close(found["b"][1], np.zeros(1))

    def test_aux(self) -> None:
        x = numbers(3)
        slope, (value, aux) = grad_and_value(lambda t: (cube(t), {"twice": t * 2}), has_aux=True)(x)
        assert_close(slope, 3 * x.numpy() ** 2)
        assert_close(value, cube(x))
        assert_close(aux["twice"], 2 * x.numpy())
        assert not aux["twice"].requires_grad

    def test_a_hundred_derivatives_of_each_other(self) -> None:
        """Each of grad, jvp, jacrev, jacfwd of each other, three deep, of x⁴ at a number."""

        def by_jvp(f: Callable[..., Any]) -> Callable[..., Any]:
            return lambda x: jvp(f, (x,), (adjoint.ones_like(x),))[1]

        def by_vjp(f: Callable[..., Any]) -> Callable[..., Any]:
            return lambda x: vjp(f, x)[1](adjoint.ones_like(x))[0]

        def by_vmap(f: Callable[..., Any]) -> Callable[..., Any]:
            return lambda x: vmap(grad(f))(x.expand(2))[0]

        ways = [grad, by_jvp, by_vjp, jacrev, jacfwd, by_vmap]
        x = adjoint.tensor(1.7, dtype=adjoint.float64)
        for first in ways:
            for second in ways:
                assert_close(second(first(lambda t: t**4))(x), 12 * 1.7**2)
                for third in ways:
                    assert_close(third(second(first(lambda t: t**4)))(x), 24 * 1.7)

    def test_outside_parameters_keep_their_gradients(self) -> None:
        w = numbers(3).requires_grad_()
        x = numbers(3)
        slope = grad(lambda t: (t * t * w).sum())(x)
        slope.sum().backward()
        assert_close(w.grad, 2 * x.numpy())

    def test_under_backward(self) -> None:
        x = numbers(3).requires_grad_()
        grad(cube)(x).sum().backward()
        assert_close(x.grad, 6 * x.detach().numpy())

    def test_modes_outside(self) -> None:
        x = numbers(3).requires_grad_()
        with adjoint.no_grad():
            slope = grad(cube)(x)
        assert_close(slope, 3 * x.detach().numpy() ** 2)
        assert not slope.requires_grad
        with adjoint.inference_mode():
            assert_close(grad(cube)(x), 3 * x.detach().numpy() ** 2)
        assert not adjoint.is_inference_mode_enabled()

    def test_no_grad_inside(self) -> None:
        def f(x: Any) -> Any:
            with adjoint.no_grad():
                constant = (x * x).sum()
            return constant * x.sum()

        x = numbers(3)
        assert_close(grad(f)(x), np.full(3, (x.numpy() ** 2).sum()))

    def test_vjp(self) -> None:
        x, w = numbers(3), numbers(2, 3)
        output, pull = vjp(lambda a, b: (b @ a).tanh(), x, w)
        v = numbers(2)
        dx, dw = pull(v)
        slope = (1 - output.numpy() ** 2) * v.numpy()
        assert_close(dx, w.numpy().T @ slope)
        assert_close(dw, np.outer(slope, x.numpy()))
        again = pull(v)
        assert_close(again[0], dx)

    @pytest.mark.parametrize(("create_graph", "factor"), [(None, 6), (True, 6), (False, 0)])
    def test_a_pullback_is_recorded_as_asked(self, create_graph: Any, factor: int) -> None:
        def slope(x: Any) -> Any:
            _, pull = vjp(lambda a: a**3, x)
            return pull(adjoint.ones_like(x), create_graph=create_graph)[0].sum()

        x = numbers(3)
        assert_close(grad(slope)(x), factor * x.numpy())
        _, pull = vjp(lambda a: a**3, x)
        (alone,) = pull(adjoint.ones_like(x), create_graph=create_graph)
        assert not alone.requires_grad

    def test_nothing_stays_alive(self) -> None:
        alive = []

        def f(x: Any) -> Any:
            y = (x * x).tanh()
            alive.append(weakref.ref(y))
            return y.sum()

        gc.disable()
        try:
            grad(f)(numbers(3))
            vmap(grad(f))(numbers(4, 3))
            jvp(f, (numbers(3),), (numbers(3),))
            hessian(f)(numbers(3))
            assert [reference() for reference in alive] == [None] * len(alive)
        finally:
            gc.enable()


class TestForward:
    def test_jvp(self) -> None:
        x, t = numbers(3), numbers(3)
        value, tangent = jvp(lambda a: (a * a).sin(), (x,), (t,))
        assert_close(value, np.sin(x.numpy() ** 2))
        assert_close(tangent, np.cos(x.numpy() ** 2) * 2 * x.numpy() * t.numpy())

    def test_what_does_not_depend(self) -> None:
        x, y = numbers(3), numbers(2)
        _, tangent = jvp(lambda a: y, (x,), (x,))
        assert_close(tangent, np.zeros(2))
        with pytest.raises(RuntimeError, match="strict"):
            jvp(lambda a: y, (x,), (x,), strict=True)

    def test_linearize(self) -> None:
        x, w = numbers(3), numbers(2, 3)
        calls = []

        def f(a: Any, b: Any) -> Any:
            calls.append(1)
            return (b @ a).tanh()

        value, push = linearize(f, x, w)
        for _ in range(3):
            tangents = (numbers(3), numbers(2, 3))
            assert_close(push(*tangents), jvp(f, (x, w), tangents)[1])
        assert_close(value, np.tanh(w.numpy() @ x.numpy()))
        assert len(calls) == 1 + 3

    def test_the_primal_is_computed_once(self) -> None:
        calls = []

        @adjoint.library.custom_op("transforms::counted", mutates_args=())
        def counted(x: Tensor) -> Tensor:
            calls.append(x.shape)
            return x.sin()

        counted.register_autograd(
            lambda ctx, g: g * ctx.x.cos(),
            setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]),
        )
        x, t = numbers(3), numbers(3)
        assert_close(jvp(counted, (x,), (t,))[1], np.cos(x.numpy()) * t.numpy())
        assert calls == [(3,)]


class TestJacobians:
    @pytest.mark.parametrize("way", [jacrev, jacfwd])
    def test_of_a_matrix(self, way: Any) -> None:
        x, w = numbers(3), numbers(2, 3)
        jacobian = way(lambda a: (w @ a).tanh())(x)
        slope = 1 - np.tanh(w.numpy() @ x.numpy()) ** 2
        assert_close(jacobian, slope[:, None] * w.numpy())

    @pytest.mark.parametrize("way", [jacrev, jacfwd])
    def test_structures(self, way: Any) -> None:
        x, y = numbers(3), numbers(2)

        def f(a: Any, b: Any) -> Any:
            return {"outer": a[:, None] * b, "sum": a.sum()}

        found = way(f, (0, 1))(x, y)
        assert_close(found["outer"][0], np.einsum("ik,j->ijk", np.eye(3), y.numpy()))
        assert_close(found["outer"][1], np.einsum("i,jk->ijk", x.numpy(), np.eye(2)))
        assert_close(found["sum"][0], np.ones(3))
        assert_close(found["sum"][1], np.zeros(2))

    @pytest.mark.parametrize("chunk_size", [1, 2, 5, 100])
    @pytest.mark.parametrize("way", [jacrev, jacfwd])
    def test_chunks(self, way: Any, chunk_size: int) -> None:
        x = numbers(2, 3)
        f = lambda a: (a.exp() * a.sum()).reshape(-1)
        assert_close(way(f, chunk_size=chunk_size)(x), way(f)(x))

    def test_of_nothing(self) -> None:
        assert jacrev(lambda a: a * 2)(numbers(0, 2)).shape == (0, 2, 0, 2)

    def test_hessian(self) -> None:
        x, w = numbers(3), numbers(2, 3)
        found = hessian(mixed)(x, w)
        slopes = jacrev(jacrev(mixed))(x, w)
        assert_close(found, slopes)
        assert_close(found, found.numpy().T)

    def test_vmap_of_hessian(self) -> None:
        xs, w = numbers(4, 3), numbers(2, 3)
        found = vmap(hessian(mixed), (0, None))(xs, w)
        assert_close(found, np.stack([hessian(mixed)(x, w).numpy() for x in xs]))

    def test_complex_numbers_are_refused_by_name(self) -> None:
        with pytest.raises(RuntimeError, match="jacrev.*real"):
            jacrev(lambda a: a)(numbers(2).to(adjoint.complex128))
        with pytest.raises(RuntimeError, match="jacfwd.*outputs.*real"):
            jacfwd(lambda a: a * 1j)(numbers(2))


class TestVmap:
    def test_dims(self) -> None:
        x, y = numbers(4, 3), numbers(3, 4)
        assert_close(vmap(lambda a, b: a * b, (0, 1))(x, y), x.numpy() * y.numpy().T)
        assert_close(vmap(lambda a: a * 2, 0, 1)(x), 2 * x.numpy().T)
        assert_close(vmap(lambda a: a * 2, -1, -1)(x), 2 * x.numpy())
        assert_close(vmap(lambda a, b: a + b, (0, None))(x, y[:, 0]), x.numpy() + y.numpy()[:, 0])

    def test_structures(self) -> None:
        tree = {"a": numbers(4, 3), "b": (numbers(2, 4), 3)}
        out = vmap(
            lambda t: {"sum": t["a"] + t["b"][0].sum() * t["b"][1]}, ({"a": 0, "b": (1, None)},)
        )(tree)
        sums = 3 * tree["b"][0].numpy().sum(0)
        assert_close(out["sum"], tree["a"].numpy() + sums[:, None])

    def test_nested(self) -> None:
        x, y = numbers(3), numbers(4)
        assert_close(vmap(lambda a: vmap(lambda b: a * b)(y))(x), np.outer(x.numpy(), y.numpy()))

    @pytest.mark.parametrize("chunk_size", [1, 2, 3, 7])
    def test_chunks(self, chunk_size: int) -> None:
        x = numbers(7, 3)
        seen = []

        def f(a: Any) -> Any:
            seen.append(1)
            return a.sum()

        assert_close(vmap(f, chunk_size=chunk_size)(x), x.numpy().sum(1))
        assert len(seen) == math.ceil(7 / chunk_size)

    def test_results_that_are_the_same_for_all(self) -> None:
        x, y = numbers(4, 3), numbers(2)
        assert_close(vmap(lambda a: y)(x), np.stack([y.numpy()] * 4))
        assert_close(vmap(lambda a: y, out_dims=None)(x), y)
        with pytest.raises(ValueError, match="out_dim is None"):
            vmap(lambda a: a, out_dims=None)(x)

    def test_changes_in_place(self) -> None:
        x, y = numbers(4, 3), numbers(4)

        def f(a: Any, b: Any) -> Any:
            c = a.clone()
            c += b
            c[0] = b
            c[1:].mul_(2)
            return c

        expected = np.stack([f(a, b).numpy() for a, b in zip(x, y)])
        assert_close(vmap(f)(x, y), expected)

    def test_a_tensor_for_all_can_not_be_changed_by_each(self) -> None:
        total = numbers(3)
        before = total.numpy().copy()
        with pytest.raises(RuntimeError, match=r"add_\(\).*one for all"):
            vmap(lambda a: total.add_(a))(numbers(4, 3))
        assert_close(total, before)

    @pytest.mark.parametrize(
        ("read", "name"),
        [(bool, "bool"), (float, "item"), (lambda a: a.item(), "item"), (np.asarray, "read")],
    )
    def test_values_can_not_be_read(self, read: Any, name: str) -> None:
        with pytest.raises(RuntimeError, match="can't be read"):
            vmap(read)(numbers(4))

    def test_promotion_is_that_of_one_element(self) -> None:
        x = adjoint.ones(4, 3, dtype=adjoint.float32)
        factors = adjoint.ones(4, dtype=adjoint.float64)
        assert vmap(lambda a, b: a * b)(x, factors).dtype is adjoint.float32

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda x: vmap(adjoint.sin, (0, 0))(x), "in_dims is not compatible"),
            (lambda x: vmap(adjoint.sin, "0")(x), "expected `in_dims` to be int"),
            (lambda x: vmap(adjoint.sin, [0])(x), "expected `in_dims` to be int"),
            (lambda x: vmap(sum, ((0, 0),))([x, x]), "in_dims is not compatible"),
            (lambda x: vmap(lambda a: [a, a], out_dims=(0, 0))(x), "out_dims is not"),
            (lambda x: vmap(lambda a: adjoint.cat([a, a], 2))(x), "range.*2"),
            (lambda x: vmap(lambda a: a.clone(memory_format=LAST))(x), "required rank 4"),
            (lambda x: vmap(adjoint.sin, 5)(x), "in_dim=5"),
            (lambda x: vmap(adjoint.sin, None)(x), "expected `in_dims`"),
            (lambda x: vmap(adjoint.sin, (None,))(x), "at least one Tensor"),
            (lambda x: vmap(adjoint.sin)(), "no inputs"),
            (lambda x: vmap(adjoint.add)(x, x[:2]), "same size"),
            (lambda x: vmap(adjoint.add)(x, 3.0), "non-Tensor"),
            (lambda x: vmap(adjoint.sin)(x.sum()), "dimensionality 0"),
            (lambda x: vmap(lambda a: (a, 3))(x), "must only return Tensors"),
            (lambda x: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(x), "out_dims is not"),
            (lambda x: vmap(adjoint.sin, chunk_size=0), "chunk_size"),
            (lambda x: vmap(adjoint.sin, out_dims=7)(x), "out_dim 7"),
        ],
    )
    def test_bad_arguments_are_named(self, call: Any, words: str) -> None:
        with pytest.raises((ValueError, IndexError, RuntimeError), match=words):
            call(numbers(4, 3))

    def test_randomness_must_be_known(self) -> None:
        with pytest.raises(RuntimeError, match="randomness"):
            vmap(adjoint.sin, randomness="often")

    def test_results_that_are_no_tensors_have_no_batch(self) -> None:
        x = numbers(4, 3)
        found = vmap(lambda a: (a * 2, "text"), out_dims=(0, None))(x)
        assert_close(found[0], 2 * x.numpy())
        assert found[1] == "text"
        assert vmap(lambda a: None, out_dims=None)(x) is None

    def test_keywords_have_no_batch(self) -> None:
        x, w = numbers(3), numbers(3)
        found = vmap(lambda a, b, c: a * b + c)(x, b=w, c=1)
        assert_close(found, np.outer(x.numpy(), w.numpy()) + 1)
        with pytest.raises(ValueError, match="got no inputs"):
            vmap(lambda a: a)(a=x)

    def test_chunks_draw_the_same(self) -> None:
        draw = lambda a: a + adjoint.randn(())
        x = adjoint.zeros(6)
        assert len(set(vmap(draw, randomness="same", chunk_size=2)(x).tolist())) == 1
        assert len(set(vmap(draw, randomness="different", chunk_size=2)(x).tolist())) == 6

    @pytest.mark.parametrize("dim", [0, 1, 2])
    def test_patterns_in_memory(self, dim: int) -> None:
        x = numbers(3, 4, 5)
        rows = np.moveaxis(x.numpy(), dim, 0)
        strides = tuple(s // 8 for s in rows.strides[1:])
        turned = lambda a: a.as_strided((rows.shape[2], rows.shape[1]), strides[::-1])
        found = vmap(turned, in_dims=dim)(x)
        assert found._base is x
        assert_close(found, rows.swapaxes(1, 2))
        picked = vmap(lambda a: a.as_strided((2,), strides[1:], strides[1]), in_dims=dim)(x)
        assert_close(picked, rows[:, 0, 1:3])
        summed = lambda a: vmap(turned, in_dims=dim)(a).sum()
        assert_close(grad(summed)(x), np.ones((3, 4, 5)))
        with pytest.raises(RuntimeError, match="outside of `tensor`"):
            vmap(lambda a: a.as_strided((2,), (1,), 10**3), in_dims=dim)(x)

    def test_new_memory_for_each(self) -> None:
        made = vmap(lambda a: a.new_empty_strided((2, 3), (1, 2)).fill_(1).mul_(a))(numbers(4))
        assert made.shape == (4, 2, 3) and made.stride() == (6, 1, 2)
        assert vmap(lambda a: a.new_empty_strided((0, 3), (3, 1)))(numbers(4)).shape == (4, 0, 3)


class TestEscape:
    def test_a_tensor_that_escapes_is_refused_with_its_line(self) -> None:
        kept = []

        def f(a: Any) -> Any:
            kept.append(a * 2)  # let out
            return a

        vmap(f)(numbers(3))
        with pytest.raises(RuntimeError, match=r"escaped from vmap[\s\S]*# let out"):
            kept[0] + 1
        jvp(f, (numbers(3),), (numbers(3),))
        with pytest.raises(RuntimeError, match=r"escaped from jvp[\s\S]*# let out"):
            kept[1].sin()

    def test_an_error_inside_closes_the_level(self) -> None:
        with pytest.raises(ZeroDivisionError):
            vmap(lambda a: 1 / 0)(numbers(3))
        assert_close(vmap(lambda a: adjoint.ones(2) * a)(numbers(3)).shape, (3, 2))

    def test_a_tensor_from_outside_keeps_its_values_and_its_history(self) -> None:
        x, direction = numbers(), numbers()
        weight = numbers(3).requires_grad_()
        product, total = weight * 2, adjoint.zeros(3, dtype=adjoint.float64)
        part = total[1:]

        def f(a: Any) -> Any:
            product.mul_(a)
            part.add_(a * a)
            return product.sum() + part.sum()

        _, found = jvp(lambda a: jvp(f, (a,), (direction,))[1], (x,), (direction,))
        assert_close(found, 4 * direction.numpy() ** 2)
        assert product.requires_grad
        assert not product.is_leaf
        assert_close(total, x.numpy() ** 2 * np.array([0, 1, 1]))
        assert_close(part, total[1:])
        product.sum().backward()
        assert_close(weight.grad, np.full(3, 2 * x.item()))

    @pytest.mark.parametrize("way", [jacfwd, hessian, grad, func.laplacian])
    def test_running_statistics_remain(self, way: Any) -> None:
        model = nn.BatchNorm1d(2).double()
        x = numbers(4, 2)
        way(lambda a: model(a).square().sum())(x)
        assert_close(model.running_mean, x.numpy().mean(0) / 10)
        model(x).sum().backward()
        assert model.weight.grad is not None


class TestInside:
    """Hooks and backward-style code inside transforms."""

    def test_tensor_hooks(self) -> None:
        x, seen = numbers(4, 3), []

        def f(a: Any) -> Any:
            b = a * 2
            b.register_hook(lambda g: seen.append(g.shape) or g * 10)
            return b.sum()

        assert_close(vmap(grad(f))(x), np.full((4, 3), 20.0))
        assert seen == [(3,)]
        assert_close(grad(f)(x[0]), np.full(3, 20.0))
        assert_close(jvp(grad(lambda a: f(a) + cube(a)), (x[0],), (x[1],))[1], 6 * x[0] * x[1])

    def test_hooks_outside_a_vmap(self) -> None:
        x = numbers(4, 3)
        seen = []

        def f(a: Any) -> Any:
            b = a * 2
            b.register_hook(lambda g: seen.append(tuple(g.shape)))
            return b.sum()

        leaf = x.clone().requires_grad_()
        with pytest.raises(RuntimeError, match="register"):
            vmap(f)(leaf)

    def test_saved_tensor_hooks(self) -> None:
        x = numbers(4, 3)
        packed = []

        def f(a: Any) -> Any:
            hooks = adjoint.autograd.graph.saved_tensors_hooks(
                lambda t: packed.append(t.shape) or t * 1, lambda t: t
            )
            with hooks:
                return (a * a * a).sum()

        assert_close(vmap(grad(f))(x), 3 * x.numpy() ** 2)
        assert packed and all(shape == (3,) for shape in packed)

    def test_checkpoint(self) -> None:
        from adjoint.utils.checkpoint import checkpoint

        x = numbers(4, 3)
        f = lambda a: checkpoint(cube, a, use_reentrant=False)
        assert_close(grad(f)(x[0]), 3 * x[0].numpy() ** 2)
        assert_close(vmap(grad(f))(x), 3 * x.numpy() ** 2)

    def test_backward_inside(self) -> None:
        x = numbers(4, 3)

        def f(a: Any) -> Any:
            leaf = a.detach().requires_grad_()
            cube(leaf).backward()
            return leaf.grad

        assert_close(vmap(f)(x), 3 * x.numpy() ** 2)

    def test_backward_to_a_leaf_outside_is_refused(self) -> None:
        x, w = numbers(4, 3), numbers(3).requires_grad_()

        def f(a: Any) -> Any:
            (a * w).sum().backward()
            return a

        with pytest.raises(RuntimeError, match="func.grad"):
            vmap(f)(x)
        assert w.grad is None

    def test_module_hooks(self) -> None:
        model = nn.Linear(3, 2).double()
        seen = []
        model.register_forward_hook(lambda module, args, output: seen.append(output.shape))
        model.register_full_backward_hook(lambda module, g_in, g_out: seen.append(g_out[0].shape))
        x = numbers(4, 3)
        found = func.per_sample_grad(model, lambda output: (output**2).sum())(x)
        assert found["weight"].shape == (4, 2, 3)
        assert seen[0] == (1, 2) and (1, 2) in seen[1:]

    def test_a_tensor_is_shown_as_it_is(self) -> None:
        texts: list[str] = []

        def f(a: Any) -> Any:
            texts.append(repr(a))
            return a.sum()

        x = adjoint.tensor([[1.0, 2.0]])
        grad(f)(x)
        grad(grad(f))(x[0, 0])
        vmap(grad(f), in_dims=1)(x)
        vmap(vmap(f), in_dims=1)(x)
        grad(lambda a: vmap(f)(a).sum())(x)
        grad(f)(x.requires_grad_())
        inner, number = "tensor([[1., 2.]])", "tensor(1.)"
        assert texts == [
            f"GradTrackingTensor(lvl=1, value={inner})",
            f"GradTrackingTensor(lvl=2, value=GradTrackingTensor(lvl=1, value={number}))",
            f"GradTrackingTensor(lvl=2, value=BatchedTensor(lvl=1, bdim=1, value={inner}))",
            f"BatchedTensor(lvl=2, bdim=0, value=BatchedTensor(lvl=1, bdim=1, value={inner}))",
            f"BatchedTensor(lvl=2, bdim=0, value=GradTrackingTensor(lvl=1, value={inner}))",
            "GradTrackingTensor(lvl=1, value=tensor([[1., 2.]], requires_grad=True))",
        ]

    def test_a_captured_tensor_is_not_changed_by_inputs(self) -> None:
        x, captured = numbers(3), numbers(3)
        before = captured.tolist()

        def f(a: Any) -> Any:
            captured.copy_(a)
            return (a * captured).sum()

        with pytest.raises(RuntimeError, match="grad it would mutate a captured Tensor"):
            grad(f)(x)
        with pytest.raises(RuntimeError, match="vjp it would mutate a captured Tensor"):
            vjp(f, x)
        assert captured.tolist() == before and not captured.requires_grad

    def test_what_the_function_makes_itself_may_change(self) -> None:
        x, kept = numbers(3), None

        def f(a: Any) -> Any:
            nonlocal kept
            kept = adjoint.zeros(3, dtype=a.dtype)
            kept.copy_(a)
            return (a * kept).sum()

        assert_close(grad(f)(x), 2 * x.numpy())

    def test_modes_outside(self) -> None:
        x = numbers().requires_grad_()
        with adjoint.no_grad():
            out, pullback = vjp(lambda a: a**2, x)
            assert not grad(lambda a: a**2)(x).requires_grad
        (y,) = pullback(adjoint.ones_like(x.detach()))
        assert not out.requires_grad and y.requires_grad
        assert_close(adjoint.autograd.grad(y, x)[0], np.array(2.0))
        before = change_tracking(False)
        try:
            assert_close(
                jvp(adjoint.sin, (x.detach(),), (out * 0 + 1,))[1], np.cos(x.detach().numpy())
            )
        finally:
            assert change_tracking(before) is False

    def test_retained_gradients_of_a_batch(self) -> None:
        def f(a: Any) -> Any:
            leaf = a.detach().requires_grad_()
            middle = leaf * 2
            middle.retain_grad()
            cube(middle).backward()
            return middle.grad

        x = numbers(4, 3)
        assert_close(vmap(f)(x), 12 * x.numpy() ** 2)

    def test_rows_one_by_one_see_no_batch(self) -> None:
        class Reading(adjoint.autograd.Function):
            @staticmethod
            def forward(a: Any) -> Any:
                return a * 3

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                assert g.nonzero().shape == (1, 1)
                return g * 3

        x = numbers(3)
        assert_close(jacrev(Reading.apply, chunk_size=1)(x), 3 * np.eye(3))
        several = lambda a: (a**2, a.sum())
        for whole, one in zip(jacrev(several)(x), jacrev(several, chunk_size=1)(x)):
            assert_close(one, whole)
        assert jacrev(lambda a: a[:0], chunk_size=1)(x).shape == (0, 3)

    def test_an_input_returned_as_it_is_can_t_be_saved(self) -> None:
        class Same(adjoint.autograd.Function):
            @staticmethod
            def forward(a: Any) -> Any:
                return a

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_backward(inputs[0])

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

        x = numbers()
        for call in (Same.apply, grad(lambda a: Same.apply(a.clone()))):
            with pytest.raises(RuntimeError, match="Same: An input that has been returned as-is"):
                call(x)

    def test_hooks_on_modules_see_values_and_leave_them(self) -> None:
        model, x = nn.Linear(3, 2).double(), numbers(4, 3)
        f = lambda a: (model(a) ** 2).sum()
        expected = [grad(f)(row).detach().numpy() for row in x]
        seen = []
        handle = model.register_full_backward_hook(lambda *given: seen.append(given[2][0].shape))
        assert_close(vmap(grad(f))(x), np.stack(expected))
        assert seen == [(2,)]
        for call in (vmap(model), lambda a: jvp(model, (a,), (a,))):
            with pytest.raises(RuntimeError, match="full backward hooks.*is outside"):
                call(x)
        with adjoint.no_grad():
            assert_close(jacfwd(f)(x[0]), expected[0])
        handle.remove()
        model.register_full_backward_hook(lambda module, before, after: (before[0] * 2,))
        assert_close(vmap(grad(f))(x), 2 * np.stack(expected))

    def test_hooks_for_gradients_outside_are_refused(self) -> None:
        w = numbers(3).requires_grad_()
        for call in (lambda t: t.register_hook(print), lambda t: t.retain_grad()):
            with pytest.raises(RuntimeError, match="what needs one is outside"):
                vmap(lambda a, call=call: call(a * w))(numbers(4, 3))

    def test_copies_of_a_batch(self) -> None:
        x = numbers(4, 3)
        assert_close(vmap(lambda a: copy.deepcopy(a) * 2)(x), 2 * x.numpy())
        assert_close(vmap(lambda a: nn.Parameter(a) * 2)(x), 2 * x.numpy())
        assert_close(vmap(lambda a: a.data * 2)(x), 2 * x.numpy())
        assert_close(vmap(lambda a: Tensor(a) * 2)(x), 2 * x.numpy())
        for read in (pickle.dumps, adjoint.to_dlpack, lambda a: a.tolist()):
            with pytest.raises(RuntimeError, match="values of a batched tensor can't be read"):
                vmap(read)(x)

    def test_an_optimizer_has_nothing_to_change_in_a_batch(self) -> None:
        with pytest.raises(RuntimeError, match="a batch inside vmap"):
            vmap(lambda a: adjoint.optim.SGD([a.detach().requires_grad_()], 0.1))(numbers(4, 3))


class TestBeyond:
    def test_per_sample_gradients(self) -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        xs, ys = numbers(5, 3), numbers(5, 2)
        found = func.per_sample_grad(model, nn.functional.mse_loss)(xs, ys)
        for name, parameter in model.named_parameters():
            for i in range(5):
                loss = nn.functional.mse_loss(model(xs[i : i + 1]), ys[i : i + 1])
                assert_close(found[name][i], adjoint.autograd.grad(loss, parameter)[0])
        frozen = nn.Linear(2, 2).requires_grad_(False)
        with pytest.raises(ValueError, match="no parameter"):
            func.per_sample_grad(frozen, nn.functional.mse_loss)

    def test_products_with_hessians(self) -> None:
        x, w, v = numbers(3), numbers(2, 3), numbers(3)
        full = hessian(lambda a: mixed(a, w))(x)
        assert_close(func.hvp(lambda a: mixed(a, w), (x,), (v,)), full @ v)
        assert_close(func.hessian_diagonal(lambda a: mixed(a, w))(x), np.diag(full.numpy()))
        assert_close(func.laplacian(lambda a: mixed(a, w))(x), np.trace(full.numpy()))

    def test_laplacian_of_several_outputs_and_a_batch(self) -> None:
        xs = numbers(4, 3)
        f = lambda a: adjoint.stack([cube(a), (a**2).sum()])
        expected = np.stack([6 * xs.numpy().sum(1), np.full(4, 6.0)], 1)
        assert_close(vmap(func.laplacian(f))(xs), expected)

    def test_taylor(self) -> None:
        x, v = numbers(3), numbers(3)
        found = func.taylor(lambda a: (a * 0.5).exp(), x, v, 4)
        for k, each in enumerate(found):
            assert_close(each, np.exp(x.numpy() / 2) * (v.numpy() / 2) ** k / math.factorial(k))
        with pytest.raises(ValueError, match="order"):
            func.taylor(adjoint.sin, x, v, -1)

    def test_sparse_jacobians(self) -> None:
        x = numbers(6)
        passes = []

        def f(a: Any) -> Any:
            passes.append(a.shape)
            return a[1:] * a[:-1] ** 2

        pattern = np.eye(5, 6, dtype=bool) | np.eye(5, 6, 1, dtype=bool)
        found = func.jacobian(f, sparsity=pattern)(x)
        assert_close(found, jacrev(f)(x))
        from adjoint.func.sparsity import coloured, places

        rows, columns, shape = places(pattern)
        assert coloured(rows, columns, shape[1]).max() == 1  # two colours for two diagonals
        with pytest.raises(ValueError, match="columns"):
            func.jacobian(f, sparsity=pattern[:, :5])(x)
        with pytest.raises(ValueError, match="rows"):
            func.jacobian(f, sparsity=pattern[:4])(x)

    def test_a_pattern_of_scipy(self) -> None:
        sparse = pytest.importorskip("scipy.sparse")
        x = numbers(5)
        found = func.jacobian(lambda a: a.sin(), sparsity=sparse.eye(5, format="csr"))(x)
        assert_close(found, np.diag(np.cos(x.numpy())))

    def test_the_cheaper_way(self) -> None:
        x = numbers(4)
        assert_close(func.jacobian(lambda a: a.exp())(x), np.diag(np.exp(x.numpy())))
        assert_close(func.jacobian(cube)(x), 3 * x.numpy() ** 2)


class TestBadInput:
    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda x: grad(lambda a: a)(x), "scalar"),
            (lambda x: grad(lambda a: 3.0)(x), "return a Tensor"),
            (lambda x: grad(cube)(3.0), "must be Tensor"),
            (lambda x: grad(cube)(x.to(adjoint.int64)), "int64.*floating"),
            (lambda x: grad(cube, 1)(x), "argnum=1"),
            (lambda x: grad(cube, ())(x), "non-empty"),
            (lambda x: grad(cube, (0, 0))(x), "unique"),
            (lambda x: grad(cube, "0")(x), "int or Tuple"),
            (lambda x: grad(lambda a: a.sum(), has_aux=True)(x), "aux"),
            (lambda x: jvp(cube, x, x), "tuple"),
            (lambda x: jvp(cube, (x,), (x, x)), "structure"),
            (lambda x: jvp(cube, (x,), (x[:2],)), "shape"),
            (lambda x: jvp(cube, (x,), (1.0,)), "only contain Tensors"),
            (lambda x: jvp(cube, (), ()), "at least one"),
            (lambda x: jvp(cube, (x.long(),), (x.long(),)), "floating"),
            (lambda x: jacfwd(cube)(x.long()), "jacfwd.*int64.*floating"),
            (lambda x: func.laplacian(cube)(x.long()), "laplacian.*int64.*floating"),
            (lambda x: func.taylor(cube, x, x[:2], 2), "taylor.*shape"),
            (lambda x: func.linearize(cube, x)[1](x[:2]), "linearize.*shape"),
            (lambda x: func.hvp(cube, x, (x,)), "hvp.*primals.*tuple"),
            (lambda x: func.hvp(cube, (x,), x), "hvp.*tangents.*tuple"),
            (lambda x: vjp(lambda a: a * 2, x)[1](x[:2]), "shape"),
            (lambda x: vjp(lambda a: (a, a), x)[1](x), "structure"),
            (lambda x: vjp(lambda a: 3, x), "return only tensors"),
            (lambda x: jacrev(lambda a: ())(x), "non-empty"),
            (lambda x: jacrev(cube, chunk_size=0), "chunk_size"),
            (lambda x: func.functionalize(cube, remove="all"), "remove"),
            (lambda x: func.debug_unwrap(x), "takes part in none"),
        ],
    )
    def test_the_argument_is_named(self, call: Any, words: str) -> None:
        with pytest.raises((RuntimeError, ValueError, TypeError), match=words):
            call(numbers(3))
