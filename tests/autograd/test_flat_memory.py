"""Memory stays flat over many steps, in every mode: nothing is kept that a step has made."""

import gc
import sys
import warnings

import pytest

import adjoint
from adjoint import nn
from adjoint.autograd import Function, grad, graph
from adjoint.utils.checkpoint import checkpoint

STEPS = [
    500,
    pytest.param(4_000, marks=pytest.mark.slow),
    pytest.param(20_000, marks=pytest.mark.long),
]
SPARE = 100  # however many steps: what each of them left would be more


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def plain(x, w):
    (x * w).tanh().sum().backward()
    x.grad = None


def summed(x, w):
    (x * w).tanh().sum().backward()


def no_grad(x, w):
    with adjoint.no_grad():
        (x * w).tanh().sum()


def inference(x, w):
    with adjoint.inference_mode():
        (x * w).tanh().sum()


def create_graph(x, w):
    (first,) = grad((x * w).tanh().sum(), x, create_graph=True)
    (first**2).sum().backward()


def hooks(x, w):
    y = x * w
    handles = [x.register_hook(lambda g: g), w.register_post_accumulate_grad_hook(lambda t: None)]
    y.register_hook(lambda g: g * 2, once=True)
    y.grad_fn.register_prehook(lambda grads: None)
    y.grad_fn.register_hook(lambda given, grads: None)
    handles.append(graph.register_multi_grad_hook((x, y), lambda grads: None))
    y.retain_grad()
    y.sum().backward()
    for handle in handles:
        handle.remove()


def failing(x, w):
    y = x * w
    y.register_hook(lambda g: g.nothing)
    with pytest.raises(AttributeError):
        y.sum().backward()


def checkpointed(x, w):
    y = checkpoint(lambda t: (t * w).tanh(), x, use_reentrant=False)
    checkpoint(lambda t: (t * w).tanh(), y, use_reentrant=True).sum().backward()


def anomaly(x, w):
    with adjoint.autograd.detect_anomaly():
        (x * w).tanh().sum().backward()


def saved_hooks(x, w):
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        (x * w).tanh().sum().backward()
    with graph.allow_mutation_on_saved_tensors():
        y = x * w
        z = y.exp()
        y.detach().mul_(2)
        z.sum().backward()


def functions(x, w):
    Square.apply(x * w).sum().backward()


def functions_made_in_a_loop(x, w):
    class Made(Square):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

    Made.apply(x * w).sum().backward()


def subclasses_made_in_a_loop(x, w):
    class Made(adjoint.Tensor):
        pass

    (x.detach().as_subclass(Made).requires_grad_() * w).sum().backward()


def changes(x, w):
    y = x * w
    y[:1].mul_(2)
    y.add_(1)
    y.sum().backward()


def modules(x, w):
    module = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    module.register_full_backward_hook(lambda *args: None)
    module.register_forward_hook(lambda *args: None)
    module(x * w).sum().backward()


def nested(x, w):
    def inner(gradient):
        with adjoint.enable_grad():
            (x * 3.0).sum().backward()

    y = x * w
    y.register_hook(inner)
    y.sum().backward()


def profiled(x, w):
    with adjoint.autograd.profiler.profile():
        (x * w).tanh().sum().backward()


MODES = [
    plain,
    summed,
    no_grad,
    inference,
    create_graph,
    hooks,
    failing,
    checkpointed,
    anomaly,
    saved_hooks,
    functions,
    functions_made_in_a_loop,
    subclasses_made_in_a_loop,
    changes,
    modules,
    nested,
    profiled,
]


def measured():
    """Objects and pieces of memory, but for what Python keeps to find attributes faster."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        sys._clear_type_cache()
    return len(gc.get_objects()), sys.getallocatedblocks()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("step", MODES)
def test_memory_is_flat(step, steps):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for _ in range(50):
        step(x, w)
    objects, pieces = measured()
    for _ in range(steps):
        step(x, w)
    more_objects, more_pieces = measured()
    assert more_objects - objects <= SPARE
    assert more_pieces - pieces <= SPARE


@pytest.mark.parametrize("step", [plain, create_graph, hooks, failing, checkpointed, modules])
def test_a_step_leaves_nothing_to_the_collector(step):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    step(x, w)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            step(x, w)
        after = len(gc.get_objects())
    finally:
        gc.enable()
    assert after - before <= 5
