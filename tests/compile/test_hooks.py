"""Hooks in compiled code: each kind runs at every call, in eager's order, and is listened to."""

from contextlib import nullcontext

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.autograd import graph
from adjoint.compiling import CompileError
from adjoint.utils.checkpoint import checkpoint
from tests.compile import assert_alike


def shown(tensor):
    """A tensor as it stands in a log."""
    return None if tensor is None else round(float(tensor.detach().sum()), 3)


def logged(make):
    """The logs of a step that runs eagerly and compiled."""
    logs = []

    def remade():
        logs.append([])
        return make(logs[-1].append)

    compiled = assert_alike(remade, 4)
    assert logs[0]
    assert logs[1] == logs[0]
    return compiled


def test_all_kinds_in_one_step():
    def make(note):
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3), nn.Dropout(0.5))
        optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        x = adjoint.randn(5, 4)
        first = net[0].weight
        net[0].register_forward_hook(lambda _, args, out: note(("out", shown(args[0]), shown(out))))
        net[0].register_forward_pre_hook(lambda _, args: (args[0] * 1.5,))
        net[1].register_forward_hook(lambda _, args, out: out * 2 + args[0])
        net[2].register_full_backward_hook(lambda _, ins, outs: note((shown(*ins), shown(*outs))))
        net[2].register_full_backward_pre_hook(lambda _, outs: (outs[0] * 0.5,))
        first.register_hook(lambda grad: note(("leaf", shown(grad))) or grad * 0.3)
        first.register_post_accumulate_grad_hook(lambda leaf: note((shown(leaf), shown(leaf.grad))))

        def pack(tensor):
            note(("pack", shown(tensor)))
            return tensor.numpy().copy()

        def unpack(array):
            note(("unpack", array.shape))
            return adjoint.tensor(array)

        def step():
            optimizer.zero_grad()
            hidden = net[0](x)
            hidden.register_hook(lambda grad: note(("tensor", shown(grad))))
            hidden.grad_fn.register_hook(
                lambda ins, outs: note((list(map(shown, ins)), list(map(shown, outs))))
            )
            hidden.grad_fn.register_prehook(lambda outs: note("pre") or (outs[0] * 2,))
            bent = net[1](hidden)
            graph.register_multi_grad_hook(
                [hidden, bent], lambda grads: note(list(map(shown, grads)))
            )
            bent.register_hook(lambda _: graph.queue_callback(lambda: note("end of pass")))
            with graph.saved_tensors_hooks(pack, unpack):
                out = net[2](bent)
            loss = (net[3](out) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss, first

        return step

    logged(make)


def _on_each(register):
    def prepare(net, note):
        for number, leaf in enumerate(net.parameters()):
            register(leaf, lambda given, number=number: note((number, shown(given))))

    return prepare


ON_LEAVES = {
    "hooks of all": _on_each(lambda leaf, hook: leaf.register_hook(hook)),
    "after all": _on_each(lambda leaf, hook: leaf.register_post_accumulate_grad_hook(hook)),
    "hook": lambda net, note: net[0].weight.register_hook(lambda g: note(shown(g)) or g * 0.5),
    "traceable": lambda net, note: net[0].weight.register_hook(graph.traceable(lambda g: g * 0.5)),
    "after": lambda net, note: net[0].weight.register_post_accumulate_grad_hook(
        lambda leaf: note(shown(leaf.grad))
    ),
    "several": lambda net, note: graph.register_multi_grad_hook(
        list(net.parameters()), lambda found: note(_seen(found))
    ),
    "any": lambda net, note: graph.register_multi_grad_hook(
        list(net.parameters()), lambda found: note(shown(found)), mode="any"
    ),
}


@pytest.mark.parametrize("kind", ON_LEAVES)
def test_hooks_of_leaves_run_once_where_the_pass_begins_outside(kind):
    found = []
    for wrap in (lambda module: module, adjoint.compile):
        adjoint.manual_seed(0)
        net, log = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)), []
        ON_LEAVES[kind](net, log.append)
        call = wrap(net)
        for number in range(4):
            net.zero_grad()
            x = adjoint.full((2, 3), float(number), requires_grad=True)
            (call(x).sum() + call(x * 2).square().sum()).backward()
            log.append(_seen([x.grad, *[p.grad for p in net.parameters()]]))
        found.append(log)
    assert found[0] == found[1]


