"""What hooks of modules can do beyond PyTorch's: nests, in-place changes, names, lists."""

import copy
import dataclasses
import gc
import pickle
import threading
from collections import namedtuple

import pytest

import adjoint
from adjoint import nn, ones, tensor
from adjoint.autograd import graph
from adjoint.nn.module_hooks import BACKWARD, BACKWARD_PRE, FORWARD, FORWARD_PRE, ModuleHook


def leaf(*values):
    return tensor(list(values), dtype=adjoint.float64, requires_grad=True)


class Made(nn.Module):
    """Computes what it is told to."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def watched(function):
    """A module, and a list of what its backward hooks see."""
    module = Made(function)
    seen = []
    module.register_full_backward_hook(
        lambda m, grad_input, grad_kwargs, grad_output: seen.append(
            (grad_input, grad_kwargs, grad_output)
        ),
        with_kwargs=True,
    )
    return module, seen


@dataclasses.dataclass
class Batch:
    image: object
    label: object = None


Pair = namedtuple("Pair", "one two")


# ---- nests ----


def test_keyword_arguments():
    module, seen = watched(lambda x, *, scale, mode: x * scale)
    x, scale = leaf(2.0), leaf(3.0)
    module(x, scale=scale, mode="fast").sum().backward()
    ((grad_input, grad_kwargs, grad_output),) = seen
    assert grad_input[0].tolist() == [3.0]
    assert grad_kwargs["scale"].tolist() == [2.0]
    assert grad_kwargs["mode"] is None
    assert grad_output[0].tolist() == [1.0]


def test_keyword_arguments_alone():
    module, seen = watched(lambda x: x * 2)
    module(x=leaf(1.0)).sum().backward()
    assert seen[0][0] == ()
    assert seen[0][1]["x"].tolist() == [2.0]


def test_gradients_of_keyword_arguments_can_be_replaced():
    module = Made(lambda x, *, scale: x * scale)
    module.register_full_backward_hook(
        lambda m, args, kwargs, out: (args, {"scale": kwargs["scale"] * 10}), with_kwargs=True
    )
    x, scale = leaf(2.0), leaf(3.0)
    module(x, scale=scale).sum().backward()
    assert (x.grad.item(), scale.grad.item()) == (3.0, 20.0)


@pytest.mark.parametrize("answer", [(1, 2, 3), ((), {}), 5], ids=str)
def test_wrong_answer_of_a_hook_with_keyword_arguments(answer):
    module = Made(lambda x: x * 2)
    module.register_full_backward_hook(lambda *args: answer, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"<lambda>.*invalid number"):
        module(leaf(1.0)).sum().backward()


NESTS = {
    "dict": (lambda a, b: {"a": a, "b": b}, lambda n: (n["a"], n["b"])),
    "list": (lambda a, b: [a, b], lambda n: tuple(n)),
    "tuple": (lambda a, b: (a, (b,)), lambda n: (n[0], n[1][0])),
    "named tuple": (lambda a, b: Pair(a, b), lambda n: (n.one, n.two)),
    "dataclass": (lambda a, b: Batch(a, [b]), lambda n: (n.image, n.label[0])),
}


@pytest.mark.parametrize("kind", NESTS, ids=str)
def test_nested_inputs(kind):
    build, parts = NESTS[kind]

    def forward(nest, text):
        a, b = parts(nest)
        return a * b

    module, seen = watched(forward)
    a, b = leaf(2.0), leaf(3.0)
    nest = build(a, b)
    module(nest, "text").sum().backward()
    grad_input = seen[0][0]
    assert type(grad_input[0]) is type(nest)
    assert [g.item() for g in parts(grad_input[0])] == [3.0, 2.0]
    assert grad_input[1] is None
    assert (a.grad.item(), b.grad.item()) == (3.0, 2.0)


@pytest.mark.parametrize("kind", ["dict", "list", "dataclass"])
def test_nested_outputs(kind):
    build, parts = NESTS[kind]
    module, seen = watched(lambda x: build(x * 2, x * 3))
    before = []
    module.register_full_backward_pre_hook(lambda m, grad_output: before.append(grad_output))
    x = leaf(1.0)
    one, two = parts(module(x))
    (one * 5 + two * 7).sum().backward()
    for grad_output in (before[0], seen[0][2]):
        assert len(grad_output) == 1
        assert [g.item() for g in parts(grad_output[0])] == [5.0, 7.0]
    assert x.grad.item() == 31.0


def test_nested_gradients_can_be_replaced():
    module = Made(lambda nest: {"out": nest["a"] * 2})
    module.register_full_backward_pre_hook(lambda m, out: ({"out": out[0]["out"] * 3},))
    module.register_full_backward_hook(lambda m, given, out: ({"a": given[0]["a"] * 5},))
    a = leaf(1.0)
    module({"a": a})["out"].sum().backward()
    assert a.grad.item() == 30.0


def test_nests_that_forward_changes():
    """A cache that forward fills is the caller's, as if there were no hook."""
    module, _ = watched(lambda x, cache, table: cache.append(x * 2) or table.update(y=x) or x * 3)
    made = leaf(1.0) * 1
    cache, table, x = [made], {"z": made}, leaf(1.0)
    module(x, cache, table)
    assert len(cache) == 2
    assert cache[0] is made
    assert table["z"] is made
    assert table["y"].tolist() == [1.0]


