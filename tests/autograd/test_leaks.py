"""What nobody needs any more is freed at once; only cycles of the user's making need `gc`."""

import gc
import warnings
import weakref

import pytest

import adjoint
from adjoint.autograd import graph


@pytest.fixture(autouse=True)
def no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


def same(value):
    return value


def refs(*objects):
    return [weakref.ref(each) for each in objects]


def alive(references):
    return [reference() for reference in references if reference() is not None]


def test_a_graph_dies_with_its_tensor():
    def scope():
        x = leaf(1.0, 2.0)
        y = x.exp()
        z = (y * y).sum()
        z.backward(retain_graph=True)
        return refs(x, y, z, y.grad_fn, z.grad_fn)

    assert not alive(scope())


@pytest.mark.parametrize(
    "compute", [adjoint.exp, adjoint.sin, lambda x: x * x, lambda x: x.max(0)[0]]
)
@pytest.mark.parametrize("ran", [False, True])
def test_identity_pack_hook(compute, ran):
    def scope():
        x = leaf(1.0, 2.0)
        with graph.saved_tensors_hooks(same, same):
            y = compute(x)
        if ran:
            y.sum().backward(retain_graph=True)
        return refs(x, y, y.grad_fn)

    assert not alive(scope())


def test_identity_hooks_on_one_saved_tensor():
    def scope():
        x = leaf(1.0, 2.0)
        y = x.exp()
        y.grad_fn._raw_saved_result.register_hooks(same, same)
        shown = y.grad_fn._saved_result
        return refs(x, y, y.grad_fn, shown)

    assert not alive(scope())


def test_saved_attributes_make_no_cycle():
    def scope():
        x = leaf(1.0, 2.0)
        y = x.exp()
        kept = y.grad_fn._saved_result
        kept.mine = y.grad_fn._raw_saved_result
        return refs(y, y.grad_fn, kept)

    assert not alive(scope())


def test_saved_tensors_are_freed_as_the_pass_goes():
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(adjoint.clone, same):
        y = x.sin().sin()
    kept = refs(y.grad_fn._raw_saved_self.data)
    y.sum().backward()
    assert not alive(kept) and y.grad_fn is not None


def test_an_entered_pair_of_hooks_is_not_kept_by_a_pass():
    def scope():
        def unpack(value):
            reference().__enter__()
            return value

        pair = graph.saved_tensors_hooks(same, unpack)
        reference = weakref.ref(pair)
        with pair:
            leaf(1.0).sin().sum().backward()
        return refs(unpack)

    assert not alive(scope())


CYCLES = {
    "its own tensor": lambda x, y, z: y,
    "a later tensor": lambda x, y, z: z,
    "its node": lambda x, y, z: y.grad_fn,
    "a later node": lambda x, y, z: z.grad_fn,
}


@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "leaf", "post-accumulate"])
@pytest.mark.parametrize("held", CYCLES.values(), ids=CYCLES.keys())
@pytest.mark.parametrize("ran", [False, True])
def test_a_hook_that_holds_a_part_of_the_graph(kind, held, ran):
    """A cycle of the user's making: the collector finds it."""

    def scope():
        x = leaf(1.0, 2.0)
        y = x * 2
        z = y.exp()
        kept = held(x, y, z)

        def hook(*args):
            assert kept is not None

        register = {
            "tensor": y.register_hook,
            "pre": y.grad_fn.register_prehook,
            "post": y.grad_fn.register_hook,
            "leaf": x.register_hook,
            "post-accumulate": x.register_post_accumulate_grad_hook,
        }[kind]
        register(hook)
        if ran:
            z.sum().backward(retain_graph=True)
        return refs(x, y, z, y.grad_fn, z.grad_fn, hook)

    references = scope()
    gc.collect()
    assert not alive(references)


def test_hooks_that_hold_nothing_need_no_collector():
    def scope():
        x = leaf(1.0, 2.0)
        y = x * 2
        y.retain_grad()
        for options in ({}, {"name": "a"}, {"once": True}, {"context": True}):
            y.register_hook(lambda *args: None, **options)
        z = y.exp()
        z.sum().backward(retain_graph=True)
        return refs(x, y, z, y.grad_fn, y.grad)

    assert not alive(scope())


def removed(y, hook):
    y.register_hook(hook).remove()


def ran_once(y, hook):
    y.register_hook(hook, once=True)
    y.sum().backward(retain_graph=True)


@pytest.mark.parametrize("register", [removed, ran_once])
def test_a_hook_that_is_gone_holds_nothing(register):
    def scope():
        y = leaf(1.0, 2.0) * 2

        def hook(grad):
            assert y is not None

        register(y, hook)
        return refs(y, y.grad_fn, hook)

    assert not alive(scope())


