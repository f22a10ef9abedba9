"""The graphs of the sweep that PyTorch has too; each answers its run, forward and pass."""

import functools
from typing import Any

from tests.faults.program import Kit, graph

# ---- operations ----


@graph()
def chain(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        y = kit.watch((x.exp() * 2.0).tanh())
        kit.finish(kit.watch((y.sin() + y * x).sum()))

    return run


@graph()
def shared_leaves(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * w + x)
        z = kit.watch(y * x - w / y)
        kit.finish((z + z * w + x).sum())

    return run


@graph()
def broadcasting(kit: Kit) -> Any:
    a, b, c = kit.leaf(2, 3), kit.leaf(3), kit.leaf(2, 1)

    def run() -> None:
        y = kit.watch(a * b + c)
        kit.finish(kit.watch((y / (c * c + b)).exp()).mean())

    return run


@graph()
def products(kit: Kit) -> Any:
    a, b = kit.leaf(2, 3), kit.leaf(3, 2)

    def run() -> None:
        y = kit.watch(a @ b)
        kit.finish(kit.watch((y.T @ a) @ b).trace())

    return run


@graph()
def reductions(kit: Kit) -> Any:
    x = kit.leaf(2, 3)

    def run() -> None:
        y = kit.watch(x.var(1) + x.mean(1) + x.prod(1))
        kit.finish((y * x.amax(1)).sum() + x.logsumexp(0).sum())

    return run


@graph()
def views(kit: Kit) -> Any:
    x = kit.leaf(4, 3)

    def run() -> None:
        y = kit.watch(x * 1.5)
        z = kit.watch(y.reshape(3, 4).transpose(0, 1)[1:3])
        kit.finish((z.select(0, 1) * y.view(-1)[::4] + z.diagonal().sum()).sum())

    return run


@graph()
def in_place(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * 2.0)
        y.add_(w).mul_(w)
        y.sub_(1.0)
        kit.finish(kit.watch(y * y).sum())

    return run


@graph()
def in_place_through_views(kit: Kit) -> Any:
    x, w = kit.leaf(2, 3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * 1.0)
        y[0] = w * 2.0
        kit.watch(y[1]).mul_(w)
        y.view(-1)[1:3].add_(1.0)
        kit.finish((y * y).sum())

    return run


@graph()
def several_outputs(kit: Kit) -> Any:
    x = kit.leaf(4, 3)

    def run() -> None:
        first, second = kit.watch(x * x).split(2)
        a, b, c = first.unbind(1)
        kit.finish((a * b).sum() + (c * second.chunk(3, 1)[0].sum()).sum())

    return run


@graph()
def sorting(kit: Kit) -> Any:
    x = kit.leaf(3, 4)

    def run() -> None:
        best, _ = kit.watch(x * 2.0).topk(2)
        ordered, _ = x.sort(1)
        kit.finish(best.sum() + (ordered * x.max(1, keepdim=True)[0]).sum() + x.median())

    return run


@graph()
def linear_algebra(kit: Kit) -> Any:
    a, b = kit.leaf(3, 3), kit.leaf(3, 1)

    def run() -> None:
        m = kit.watch(a @ a.T + kit.lib.eye(3, dtype=kit.lib.float64) * 3.0)
        values, vectors = kit.lib.linalg.eigh(m)
        solved = kit.lib.linalg.solve(m, b)
        kit.finish(solved.sum() + values.sum() + (vectors * vectors).sum())

    return run


@graph()
def lists(kit: Kit) -> Any:
    a, b = kit.leaf(2, 3), kit.leaf(2, 3)

    def run() -> None:
        joined = kit.watch(kit.lib.cat([a, b, a], 0))
        stacked = kit.watch(kit.lib.stack([a, b * 2.0, joined[:2]]))
        kit.finish((stacked.sum(0) * a).sum() + joined.sum())

    return run


@graph()
def long_list(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        kit.finish((kit.watch(kit.lib.stack([x * float(i) for i in range(12)])) ** 2).sum())

    return run


@graph()
def indexing(kit: Kit) -> Any:
    x, w = kit.leaf(4, 3), kit.leaf(2, 3)
    rows = kit.lib.tensor([0, 2])

    def run() -> None:
        y = kit.watch(x * 2.0)
        picked = kit.watch(y[rows] + y.index_select(0, rows))
        y = y.index_add(0, rows, w)
        y = y.scatter(0, rows.view(1, 2), w[:1, :2])
        kit.finish((picked * y.gather(0, rows.view(2, 1).expand(2, 3))).sum())

    return run


@graph()
def choices(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(kit.lib.where(x > 1.0, x * w, w.exp()))
        kit.finish((y.clamp(0.6, 2.0) + y.relu() + y.masked_fill(x < 0.8, 0.0)).sum())

    return run


@graph()
def complex_numbers(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        z = kit.watch(kit.lib.complex(x, w))
        kit.finish((z * z.conj() + z.exp()).abs().sum())

    return run


@graph()
def data_types(kit: Kit) -> Any:
    x, w = kit.leaf(3, dtype=kit.lib.float32), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * w)
        kit.finish((y.float() * x + w.to(kit.lib.float32)).double().sum())

    return run


@graph()
def wide(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        made = [kit.watch((x * float(i)).exp()) for i in range(6)]
        kit.finish(functools.reduce(lambda a, b: a + b, made).sum())

    return run


@graph()
def expanded_and_missing(kit: Kit) -> Any:
    x, w, unused = kit.leaf(3), kit.leaf(2, 3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x.expand(2, 3))
        first, second, _ = kit.watch(w * 1.0).unbind(1)
        kit.finish(y.sum() + first.sum() + (unused.detach() * x).sum())

    return run


# ---- Functions and custom operators ----


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


# ---- hooks ----


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


# ---- passes ----


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
            x.grad = x.grad.detach()  # or else the graph stays, with the gradient it belongs to

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


@graph()
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
        with kit.lib.set_grad_enabled(False):
            factor = kit.watch(x + 1.0) * constant(x)
        with kit.lib.no_grad(), kit.lib.enable_grad():
            loss = (x * factor * w).sum()
        kit.finish(loss)

    return run


# ---- modules ----


@graph()
def linear_layers(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    x, target = kit.constant(2, 3), kit.constant(2, 2)

    def run() -> None:
        kit.finish(kit.lib.nn.functional.mse_loss(kit.watch(module(x)), target))

    return run


@graph()
def convolution(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.MaxPool2d(2)))
    x = kit.leaf(1, 1, 4, 4)

    def run() -> None:
        kit.finish(kit.watch(module(x)).sum())

    return run


@graph()
def normalization(kit: Kit) -> Any:
    norm = kit.module(
        lambda nn: nn.Sequential(
            nn.LayerNorm(4), nn.BatchNorm1d(4, track_running_stats=False), nn.GroupNorm(2, 4)
        )
    )
    x = kit.leaf(3, 4)

    def run() -> None:
        kit.finish((kit.watch(norm(x)) * x).sum())

    return run


@graph()
def attention(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.MultiheadAttention(4, 2, batch_first=True))
    x = kit.leaf(1, 3, 4)

    def run() -> None:
        y, weights = module(x, x, x)
        kit.finish((kit.watch(y) * x).sum() + weights.sum())

    return run


@graph()
def recurrent(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.LSTM(2, 2))
    x = kit.leaf(2, 1, 2)

    def run() -> None:
        y, (hidden, cell) = module(x)
        kit.finish(kit.watch(y).sum() + (hidden * cell).sum())

    return run


@graph()
def embedding(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 4)))
    words, classes = kit.lib.tensor([1, 4, 1]), kit.lib.tensor([0, 3, 2])

    def run() -> None:
        scores = kit.watch(module(words))
        kit.finish(kit.lib.nn.functional.cross_entropy(scores, classes))

    return run


# ---- who watches calls ----


@graph()
def subclass(kit: Kit) -> Any:
    class Named(kit.lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kit.at("function")
            return super().__torch_function__(func, types, args, kwargs or {})

    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch((x * w).as_subclass(Named))
        kit.finish((y.exp() * y).sum())

    return run


@graph()
def autocast(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Linear(3, 2))
    module.float()
    x = kit.leaf(2, 3, dtype=kit.lib.float32)

    def run() -> None:
        with kit.lib.autocast("cpu", dtype=kit.lib.bfloat16):
            y = kit.watch(module(x))
            loss = (y * y).float().sum()
        kit.finish(loss)

    return run
