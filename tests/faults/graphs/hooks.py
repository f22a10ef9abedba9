"""Graphs with hooks of every kind."""

from typing import Any

from tests.faults.program import Kit, graph


@graph()
def tensor_hooks(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def doubled(grad):
        kit.at("hook")
        return grad * 2.0

    x.register_hook(doubled)
    x.register_hook(kit.hook)

    def run() -> None:
        y = kit.watch(x * w)
        y.register_hook(doubled)
        y.register_hook(kit.hook)
        kit.finish((y * x).exp().sum())

    return run


@graph()
def node_hooks(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def before(grads):
        kit.at("hook")
        return tuple(grad * 2.0 for grad in grads)

    def after(grad_inputs, grad_outputs):
        kit.at("hook")
        return tuple(None if grad is None else grad * 0.5 for grad in grad_inputs)

    def run() -> None:
        y = kit.watch(x * w)
        y.grad_fn.register_prehook(before)
        y.grad_fn.register_hook(after)
        z = kit.watch(y.exp())
        z.grad_fn.register_hook(kit.hook)
        z.grad_fn.register_prehook(kit.hook)
        kit.finish((z * x).sum())

    return run


@graph()
def accumulate_hooks(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)
    node = kit.lib.autograd.graph.get_gradient_edge(x).node
    node.register_prehook(kit.hook)
    node.register_hook(kit.hook)

    def run() -> None:
        kit.finish((kit.watch(x * w) * x).sum())
        assert node is not None  # it holds the hooks

    return run


@graph()
def post_accumulate_hooks(kit: Kit) -> Any:
    x, w, v = kit.leaf(3), kit.leaf(3), kit.leaf(3)
    kit.consumed.extend([x, w])

    def step(leaf):
        kit.at("hook")
        leaf.grad = leaf.grad * 0.5

    x.register_post_accumulate_grad_hook(step)
    w.register_post_accumulate_grad_hook(kit.hook)

    def run() -> None:
        y = kit.watch(x * w)
        kit.finish((y * v).exp().sum())

    return run


@graph()
def multi_grad_hooks(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y, z = kit.watch(x * w), kit.watch(x + w)
        register = kit.lib.autograd.graph.register_multi_grad_hook
        with register((y, z), kit.hook), register((y, z), kit.hook, mode="any"):
            kit.finish((y * z).sum())

    return run


@graph()
def module_hooks(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2)))
    x = kit.leaf(2, 3)
    for part in module:
        part.register_forward_pre_hook(kit.hook)
        part.register_forward_hook(kit.hook)
        part.register_full_backward_pre_hook(kit.hook)
        part.register_full_backward_hook(kit.hook)

    def run() -> None:
        y = kit.watch(module(x))
        kit.finish((y * y).sum())

    return run


@graph()
def saved_tensor_hooks(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def pack(tensor):
        kit.at("pack")
        return tensor.detach().clone()

    def unpack(tensor):
        kit.at("unpack")
        return tensor

    def run() -> None:
        with kit.lib.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = kit.watch(x * w)
            with kit.lib.autograd.graph.saved_tensors_hooks(lambda t: pack(t) * 1.0, unpack):
                z = kit.watch(y.exp() * x)
            loss = (z * y).sum()
        kit.finish(loss)

    return run


@graph()
def saved_elsewhere(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        with kit.lib.autograd.graph.save_on_cpu():
            y = kit.watch(x * w)
            loss = (y.exp() * y).sum()
        kit.finish(loss)

    return run


@graph()
def saved_and_changed(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        with kit.lib.autograd.graph.allow_mutation_on_saved_tensors():
            y = kit.watch(x * 2.0)
            z = y * y
            y.mul_(3.0)
            kit.finish((z + y).sum())

    return run


@graph()
def callbacks(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)
    autograd = kit.lib.autograd
    if kit.is_adjoint:
        queue = autograd.graph.queue_callback
    else:
        queue = autograd.Variable._execution_engine.queue_callback

    def hook(grad):
        kit.at("hook")
        queue(lambda: kit.at("callback"))
        queue(lambda: kit.at("callback"))

    def run() -> None:
        y = kit.watch(x * w)
        y.register_hook(hook)
        kit.finish((y * x).sum())

    return run


@graph()
def retained_gradients(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = x * w
        z = y.exp()
        for tensor in (y, z):
            tensor.retain_grad()
            tensor.register_hook(kit.hook)
            kit.kept.append(tensor)
        kit.finish((z * y).sum())

    return run
