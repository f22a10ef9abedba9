"""Checkpointing: what is dropped, when it is computed again, and what is left behind."""

import contextlib
import contextvars
import functools
import gc
import os
import runpy
import sys
import threading
import weakref
from types import SimpleNamespace

import pytest

import adjoint
from adjoint.autograd.graph import saved_tensors_hooks
from adjoint.call.context import current
from adjoint.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_scope,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    detach_variable,
    get_device_states,
    set_checkpoint_debug_enabled,
    set_device_states,
)
from adjoint.utils.checkpoint.trace import Watcher
from tests.interpreter import ROOT

# By its path: a package of that name may be installed.
checkpoint_memory = SimpleNamespace(
    **runpy.run_path(str(ROOT / "benchmarks" / "checkpoint_memory.py"))
)


def leaf(*shape):
    return adjoint.randn(shape, dtype=adjoint.float64, requires_grad=True)


def block(x, w):
    """A bit of everything that is saved: inputs, results, views, numbers."""
    h = (x @ w).tanh()
    return h.exp() / (1 + h[:, :1] ** 2) + adjoint.relu(x).softmax(-1)


def in_form(form, function, *args):
    """A function in one of the forms of checkpointing."""
    if isinstance(form, dict):
        with checkpoint_scope(**form):
            return function(*args)
    return form(function, *args)


FORMS = {
    "recompute": functools.partial(checkpoint, use_reentrant=False),
    "whole": functools.partial(checkpoint, use_reentrant=False, early_stop=False),
    "selective": functools.partial(
        checkpoint,
        use_reentrant=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, [adjoint.matmul]),
    ),
    "scope": {},
    "part of scope": {"memory_budget": 100},
    "disk": {"beyond": "disk"},
    "nested scope": lambda f, *args: in_form({}, lambda *a: in_form({}, f, *a), *args),
    "scope in checkpoint": lambda f, *args: checkpoint(
        lambda *a: in_form({}, f, *a), *args, use_reentrant=False
    ),
    "checkpoint in scope": lambda f, *args: in_form(
        {}, lambda *a: checkpoint(f, *a, use_reentrant=False), *args
    ),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@pytest.fixture(autouse=True)
