"""What the tests of hooks are made of: tensors to hook, kinds of hooks, kinds of passes.

Each is written once, for either library; the matrix of cases is their product.
"""

import itertools
import warnings

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


# ---- recording ----


def described(value):
    """What can be compared of a hook's argument: values and how autograd sees them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return [described(v) for v in value]
    return [rounded(value.detach().tolist()), str(value.dtype).split(".")[-1], value.requires_grad]


def rounded(value):
    """Nested floats to seven digits after the point."""
    return [rounded(v) for v in value] if isinstance(value, list) else round(value, 7)


FAILED = object()


class World:
    """One library, two leaves, a leaf that no graph knows, and the log of what happened."""

    def __init__(self, lib):
        self.lib = lib
        self.log = []
        self.x, self.w, self.stranger = (self.leaf(*pair) for pair in ((1, 2), (3, 4), (5, 6)))

    def leaf(self, *values):
        """A leaf that needs grad."""
        return self.lib.tensor(values, dtype=self.lib.float64, requires_grad=True)

    def note(self, label, *values):
        """Log an event."""
        self.log.append((label, self.lib.is_grad_enabled(), *map(described, values)))

    def attempt(self, label, action):
        """Do it and return what it answers; if it raises, log what, and return FAILED."""
        try:
            return action()
        except Exception as error:
            self.note(f"{label} raised {type(error).__name__}")
            return FAILED


def compare(scenario):
    """Run a scenario in both libraries; the logs must be equal, and not empty."""
    logs = {}
    for name, lib in LIBRARIES.items():
        world = World(lib)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of backward(create_graph=True)
            scenario(world)
        logs[name] = world.log
    assert logs["torch"], "the scenario logged nothing"
    assert logs["adjoint"] == logs["torch"]


# ---- what a hook is on: yields the subject; when its hooks are registered, the root of a pass ----


def leaf(world):
    hidden = world.x * world.w
    yield world.x
    yield (hidden.tanh() * world.x).sum()


def leaf_without_graph(world):
    yield world.x
    yield ((world.x * world.w).tanh() * world.x).sum()


def non_leaf(world):
    hidden = world.x * world.w
    yield hidden
    yield (hidden.tanh() * hidden * world.x).sum()


def root(world):
    total = (world.x * world.w).sum()
    yield total
    yield total


def output_of_several(world):
    first, second = (world.x * world.w).unbind()
    yield second
    yield (first * second).sin() * world.x.sum()


def unused_output_of_several(world):
    first, second = (world.x * world.w).unbind()
    yield second
    yield first * world.x.sum()


def view(world):
    hidden = world.x * world.w
    part = hidden[:1]
    yield part
    yield (part * hidden).sum()


def base_of_view(world):
    hidden = world.x * world.w
    part = hidden[:1]
    yield hidden
    yield (part * hidden).sum()


def changed_before(world):
    hidden = world.x * world.w
    hidden.mul_(world.w)
    yield hidden
    yield (hidden * world.x).sum()


def changed_after(world):
    hidden = world.x * world.w
    yield hidden
    hidden.mul_(world.w)
    yield (hidden * world.x).sum()


def changed_twice_after(world):
    hidden = world.x * world.w
    yield hidden
    hidden.mul_(world.w).add_(world.x)
    yield (hidden * world.x).sum()


def view_changed_after(world):
    hidden = world.x * world.w
    part = hidden[:1]
    yield part
    part.mul_(world.w[:1])
    yield (part * hidden * world.x).sum()


def view_whose_base_changed_after(world):
    hidden = world.x * world.w
    part = hidden[:1]
    yield part
    hidden.mul_(world.w)
    yield (part * hidden * world.x).sum()


def base_whose_view_changed_after(world):
    hidden = world.x * world.w
    part = hidden[:1]
    yield hidden
    part.mul_(world.w[:1])
    yield (part * hidden * world.x).sum()


def leaf_changed_without_grad(world):
    hidden = world.x + world.w
    yield world.x
    with world.lib.no_grad():
        world.x.add_(1)
    yield (hidden.tanh() * world.x).sum()


SUBJECTS = [
    leaf,
    leaf_without_graph,
    non_leaf,
    root,
    output_of_several,
    unused_output_of_several,
    view,
    base_of_view,
    changed_before,
    changed_after,
    changed_twice_after,
    view_changed_after,
    view_whose_base_changed_after,
    base_whose_view_changed_after,
    leaf_changed_without_grad,
]


# ---- the kinds of hooks ----


def node_of(tensor):
    """The node that takes a tensor's gradient; a leaf's is found behind a view of it."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return tensor.view_as(tensor).grad_fn.next_functions[0][0]


def multi(mode):
    """register_multi_grad_hook on the subject, on a leaf and on a tensor without any graph."""

    def register(world, tensor, hook):
        return world.lib.autograd.graph.register_multi_grad_hook(
            (tensor, world.w, world.stranger), hook, mode=mode
        )

    return register


