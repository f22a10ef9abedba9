"""Every kind of hook against PyTorch: the same events, in the same order, with the same values."""

import copy
import gc
import itertools
import pickle
import weakref

import pytest

import adjoint
from tests.parity.hook_cases import (
    ANSWERING,
    ANSWERS,
    FAILED,
    KINDS,
    OF_ONE_TENSOR,
    PASSES,
    SEVERAL_PASSES,
    SUBJECTS,
    WITH_HANDLE,
    World,
    attach,
    captured,
    captured_beyond,
    changed_after,
    compare,
    create_graph,
    described,
    inputs_leaf,
    inside_another,
    leaf,
    matrix,
    name_of,
    node_of,
    non_leaf,
    onto_a_gradient,
    output_of_several,
    plain,
    pytorch_errs,
    retain_graph,
    scenario,
    unused_output_of_several,
    view,
)

# Where a handle is to be had: only leaves take post-accumulate hooks.
HANDLED = [(kind, leaf) for kind in WITH_HANDLE] + [
    (kind, non_leaf) for kind in WITH_HANDLE if kind != "post_accumulate"
]
each_handle = pytest.mark.parametrize(("kind", "subject"), HANDLED, ids=name_of)
each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=name_of)
each_pass = pytest.mark.parametrize("run", PASSES, ids=name_of)


@matrix()
def test_each_kind(kind, subject, run):
    """A hook of one kind sees what it sees in PyTorch."""
    compare(scenario(subject, lambda world, tensor: attach(world, kind, tensor), run))


@pytest.mark.parametrize("answer", ["what_came", "doubled"])
@matrix(WITH_HANDLE)
def test_answers(kind, subject, run, answer):
    """What a hook answers takes the gradient's place, is ignored, or is refused."""

    def register(world, tensor):
        attach(world, kind, tensor, answer=ANSWERS[answer])

    compare(scenario(subject, register, run))


@each_pass
@each_subject
@pytest.mark.parametrize("order", [list(KINDS), list(KINDS)[::-1]], ids=["forth", "back"])
def test_all_kinds_at_once(order, subject, run):
    """Two hooks of each kind on one tensor, registered from first to last kind or reversed."""

    def register(world, tensor):
        world.kept = node_of(tensor)  # a multi-grad hook of PyTorch holds it, and ours doesn't
        for kind in order:
            if not pytorch_errs(kind, subject, run):
                answer = ANSWERS["doubled" if kind in ANSWERING else "nothing"]
                attach(world, kind, tensor, f"{kind} first", answer)
                attach(world, kind, tensor, f"{kind} second")

    compare(scenario(subject, register, run))


@pytest.mark.parametrize("run", [run for run in PASSES if run not in SEVERAL_PASSES], ids=name_of)
@each_subject
def test_multi_grad_hooks_keep_their_promise(subject, run):
    """ "all" comes once a pass, with what the tensors' own hooks saw, None for what didn't come."""
    world = World(adjoint)
    steps = subject(world)
    tensor = next(steps)
    seen = {}
    calls = []
    tensors = (tensor, world.w, world.stranger)

    def watch(place, grad):
        assert not calls, "a gradient came after the call that was to be the last"
        seen[place] = described(grad)

    for i, watched in enumerate(tensors):
        watched.register_hook(lambda grad, i=i: watch(i, grad))
    adjoint.autograd.graph.register_multi_grad_hook(
        tensors, lambda grads: calls.append(described(list(grads))), mode="all"
    )
    total = next(steps)
    world.attempt("pass", lambda: run(world, tensor, total))  # grad refuses an unused tensor
    assert calls == ([[seen.get(i) for i in range(len(tensors))]] if seen else [])


# ---- hooks that change hooks ----


def remove_self(handles, add):
    handles[1].remove()


def remove_next(handles, add):
    handles[2].remove()


def remove_previous(handles, add):
    handles[0].remove()


def remove_all(handles, add):
    for handle in handles:
        handle.remove()


def add_one(handles, add):
    add("late")


def replace_self(handles, add):
    handles[1].remove()
    add("late")