def seeded():
    adjoint.manual_seed(0)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alike(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert adjoint.allclose(ours, theirs, rtol=1e-12)


# ---- every form ----


@every_form
def test_gradients(form):
    x, w = leaf(3, 3), leaf(3, 3)
    expected = adjoint.autograd.grad(block(x, w).sum(), [x, w])
    out = in_form(form, block, x, w).sum()
    alike(adjoint.autograd.grad(out, [x, w], retain_graph=True), expected)
    alike(adjoint.autograd.grad(out, [w], retain_graph=True), expected[1:])
    out.backward()
    alike([x.grad, w.grad], expected)
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


@every_form
def test_second_order(form):
    x, w = leaf(3, 3), leaf(3, 3)

    def second(out):
        (first,) = adjoint.autograd.grad(out.sum(), [x], create_graph=True)
        return adjoint.autograd.grad((first * first).sum(), [x, w])

    alike(second(in_form(form, block, x, w)), second(block(x, w)))


@every_form
def test_chain_of_regions(form):
    x, w = leaf(2, 2), leaf(2, 2)

    def run(step):
        y = x
        for _ in range(4):
            y = step(y, w)
        return adjoint.autograd.grad(y.sum(), [x, w])

    alike(run(functools.partial(in_form, form, block)), run(block))


@every_form
def test_nothing_is_left(form, no_collector):
    """The region's tensors and nodes go with its output, without the garbage collector."""
    made = []

    def function(x, w):
        h = (x @ w).exp()
        made.append(weakref.ref(h))
        return h * h

    for backward in (False, True):
        made.clear()
        x, w = leaf(3, 3), leaf(3, 3)
        out = in_form(form, function, x, w).sum()
        node = weakref.ref(out.grad_fn)
        if backward:
            out.backward()
        del out
        assert node() is None
        assert made and all(ref() is None for ref in made)


@every_form
def test_failed_pass_leaves_nothing(form, no_collector):
    x, w = leaf(3, 3), leaf(3, 3)

    def refuse(grad):
        raise KeyError("mine")

    out = in_form(form, block, x, w)
    handle = x.register_hook(refuse)
    with pytest.raises(KeyError):
        out.sum().backward()
    assert x.grad is None and w.grad is None
    handle.remove()
    out = in_form(form, block, x, w)
    out.sum().backward()
    alike([x.grad], adjoint.autograd.grad(block(x, w).sum(), [x]))


@pytest.fixture
def restless_threads():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless_threads")
@every_form
def test_threads(form):
    """One graph, several passes at once."""
    x, w = leaf(3, 3), leaf(3, 3)
    expected = adjoint.autograd.grad(block(x, w).sum(), [x, w])

    def work(i):
        barrier.wait()
        found[i] = adjoint.autograd.grad(out, [x, w], retain_graph=True)

    for _ in range(20):
        out = in_form(form, block, x, w).sum()
        found = [None] * 4
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for grads in found:
            alike(grads, expected)


@every_form
def test_random_numbers(form):
    """The region draws the same numbers again, and others draw as if it did not."""

    def function(x):
        return adjoint.nn.functional.dropout(x.exp(), 0.5) * adjoint.rand(4, dtype=x.dtype)

    x = leaf(4)
    results = {}
    for name, run in (("plain", function), ("form", functools.partial(in_form, form, function))):
        adjoint.manual_seed(7)
        out = run(x)
        results[name] = [out, *adjoint.autograd.grad(out.sum(), [x]), adjoint.rand(3)]
    alike(results["form"], results["plain"])


# ---- recomputation ----


def test_random_state_is_left_alone_if_asked():
    def function(x):
        return x.exp() * adjoint.rand(4, dtype=x.dtype)

    x = leaf(4)
    out = checkpoint(function, x, use_reentrant=False, preserve_rng_state=False)
    (found,) = adjoint.autograd.grad(out.sum(), [x])
    assert not adjoint.allclose(found, out)


def test_regions_without_random_numbers_do_not_touch_the_generator(monkeypatch):
    from adjoint.utils.checkpoint import surroundings

    def refuse(state):
        raise AssertionError("the state was set")

    monkeypatch.setattr(surroundings, "set_rng_state", refuse)
    x = leaf(3)
    checkpoint(lambda x: x.exp(), x, use_reentrant=False).sum().backward()
    out = checkpoint(lambda x: x.exp() * adjoint.rand(3), x, use_reentrant=False)
    with pytest.raises(AssertionError, match="the state was set"):
        out.sum().backward()


def test_device_states():
    assert get_device_states(leaf(2)) == ([], [])
    set_device_states([], [])
    with pytest.raises(RuntimeError, match="no device has one"):
        set_device_states([0], [adjoint.get_rng_state()])


@pytest.mark.parametrize("retain", [True, False])
def test_values_are_dropped_while_backward_goes_on(retain, no_collector):
    """What one node took goes when it is released, or at the latest when the next one asks."""
    recomputed, alive = [], []

    def function(x):
        for _ in range(4):
            x = x.exp()
            recomputed.append(weakref.ref(x.array))
            x = x * 0.1
        return x

    x = leaf(3)
    out = checkpoint(function, x, use_reentrant=False, early_stop=False)
    node = out.grad_fn
    while node.next_functions:
        if node.name() == "ExpBackward0":
            node.register_hook(
                lambda *grads: alive.append(sum(ref() is not None for ref in recomputed))
            )
        node = node.next_functions[0][0]
    recomputed.clear()
    out.sum().backward(retain_graph=retain)
    assert alive == [4, 3, 2, 1]
    assert all(ref() is None for ref in recomputed)


def test_message_names_function_op_and_difference():
    class Layer:
        runs = 0

        def __call__(self, x):
            self.runs += 1
            return x.exp() * adjoint.ones(3 if self.runs == 1 else 1, dtype=x.dtype)

    with pytest.raises(CheckpointError) as error:
        checkpoint(Layer(), leaf(3), use_reentrant=False).sum().backward()
    text = str(error.value)
    assert "Layer'" in text
    assert "saved tensor 1, 'other' of mul (MulBackward0, file" in text
    assert "shape (3,) became (1,)" in text
    with set_checkpoint_debug_enabled(True), pytest.raises(CheckpointError) as error:
        checkpoint(Layer(), leaf(3), use_reentrant=False).sum().backward()
    text = str(error.value)
    assert "differ from call 1 on: mul(float64[3], float64[3])" in text
    assert "became mul(float64[3], float64[1])" in text
    assert text.count(__file__) == 5


def test_unchecked_difference_is_still_refused_by_the_node():
    runs = []

    def function(x):
        runs.append(x)
        return x * adjoint.ones(len(runs), dtype=x.dtype)

    out = checkpoint(function, leaf(1), use_reentrant=False, determinism_check="none")
    with pytest.raises(RuntimeError, match="unpack hook"):
        out.sum().backward()


def test_no_except_can_hide_a_difference():
    runs = []

    def function(x):
        runs.append(x)
        with contextlib.suppress(Exception):
            return x.exp() * adjoint.ones(3 if len(runs) == 1 else 1, dtype=x.dtype)
        return x

    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(function, leaf(3), use_reentrant=False).sum().backward()


def test_error_while_recomputing_says_so():
    runs = []

    def function(x):
        runs.append(x)
        if len(runs) > 1:
            raise KeyError("mine")
        return x.exp()

    with pytest.raises(KeyError, match="mine") as error:
        checkpoint(function, leaf(3), use_reentrant=False).sum().backward()
    assert any("under checkpoint" in note for note in error.value.__notes__)


@pytest.mark.parametrize("form", [FORMS["recompute"], FORMS["whole"], {}])
def test_what_was_saved_and_then_changed_is_as_it_was(form):
    """Plain recording must refuse this; what is recomputed is copied before it is changed."""
    x = leaf(3)

    def function(x):
        y = x.sin()
        z = y * y
        y.detach().add_(1)
        return z.exp() * y.detach().sin()

    def expected(x):
        y = x.sin()
        return (y * y).exp() * (y.detach() + 1).sin()

    with pytest.raises(RuntimeError, match="modified by an inplace"):
        function(x).sum().backward()
    alike(
        adjoint.autograd.grad(in_form(form, function, x).sum(), [x]),
        adjoint.autograd.grad(expected(x).sum(), [x]),
    )


def test_settings_of_the_context_come_back():
    x = leaf(3)

    def function(x):
        return x.exp().sin()

    def refuse(*args):
        raise AssertionError("the hooks of backward's context see the recomputation")

    out = checkpoint(function, x, use_reentrant=False)
    with saved_tensors_hooks(refuse, refuse):
        (found,) = adjoint.autograd.grad(out.sum(), [x])
    alike([found], adjoint.autograd.grad(function(x).sum(), [x]))
    assert adjoint.is_grad_enabled()


def test_hooks_inside_and_around():
    x = leaf(3)
    log = []

    def pair(label):
        def pack(tensor):
            log.append(f"pack {label}")
            return tensor

        def unpack(tensor):
            log.append(f"unpack {label}")
            return tensor

        return saved_tensors_hooks(pack, unpack)

    def function(x):
        with pair("inside"):
            return x.exp()

    with pair("around"):
        out = checkpoint(function, x * 1, use_reentrant=False)
    (found,) = adjoint.autograd.grad(out.sum(), [x])
    alike([found], [x.detach().exp()])
    assert log.count("pack inside") == 2
    assert log.count("unpack inside") == 1
    assert "unpack around" in log  # the argument


def test_refused_where_hooks_are():
    from adjoint.autograd.graph import disable_saved_tensors_hooks

    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            checkpoint(adjoint.exp, leaf(3), use_reentrant=False)
        with pytest.raises(RuntimeError, match="not here"), checkpoint_scope():
            pass


def test_settings_are_per_context():
    runs = []

    def function(x):
        y = x.exp() * 2
        runs.append(1)
        return y

    def elsewhere():
        from adjoint.utils.checkpoint import set_checkpoint_early_stop

        set_checkpoint_early_stop(False).__enter__()

    contextvars.Context().run(elsewhere)
    checkpoint(function, leaf(3), use_reentrant=False).sum().backward()
    assert len(runs) == 1


def test_deep_nesting():
    def nest(depth):
        if depth == 0:
            return lambda x: x.sin()
        inner = nest(depth - 1)
        return lambda x: checkpoint(inner, x.sin(), use_reentrant=False)

    x = leaf(2)
    (found,) = adjoint.autograd.grad(nest(20)(x).sum(), [x])
    y = x
    for _ in range(21):
        y = y.sin()
    alike([found], adjoint.autograd.grad(y.sum(), [x]))


# ---- policies ----


def selective(policy, **options):
    return functools.partial(
        checkpoint,
        use_reentrant=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, policy, **options),
    )