def test_nests_in_nests_that_forward_changes():
    module, _ = watched(lambda caches: caches.append(0) or caches[0].append(1) or caches[0][0] * 2)
    inner = [leaf(1.0)]
    outer = [inner]
    module(outer)
    assert outer == [inner, 0]
    assert outer[0] is inner
    assert len(inner) == 2


# ---- the objects of forward ----


def test_outputs_are_the_objects_forward_returned():
    kept = []

    def forward(x):
        kept.append({"out": x * 2, "more": [x * 3]})
        return kept[0]

    module, _ = watched(forward)
    out = module(leaf(1.0))
    assert out is kept[0]
    assert type(out["out"]) is adjoint.Tensor
    assert not out["out"]._is_view()


def test_inputs_keep_what_the_user_has_set_on_them():
    module, _ = watched(lambda x: x * (2 if x.mark == "mine" else 3))
    x = leaf(1.0)
    x.mark = "mine"
    assert module(x).item() == 2.0


def test_inputs_without_gradient_are_the_same_objects():
    given = []
    module, _ = watched(lambda *args: given.extend(args) or args[0] * 2)
    plain, nest = ones(1), [ones(1)]
    module(leaf(1.0), plain, nest)
    assert given[1] is plain
    assert given[2] is nest


def test_the_callers_tensors_keep_their_history():
    module, seen = watched(lambda x: x * 2)
    h = leaf(1.0) * 5
    node = h.grad_fn
    (module(h).sum() + h.sum() * 7).backward()
    assert h.grad_fn is node
    assert seen[0][0][0].item() == 2.0  # not what came by way of the 7


# ---- in place ----


def test_in_place_inside():
    module, seen = watched(lambda x: x.relu_())
    x = leaf(-1.0, 2.0)
    h = x * 3
    out = module(h)
    assert out is h
    (out * 5).sum().backward()
    ((grad_input, _, grad_output),) = seen
    assert grad_output[0].tolist() == [5.0, 5.0]
    assert grad_input[0].tolist() == [0.0, 5.0]
    assert x.grad.tolist() == [0.0, 15.0]


def test_in_place_inside_without_being_returned():
    module, seen = watched(lambda x: x.mul_(2).sum())
    x = leaf(1.0, 2.0)
    h = x * 3
    total = module(h)
    assert h.tolist() == [6.0, 12.0]
    (total + h.sum()).backward()  # h is what the module has made of it
    assert x.grad.tolist() == [12.0, 12.0]
    assert len(seen) == 1


def test_in_place_after():
    module, seen = watched(lambda x: x * 3)
    x = leaf(-1.0, 2.0)
    out = module(x)
    out += 1
    out.relu_()
    (out * 5).sum().backward()
    ((grad_input, _, grad_output),) = seen
    assert grad_output[0].tolist() == [0.0, 5.0]
    assert grad_input[0].tolist() == [0.0, 15.0]
    assert x.grad.tolist() == [0.0, 15.0]


def test_in_place_chain_of_modules():
    layers = [watched(lambda x: x * 2), watched(lambda x: x.relu_()), watched(lambda x: x * 3)]
    net = nn.Sequential(*[module for module, _ in layers])
    x = leaf(-1.0, 2.0)
    net(x).sum().backward()
    assert x.grad.tolist() == [0.0, 6.0]
    assert [seen[0][0][0].tolist() for _, seen in layers] == [[0.0, 6.0], [0.0, 3.0], [3.0, 3.0]]


def test_in_place_after_is_noticed_by_what_saved_the_result():
    module, _ = watched(lambda x: x.tanh())
    out = module(leaf(1.0))
    out.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation|version"):
        out.sum().backward()


def test_in_place_by_a_forward_that_fails():
    def forward(x):
        x.mul_(2)
        raise ValueError("after the change")

    module, _ = watched(forward)
    x = leaf(1.0)
    h = x * 3
    with pytest.raises(ValueError, match="after the change"):
        module(h)
    h.sum().backward()
    assert x.grad.item() == 6.0


# ---- names, once, lists ----

KINDS = ["forward_pre", "forward", "full_backward_pre", "full_backward"]