KINDS = {
    "tensor_hook": lambda world, tensor, hook: tensor.register_hook(hook),
    "retain_grad": lambda world, tensor, hook: tensor.retain_grad(),
    "pre_hook": lambda world, tensor, hook: node_of(tensor).register_prehook(hook),
    "post_hook": lambda world, tensor, hook: node_of(tensor).register_hook(hook),
    "post_accumulate": lambda world, tensor, hook: tensor.register_post_accumulate_grad_hook(hook),
    "multi_all": multi("all"),
    "multi_any": multi("any"),
}
ANSWERING = ["tensor_hook", "pre_hook", "post_hook"]
WITH_HANDLE = [kind for kind in KINDS if kind != "retain_grad"]
OF_ONE_TENSOR = [kind for kind in WITH_HANDLE if not kind.startswith("multi")]
# A leaf's .grad is written when the pass has succeeded, but for those who wait to see it.
SEES_OWN_GRAD = {"tensor_hook", "pre_hook", "post_hook", "post_accumulate"}


def doubled(value):
    """A gradient, or a tuple of them, times two; None where there is none."""
    if isinstance(value, tuple):
        return tuple(doubled(v) for v in value)
    return None if value is None else value * 2


ANSWERS = {
    "nothing": lambda first, *rest: None,
    "what_came": lambda first, *rest: first,
    "doubled": lambda first, *rest: doubled(first),
}


def attach(world, kind, tensor, label=None, answer=ANSWERS["nothing"]):
    """Register a hook that logs what it sees, and answers."""
    label = label or kind

    def hook(*arguments):
        world.note(label, *arguments, *([tensor.grad] if kind in SEES_OWN_GRAD else []))
        return answer(*arguments)

    return world.attempt(label, lambda: KINDS[kind](world, tensor, hook))


# ---- the ways to run a pass ----


def plain(world, tensor, total):
    total.backward()


def onto_a_gradient(world, tensor, total):
    world.x.grad = world.lib.ones_like(world.x)
    total.backward()


def captured(world, tensor, total):
    world.note("answer", world.lib.autograd.grad(total, tensor))


def captured_beyond(world, tensor, total):
    world.note("answer", world.lib.autograd.grad(total, world.x))


def captured_both(world, tensor, total):
    world.note("answer", world.lib.autograd.grad(total, [world.x, tensor]))


def captured_elsewhere(world, tensor, total):
    side = world.w * 2
    world.note("answer", world.lib.autograd.grad(total * side.sum(), side))


def captured_with_graph(world, tensor, total):
    (answer,) = world.lib.autograd.grad(total, world.x, create_graph=True)
    world.note("answer", answer)
    world.note("second", world.lib.autograd.grad(answer.sum(), world.x, allow_unused=True))


def inputs_subject(world, tensor, total):
    total.backward(inputs=[tensor])


def inputs_leaf(world, tensor, total):
    total.backward(inputs=world.x)


def inputs_both(world, tensor, total):
    total.backward(inputs=[world.w, tensor])


def retain_graph(world, tensor, total):
    for keep in (True, False):
        total.backward(retain_graph=keep)
        world.note("end of pass", world.x.grad)


def create_graph(world, tensor, total):
    total.backward(create_graph=True)
    world.note("end of pass", world.x.grad)
    (world.x.grad * world.x.grad).sum().backward()


def inside_another(world, tensor, total):
    def run(grad):
        world.note("outer")
        with world.lib.enable_grad():
            total.backward()
        world.note("inner done", world.x.grad)

    outer = world.stranger * 2
    outer.register_hook(run)
    outer.sum().backward()


def inside_itself(world, tensor, total):
    once = iter([True])

    def run(grad):
        if next(once, False):
            world.note("outer")
            total.backward(retain_graph=True)
            world.note("inner done")

    total.register_hook(run)
    total.backward()


def twice_as_root(world, tensor, total):
    world.lib.autograd.backward([total, total * 3])


PASSES = [
    plain,
    onto_a_gradient,
    captured,
    captured_beyond,
    captured_both,
    captured_elsewhere,
    captured_with_graph,
    inputs_subject,
    inputs_leaf,
    inputs_both,
    retain_graph,
    create_graph,
    inside_another,
    inside_itself,
    twice_as_root,
]


def name_of(case):
    """The id of a parameter that is a function."""
    return getattr(case, "__name__", str(case))


def scenario(subject, register, run):
    """One case: make the subject, register on it, finish the graph, run the pass."""

    def play(world):
        steps = subject(world)
        tensor = next(steps)
        register(world, tensor)
        total = next(steps)
        if world.attempt("pass", lambda: run(world, tensor, total)) is not FAILED:
            world.note("end", *(t.grad for t in (world.x, world.w, world.stranger)))
            kept = tensor.is_leaf or tensor.retains_grad  # PyTorch warns of asking others
            world.note("end of subject", tensor.grad if kept else None)

    return play


LEAVES = [leaf, leaf_without_graph, leaf_changed_without_grad]
CAPTURES_X = [captured, captured_beyond, captured_both, captured_with_graph]
SEVERAL_PASSES = [captured_with_graph, retain_graph, create_graph, inside_another, inside_itself]


def pytorch_errs(kind, subject, run):
    """Whether PyTorch breaks its own promise: its "all" calls twice, or never, if the root is among
    the tensors, and fails if grad captures a leaf that is."""
    if kind != "multi_all":
        return False
    if subject is root:
        return run not in (captured_elsewhere, twice_as_root)
    return subject in LEAVES and run in CAPTURES_X


def matrix(kinds=KINDS, subjects=SUBJECTS, passes=PASSES):
    """The product of all three, without what PyTorch can't be asked."""
    cases = [case for case in itertools.product(kinds, subjects, passes) if not pytorch_errs(*case)]
    return pytest.mark.parametrize(("kind", "subject", "run"), cases, ids=name_of)