@each_handle
@pytest.mark.parametrize(
    "change",
    [remove_self, remove_next, remove_previous, remove_all, add_one, replace_self],
    ids=name_of,
)
def test_hooks_changed_by_a_hook(change, kind, subject):
    """The second of three hooks adds or removes hooks; two passes show when that counts."""

    def register(world, tensor):
        handles = []
        changed = iter([True])

        def add(label):
            handles.append(attach(world, kind, tensor, label))

        def answer(*arguments):
            if next(changed, False):
                change(handles, add)

        handles.append(attach(world, kind, tensor, "first"))
        handles.append(attach(world, kind, tensor, "second", answer))
        handles.append(attach(world, kind, tensor, "third"))
        return handles

    compare(scenario(subject, register, retain_graph))


# ---- hooks that fail ----


class Refusal(Exception):
    """What failing hooks raise."""


def fail(*arguments):
    """A hook's answer."""
    raise Refusal


@matrix(WITH_HANDLE, passes=[plain, captured_beyond, inputs_leaf, create_graph, inside_another])
def test_exceptions(kind, subject, run):
    """The hook's own exception ends the pass at the same place; hooks after it don't run."""

    def play(world):
        steps = subject(world)
        tensor = next(steps)
        attach(world, kind, tensor, "failing", fail)
        attach(world, kind, tensor, "never reached")
        total = next(steps)
        world.attempt("pass", lambda: run(world, tensor, total))
        world.note("end")

    compare(play)


@pytest.mark.parametrize("run", [plain, onto_a_gradient, retain_graph, create_graph], ids=name_of)
@pytest.mark.parametrize("subject", [leaf, non_leaf, view, changed_after], ids=name_of)
@pytest.mark.parametrize("kind", [kind for kind in WITH_HANDLE if kind != "post_accumulate"])
def test_failing_hooks_change_no_grad(kind, subject, run):
    """Unlike in PyTorch, a pass in which a hook fails leaves every .grad as it was."""
    world = World(adjoint)
    steps = subject(world)
    tensor = next(steps)
    tensor.retain_grad()
    attach(world, kind, tensor, "failing", fail)
    total = next(steps)
    total.retain_grad()
    with pytest.raises(Refusal):
        run(world, tensor, total)
    assert world.w.grad is None
    assert world.x.grad is None or world.x.grad.tolist() == [1, 1]
    assert total.grad is None
    assert tensor.is_leaf or tensor.grad is None


# ---- answers that are wrong ----


def stretched(value):
    """A gradient of another shape."""
    return value.unsqueeze(0)


def narrowed(value):
    """A gradient of another data type."""
    return value.float()


def each(change):
    """A tuple like the one that came, its gradients changed."""
    return lambda first: tuple(None if g is None else change(g) for g in first)


WRONG = {
    "a number": lambda first: 3,
    "a string": lambda first: "gradient",
    "a dict": lambda first: {},
    "False": lambda first: False,
    "an empty tuple": lambda first: (),
    "a nested tuple": lambda first: (first,),
    "a list": lambda first: list(first) if isinstance(first, tuple) else [first],
    "one too many": lambda first: (*first, None) if isinstance(first, tuple) else (first, first),
    "a number in a tuple": lambda first: (3,) * len(first) if isinstance(first, tuple) else (3,),
    "nothing in a tuple": lambda first: (None,) * len(first),
    "another shape": lambda first: (
        each(stretched)(first) if isinstance(first, tuple) else stretched(first)
    ),
    "another dtype": lambda first: (
        each(narrowed)(first) if isinstance(first, tuple) else narrowed(first)
    ),
    "a bare tensor": lambda first: first[0] if isinstance(first, tuple) else first * 2,
}


@pytest.mark.parametrize("answer", WRONG)
@matrix(
    WITH_HANDLE, [leaf, non_leaf, output_of_several, unused_output_of_several], [plain, captured]
)
def test_wrong_answers(kind, subject, run, answer):
    """What may not take a gradient's place is refused with the same exception, or taken by both."""

    def register(world, tensor):
        attach(world, kind, tensor, answer=lambda first, *rest: WRONG[answer](first))

    compare(scenario(subject, register, run))


