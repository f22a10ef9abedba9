"""Hooks: options, records, errors, handles. tests/parity compares their order with PyTorch."""

import copy
import gc
import pickle
import warnings
import weakref

import pytest

import adjoint
from adjoint.autograd import graph
from adjoint.utils.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks


@pytest.fixture(autouse=True)
def no_hooks_of_others():
    """What earlier tests left registered would be listed too."""
    gc.collect()
    graph.remove_hooks()


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


KINDS = ["tensor", "leaf", "pre", "post", "post-accumulate"]


def register(kind, x, y, hook, **options):
    """Register a hook that ignores what it is given besides options, as one of the kinds."""
    return {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "post-accumulate": x.register_post_accumulate_grad_hook,
    }[kind](hook, **options)


def program():
    x = leaf(1.0, 2.0)
    y = x * 3
    return x, y


@pytest.mark.parametrize("kind", KINDS)
def test_once(kind):
    x, y = program()
    calls = []
    register(kind, x, y, lambda *args: calls.append(len(args)), once=True)
    always = []
    register(kind, x, y, lambda *args: always.append(1))
    for _ in range(3):
        y.sum().backward(retain_graph=True)
    assert len(calls) == 1 and len(always) == 3
    assert [record.kind for record in graph.hooks()] == [graph.hooks()[0].kind]


def test_once_even_if_it_raises():
    x, y = program()

    def fail(grad):
        raise KeyError("once")

    y.register_hook(fail, once=True)
    with pytest.raises(KeyError):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("kind", KINDS)
def test_context(kind):
    x, y = program()
    contexts = []
    register(kind, x, y, lambda *args: contexts.append(args[-1]), context=True)
    y.sum().backward()
    (context,) = contexts
    assert isinstance(context, graph.HookContext)
    expected = x if kind in ("leaf", "post-accumulate") else y
    assert context.node is graph.get_gradient_edge(expected).node
    assert context.output_nr == 0
    assert context.kind in repr(context)
    if expected is y:
        assert context.source.filename == __file__ and context.source.text == "y = x * 3"


def test_context_knows_which_output():
    x = leaf(3.0, 1.0)
    values, _ = x.sort()
    first, second = (x * 1).unbind()
    seen = []
    second.register_hook(lambda grad, context: seen.append(context.output_nr), context=True)
    (first + second * 2 + values.sum()).backward()
    assert seen == [1]


def test_answers_of_hooks_with_options_count():
    x, y = program()
    y.register_hook(lambda grad: grad * 10, name="tenfold", once=True)
    y.grad_fn.register_hook(lambda ins, outs, context: (ins[0] + 1, None), context=True)
    y.sum().backward()
    assert x.grad.tolist() == [31.0, 31.0]


# ---- listing and removing ----


def test_records_of_tensors_and_nodes():
    x, y = program()

    def watch(*args):
        pass

    y.register_hook(watch, name="mine")
    y.grad_fn.register_prehook(watch)
    y.grad_fn.register_hook(watch)
    x.register_hook(watch)
    x.register_post_accumulate_grad_hook(watch)
    (record,) = graph.hooks(y)
    assert (record.kind, record.name, record.function) == ("tensor hook", "mine", watch)
    assert record.owner is y.grad_fn and record.output_nr == 0
    node_kinds = [record.kind for record in graph.hooks(y.grad_fn)]
    assert node_kinds == ["tensor hook", "pre-hook", "post-hook"]
    assert [r.kind for r in graph.hooks(x)] == ["tensor hook", "post-accumulate hook"]
    assert all(r.owner is x for r in graph.hooks(x))
    assert watch.__qualname__ in {r.name for r in graph.hooks(x)}
    assert len(graph.hooks()) == 5
    assert {record.id for record in graph.hooks()} == {
        record.id for target in (x, y.grad_fn) for record in graph.hooks(target)
    }


def test_a_record_removes_its_hook():
    x, y = program()
    calls = []
    y.register_hook(lambda grad: calls.append("kept"))
    y.register_hook(lambda grad: calls.append("gone"))
    record = graph.hooks(y)[1]
    record.remove()
    record.remove()
    y.sum().backward()
    assert calls == ["kept"]


@pytest.mark.parametrize("target", ["tensor", "node", "leaf", "process"])
def test_remove_hooks(target):
    x, y = program()
    z = y * 2
    calls = {}
    for kind in KINDS:
        register(kind, x, y, lambda *args, kind=kind: calls.update({kind: 1}))
    z.register_hook(lambda grad: calls.update(other=1))
    gone = {
        "tensor": (y, {"tensor"}),
        "node": (y.grad_fn, {"tensor", "pre", "post"}),
        "leaf": (x, {"leaf", "post-accumulate"}),
        "process": (None, {*KINDS, "other"}),
    }
    owner, expected = gone[target]
    assert graph.remove_hooks(owner) == len(expected)
    z.sum().backward()
    assert set(calls) == {*KINDS, "other"} - expected