@pytest.mark.parametrize("policy", list(CheckpointPolicy))
def test_policy_decides_what_is_computed_again(policy, monkeypatch):
    runs = []
    op = adjoint.logsumexp
    forward = op.forward

    def counted(xp, *args, **kwargs):
        runs.append(1)
        return forward(xp, *args, **kwargs)

    monkeypatch.setattr(op, "forward", counted)
    x = leaf(3, 3)
    out = selective(lambda context, op, *args, **kwargs: policy)(
        lambda x: x.exp().logsumexp(1).sin(), x
    )
    out.sum().backward()
    assert len(runs) == (2 if "RECOMPUTE" in policy.name else 1)


@pytest.mark.parametrize("policy", list(CheckpointPolicy))
def test_policy_decides_about_custom_ops_too(policy):
    with adjoint.library.scoped():
        runs = []

        @adjoint.library.custom_op("checkpoints::halves", mutates_args=())
        def halves(x: adjoint.Tensor) -> tuple[adjoint.Tensor, adjoint.Tensor]:
            runs.append(1)
            return x[:2] * 1, x[2:] * 1

        halves.register_autograd(lambda ctx, low, high: adjoint.cat([low, high]))
        x = leaf(4)
        function = lambda x: functools.reduce(adjoint.mul, halves(x.exp())).sin()
        (expected,) = adjoint.autograd.grad(function(x).sum(), [x])
        runs.clear()
        out = selective(lambda *args: policy)(function, x)
        alike(adjoint.autograd.grad(out.sum(), [x]), [expected])
        assert len(runs) == (2 if "RECOMPUTE" in policy.name else 1)