@pytest.mark.parametrize("around", ["module", "checkpoint", "reentrant"])
def test_full_backward_hooks_where_an_argument_needs_a_gradient(around):
    def make(note):
        layer = nn.Linear(3, 2)
        layer.register_full_backward_hook(lambda _, ins, outs: note((_seen(ins), _seen(outs))))
        x = adjoint.randn(4, 3, requires_grad=True)

        def step():
            x.grad = None
            if around == "module":
                out = layer(x)
            else:
                out = checkpoint(layer, x, use_reentrant=around == "reentrant")
            out.square().sum().backward()
            return x.grad.clone()

        return step

    logged(make)


def test_hooks_of_a_step_see_what_it_has_counted_to():
    def make(note):
        weight, x = adjoint.ones(2, requires_grad=True), adjoint.randn(2)
        optimizer = optim.Adam([weight], lr=0.1)
        count = lambda: [float(home["step"]) for home in optimizer.state.values()]
        optimizer.register_step_pre_hook(lambda *_: note(("before", *count())))
        optimizer.register_step_post_hook(lambda *_: note(("after", *count())))

        def step():
            for _ in range(2):
                optimizer.zero_grad()
                (weight * x).square().sum().backward()
                optimizer.step()
            return weight

        return step

    logged(make)


def test_what_is_queued_for_the_end_of_a_pass_sees_gradients_and_may_queue_more():
    def make(note):
        net, x = nn.Linear(3, 2), adjoint.randn(4, 3)

        def last():
            note(("last", shown(net.weight.grad)))

        def end():
            note(("end", shown(net.weight.grad), shown(net.bias.grad)))
            graph.queue_callback(last)

        net.weight.register_hook(lambda _: graph.queue_callback(end))

        def step():
            net.zero_grad()
            net(x).sum().backward()
            return net.weight.grad.clone()

        return step

    logged(make)


def test_hooks_on_saved_tensors_see_what_has_changed_by_then():
    def make(note):
        weight, count = adjoint.ones(3, requires_grad=True), adjoint.zeros(())

        def pack(tensor):
            note(("pack", count.item()))
            return tensor.clone()

        def unpack(tensor):
            note(("unpack", count.item()))
            return tensor

        def step():
            count.add_(1)
            with graph.saved_tensors_hooks(pack, unpack):
                product = weight.exp()
            count.add_(1)
            return adjoint.autograd.grad(product.sum(), weight)[0]

        return step

    logged(make)


def test_the_context_of_a_hook():
    def make(note):
        weight = adjoint.ones(3, requires_grad=True)

        def hook(grad, context):
            note((shown(grad), context.kind, context.node.name()))

        weight.register_hook(hook, context=True)
        return lambda: adjoint.autograd.grad((weight * 2).sum(), weight)

    logged(make)


def test_anomaly_mode_sees_values():
    weight = adjoint.ones(3, requires_grad=True)

    @adjoint.compile
    def step(x):
        with adjoint.autograd.detect_anomaly():
            return adjoint.autograd.grad((weight * x).sqrt().sum(), weight)[0]

    for _ in range(2):
        step(adjoint.ones(3))
    with pytest.raises(RuntimeError, match="returned nan values"):
        step(adjoint.tensor([0.0, 1.0, 1.0]))


def test_a_traceable_hook_is_compiled():
    calls = []
    weight = adjoint.ones(3, requires_grad=True)

    @graph.traceable
    def double(grad):
        calls.append(1)
        return grad * 2

    weight.register_hook(double)
    weight.register_hook(lambda grad: calls.append(1) or grad * 3, traceable=True)
    step = adjoint.compile(lambda: adjoint.autograd.grad(weight.sum(), weight)[0])
    for _ in range(5):
        assert step().tolist() == [6.0] * 3
    assert len(calls) == 4  # eagerly, and when they were traced


def test_gradients_go_through_what_a_hook_computes():
    def make():
        layer, x = nn.Linear(3, 3), adjoint.randn(2, 3)
        layer.register_forward_hook(lambda module, args, out: (out * args[0]).sin())

        def step():
            layer.zero_grad()
            layer(x).sum().backward()
            return layer.weight.grad, layer.bias.grad

        return step

    assert_alike(make, 4)


