"""Functions and custom operators inside vmap: rules of the user's, and those that are made."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import func, library
from adjoint.library import ops, scoped
from adjoint.testing import assert_close

X = np.random.default_rng(0).normal(size=(4, 3))
W = np.random.default_rng(1).normal(size=(4, 3))


def cube(module: Any, kind: str) -> Any:
    """x³w and its derivative by x over w, as a Function of either library."""

    class Cube(module.autograd.Function):  # type: ignore[misc]  # of either library
        generate_vmap_rule = kind == "generated"

        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x**3 * w, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs, output[1])
            ctx.factor = 6.0

        @staticmethod
        def backward(ctx: Any, grad: Any, grad_slope: Any) -> Any:
            x, w, slope = ctx.saved_tensors
            return grad * slope * w + grad_slope * ctx.factor * x, grad * x**3

        if kind == "own":

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
                size = info.batch_size
                first = (
                    x.movedim(in_dims[0], 0) if in_dims[0] is not None else x.expand(size, *x.shape)
                )
                other = (
                    w.movedim(in_dims[1], 0) if in_dims[1] is not None else w.expand(size, *w.shape)
                )
                return Cube.apply(first, other), (0, 0)

    return Cube


def results(module: Any, transforms: Any, kind: str, dims: tuple[Any, Any]) -> list[Any]:
    """What vmap and derivatives inside and outside of it make of the Function."""
    function = cube(module, kind)
    x, w = (
        module.tensor(a if d == 0 else a.T.copy() if d == 1 else a[0], requires_grad=True)
        for a, d in zip((X, W), dims)
    )
    vmap, grad = transforms.vmap, transforms.grad
    found = list(vmap(function.apply, dims)(x, w))
    loss = (found[0] ** 2).sum() + found[1].sum()
    outside = module.autograd.grad(loss, [x, w], create_graph=True)
    twice = module.autograd.grad(sum((g * g).sum() for g in outside), [x, w])
    inside = vmap(grad(lambda a, b: function.apply(a, b)[0].sum(), (0, 1)), dims)(x, w)
    both = grad(
        lambda a, b: vmap(grad(lambda p, q: function.apply(p, q)[0].sum()), dims)(a, b).sum(),
        (0, 1),
    )(x, w)
    nested = vmap(vmap(function.apply, (0, None)), (None, 0))(module.tensor(X), module.tensor(W))
    return [*found, *outside, *twice, *inside, *both, *nested]


@pytest.mark.filterwarnings("ignore:vmap calls")
@pytest.mark.parametrize("dims", [(0, 0), (1, 0), (0, None), (None, 1)])
@pytest.mark.parametrize("kind", ["own", "generated"])
def test_like_pytorch(torch: Any, kind: str, dims: tuple[Any, Any]) -> None:
    """Values and derivatives, whoever has a batch, by a rule of its own or one that is made."""
    import torch.func

    ours = results(adjoint, func, kind, dims)
    theirs = results(torch, torch.func, kind, dims)
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a, b.detach().numpy(), 1e-9)


class Doubled(adjoint.autograd.Function):
    """A Function that says nothing of batches."""

    @staticmethod
    def forward(x: Any) -> Any:
        """See Function."""
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """See Function."""


def test_refusals() -> None:
    """Functions that don't say how they take a batch, or say it twice or wrongly."""
    x = adjoint.tensor(X)
    with pytest.raises(RuntimeError, match="Doubled does not have vmap support"):
        func.vmap(Doubled.apply)(x)

    class Both(Doubled):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x, 0

    with pytest.raises(RuntimeError, match="generate_vmap_rule=True and"):
        func.vmap(Both.apply)(x)

    class WithContext(adjoint.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    with pytest.raises(RuntimeError, match="setup_context"):
        func.vmap(WithContext.apply)(x)
    for answer, message in (
        (lambda x: x, "two returns"),
        (lambda x: (x, (0, 0)), "incompatible"),
        (lambda x: (x[:2], 0), "4 elements"),
    ):

        class Wrong(Doubled):
            rule = staticmethod(answer)

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any) -> Any:
                return Wrong.rule(x)

        with pytest.raises(RuntimeError, match=message):
            func.vmap(Wrong.apply)(x)


def test_what_a_rule_is_told() -> None:
    """The size of the batch, how chance works, where batches lie; structures too."""
    told: list[Any] = []

    class Told(Doubled):
        @staticmethod
        def forward(x: Any, rest: Any, number: int) -> Any:
            return x * 2

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, rest: Any, number: int) -> Any:
            told.append((info.batch_size, info.randomness, in_dims, x.shape, number))
            return x * 2, in_dims[0]

    y = adjoint.ones(2)
    found = func.vmap(lambda x: Told.apply(x, [x, y], 7), 1, randomness="same")(adjoint.tensor(X))
    assert told == [(3, "same", (1, [1, None], None), (4, 3), 7)]
    assert_close(found, X.T * 2)


def test_rules_run_below() -> None:
    """Inside a rule there is no batch: chance, factories and transforms are those outside."""

    class Noisy(Doubled):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            noise = adjoint.rand(2) + adjoint.zeros(2)
            slope = func.grad(lambda t: (t**2).sum())(x)
            return slope + noise.sum() * 0, 0

    found = func.vmap(Noisy.apply)(adjoint.tensor(X))
    assert_close(found, X * 2)


