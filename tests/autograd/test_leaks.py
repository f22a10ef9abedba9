"""What nobody needs any more is freed at once; only cycles of the user's making need `gc`."""

import gc
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


def test_create_graph():
    def scope():
        x = leaf(1.0, 2.0)
        y = (x.exp() * x).sum()
        (first,) = adjoint.autograd.grad(y, x, create_graph=True)
        (second,) = adjoint.autograd.grad(first.sum(), x, create_graph=True)
        return refs(x, y, first, second, first.grad_fn, y.grad_fn)

    assert not alive(scope())


def test_create_graph_into_grad():
    """`.grad` then refers to the graph, and that to the leaf: setting it to None ends it."""

    def scope(clean):
        x = leaf(1.0, 2.0)
        (x.exp() * x).sum().backward(create_graph=True)
        references = refs(x, x.grad, x.grad.grad_fn)
        if clean:
            x.grad = None
        return references

    assert not alive(scope(True))
    references = scope(False)
    gc.collect()
    assert not alive(references)


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
