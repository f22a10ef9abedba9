"""Graphs whose passes are special, or run within others."""

from typing import Any

from tests.faults.program import Kit, graph


@graph()
def second_order(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch((x * w).exp() * x)
        (grad,) = kit.lib.autograd.grad(y.sum(), x, create_graph=True)
        kit.watch(grad)
        kit.finish((grad * grad).sum())

    return run


@graph(whole=True)
def recorded_pass(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        y = x * x
        y.register_hook(kit.hook)
        y.sum().backward(create_graph=True)
        if kit.is_adjoint:
            x.grad.detach_()  # or else the graph stays, with the gradient it belongs to

    return run


@graph()
def inputs_of_a_pass(kit: Kit) -> Any:
    x, w, v = kit.leaf(3), kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * w)
        y.register_hook(kit.hook)
        z = kit.watch(y * v)
        grads = kit.lib.autograd.grad(z.sum(), [y, x], retain_graph=True)
        edge = kit.lib.autograd.graph.get_gradient_edge(y)
        (other,) = kit.lib.autograd.grad(z.sum(), edge, retain_graph=True)
        kit.finish((z * grads[0] + other * grads[1]).sum())

    return run


@graph(whole=True)
def several_roots(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)
    given = kit.constant(3)

    def run() -> None:
        y, z = kit.watch(x * w), kit.watch(x.exp())
        kit.lib.autograd.backward([y, z, (y * z).sum()], [given, given, None])

    return run


@graph()
def reentrant_in_a_hook(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def hook(grad):
        kit.at("hook")
        with kit.lib.enable_grad():
            inner = (x * w).exp()
            inner.register_hook(kit.hook)
            inner.sum().backward()

    def run() -> None:
        y = kit.watch(x * w)
        y.register_hook(hook)
        kit.finish((y * x).sum())

    return run


@graph()
def reentrant_in_a_function(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    class Inner(kit.lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            kit.at("function")
            ctx.save_for_backward(a)
            return a * 2.0

        @staticmethod
        def backward(ctx, grad):
            kit.at("function")
            (a,) = ctx.saved_tensors
            with kit.lib.enable_grad():
                inside = a.detach().requires_grad_()
                (inside * inside * w).sum().backward()
            kit.at("function")
            return grad * inside.grad

    def run() -> None:
        y = kit.watch(Inner.apply(x * w))
        kit.finish((y * x).sum())

    return run


@graph(threads=True)
def deeply_reentrant(kit: Kit) -> Any:
    x = kit.leaf(2)

    def descend(level):
        with kit.lib.enable_grad():
            y = x * float(level)
            if level:
                y.register_hook(lambda grad: deeper(level - 1))
            y.sum().backward()

    def deeper(level):
        kit.at("hook")
        descend(level)

    def run() -> None:
        y = kit.watch(x * 2.0)
        y.register_hook(lambda grad: deeper(13))
        kit.finish(y.sum())

    return run


@graph()
def checkpointed(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)
    checkpoint = kit.lib.utils.checkpoint.checkpoint

    def part(a):
        kit.at("function")
        return kit.watch((a * w).exp() * a)

    def run() -> None:
        y = kit.watch(checkpoint(part, x * 1.0, use_reentrant=False))
        kit.finish(checkpoint(part, y * 0.1, use_reentrant=False).sum())

    return run


@graph(whole=True)
def checkpointed_by_reentry(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)
    checkpoint = kit.lib.utils.checkpoint.checkpoint

    def part(a):
        kit.at("function")
        return (a * w).exp() * a

    def run() -> None:
        y = kit.watch(checkpoint(part, x * 1.0, use_reentrant=True))
        y.sum().backward()

    return run


@graph()
def anomaly_mode(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        with kit.lib.autograd.detect_anomaly():
            y = kit.watch(x * w)
            y.register_hook(kit.hook)
            kit.finish((y.exp() * x).sum())

    return run


@graph()
def modes(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    @kit.lib.no_grad()
    def constant(a):
        with kit.lib.enable_grad():
            return (a * w).exp().detach()

    def run() -> None:
        with kit.lib.inference_mode():
            kit.watch(x * w)
        with kit.lib.no_grad():  # set_grad_enabled sets the mode when called: it may stay, then
            factor = kit.watch(x + 1.0) * constant(x)
        with kit.lib.no_grad(), kit.lib.enable_grad():
            loss = (x * factor * w).sum()
        kit.finish(loss)

    return run