def test_one_for_all_needs_no_rule() -> None:
    """Without a batch among its arguments a Function is called as it is."""
    x = adjoint.tensor(X)
    y = adjoint.tensor(W[0])
    assert_close(func.vmap(lambda x: x + Doubled.apply(y))(x), X + 2 * W[0])


def test_attributes_of_a_generated_rule() -> None:
    """Tensors that setup_context keeps as attributes are found again, with their batch."""

    class Kept(adjoint.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.kept = [inputs[0], inputs[1], 3]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y, _ = ctx.kept
            return grad * y, grad * x

    x = adjoint.tensor(X, requires_grad=True)
    y = adjoint.tensor(W[0], requires_grad=True)
    func.vmap(Kept.apply, (0, None))(x, y).sum().backward()
    assert_close(x.grad, np.broadcast_to(W[0], X.shape))
    assert_close(y.grad, X.sum(0))


def test_changes_in_place() -> None:
    """A Function that changes its argument in place changes each element."""

    class Twice(adjoint.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = adjoint.tensor(X, requires_grad=True)
    out = func.vmap(lambda x: Twice.apply(x * 1.0))(x)
    assert_close(out, X * 2)
    out.sum().backward()
    assert_close(x.grad, np.full_like(X, 2.0))


# ---- custom operators ----


@pytest.fixture
def sine() -> Iterator[Any]:
    """sin(k x) by NumPy, and its derivative."""
    with scoped():

        @library.custom_op("vmapped::sine", mutates_args=())
        def sine(x: adjoint.Tensor, k: float) -> adjoint.Tensor:
            return adjoint.tensor(np.sin(x.numpy() * k))

        def backward(ctx: Any, grad: Any) -> Any:
            return grad * adjoint.cos(ctx.saved_tensors[0] * ctx.k) * ctx.k, None

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.k = inputs[1]

        sine.register_autograd(backward, setup_context=setup_context)
        yield sine


@pytest.mark.parametrize("registered", [True, False])
def test_custom_operators(sine: Any, registered: bool) -> None:
    """By the rule that is registered, or in a loop that says so; derivatives on both sides."""
    if registered:
        sine.register_vmap(lambda info, in_dims, x, k: (sine(x, k), in_dims[0]))
    x = adjoint.tensor(X, requires_grad=True)
    if registered:
        found = func.vmap(lambda x: sine(x, 2.0), 1)(x)
    else:
        with pytest.warns(UserWarning, match="vmapped::sine once for each"):
            found = func.vmap(lambda x: sine(x, 2.0), 1)(x)
    assert_close(found, np.sin(2 * X).T)
    assert_close(adjoint.autograd.grad(found.sum(), [x])[0], 2 * np.cos(2 * X))
    inside = func.vmap(func.grad(lambda x: sine(x, 2.0).sum()))(x.detach())
    assert_close(inside, 2 * np.cos(2 * X))


def test_custom_operator_that_changes_its_argument() -> None:
    """Without a rule of its own it is refused by name."""
    with scoped():

        @library.custom_op("vmapped::doubled_", mutates_args=("x",))
        def doubled_(x: adjoint.Tensor) -> None:
            x.mul_(2)

        with pytest.raises(RuntimeError, match=r"vmapped::doubled_ .*register_vmap"):
            func.vmap(lambda x: doubled_(x))(adjoint.tensor(X))


def test_composite_operators_are_followed() -> None:
    """An operator made of adjoint's functions needs no rule."""
    with scoped():
        library.define("vmapped::made", "(Tensor x) -> Tensor")
        library.impl("vmapped::made", "CompositeImplicitAutograd", lambda x: x.sin() * 2)
        made = ops.vmapped.made
        slope = func.vmap(func.grad(lambda x: made(x).sum()))(adjoint.tensor(X))
        assert_close(slope, 2 * np.cos(X))


@pytest.mark.parametrize("name", ["relu_", "sigmoid_", "tanh_", "exp_", "sqrt_"])
def test_changes_that_keep_their_result(name: str) -> None:
    """A change in place inside vmap is differentiated by what it left there."""
    weight = adjoint.tensor([0.5, 1.0, 2.0])
    rows = adjoint.arange(1.0, 7.0).reshape(2, 3)

    def loss(weight: Any, row: Any) -> Any:
        return (getattr(row * weight, name)() * row).sum()

    together = func.vmap(func.grad(loss), in_dims=(None, 0))(weight, rows)
    assert_close(together, adjoint.stack([func.grad(loss)(weight, row) for row in rows]))


def test_a_kept_result_that_is_changed_again_is_refused() -> None:
    def loss(weight: Any, row: Any) -> Any:
        kept = (row * weight).exp_()
        kept.add_(1)
        return kept.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        func.vmap(func.grad(loss), in_dims=(None, 0))(adjoint.ones(3), adjoint.ones(2, 3))


@pytest.mark.parametrize("name", ["cumsum", "logcumsumexp", "softmax", "log_softmax"])
def test_numbers_along_their_only_dimension(name):
    """Of elements without dimensions, also by functions that hide something for their rules."""
    x = adjoint.tensor([0.5, 2.0, -1.0])
    function = getattr(adjoint, name)
    found = adjoint.vmap(lambda each: function(each, 0))(x)
    assert found.tolist() == [function(each, 0).item() for each in x]
