"""Backward hooks of modules on tensors as they are and on nests of them: the same is seen and done.

A call whose arguments are no containers takes a short way, and so does one whose results are none.
Each case here runs on all ways, and must tell the same story on each.
"""

import pytest

import adjoint
from adjoint import nn, tensor
from adjoint.autograd import Function
from adjoint.pytree import tree_leaves, tree_map

# How two tensors are given to a module, and whether that is flat.
INPUTS = {
    "flat": (lambda a, b: ((a, b), {}), lambda args, kwargs: args, True),
    "keywords": (lambda a, b: ((), {"a": a, "b": b}), lambda args, kwargs: kwargs.values(), True),
    "mixed": (lambda a, b: ((a,), {"b": b}), lambda args, kwargs: (*args, *kwargs.values()), True),
    "a list by name": (
        lambda a, b: ((a,), {"b": [b]}),
        lambda args, kwargs: (*args, *kwargs["b"]),
        False,
    ),
    "list": (lambda a, b: (([a, b],), {}), lambda args, kwargs: args[0], False),
    "beside a list": (lambda a, b: ((a, b, []), {}), lambda args, kwargs: args[:2], False),
}

# How results are returned, and whether that is flat.
OUTPUTS = {
    "flat": (lambda *results: results, lambda outer: outer, True),
    "list": (lambda *results: list(results), lambda outer: outer, False),
    "dict": (lambda *results: dict(enumerate(results)), lambda outer: outer.values(), False),
}