@pytest.mark.parametrize("kind", ANSWERING)
def test_answers_to_a_gradient_that_is_not_there(kind):
    """Nothing can be put in the place of a None."""

    def register(world, tensor):
        ones = world.lib.ones(2, dtype=world.lib.float64)
        attach(
            world,
            kind,
            tensor,
            answer=lambda first, *rest: (ones,) * len(first) if isinstance(first, tuple) else ones,
        )

    compare(scenario(unused_output_of_several, register, plain))


# ---- registering where it can't be ----


@pytest.mark.parametrize(
    "make",
    [
        lambda world: world.lib.ones(2),
        lambda world: world.lib.ones(2, dtype=world.lib.int64),
        lambda world: (world.x * 2).detach(),
        lambda world: world.x.data,
        lambda world: world.x * 2,
        lambda world: world.x,
    ],
    ids=["constant", "integers", "detached", "data", "non_leaf", "leaf"],
)
@pytest.mark.parametrize("kind", ["tensor_hook", "retain_grad", "post_accumulate"])
def test_registration(kind, make):
    """Which tensors take a hook, and how the others refuse."""

    def play(world):
        tensor = make(world)
        attach(world, kind, tensor)
        world.note(f"retains {tensor.retains_grad}")

    compare(play)


@pytest.mark.parametrize("mode", ["all", "any", "some", None])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_registration_of_multi_grad_hooks(count, mode):
    """Which modes and lists of tensors are taken, and what is called."""

    def play(world):
        hidden = world.x * world.w
        register = world.lib.autograd.graph.register_multi_grad_hook
        tensors = (hidden, world.w)[:count]
        world.attempt(
            "register", lambda: register(tensors, lambda g: world.note("multi", g), mode=mode)
        )
        hidden.sum().backward()
        world.note("end")

    compare(play)


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hooks_begin_anew_with_each_pass(mode):
    """Passes that reach some, none or all of the tensors don't disturb each other."""

    def play(world):
        a, b = world.x * 2, world.w * 3
        world.lib.autograd.graph.register_multi_grad_hook(
            (a, b, world.x), lambda g: world.note("multi", g), mode=mode
        )
        for root in (a.sum(), b.sum(), (a * b).sum(), world.stranger.sum(), (b * a).sum()):
            world.note("pass")
            root.backward(retain_graph=True)

    compare(play)


# ---- handles ----


@each_handle
def test_handles_remove_once_and_for_all(kind, subject):
    """remove() may be called again, and takes away one hook only."""

    def register(world, tensor):
        handles = [attach(world, kind, tensor, label) for label in ("first", "second", "third")]
        for _ in range(3):
            handles[1].remove()

    compare(scenario(subject, register, plain))


@each_handle
def test_handles_as_context_managers(kind, subject):
    """A hook lives as long as the block, and a block that fails ends it too."""

    def play(world):
        steps = subject(world)
        tensor = next(steps)
        total = next(steps)
        with attach(world, kind, tensor, "in the block"):
            total.backward(retain_graph=True)

        def failing_block():
            with attach(world, kind, tensor, "in the failing block"):
                raise Refusal

        world.attempt("block", failing_block)
        total.backward()
        world.note("end")

    compare(play)


@pytest.mark.parametrize("kind", WITH_HANDLE)
def test_removal_after_forward(kind):
    """A hook that is removed before the pass begins is not called, wherever the graph is."""

    def play(world):
        steps = non_leaf(world)
        tensor = next(steps)
        subject = world.x if kind == "post_accumulate" else tensor
        handle = attach(world, kind, subject)
        total = next(steps)
        handle.remove()
        total.backward()
        world.note("end", world.x.grad)

    compare(play)


def quiet_hook(*arguments):
    """A hook that can be pickled."""


def copied_by(way, handle):
    """A handle after a journey."""
    return pickle.loads(pickle.dumps(handle)) if way == "pickle" else getattr(copy, way)(handle)