def test_policy_may_be_asked_for_several_passes():
    x = leaf(3)
    out = selective([adjoint.sin])(lambda x: x.sin().cos().exp(), x).sum()
    first = adjoint.autograd.grad(out, [x], retain_graph=True)
    alike(adjoint.autograd.grad(out, [x]), first)


def test_kept_results_go_with_the_pass(no_collector):
    seen = []

    def policy(context, op, *args, **kwargs):
        if op is adjoint.exp:
            seen.append(weakref.ref(context.op_output.array))
        return op is adjoint.exp

    x = leaf(3)
    out = selective(policy)(lambda x: x.cos().exp().sin() * 1, x)
    assert seen[0]() is not None
    out.sum().backward()
    assert seen[0]() is None


def test_results_of_several_outputs_are_kept():
    x = leaf(4)
    function = lambda x: functools.reduce(adjoint.mul, adjoint.var_mean(x))
    alike(
        adjoint.autograd.grad(selective(lambda *a, **k: True)(function, x), [x]),
        adjoint.autograd.grad(function(x), [x]),
    )


def test_policy_errors():
    x = leaf(3)
    with pytest.raises(TypeError, match="must answer a CheckpointPolicy"):
        selective(lambda *args: "save")(lambda x: x.exp(), x)
    with pytest.raises(ValueError, match="several ops"):
        create_selective_checkpoint_contexts([adjoint.nn.functional.dropout])
    runs = []

    def grows(x):
        runs.append(1)
        for _ in runs:
            x = x.sin()
        return x

    out = checkpoint(
        grows,
        x,
        use_reentrant=False,
        early_stop=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, lambda *args: False),
    )
    with pytest.raises(CheckpointError, match="sin invocation index 1"):
        out.sum().backward()