def test_listing_keeps_nothing_and_finds_nothing_dead():
    x, y = program()
    node = weakref.ref(y.grad_fn)
    for _ in range(2000):  # more tables than the registry holds before it cleans up
        (x * 2).register_hook(print)
    y.register_hook(print)
    del y
    assert node() is None
    assert graph.hooks() == []


def test_what_has_hook_tables_can_be_listed():
    class Owner:
        def __init__(self):
            self.table = adjoint._base.HookTable({7: print})

        def hook_tables(self):
            return [("forward hook", self.table)]

    owner = Owner()
    (record,) = graph.hooks(owner)
    assert (record.id, record.kind, record.name, record.owner) == (
        7,
        "forward hook",
        "print",
        owner,
    )
    assert graph.remove_hooks(owner) == 1 and not owner.table
    with pytest.raises(TypeError, match="int"):
        graph.hooks(3)


# ---- what is refused ----


def test_where_hooks_can_be_registered():
    plain = adjoint.ones(2)
    x, y = program()
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        plain.register_hook(print)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        plain.register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        y.register_post_accumulate_grad_hook(print)
    for registering in (x.register_hook, y.register_hook, y.grad_fn.register_prehook):
        with pytest.raises(TypeError, match="callable, got int"):
            registering(3)


def ones(*shape):
    return adjoint.ones(*shape)


WRONG = [
    ("tensor", 3, TypeError, "Tensor, returned int"),
    ("tensor", ones(3), RuntimeError, "size of value"),
    ("tensor", ones(2).double(), RuntimeError, "type of value"),
    ("pre", ones(2), TypeError, "expected tuple"),
    ("pre", [ones(2)], TypeError, "expected tuple"),
    ("pre", (ones(2), ones(2)), RuntimeError, "got 2, but expected 1"),
    ("pre", (3,), TypeError, "Tensor, returned int"),
    ("post", (ones(2),), RuntimeError, "got 1, but expected 2"),
    ("post", (ones(2), ones(2)), RuntimeError, "None gradient"),
    ("post-accumulate", ones(2), RuntimeError, "should return None"),
    ("post-accumulate", 3, TypeError, "should return None"),
]


@pytest.mark.parametrize(("kind", "answer", "error", "message"), WRONG)
@pytest.mark.parametrize("named", [False, True])
def test_answers_that_are_refused(kind, answer, error, message, named):
    x, y = program()

    def wrong(*args):
        return answer

    register(kind, x, y, wrong, name="my hook" if named else None)
    with pytest.raises(error, match=message) as caught:
        y.sum().backward()
    name = "my hook" if named else "wrong"
    assert name in str(caught.value)
    assert x.grad is None or kind == "post-accumulate"


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_names_node_and_hook(kind):
    x, y = program()

    def broken(*args):
        raise KeyError("mine")

    register(kind, x, y, broken)
    with pytest.raises(KeyError) as caught:
        y.sum().backward()
    (note,) = caught.value.__notes__
    assert "broken" in note and "hook" in note
    assert ("AccumulateGrad" if kind in ("leaf", "post-accumulate") else "MulBackward0") in note


def test_the_note_of_a_pass_within_a_pass():
    x, y = program()

    def inner(grad):
        raise KeyError("mine")

    def outer(grad):
        with adjoint.enable_grad():
            z = x.exp()
            z.register_hook(inner)
            z.sum().backward()

    y.register_hook(outer)
    with pytest.raises(KeyError) as caught:
        y.sum().backward()
    first, second = caught.value.__notes__
    assert "inner" in first and "ExpBackward0" in first
    assert "outer" in second and "MulBackward0" in second


def test_the_same_object_changes_nothing():
    x, y = program()
    y.register_hook(lambda grad: grad)
    y.grad_fn.register_prehook(lambda grads: grads)
    y.grad_fn.register_hook(lambda ins, outs: ins)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_hooks_may_add_and_remove_hooks_of_other_outputs():
    x = leaf(1.0, 2.0)
    first, second = (x * 1).unbind()
    added = []

    def add(grad):
        second.register_hook(lambda grad: added.append(1))

    first.register_hook(add)
    out = first + second
    out.backward(retain_graph=True)
    before = len(added)
    out.backward()
    assert len(added) > before