@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy"])
@pytest.mark.parametrize("kind", OF_ONE_TENSOR)
def test_copies_of_handles(kind, way):
    """A handle can be pickled and copied; what removing by the copy does is what PyTorch does."""

    def play(world):
        handle = KINDS[kind](world, world.x, quiet_hook)
        made = world.attempt(way, lambda: copied_by(way, handle))
        if made is not FAILED:
            world.note(f"same id {made.id == handle.id}")
            logged = attach(world, kind, world.x)
            made.id = logged.id
            made.remove()
            made.remove()
            following = attach(world, kind, world.x)
            world.note(f"ids differ {len({handle.id, logged.id, following.id}) == 3}")
        (world.x * 2).sum().backward()
        world.note("end", world.x.grad)

    compare(play)


@pytest.mark.parametrize("kind", OF_ONE_TENSOR)
def test_handles_have_ids_of_their_own(kind):
    def play(world):
        node = world.x * 2
        handles = [attach(world, kind, world.x) for _ in range(3)]
        world.note(f"unique {len({handle.id for handle in handles}) == 3}")
        world.note(f"ascending {handles == sorted(handles, key=lambda h: h.id)}")
        node.sum().backward()

    compare(play)


@pytest.mark.parametrize("kind", OF_ONE_TENSOR)
def test_handles_keep_nothing_alive(kind):
    """A handle outlives its tensor, and removing by it then does nothing."""

    def play(world):
        tensor = world.leaf(1, 2)
        alive = weakref.ref(tensor)
        handle = KINDS[kind](world, tensor, quiet_hook)
        del tensor
        gc.collect()
        world.note(f"alive {alive() is not None}")
        handle.remove()

    compare(play)


# ---- orders among several tensors ----


@pytest.mark.parametrize("kinds", list(itertools.permutations(ANSWERING)), ids="-".join)
def test_kinds_run_in_their_own_order(kinds):
    """The kinds of one tensor run in one order, whatever the order of registration."""

    def register(world, tensor):
        for kind in kinds:
            attach(world, kind, tensor, answer=ANSWERS["doubled"])
        tensor.retain_grad()

    compare(scenario(non_leaf, register, plain))


@pytest.mark.parametrize("position", range(4))
def test_retain_grad_comes_last_of_the_tensor_hooks(position):
    """Wherever it is called among them, it keeps what the tensor's hooks made of the gradient."""

    def register(world, tensor):
        for i in range(4):
            if i == position:
                tensor.retain_grad()
            attach(world, "tensor_hook", tensor, f"hook {i}", ANSWERS["doubled"])

    compare(scenario(non_leaf, register, plain))


@pytest.mark.parametrize("moved", ["before", "between", "after", "twice"])
def test_retain_grad_follows_in_place_changes(moved):
    """Hooks stay with the value they were registered on; retain_grad goes with the tensor."""

    def play(world):
        hidden = world.x * world.w
        attach(world, "tensor_hook", hidden, "old value", ANSWERS["doubled"])
        if moved in ("before", "twice"):
            hidden.retain_grad()
        hidden.mul_(world.w)
        if moved in ("between", "twice"):
            hidden.retain_grad()
        attach(world, "tensor_hook", hidden, "new value", ANSWERS["doubled"])
        hidden.exp_()
        if moved == "after":
            hidden.retain_grad()
        hidden.sum().backward()
        world.note("end", hidden.grad, world.x.grad, world.w.grad)

    compare(play)


def test_a_node_of_several_outputs():
    """Tensor hooks of its outputs, then its pre-hooks with all gradients at once."""

    def play(world):
        first, second = (world.x * world.w).unbind()
        for label, tensor in (("second", second), ("first", first)):
            attach(world, "tensor_hook", tensor, label, ANSWERS["doubled"])
            tensor.retain_grad()
        attach(world, "pre_hook", first)
        attach(world, "post_hook", second)
        (first * second).backward()
        world.note("end", first.grad, second.grad, world.x.grad)

    compare(play)