def test_contexts_of_policies_leave_nothing_active():
    x = leaf(3)
    with pytest.raises(RuntimeError, match="shape"):
        selective([adjoint.exp])(lambda x: x.reshape(7), x)
    assert current().watchers == ()


def test_policies_see_in_place_forms():
    seen = []

    def policy(context, op, *args, **kwargs):
        seen.append((op.name, len(args)))
        return True

    x = leaf(3)
    function = lambda x: (x * 2).mul_(3).add_(x).exp()
    out = selective(policy, allow_cache_entry_mutation=True)(function, x)
    assert seen == [("mul", 2), ("mul_", 2), ("add_", 2), ("exp", 1)]
    assert adjoint.allclose(out, (7 * x).exp())


# ---- reentrant ----


def test_reentrant_refuses_second_order():
    x = leaf(3)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        checkpoint(adjoint.exp, x, use_reentrant=True).sum().backward(create_graph=True)


def test_reentrant_refuses_other_results():
    with pytest.raises(TypeError, match="got dict"):
        checkpoint(lambda x: {"out": x.exp()}, leaf(3), use_reentrant=True)


def test_reentrant_leaves_nothing(no_collector):
    x = leaf(3)
    for backward in (False, True):
        out = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=True)
        node = weakref.ref(out.grad_fn)
        if backward:
            out.sum().backward()
        del out
        assert node() is None


def test_failed_reentrant_pass_changes_no_gradient():
    w, x = leaf(3), leaf(3)

    def refuse(grad):
        raise KeyError("mine")

    y = x * 1
    y.register_hook(refuse)
    out = checkpoint(lambda y: y * w, y, use_reentrant=True)
    with pytest.raises(KeyError):
        out.sum().backward()
    assert w.grad is None and x.grad is None


def test_detach_variable():
    x = leaf(2) * 1
    plain, number = detach_variable((x, 3))
    assert plain.is_leaf and plain.requires_grad and number == 3
    with pytest.raises(RuntimeError, match="tuple of tensors"):
        detach_variable([x])


def test_sequential_takes_a_module_like_object():
    class Sequence:
        def children(self):
            return iter([adjoint.sin, adjoint.exp, adjoint.cos])

    x = leaf(3)
    out = checkpoint_sequential(Sequence(), 2, x, use_reentrant=False)
    alike([out], [x.sin().exp().cos()])


# ---- scopes ----


def test_scope_keeps_what_cannot_be_computed_again():
    x = leaf(3)

    def function(x):
        y = x.exp() * 2
        z = y.sin()  # saves y as it is now
        y = y.detach()
        y.mul_(3)
        return z * y * y.cos()

    def expected(x):
        y = (x.exp() * 2).detach() * 3
        return (x.exp() * 2).sin() * y * y.cos()

    with pytest.raises(RuntimeError, match="modified by an inplace"):
        function(x).sum().backward()
    with checkpoint_scope():
        out = function(x)
    alike([out], [expected(x)])
    alike(adjoint.autograd.grad(out.sum(), [x]), adjoint.autograd.grad(expected(x).sum(), [x]))


def test_scope_notices_a_changed_input():
    x = leaf(3)
    y = x * 1
    with checkpoint_scope():
        out = y.exp().sin()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