def register(module, kind, hook, **options):
    return getattr(module, f"register_{kind}_hook")(hook, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_once(kind):
    module = Made(lambda x: x * 2)
    calls = []
    register(module, kind, lambda *args: calls.append("once"), once=True)
    register(module, kind, lambda *args: calls.append("ever"))
    outs = [module(leaf(1.0)) for _ in range(3)]
    for out in outs:
        out.sum().backward()
    assert sorted(calls) == ["ever"] * 3 + ["once"]
    assert len(graph.hooks(module)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_once_of_all_modules(kind):
    calls = []
    registering = getattr(nn, f"register_module_{kind}_hook")
    registering(lambda *args: calls.append("once"), once=True)
    for _ in range(2):
        Made(lambda x: x * 2)(leaf(1.0)).sum().backward()
    assert calls == ["once"]
    assert not any((FORWARD_PRE, FORWARD, BACKWARD_PRE, BACKWARD))


def test_lists_and_removal():
    gc.unfreeze()  # the owner of those of all modules was made before, and all hooks are looked for
    net = nn.Sequential(Made(lambda x: x))
    net.register_forward_hook(lambda *args: None, name="watch")
    net.register_full_backward_hook(lambda *args: None, name="gradients")
    net.register_state_dict_pre_hook(module_hook)
    nn.register_module_forward_hook(module_hook, name="everywhere")
    listed = [(record.kind, record.name) for record in graph.hooks(net)]
    assert listed == [
        ("forward hook", "watch"),
        ("full backward hook", "gradients"),
        ("state_dict pre-hook", "module_hook"),
    ]
    everywhere = [record for record in graph.hooks() if record.name == "everywhere"]
    assert [repr(record.owner) for record in everywhere] == ["all modules"]
    assert {record.name for record in graph.hooks() if record.owner is net} == {
        name for _, name in listed
    }
    everywhere[0].remove()
    assert not FORWARD
    assert graph.remove_hooks(net) == 3
    assert graph.hooks(net) == []


def test_what_is_no_function_is_refused():
    module = Made(lambda x: x)
    for kind in KINDS:
        with pytest.raises(TypeError, match=r"hook must be callable, got int"):
            register(module, kind, 5)
    assert graph.hooks(module) == []


def test_errors_name_the_hook():
    module = Made(lambda x: x * 2)
    module.register_full_backward_hook(lambda *args: (1, 2), name="my hook")
    with pytest.raises(RuntimeError, match="'my hook' returned an invalid number of grad_input"):
        module(leaf(1.0)).sum().backward()
    module = Made(lambda x: x * 2)
    module.register_forward_pre_hook(lambda *args: 5, with_kwargs=True, name="my hook")
    with pytest.raises(RuntimeError, match="'my hook' must return None or a tuple"):
        module(leaf(1.0))


@pytest.mark.parametrize("kind", ["full_backward_pre", "full_backward"])
def test_what_a_hook_raises_names_it(kind):
    def divides(*args):
        return 1 / 0

    module = Made(lambda x: x * 2)
    register(module, kind, divides, name="my hook")
    with pytest.raises(ZeroDivisionError) as caught:
        module(leaf(1.0)).sum().backward()
    assert any("'my hook' of Made" in note for note in caught.value.__notes__)


def test_plain_hooks_are_kept_as_they_are():
    module = Made(lambda x: x)
    module.register_forward_hook(print)
    module.register_forward_hook(print, once=True)
    plain, record = module._forward_hooks.values()
    assert plain is print
    assert isinstance(record, ModuleHook)


def module_hook(*args):
    """Of this module, so that it can be pickled."""


def test_hooks_with_options_are_copied_and_pickled():
    module = nn.Sequential()
    module.register_forward_hook(module_hook, always_call=True, name="kept")
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        (record,) = made._forward_hooks.values()
        assert (record.function, record.always_call, record.name) == (module_hook, True, "kept")
        assert len(module._forward_hooks) == 1
        made._forward_hooks.clear()


# ---- passes ----


def test_a_pass_that_fails_leaves_nothing_behind():
    fails = [True]

    def inner(x):
        y = x * 2
        y.register_hook(lambda g: 1 / 0 if fails[0] else None)
        return y * 3

    module, seen = watched(inner)
    x = leaf(1.0)
    out = module(x)
    with pytest.raises(ZeroDivisionError):
        out.sum().backward(retain_graph=True)
    fails[0] = False
    (x * 1).sum().backward()
    assert seen == []
    out.sum().backward()
    assert len(seen) == 1
    assert x.grad.item() == 7.0


def test_several_threads_over_one_call():
    module, seen = watched(lambda x: x.tanh() * 2)
    x = leaf(*range(64))
    out = module(x)

    def work():
        for _ in range(20):
            adjoint.autograd.grad(out.sum(), x, retain_graph=True)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 60


def test_a_tensor_shared_by_threads():
    """Each thread's module sees what its own call has to do with the tensor."""
    start = threading.Barrier(2)

    def forward(x, factor):
        start.wait()
        y = x * factor
        start.wait()
        return y

    h = leaf(1.0) * 1
    results = {}

    def work(factor):
        module, seen = watched(forward)
        adjoint.autograd.grad(module(h, factor).sum(), h)
        results[factor] = seen[0][0][0].item()

    threads = [threading.Thread(target=work, args=(factor,)) for factor in (2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {2.0: 2.0, 3.0: 3.0}


def test_backward_inside_a_hook():
    module, seen = watched(lambda x: x * 2)
    x, other = leaf(1.0), leaf(1.0)
    again = module(other).sum()
    out = module(x)

    def hook(m, grad_output):
        if other.grad is None:
            again.backward()

    module.register_full_backward_pre_hook(hook)
    module(x).sum().backward()
    out.sum().backward()
    assert len(seen) == 3
    assert other.grad.item() == 2.0
