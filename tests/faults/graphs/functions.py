"""Graphs of the user's own Functions and operators."""

import functools
from typing import Any

from tests.faults.program import Kit, graph


@graph()
def function(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    class Product(kit.lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            kit.at("function")
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            kit.at("function")
            a, b = ctx.saved_tensors
            return grad * b, grad * a

    def run() -> None:
        y = kit.watch(Product.apply(x, w))
        kit.finish(Product.apply(y, y.exp()).sum())

    return run


@graph()
def function_of_many(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    class Both(kit.lib.autograd.Function):
        @staticmethod
        def forward(a, b, factor, name):
            kit.at("function")
            return a * factor, a + b, (b > 1.0)

        @staticmethod
        def setup_context(ctx, inputs, output):
            kit.at("function")
            ctx.factor = inputs[2]
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(output[2])

        @staticmethod
        def backward(ctx, first, second, _):
            kit.at("function")
            scaled = None if first is None else first * ctx.factor
            if scaled is not None and second is not None:
                scaled = scaled + second
            return scaled, second, None, None

    def run() -> None:
        a, b, _ = Both.apply(x, w, 3.0, "name")
        c, _, _ = Both.apply(kit.watch(b), kit.watch(a), 2.0, None)
        kit.finish((c * a).sum())

    return run


@graph()
def function_in_place(kit: Kit) -> Any:
    x = kit.leaf(3)

    class Double(kit.lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            kit.at("function")
            a.mul_(2.0)
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx, grad):
            kit.at("function")
            return grad * 2.0

    def run() -> None:
        y = kit.watch(x * 1.0)
        Double.apply(y)
        kit.finish(kit.watch(y * y).sum())

    return run


@functools.cache
def _operator(lib: Any) -> Any:
    """A custom operator; `events` is told of its calls by the graph that uses it."""
    at: list[Any] = [lambda kind: None]

    def kernel(x, factor: float):
        at[0]("function")
        return x * factor + 1.0

    kernel.__annotations__ = {"x": lib.Tensor, "factor": float, "return": lib.Tensor}
    op = lib.library.custom_op("faults::scaled", kernel, mutates_args=())

    def setup_context(ctx, inputs, output):
        at[0]("function")
        ctx.factor = inputs[1]
        ctx.save_for_backward(inputs[0])

    def backward(ctx, grad):
        at[0]("function")
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + 0.0 * x, None

    op.register_autograd(backward, setup_context=setup_context)
    return op, at


@graph()
def custom_operator(kit: Kit) -> Any:
    x = kit.leaf(3)
    op, at = _operator(kit.lib)
    at[0] = kit.at

    def run() -> None:
        y = kit.watch(op(x, 2.0))
        kit.finish(op(y * x, 3.0).sum())

    return run