def test_scope_takes_in_place_changes_and_views():
    w = leaf(4)

    def function(w):
        y = w * 2
        y[1:3] *= 3
        y.add_(1)
        z = y[2:].sin()
        z.mul_(2)
        return (z * y[:2]).sin()

    with checkpoint_scope():
        out = function(w)
    alike(adjoint.autograd.grad(out.sum(), [w]), adjoint.autograd.grad(function(w).sum(), [w]))


def test_scope_forgets_inputs_that_nothing_depends_on(no_collector):
    x = leaf(3)
    constant = adjoint.ones(3)
    array = weakref.ref(constant.array)
    with checkpoint_scope():
        out = (x + constant).exp().sin()
        (constant * 2).sin()
    assert array() is not None
    with checkpoint_scope():
        out = (x * 1.0).exp() + constant
    del constant
    assert array() is None
    out.sum().backward()


@pytest.mark.parametrize("budget, kept", [(0, 0), (20_000, 2), (10**9, 4)])
def test_budget_bounds_what_is_kept(budget, kept):
    def sines(x):
        arrays = []
        for _ in range(5):  # each keeps its input, of 8,000 bytes
            x = x.sin()
            arrays.append(weakref.ref(x.array))
        return x, arrays[:-1]

    x = leaf(1000)
    with checkpoint_scope(budget):
        out, arrays = sines(x)
    assert sum(ref() is not None for ref in arrays) == kept
    expected, _ = sines(x)
    alike(adjoint.autograd.grad(out.sum(), [x]), adjoint.autograd.grad(expected.sum(), [x]))


def test_files_go_with_the_graph(tmp_path, no_collector):
    x = leaf(10)
    with checkpoint_scope(beyond="disk", directory=tmp_path):
        out = x.exp().sin().exp()
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    files = list(folder.iterdir())
    assert len(files) == 2  # a tensor that two nodes save is written once
    assert all(file.stat().st_size == 80 for file in files)
    (found,) = adjoint.autograd.grad(out.sum(), [x], retain_graph=True)
    alike([found], adjoint.autograd.grad(x.exp().sin().exp().sum(), [x]))
    assert list(folder.iterdir())
    out.sum().backward()
    assert list(tmp_path.iterdir()) == []


def test_files_go_without_backward(tmp_path, no_collector):
    x = leaf(10)
    with checkpoint_scope(beyond="disk", directory=tmp_path):
        out = x.exp().sin()
    assert list(tmp_path.iterdir())
    del out
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_leaves_the_files(tmp_path):
    x = leaf(10)
    with checkpoint_scope(beyond="disk", directory=tmp_path):
        out = x.exp().sin().sum()
    child = os.fork()
    if child == 0:
        del out
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    out.backward()
    assert x.grad is not None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_files_keep_every_type(dtype):
    x = adjoint.tensor([0.5, 1.0, 2.0]).to(getattr(adjoint, dtype)).requires_grad_()
    with checkpoint_scope(beyond="disk"):
        out = (x * 2).exp() * 1
    seed = adjoint.ones_like(out)
    (found,) = adjoint.autograd.grad(out, [x], seed)
    (expected,) = adjoint.autograd.grad((x * 2).exp() * 1, [x], seed)
    assert found.tolist() == expected.tolist()


def test_scope_arguments():
    with pytest.raises(ValueError, match="'recompute' or 'disk'"):
        checkpoint_scope(beyond="cloud")
    with pytest.raises(ValueError, match="number of bytes"):
        checkpoint_scope(-1)
    once = checkpoint_scope()
    with once, pytest.raises(RuntimeError, match="entered already"), once:
        pass


def test_long_chain_in_a_scope():
    x = leaf(2)
    with checkpoint_scope():
        y = x
        for _ in range(3000):
            y = (y * 1.0001).sin()
    (found,) = adjoint.autograd.grad(y.sum(), [x])
    z = x
    for _ in range(3000):
        z = (z * 1.0001).sin()
    alike([found], adjoint.autograd.grad(z.sum(), [x]))