def test_an_optimizer_step_inside_backward():
    """Each leaf may be changed as soon as its gradient is there, whoever else needs it saved."""
    a, b = leaf(1.0, 1.0), leaf(2.0, 2.0)

    def step(parameter):
        with adjoint.no_grad():
            parameter.sub_(0.5 * parameter.grad)
        parameter.grad = None

    for parameter in (a, b):
        parameter.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        (a * b).sum().backward()
    assert a.tolist() == [-0.75, -0.75] and b.tolist() == [1.5, 1.5]


# ---- in-place changes ----


def test_hooks_stay_with_the_value_and_retain_grad_moves():
    x = leaf(1.0, 2.0, 3.0)
    events = []
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda grad: events.append(("old", grad.tolist())))
    y.mul_(2)
    y.register_hook(lambda grad: events.append(("new", grad.tolist())))
    y.sum().backward()
    assert events == [("new", [1.0] * 3), ("old", [2.0] * 3)]
    assert y.grad.tolist() == [1.0] * 3 and y.retains_grad


@pytest.mark.parametrize("change", ["view", "base"])
def test_retain_grad_of_a_view_moves(change):
    y = leaf(1.0, 2.0, 3.0) * 1
    view = y[:2]
    view.retain_grad()
    (view if change == "view" else y).mul_(3)
    (y.sum() + view.sum()).backward()
    assert view.grad.tolist() == [1.0, 1.0]


# ---- handles ----


def test_a_handle_removes_any_number_of_times():
    x, y = program()
    with y.register_hook(lambda grad: grad * 5) as handle:
        y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [18.0, 18.0]


def test_extra_dicts_are_cleaned_along():
    table, extra, other = (adjoint._base.HookTable() for _ in range(3))
    handle = RemovableHandle(table, extra_dict=[extra, other])
    for each in (table, extra, other):
        each[handle.id] = print
    handle.remove()
    assert not table and not extra and not other
    single = RemovableHandle(table, extra_dict=extra)
    table[single.id] = extra[single.id] = print
    single.remove()
    assert not table and not extra


def test_a_handle_is_weak():
    x, y = program()
    handle = y.register_hook(print)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None
    handle.remove()


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h))]
)
def test_ids_are_not_used_again_after_a_copy(copied):
    x, y = program()
    handle = y.register_hook(adjoint.neg)
    later = copied(handle)
    assert later.id == handle.id
    later.id += 1000
    again = copied(later)
    assert y.register_hook(adjoint.neg).id > again.id


# ---- pickling ----


def test_pickling_warns_once_per_hook():
    x, y = program()
    for tensor in (x, y):
        tensor.register_hook(adjoint.neg)
        tensor.register_hook(adjoint.abs, name="named")
        with pytest.warns(UserWarning, match="not be serialized") as caught:
            loaded = pickle.loads(pickle.dumps(tensor))
        assert len(caught) == 2
        assert graph.hooks(loaded) == []


def test_marked_hooks_do_not_warn():
    x, _ = program()

    @unserializable_hook
    def hook(grad):
        return None

    x.register_hook(hook)
    x.register_hook(hook, once=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(x)
        warn_if_has_hooks(x)
        copied = copy.deepcopy(x)
    assert graph.hooks(copied) == []


class Unspeakable:
    """A hook that can't be shown."""

    def __call__(self, *given):
        raise KeyError("the reason")

    def __repr__(self):
        raise ValueError("not this one")

    def __getattr__(self, name):
        raise ValueError("nor this one")


class Hidden(Exception):
    """An error that lets nothing be said about it."""

    @property
    def __dict__(self):
        raise ValueError("not this one")

    def add_note(self, text):
        raise ValueError("nor this one")


class Sealed(Exception):
    def __setattr__(self, name, value):
        raise ValueError("not this one")


def raising(error):
    def hook(*given):
        raise error

    return hook


@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "accumulate", "module"])
@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (Unspeakable(), KeyError),
        (raising(Hidden("the reason")), Hidden),
        (raising(Sealed("the reason")), Sealed),
    ],
    ids=["hook", "error", "sealed error"],
)
def test_what_a_hook_raises_is_what_comes_out(kind, hook, expected):
    x = leaf(1.0, 2.0)
    module = adjoint.nn.Linear(2, 1)
    y = module(x * 2)
    if kind == "tensor":
        y.register_hook(hook)
    elif kind == "pre":
        y.grad_fn.register_prehook(hook)
    elif kind == "post":
        y.grad_fn.register_hook(hook)
    elif kind == "accumulate":
        x.register_post_accumulate_grad_hook(hook)
    else:
        module.register_full_backward_hook(hook)
        y = module(x * 2)
    with pytest.raises(expected, match="the reason"):
        y.sum().backward()
    assert x.grad is None or kind == "accumulate"