def test_a_hook_that_refers_to_its_tensor_weakly():
    def scope():
        y = leaf(1.0, 2.0) * 2
        reference = weakref.ref(y)
        seen = []
        y.register_hook(lambda grad: seen.append(reference().shape))
        y.sum().backward()
        assert seen == [(2,)]
        return refs(y, y.grad_fn)

    assert not alive(scope())


def on_ctx(ctx, x):
    ctx.kept = y = x.exp()
    return y


def twice_on_ctx(ctx, x):
    ctx.kept = y = x.exp()
    ctx.save_for_backward(y)
    return y


def in_a_tuple(ctx, x):
    y = x.exp()
    ctx.all = (1, (y, x), "more")
    ctx.kept = y
    return y, x * 2


def as_a_view(ctx, x):
    y = x.exp()
    ctx.kept = y.view(-1)
    return y


def as_a_saved_view(ctx, x):
    y = x.exp()
    ctx.kept = None
    ctx.save_for_backward(y.view(-1))
    return y


def changed(ctx, x):
    ctx.kept = x.exp_()
    ctx.mark_dirty(x)
    return x


FORMS = [on_ctx, twice_on_ctx, in_a_tuple, as_a_view, as_a_saved_view, changed]


def exponential(form):
    """A Function by one of the forms above, whose backward uses what that keeps."""

    class Exponential(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return form(ctx, x)

        @staticmethod
        def backward(ctx, grad, *other):
            return grad * (ctx.saved_tensors[0] if ctx.kept is None else ctx.kept)

    def call(x):
        y = Exponential.apply(x * 1)
        return y[0] if isinstance(y, tuple) else y

    return call


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ran", [False, True])
def test_a_function_that_keeps_its_output(form, ran):
    def scope():
        x = leaf(1.0, 2.0)
        y = exponential(form)(x)
        references = refs(x, y, y.grad_fn, y.grad_fn.next_functions[0][0])
        z = y * 1
        del y
        if ran:
            z.sum().backward(retain_graph=True)
            assert x.grad.tolist() == x.exp().tolist()
        return references

    assert not alive(scope())


@pytest.mark.parametrize("form", [on_ctx, twice_on_ctx, in_a_tuple, changed])
@pytest.mark.parametrize("dropped", [False, True])
def test_second_derivative_through_an_output_on_ctx(form, dropped):
    x = leaf(1.0, 2.0)
    y = exponential(form)(x)
    assert y.grad_fn.kept is y
    z = (y * 1).sum()
    if dropped:
        del y
    (first,) = adjoint.autograd.grad(z, x, create_graph=True)
    (second,) = adjoint.autograd.grad(first.sum(), x)
    assert second.tolist() == x.exp().tolist()


def test_what_comes_in_the_place_of_an_output_on_ctx():
    y = exponential(in_a_tuple)(leaf(1.0, 2.0))
    node = y.grad_fn
    reference = weakref.ref(y)
    del y
    assert reference() is None
    kept = node.kept
    assert kept is node.kept and kept is node.all[1][0]
    assert kept.grad_fn is node and kept.requires_grad
    assert (node.all[0], node.all[2]) == (1, "more")


def test_a_changed_output_on_ctx():
    """What changed it may be recorded, and is not known any more once the tensor is gone."""
    x = leaf(1.0, 2.0)
    y = exponential(on_ctx)(x)
    y.mul_(2)
    z = (y * 1).sum()
    del y
    z.backward(retain_graph=True)
    assert x.grad.tolist() == (4 * x.exp()).tolist()
    with pytest.raises(RuntimeError, match="saved 'kept' at version 0, but it is at version 1"):
        adjoint.autograd.grad(z, x, create_graph=True)


def test_outputs_on_ctx_are_replaced_and_deleted():
    seen = []

    class Twice(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.first = ctx.second = y = x * 2
            return y

        @staticmethod
        def backward(ctx, grad):
            ctx.first = 3
            seen.append((ctx.first, hasattr(ctx, "second")))
            del ctx.first, ctx.second
            seen.append((hasattr(ctx, "first"), hasattr(ctx, "second")))
            with pytest.raises(AttributeError):
                del ctx.second
            return grad * 2

    y = Twice.apply(leaf(1.0))
    y.sum().backward()
    assert seen == [(3, True), (False, False)]
    assert not hasattr(y.grad_fn, "second")


def test_create_graph():
    def scope():
        x = leaf(1.0, 2.0)
        y = (x.exp() * x).sum()
        (first,) = adjoint.autograd.grad(y, x, create_graph=True)
        (second,) = adjoint.autograd.grad(first.sum(), x, create_graph=True)
        return refs(x, y, first, second, first.grad_fn, y.grad_fn)

    assert not alive(scope())


ENDS = {
    "None": lambda x: setattr(x, "grad", None),
    "detached": lambda x: setattr(x, "grad", x.grad.detach()),
    "forgotten": lambda x: adjoint.optim.SGD([x], 0.1).zero_grad(),
    "zeros": lambda x: adjoint.optim.SGD([x], 0.1).zero_grad(set_to_none=False),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_create_graph_into_grad(end):
    """`.grad` then refers to the graph, and that to the leaf, until it does no more."""

    def scope():
        x = leaf(1.0, 2.0)
        with pytest.warns(UserWarning, match="cyclic collector"):
            (x.exp() * x).sum().backward(create_graph=True)
        references = refs(x, x.grad, x.grad.grad_fn)
        end(x)
        return references

    assert not alive(scope())


def test_create_graph_into_grad_that_stays():
    def scope():
        x = leaf(1.0, 2.0)
        (x.exp() * x).sum().backward(create_graph=True)
        return refs(x, x.grad, x.grad.grad_fn)

    references = scope()
    assert len(alive(references)) == 3
    gc.collect()
    assert not alive(references)


def test_create_graph_of_a_gradient_that_needs_none():
    def scope():
        x = leaf(1.0, 2.0)
        y = x * 2
        y.sum().backward(create_graph=True)
        return refs(x, x.grad, y.grad_fn)

    assert not alive(scope())


def test_backward_warns_at_the_line_of_the_user():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    with pytest.warns(UserWarning, match="Use autograd.grad") as heard:
        loss.backward(create_graph=True)
        adjoint.autograd.backward(loss, create_graph=True)
    assert [warning.filename for warning in heard] == [__file__, __file__]
    x.grad = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjoint.autograd.grad(loss, x, create_graph=True)
        loss.backward(retain_graph=True)
        with pytest.raises(UserWarning, match="Use autograd.grad"):
            loss.backward(create_graph=True)
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("packs", [False, True])
def test_a_failed_pass(packs):
    def fail(grad):
        raise KeyError("stop")

    def scope():
        x = leaf(1.0, 2.0)
        with (
            graph.saved_tensors_hooks(same, same)
            if packs
            else graph.node_hooks(pre=lambda n, g: None)
        ):
            y = x.exp()
            z = y.sin()
        y.register_hook(fail)
        graph.register_multi_grad_hook([x, y, z], lambda grads: None)
        try:
            z.sum().backward(retain_graph=True)
        except KeyError as error:
            error.__traceback__ = None  # its frames hold all that they worked on
        assert x.grad is None
        return refs(x, y, z, y.grad_fn, z.grad_fn)

    assert not alive(scope())


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hooks_over_many_passes(mode):
    x = leaf(1.0, 2.0)
    y, z = x.exp(), x.sin()
    grads = []
    unfinished = []

    def seen(arrived):
        several = arrived if mode == "all" else [arrived]
        grads.extend(weakref.ref(g) for g in several)

    handle = graph.register_multi_grad_hook([y, z], seen, mode=mode)
    z.register_hook(lambda grad: unfinished.append(weakref.ref(grad)))
    out = (y * z).sum()
    for i in range(1000):
        if i % 2:
            out.backward(retain_graph=True)
            continue
        stop = y.register_hook(lambda grad: 1 / 0, once=True)  # the pass fails half-way
        with pytest.raises(ZeroDivisionError):
            out.backward(retain_graph=True)
        stop.remove()
    assert len(grads) >= 500 and len(unfinished) == 1000
    gc.collect()  # exceptions and their tracebacks are cycles of Python's own
    assert not alive(grads) and not alive(unfinished)
    references = refs(y.grad_fn, z.grad_fn)
    del y, z, out, handle
    assert not alive(references)


def test_mutation_context_keeps_nothing():
    def scope():
        with graph.allow_mutation_on_saved_tensors() as context:
            x = leaf(1.0, 2.0).clone()
            y = x.exp()
            z = (x * x).sum()
            x.mul_(2)
            y.mul_(2)
            references = refs(x, y, z.grad_fn, *context.cloned.values(), *context.original.values())
        return [*references, *refs(context)]

    assert not alive(scope())


def test_hooks_of_what_is_gone_are_not_listed():
    x = leaf(1.0)
    before = len(graph.hooks())
    kept = x * 2
    kept.register_hook(same)
    for _ in range(50):
        (x * 2).register_hook(same)
    assert len(graph.hooks()) == before + 1