@pytest.mark.parametrize("kind", ["before", "now and then", "after"])
def test_gradients_go_through_what_a_hook_computes_of_an_argument(kind):
    def run(compile):
        adjoint.manual_seed(0)
        layer, count = nn.Linear(2, 2), [0]

        def before(module, args):
            count[0] += 1
            return (args[0] * 2,) if kind == "before" or count[0] % 2 else None

        if kind == "after":
            layer.register_forward_hook(lambda module, args, result: result + args[0])
        else:
            layer.register_forward_pre_hook(before)
        step = compile(lambda x: layer(x).square().sum().backward())
        found = []
        for number in range(5):
            x = adjoint.full((1, 2), float(number), requires_grad=True)
            step(x)
            found.append(x.grad)
        return adjoint.stack([*found, layer.weight.grad[:1]])

    assert adjoint.allclose(run(adjoint.compile), run(lambda function: function))


def test_hooks_added_and_removed_later():
    log = []
    weight = adjoint.ones(3, requires_grad=True)
    step = adjoint.compile(lambda: adjoint.autograd.grad(weight.sum(), weight)[0])
    for _ in range(3):
        step()
    handle = weight.register_hook(lambda grad: log.append(1) or grad * 3)
    assert step().tolist() == step().tolist() == [3.0] * 3
    assert len(log) == 2
    handle.remove()
    assert step().tolist() == [1.0] * 3
    assert len(log) == 2


def test_a_hook_that_begins_to_answer():
    factor = []
    weight = adjoint.ones(3, requires_grad=True)
    weight.register_hook(lambda grad: grad * factor[0] if factor else None)
    step = adjoint.compile(lambda: adjoint.autograd.grad(weight.sum(), weight)[0])
    for _ in range(3):
        assert step().tolist() == [1.0] * 3
    factor.append(2.0)
    for _ in range(3):
        assert step().tolist() == [2.0] * 3


class _Stop(Exception):
    pass


def test_an_exception_in_a_hook_arrives_as_itself_and_nothing_is_changed():
    weight, count = adjoint.ones(3, requires_grad=True), adjoint.zeros(3)
    optimizer = optim.Adam([weight], lr=0.1)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    calls = []

    def hook(grad):
        calls.append(grad)
        if len(calls) == 4:
            raise _Stop("at the fourth")

    weight.register_hook(hook)

    @adjoint.compile
    def step():
        count.add_(1)
        optimizer.zero_grad()
        (nn.functional.dropout(weight, 0.5) ** 2).sum().backward()
        optimizer.step()
        schedule.step()

    def everything():
        state = optimizer.state[weight]
        tensors = (weight, weight.grad, count, *state.values(), adjoint.get_rng_state())
        numbers = (weight._version, count._version, schedule.last_epoch, schedule.get_last_lr())
        return [t.tolist() for t in tensors], numbers

    for _ in range(3):
        step()
    before = everything()
    with pytest.raises(_Stop, match="at the fourth") as caught:
        step()
    assert "hook" in "".join(caught.value.__notes__)
    assert "AccumulateGrad" in "".join(caught.value.__notes__)
    assert everything() == before
    step()
    assert count.tolist() == [4.0] * 3


def test_a_hook_that_changes_its_gradient_in_place_is_refused():
    for device in ("cpu", "xla"):
        weight = adjoint.ones(3, requires_grad=True, device=device)
        step = adjoint.compile(lambda w=weight: adjoint.autograd.grad(w.sum(), w)[0])
        for _ in range(2):
            step()
        weight.register_hook(lambda grad: grad.mul_(2))
        with pytest.raises(CompileError, match="a value it was given"):
            step()


def _stepped(weight, scale):
    scale.grad = adjoint.ones(3)
    optimizer = optim.SGD([scale], lr=0.1)
    return lambda: optimizer.step()


def _by_a_view(weight, scale):
    view = scale[:2]
    return lambda: view.add_(1)


def _by_a_detached(weight, scale):
    detached = scale.detach()
    return lambda: detached.add_(1)


def _in_its_gradient(weight, scale):
    scale.grad = adjoint.ones(3)
    return lambda: scale.grad.add_(1)