def test_scope_after_an_error():
    x = leaf(3)
    with pytest.raises(RuntimeError, match="shape"), checkpoint_scope():
        x.exp().reshape(7)
    x.exp().sum().backward()
    assert x.grad is not None


# ---- memory ----


def test_memory_of_a_residual_network():
    """24 blocks: a checkpoint for each takes at most 35 % of the memory; the gradients agree."""
    sizes = {"blocks": 24, "width": 16, "batch": 256}
    base, _, expected = checkpoint_memory.measure(checkpoint_memory.plain, **sizes)
    for form in (
        checkpoint_memory.checkpointed,
        checkpoint_memory.reentrant,
        checkpoint_memory.scoped,
        checkpoint_memory.on_disk,
    ):
        peak, _, gradients = checkpoint_memory.measure(form, **sizes)
        assert peak <= 0.35 * base, f"{form.__name__}: {peak / base:.0%}"
        for ours, theirs in zip(gradients, expected, strict=True):
            assert adjoint.allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("part", [0.1, 0.3, 0.5])
def test_budget_bounds_the_peak(part):
    """The budget, the gradients that wait for the end of the pass, and four blocks of 24.

    What is kept first gives way to marks, of which there is none before it was full: with the
    smallest budget the part before the first mark has three blocks, and a fourth is at work.
    """
    sizes = {"blocks": 24, "width": 64, "batch": 256}
    checkpoint_memory.measure(checkpoint_memory.plain, 1)  # what is imported is not the block's
    base, _, expected = checkpoint_memory.measure(checkpoint_memory.plain, **sizes)
    peak, _, gradients = checkpoint_memory.measure(
        checkpoint_memory.plain, **sizes, budget=int(part * base)
    )
    pending = sum(gradient.nbytes for gradient in gradients)
    assert peak < part * base + pending + 4 * base / 24
    for ours, theirs in zip(gradients, expected, strict=True):
        assert adjoint.allclose(ours, theirs, atol=1e-6)


def test_a_scope_without_budget_takes_no_more_than_is_saved():
    sizes = {"blocks": 24, "width": 64, "batch": 256}
    checkpoint_memory.measure(checkpoint_memory.plain, 1)
    base, _, _ = checkpoint_memory.measure(checkpoint_memory.plain, **sizes)
    peak, _, _ = checkpoint_memory.measure(checkpoint_memory.plain, **sizes, budget=0)
    assert peak < 1.1 * base


class Calls(Watcher):
    """The names of the ops that are called inside."""

    def __init__(self):
        super().__init__()
        self.names = []

    def call(self, op, values):
        self.names.append(op.name)
        return super().call(op, values)


@pytest.mark.parametrize(
    ("function", "again"),
    [
        (lambda x: x.sin(), []),  # keeps its input
        (lambda x: x.exp(), ["exp"]),  # keeps its result
        (lambda x: x.exp() * x.sin(), ["exp", "sin"]),
        (lambda x: x.sin().exp().sum(), ["sin", "exp"]),
        (lambda x: adjoint.cat([x.exp(), x]).cos() * 2, ["exp", "cat"]),
        (lambda x: checkpoint(lambda y: y.exp(), x, use_reentrant=False) * x, ["exp", "exp"]),
    ],
)
def test_a_last_call_that_saves_only_arguments_is_not_made_again(function, again):
    x = adjoint.tensor([0.5, 1.0], dtype=adjoint.float64, requires_grad=True)
    function(x).sum().backward()
    expected, x.grad = x.grad.tolist(), None
    out = checkpoint(function, x, use_reentrant=False).sum()
    with Calls() as calls:
        out.backward()
    assert calls.names == again
    assert x.grad.tolist() == expected


def test_without_early_stop_every_call_is_made_again():
    x = adjoint.tensor([0.5, 1.0], requires_grad=True)
    out = checkpoint(lambda x: x.sin(), x, use_reentrant=False, early_stop=False).sum()
    with Calls() as calls:
        out.backward()
    assert calls.names == ["sin"]