class Cut(Function):
    """Answers no gradient at all."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


class Story(nn.Module):
    """A module that computes two tensors of two, and notes what its hooks see."""

    def __init__(self, inputs, outputs, function):
        super().__init__()
        self.give, self.take, self.flat_in = INPUTS[inputs]
        self.answer, self.read, self.flat_out = OUTPUTS[outputs]
        self.function = function
        self.weight = nn.Parameter(tensor([3.0, 4.0], dtype=adjoint.float64))
        self.seen = []

    def forward(self, *args, **kwargs):
        a, b = self.take(args, kwargs)
        return self.answer(*self.function(self, a, b))

    def run(self, a, b):
        """The two results, of a call with the arguments in their form."""
        args, kwargs = self.give(a, b)
        outer = self(*args, **kwargs)
        one, two = self.read(outer)
        for result in (one, two):
            if result.requires_grad:
                hooks = result.grad_fn.call_hooks
                assert (hooks.inputs.nest is None) is self.flat_in
                assert (hooks.outputs.nest is None) is self.flat_out
        return one, two

    def note(self, label, grads):
        self.seen.append((label, [plain(grad) for grad in grads]))


def plain(grad):
    return None if grad is None else grad.tolist()


def hooked(story, scale_inputs=None, scale_outputs=None):
    """The module with hooks of both kinds, which may change the gradients."""

    def pre(module, grad_output):
        module.note("pre", tree_leaves(grad_output))
        return scale_outputs and tree_map(scale_outputs, grad_output)

    def full(module, args, kwargs, grad_output):
        module.note("inputs", module.take(args, kwargs))
        module.note("outputs", tree_leaves(grad_output))
        return scale_inputs and (tree_map(scale_inputs, args), tree_map(scale_inputs, kwargs))

    story.register_full_backward_pre_hook(pre)
    story.register_full_backward_hook(full, with_kwargs=True)
    return story


def leaves():
    made = [[1.0, 2.0], [5.0, 6.0], [1.5, 2.5]]
    return [tensor(values, dtype=adjoint.float64, requires_grad=True) for values in made]


FUNCTIONS = {
    "products": lambda m, a, b: (a * b, b * m.weight),
    "one unused": lambda m, a, b: (a * 2, a * 3),
    "inputs as they came": lambda m, a, b: (a, b),
    "one input twice": lambda m, a, b: (b, b),
    "one result twice": lambda m, a, b: (a * b,) * 2,
    "a parameter": lambda m, a, b: (a * b, m.weight),
    "made before": lambda m, a, b: (a * b, m.earlier),
    "views": lambda m, a, b: (a * b).view(2, 1).unbind(1) * 2,
    "no history": lambda m, a, b: (a.detach(), b * 2),
    "changed in place": lambda m, a, b: (a.mul_(b), b.relu_()),
    "changed and not returned": lambda m, a, b: (a.mul_(2).sum(), b * 2),
    "changed under no_grad": lambda m, a, b: (quietly(a), b * 2),
    "detached in place": lambda m, a, b: (a.detach_(), b * 2),
}


def quietly(a):
    with adjoint.no_grad():
        a.mul_(2)
    return a * 3


ARGUMENTS = {
    "made": lambda x, y: (x * 2, y.sin()),
    "leaves": lambda x, y: (x, y),
    "views": lambda x, y: ((x * 2).view(2), (y * 3).view(2)),
    "the same": lambda x, y: (h := x * 2, h),
    "one without": lambda x, y: (x * 2, y.detach()),
    "none": lambda x, y: (x.detach(), y.detach()),
}

PASSES = {
    "both": lambda one, two, x, y: (one.sum() * 2 + two.sum() * 3).backward(),
    "first": lambda one, two, x, y: one.sum().backward(),
    "second": lambda one, two, x, y: two.sum().backward(),
    "twice": lambda one, two, x, y: [
        result.sum().backward(retain_graph=True) for result in (one, two)
    ],
    "restricted": lambda one, two, x, y: (one * two).sum().backward(inputs=[x]),
    "recorded": lambda one, two, x, y: (
        adjoint.autograd.grad((one * two).sum(), x, create_graph=True)[0].sum().backward()
    ),
    "nothing comes": lambda one, two, x, y: (Cut.apply(one) * Cut.apply(two)).sum().backward(),
    "once nothing comes": lambda one, two, x, y: (one * Cut.apply(two)).sum().backward(),
}


def told(inputs, outputs, function, arguments, run, **answers):
    """All that a call and a pass do, and what the hooks saw."""
    story = hooked(Story(inputs, outputs, FUNCTIONS[function]), **answers)
    x, y, z = leaves()
    story.earlier = z * 2
    a, b = ARGUMENTS[arguments](x, y)
    events = story.seen
    nodes = [a.grad_fn, b.grad_fn]
    arrays = [a.array, b.array]
    try:
        one, two = story.run(a, b)
        events.append(("nodes", [a.grad_fn is nodes[0], b.grad_fn is nodes[1]]))
        events.append(("same", [result is given for result in (one, two) for given in (a, b)]))
        events.append(("views", [result._is_view() for result in (one, two)]))
        events.append(("values", [plain(value) for value in (one, two, a, b)]))
        PASSES[run](one, two, x, y)
    except (RuntimeError, TypeError) as error:
        events.append(("raised", str(error)))
    events.append(("arrays", [a.array is arrays[0], b.array is arrays[1]]))
    events.append(("gradients", [plain(leaf.grad) for leaf in (x, y, z, story.weight)]))
    return events


OTHERS = [(inputs, "flat") for inputs in INPUTS if inputs != "flat"]
OTHERS += [("flat", outputs) for outputs in OUTPUTS if outputs != "flat"]
OTHERS += [("list", "dict")]
WARNING = pytest.mark.filterwarnings("ignore:full backward hook")


@WARNING
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_nests_tell_the_same_story(function, arguments):
    flat = told("flat", "flat", function, arguments, "both")
    assert [label for label, _ in flat][-1] == "gradients"
    for inputs, outputs in OTHERS:
        assert told(inputs, outputs, function, arguments, "both") == flat, (inputs, outputs)


@WARNING
@pytest.mark.parametrize("run", PASSES)
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("function", ["products", "one unused", "inputs as they came"])
def test_nests_tell_the_same_story_in_each_pass(function, arguments, run):
    flat = told("flat", "flat", function, arguments, run)
    for inputs, outputs in OTHERS:
        assert told(inputs, outputs, function, arguments, run) == flat, (inputs, outputs)


def other_shape(grad):
    return adjoint.ones(7, dtype=adjoint.float64)


def other_type(grad):
    return None if grad is None else grad.float()


ANSWERS = {
    "doubled": lambda grad: None if grad is None else grad * 2,
    "changed in place": lambda grad: None if grad is None else grad.mul_(2),
    "none": lambda grad: None,
    "ones": lambda grad: adjoint.ones(2, dtype=adjoint.float64),
    "another shape": other_shape,
    "another type": other_type,
    "a number": lambda grad: 5,
}


@WARNING
@pytest.mark.parametrize("run", ["both", "first", "recorded", "once nothing comes"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("place", ["scale_inputs", "scale_outputs"])
def test_answers_are_taken_alike(place, answer, run):
    answers = {place: ANSWERS[answer]}
    flat = told("flat", "flat", "products", "made", run, **answers)
    for inputs, outputs in OTHERS:
        nested = told(inputs, outputs, "products", "made", run, **answers)
        assert nested == flat, (inputs, outputs)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (other_shape, "'.*full' has changed the size of value"),
        (other_type, "'.*full' has changed the type of value: a gradient is float64"),
        (lambda grad: 5, "'.*full' must return Tensors or None"),
    ],
)
def test_refusals_name_the_hook(answer, problem):
    for inputs in INPUTS:
        story = hooked(Story(inputs, "flat", FUNCTIONS["products"]), scale_inputs=answer)
        x, y, _ = leaves()
        one, two = story.run(x * 1, y * 1)
        with pytest.raises((RuntimeError, TypeError), match=problem):
            (one + two).sum().backward()


@pytest.mark.parametrize("named", [{}, {"scale": 2.0}, {"scale": [2.0]}], ids=str)
@pytest.mark.parametrize("answer", [{"a": 1}, {"scale": None, "a": 1}, [None]], ids=str)
def test_other_keywords_than_there_were_are_refused(answer, named):
    module = nn.Identity()
    module.forward = lambda x, scale=2.0: x * 2
    module.register_full_backward_hook(lambda m, args, *rest: (args, answer), with_kwargs=True)
    with pytest.raises(ValueError, match="trees differ"):
        module(leaves()[0] * 2, **named).sum().backward()


def test_arguments_that_a_hook_gives_as_a_list():
    module = nn.Identity()
    module.register_forward_pre_hook(lambda m, args, kwargs: (list(args), kwargs), with_kwargs=True)
    seen = []
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append(grad_input))
    x = leaves()[0]
    (module(x * 1) * 3).sum().backward()
    assert type(seen[0]) is tuple
    assert [plain(grad) for grad in seen[0]] == [[3.0, 3.0]]


# ---- what stands in for an argument ----


class Marked(adjoint.Tensor):
    """A subclass that sees calls."""


@pytest.mark.parametrize("inputs", INPUTS)
def test_stand_ins_are_of_the_same_class(inputs):
    given = []
    story = hooked(Story(inputs, "flat", lambda m, a, b: given.extend((a, b)) or (a * b, b * 2)))
    x, y, _ = leaves()
    a = (x * 2).as_subclass(Marked)
    a.mark = "mine"
    one, two = story.run(a, y)
    assert type(given[0]) is Marked
    assert given[0].mark == "mine"
    assert type(given[1]) is adjoint.Tensor
    assert type(one) is Marked
    (one.sum() + two.sum()).backward()
    assert x.grad.tolist() == [10.0, 12.0]


@pytest.mark.parametrize("inputs", INPUTS)
def test_arguments_count_versions_with_their_stand_ins(inputs):
    story = hooked(Story(inputs, "flat", lambda m, a, b: (a.mul_(2), b * 2)))
    x, y, _ = leaves()
    h = x * 3
    saved = h * h  # keeps h, which the module then changes
    story.run(h, y)
    assert h._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


@pytest.mark.parametrize("inputs", INPUTS)
def test_an_argument_given_twice_cannot_be_changed_in_place(inputs):
    story = hooked(Story(inputs, "flat", FUNCTIONS["changed in place"]))
    h = leaves()[0] * 2
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        story.run(h, h)


@pytest.mark.parametrize("inputs", INPUTS)
def test_views_are_of_the_same_base_and_up_to_date(inputs):
    bases = []
    story = hooked(Story(inputs, "flat", lambda m, a, b: bases.append(a._base) or (a * b, b * 2)))
    x, y, _ = leaves()
    h = x * 2
    view = h.view(2)
    h.mul_(5)
    one, _ = story.run(view, y)
    assert bases == [h]
    one.sum().backward()
    assert x.grad.tolist() == [50.0, 60.0]


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_leaf_that_was_changed_before(inputs):
    story = hooked(Story(inputs, "flat", FUNCTIONS["products"]))
    x, y, _ = leaves()
    with adjoint.no_grad():
        x.mul_(2)
    story.run(x, y)[0].sum().backward()
    assert y.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_what_was_made_before_the_call_keeps_its_history(outputs):
    story = hooked(Story("flat", outputs, FUNCTIONS["made before"]))
    x, y, z = leaves()
    story.earlier = z * 2
    node = story.earlier.grad_fn
    _, two = story.run(x, y)
    assert two is not story.earlier
    assert story.earlier.grad_fn is node
    assert two.grad_fn is not node


def test_stand_ins_for_tensors_of_inference_mode():
    inside = []
    module = nn.Identity()
    module.forward = lambda x: inside.append(x.is_inference()) or x
    module.register_full_backward_hook(lambda *args: None)
    with adjoint.inference_mode():
        x = adjoint.ones(2, requires_grad=True)
    module(x)
    assert inside == [True]


def test_a_gate_called_by_itself_calls_no_hook():
    story = hooked(Story("flat", "flat", FUNCTIONS["products"]))
    x, y, _ = leaves()
    one, _ = story.run(x * 1, y * 1)
    grad = adjoint.ones(2, dtype=adjoint.float64)
    first, second = one.grad_fn(grad, None)
    assert first is grad
    assert second is None
    inner = one.grad_fn.next_functions[0][0].next_functions[0][0]
    assert [plain(answer) for answer in inner(None, grad)] == [[0.0, 0.0], [1.0, 1.0]]
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        one.grad_fn(grad)
    assert story.seen == []


def test_warnings_show_the_users_line():
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *args: None)
    total = module(adjoint.ones(1, 1)).sum()
    with pytest.warns(UserWarning, match="no input requires a gradient") as caught:
        total.backward()
    assert [warning.filename for warning in caught] == [__file__]


def test_warnings_of_hooks_that_are_always_called_show_the_users_line():
    module = nn.Linear(1, 1)
    module.register_forward_hook(lambda *args: 1 / 0, always_call=True)
    with (
        pytest.warns(UserWarning, match="silenced as another error") as caught,
        pytest.raises(RuntimeError),
    ):
        module(adjoint.ones(3, 3))
    assert [warning.filename for warning in caught] == [__file__]


# ---- arrays that can't be changed ----


@pytest.fixture
def xla():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield "xla"
    jax.config.update("jax_enable_x64", before)


def doubles(module, grad_input, grad_output):
    grad_input[0].mul_(2)


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("change", [lambda x: x.relu_(), quietly, lambda x: x.unsqueeze_(0)])
def test_in_place_on_arrays_that_are_replaced(xla, change, made):
    """What is done to a stand-in, and to a gradient by a hook, is done as on NumPy."""

    def events(device):
        module = nn.Identity()
        module.forward = change
        module.register_full_backward_hook(doubles)
        x = tensor([-1.0, 2.0], dtype=adjoint.float64, device=device, requires_grad=True)
        given = x * 3 if made else x
        try:
            out = module(given)
        except RuntimeError as error:
            return str(error)
        (out * 5).sum().backward()
        return plain(given), plain(out), plain(x.grad), out is given

    assert events(xla) == events("cpu")