CHANGES = {
    "in place": lambda weight, scale: lambda: scale.data.add_(1),
    "an element": lambda weight, scale: lambda: scale.detach().__setitem__(0, 9.0),
    "a view": _by_a_view,
    "detached": _by_a_detached,
    "gradient": _in_its_gradient,
    "another gradient": lambda weight, scale: lambda: setattr(scale, "grad", adjoint.ones(3)),
    "no gradient": lambda weight, scale: lambda: setattr(weight, "grad", None),
    "NumPy": lambda weight, scale: lambda: scale.detach().numpy().fill(5),
    "an optimizer": _stepped,
    "the leaf": lambda weight, scale: lambda: weight.data.mul_(2),
}


@pytest.mark.parametrize("kind", ["leaf", "module", "pack", "end of pass"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_hook_that_changes_a_tensor_of_the_program_changes_nothing(name, kind):
    weight, scale = adjoint.ones(3, requires_grad=True), adjoint.ones(3, requires_grad=True)
    weight.grad, active, layer = adjoint.ones(3), [False], nn.Identity()
    change = CHANGES[name](weight, scale)

    def hook(*args):
        if active[0]:
            with adjoint.no_grad():
                change()

    def pack(tensor):
        hook()
        return tensor

    if kind == "leaf":
        weight.register_hook(hook)
    elif kind == "module":
        layer.register_forward_hook(hook)
    elif kind == "end of pass":
        weight.register_hook(lambda grad: graph.queue_callback(hook))

    @adjoint.compile
    def step():
        saved = graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        with saved if kind == "pack" else nullcontext():
            product = layer(weight * scale)
        return adjoint.autograd.grad(product.sum(), weight)[0]

    for _ in range(3):
        step()
    gradients = [weight.grad, scale.grad]
    tensors = [weight, scale, *[each for each in gradients if each is not None]]
    before = [(each.tolist(), each._version) for each in tensors]
    active[0] = True
    with pytest.raises((CompileError, RuntimeError, ValueError)) as caught:
        step()
    assert [(each.tolist(), each._version) for each in tensors] == before
    assert weight.grad is gradients[0]
    assert scale.grad is gradients[1]
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    assert "changes a tensor from outside" in told or "read-only" in told
    active[0] = False
    assert step().tolist() == [1.0] * 3
    scale.data.add_(1)  # and all may be changed as before
    assert step().tolist() == [2.0] * 3


def test_a_hook_that_changes_a_tensor_of_the_program_in_a_later_backward_changes_nothing():
    weight, scale, active = adjoint.ones(3, requires_grad=True), adjoint.ones(3), [False]

    def hook(grad):
        if active[0]:
            scale.add_(1)

    @adjoint.compile
    def loss():
        product = weight * scale
        product.register_hook(hook)
        return product.sum()

    for _ in range(3):
        loss().backward()
    active[0] = True
    made = loss()
    with pytest.raises(CompileError, match="changes a tensor from outside"):
        made.backward()
    assert (scale.tolist(), weight.grad.tolist()) == ([1.0] * 3, [3.0] * 3)
    active[0] = False
    scale.add_(1)
    loss().backward()
    assert weight.grad.tolist() == [5.0] * 3


def test_a_hook_that_changes_an_argument_is_refused_and_one_that_changes_others_is_not():
    weight, count, x = adjoint.ones(3, requires_grad=True), adjoint.zeros(()), adjoint.ones(3)
    changed = [count]
    weight.register_hook(lambda grad: [each.add_(1) for each in changed] and None)
    step = adjoint.compile(lambda x: adjoint.autograd.grad((weight * x).sum(), weight)[0] + x)
    for _ in range(3):
        step(x)
    assert count.item() == 3
    changed[:] = [x]
    with pytest.raises(CompileError, match=r"changes a tensor from outside.*traceable"):
        step(x)
    assert x.tolist() == [1.0] * 3


def test_a_hook_that_answers_another_shape_is_refused():
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda module, args, out: out[:, :2])
    step = adjoint.compile(lambda: layer(adjoint.ones(2, 3)).detach())
    assert step().shape == (2, 2)
    with pytest.raises(CompileError, match=r"float32\[2, 2\] in place of float32\[2, 3\]"):
        step()


def test_hooks_of_optimizers():
    def make(note):
        weight = adjoint.ones(3, requires_grad=True)
        optimizer = optim.SGD([weight], lr=0.1)
        optimizer.register_step_pre_hook(lambda *_: note(("before", shown(weight.grad))))
        optimizer.register_step_post_hook(lambda *_: note(("after", shown(weight))))

        def step():
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
            return weight

        return step

    logged(make)


def test_values_that_hooks_see_are_arrays_of_numpy():
    kinds = set()
    weight = adjoint.ones(3, requires_grad=True)
    weight.register_hook(lambda grad: kinds.add(type(grad.array)))
    step = adjoint.compile(lambda: adjoint.autograd.grad(weight.sum(), weight)[0])
    for _ in range(3):
        step()
    assert kinds == {np.ndarray}


def test_a_once_only_hook_is_called_once():
    calls = []
    weight = adjoint.ones(3, requires_grad=True)
    layer = nn.Linear(3, 3)
    step = adjoint.compile(lambda: adjoint.autograd.grad(layer(weight).sum(), weight)[0])
    for _ in range(3):
        step()
    weight.register_hook(lambda grad: calls.append("leaf"), once=True)
    layer.register_forward_hook(lambda *args: calls.append("module"), once=True)
    for _ in range(3):
        step()
    assert calls == ["module", "leaf"]


# ---- each kind by itself, none forgotten ----


def _trained(note, prepare, inside=lambda note: lambda net, hidden: None):
    """A step of a network that has hooks, registered before it or at each call."""
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x = adjoint.randn(5, 4)
    prepare(net, optimizer, note)
    register = inside(note)

    def step():
        optimizer.zero_grad()
        hidden = net[1](net[0](x))
        register(net, hidden)
        loss = net[2](hidden).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach(), *net.parameters()

    return step


def _nothing(net, optimizer, note):
    pass


def _seen(values):
    return [shown(value) for value in values]


def _before(register):
    return lambda note: _trained(note, lambda net, o, note: register(net, o, note))


def _at_each_call(register):
    return lambda note: _trained(note, _nothing, register)


def _saved(note):
    def pack(tensor):
        note(("pack", shown(tensor)))
        return tensor * 2

    def unpack(tensor):
        note(("unpack", shown(tensor)))
        return tensor / 2

    weight, x = adjoint.ones(3, requires_grad=True), adjoint.randn(3)

    def step():
        with graph.saved_tensors_hooks(pack, unpack):
            product = (weight * x).exp()
        return adjoint.autograd.grad(product.sum(), weight)

    return step


def _callback(note):
    return lambda net, hidden: hidden.register_hook(
        lambda grad: graph.queue_callback(lambda: note("end"))
    )


def _of_all_nodes(note):
    weight, x = adjoint.ones(3, requires_grad=True), adjoint.randn(3)

    def step():
        hooks = graph.node_hooks(lambda node, outs: note((node.name(), _seen(outs))))
        with hooks:
            product = (weight * x).exp()
        return adjoint.autograd.grad(product.sum(), weight)

    return step


def _several(mode, look):
    def register(net, optimizer, note):
        both = [net[0].weight, net[2].weight]
        graph.register_multi_grad_hook(both, lambda found: note(look(found)), mode=mode)

    return _before(register)


KINDS = {
    "Tensor.register_hook": _at_each_call(
        lambda note: lambda net, h: h.register_hook(lambda g: note(shown(g)) or g * 2)
    ),
    "Tensor.register_hook of a leaf": _before(
        lambda net, o, note: net[0].weight.register_hook(lambda g: note(shown(g)) or g * 2)
    ),
    "Tensor.register_post_accumulate_grad_hook": _before(
        lambda net, o, note: net[0].weight.register_post_accumulate_grad_hook(
            lambda leaf: note((shown(leaf), shown(leaf.grad)))
        )
    ),
    "Node.register_hook": _at_each_call(
        lambda note: (
            lambda net, h: h.grad_fn.register_hook(
                lambda ins, outs: note((_seen(ins), _seen(outs))) or tuple(g * 3 for g in ins)
            )
        )
    ),
    "Node.register_prehook": _at_each_call(
        lambda note: (
            lambda net, h: h.grad_fn.register_prehook(
                lambda outs: note(_seen(outs)) or tuple(g * 3 for g in outs)
            )
        )
    ),
    "graph.register_multi_grad_hook": _several("all", _seen),
    "graph.register_multi_grad_hook, any": _several("any", shown),
    "graph.node_hooks": _of_all_nodes,
    "graph.saved_tensors_hooks": _saved,
    "graph.queue_callback": _at_each_call(_callback),
    "Module.register_forward_hook": _before(
        lambda net, o, note: net[0].register_forward_hook(
            lambda m, args, out: note((_seen(args), shown(out))) or out * 2
        )
    ),
    "Module.register_forward_pre_hook": _before(
        lambda net, o, note: net[0].register_forward_pre_hook(
            lambda m, args: note(_seen(args)) or (args[0] * 2,)
        )
    ),
    "Module.register_full_backward_hook": _before(
        lambda net, o, note: net[2].register_full_backward_hook(
            lambda m, ins, outs: note((_seen(ins), _seen(outs))) or (ins[0] * 2,)
        )
    ),
    "Module.register_full_backward_pre_hook": _before(
        lambda net, o, note: net[2].register_full_backward_pre_hook(
            lambda m, outs: note(_seen(outs)) or (outs[0] * 2,)
        )
    ),
    "Optimizer.register_step_pre_hook": _before(
        lambda net, o, note: o.register_step_pre_hook(lambda *_: note(shown(net[0].weight.grad)))
    ),
    "Optimizer.register_step_post_hook": _before(
        lambda net, o, note: o.register_step_post_hook(lambda *_: note(shown(net[0].weight)))
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_gives_the_log_of_eager_code(kind):
    logged(KINDS[kind])


def _names(module):
    return (type(module).__name__, module.training)


# Of all modules and optimizers, registered once for both runs: what is given, and how it is noted.
EVERYWHERE = {
    "nn.register_module_forward_hook": (
        nn.register_module_forward_hook,
        lambda note: lambda m, args, out: note((_names(m), _seen(args), shown(out))),
    ),
    "nn.register_module_forward_pre_hook": (
        nn.register_module_forward_pre_hook,
        lambda note: lambda m, args: note((_names(m), _seen(args))),
    ),
    "nn.register_module_full_backward_hook": (
        nn.register_module_full_backward_hook,
        lambda note: lambda m, ins, outs: note((_names(m), _seen(ins), _seen(outs))),
    ),
    "nn.register_module_full_backward_pre_hook": (
        nn.register_module_full_backward_pre_hook,
        lambda note: lambda m, outs: note((_names(m), _seen(outs))),
    ),
    "optimizer.register_optimizer_step_pre_hook": (
        optim.optimizer.register_optimizer_step_pre_hook,
        lambda note: lambda o, args, kwargs: note(shown(o.param_groups[0]["params"][0].grad)),
    ),
    "optimizer.register_optimizer_step_post_hook": (
        optim.optimizer.register_optimizer_step_post_hook,
        lambda note: lambda o, args, kwargs: note(shown(o.param_groups[0]["params"][0])),
    ),
}


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_each_kind_for_all_modules_and_optimizers_gives_the_log_of_eager_code(kind):
    register, make = EVERYWHERE[kind]
    logs = []
    for compile in (lambda step: step, adjoint.compile):
        log = []
        handle = register(make(log.append))
        try:
            adjoint.manual_seed(0)
            step = compile(_trained(None, _nothing))
            for _ in range(4):
                step()
        finally:
            handle.remove()
        logs.append(log)
    assert step.count == 1
    assert len(logs[0]) >= 4
    assert logs[1] == logs[0]


# What a compiled function calls none of, with the reason.
NOT_IN_A_STEP = {
    "state_dict": "called where states are saved and loaded",
    "registration": "called where a module is built",
    "Module.register_backward_hook": "compat's, a hook of the last node",
    "graph.disable_saved_tensors_hooks": "refuses hooks",
    "graph.remove_hooks": "takes hooks away",
    "graph.hooks": "lists hooks",
}


def test_every_kind_of_hook_is_here():
    owners = {
        "Tensor": adjoint.Tensor,
        "Node": graph.Node,
        "Module": nn.Module,
        "Optimizer": optim.Optimizer,
        "nn": nn,
        "optimizer": optim.optimizer,
    }
    found = {
        f"{owner}.{name}"
        for owner, thing in owners.items()
        for name in dir(thing)
        if name.startswith("register") and "hook" in name
    }
    found |= {f"graph.{name}" for name in graph.__all__ if "hook" in name}
    assert len(found) > 25
    left = found - KINDS.keys() - EVERYWHERE.keys()
    for name in list(left):
        if name in NOT_IN_A_STEP or any(part in name for part in ("state_dict", "registration")):
            left.remove(name)
    assert not left
