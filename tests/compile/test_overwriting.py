"""Results on XLA take over the memory of what they replace, unless somebody else looks at it."""

import gc
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.backends import xla
from tests.compile.test_interrupts import heard_everywhere

compiled_package = pytest.mark.skipif(
    not adjoint.__compiled__, reason="the sources never take over memory: Python hears signals"
)


class Training:
    """A network on XLA, trained by a compiled step; a schedule is an event that can be undone."""

    def __init__(self, kind=optim.Adam, schedule=False):
        adjoint.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to("xla")
        self.optimizer = kind(self.model.parameters(), lr=0.1)
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 1, 0.9) if schedule else None
        self.x = adjoint.randn(5, 3).to("xla")
        self.call = adjoint.compile(self.step)

    def step(self):
        self.optimizer.zero_grad()
        loss = (self.model(self.x) ** 2).sum()
        loss.backward()
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        return loss.detach()

    def warmed(self):
        """The same after so many calls that C++ alone makes the next."""
        for _ in range(6):
            self.call()
        assert self.call.count == 1
        return self

    def tensors(self):
        kept = [t for state in self.optimizer.state.values() for t in state.values()]
        return [*self.model.parameters(), *kept]

    def seen(self):
        """All that a call changes."""
        tensors = self.tensors()
        return [
            [tensor.detach().cpu().numpy().copy() for tensor in tensors],
            [tensor._version for tensor in self.model.parameters()],
            [id(parameter.grad) for parameter in self.model.parameters()],
            [parameter.grad.cpu().numpy().copy() for parameter in self.model.parameters()],
        ]


def places(training):
    return [p.array.unsafe_buffer_pointer() for p in training.model.parameters()]


def places_of_gradients(training):
    return [p.grad.array.unsafe_buffer_pointer() for p in training.model.parameters()]


@pytest.mark.parametrize("schedule", [False, True])
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_a_training_is_that_of_eager_code(kind, schedule):
    one, other = Training(kind, schedule), Training(kind, schedule)
    for _ in range(10):
        np.testing.assert_allclose(one.call().item(), other.step().item(), rtol=1e-5)
    for ours, theirs in zip(one.tensors(), other.tensors(), strict=True):
        np.testing.assert_allclose(ours.detach().cpu(), theirs.detach().cpu(), rtol=1e-4, atol=1e-6)
    assert [p._version for p in one.tensors()] == [p._version for p in other.tensors()]


@compiled_package
def test_no_python_code_of_jax_runs():
    """Between the program and the writing of its results none could be interrupted, then."""
    for kind in (optim.SGD, optim.Adam):
        training = Training(kind).warmed()
        names = []

        def note(frame, event, argument, names=names):
            if event == "call" and frame.f_globals["__name__"].startswith("jax"):
                names.append(frame.f_code.co_name)

        before = sys.getprofile()
        gc.disable()  # JAX is called when the collector runs
        sys.setprofile(note)
        try:
            training.call()
        finally:
            sys.setprofile(before)
            gc.enable()
        assert set(names) <= {"<lambda>"}  # which says beforehand whether it has 64 bits


@compiled_package
def test_numbers_that_stay_the_same_are_kept_by_xla():
    """Those of SGD are: to send them with each call takes as long as the rest of a small one."""
    training = Training(optim.SGD).warmed()
    (signature,) = training.call.signatures.values()
    assert all(isinstance(array, jax.Array) for array in signature.programs[0].inputs.arrays)
    training.optimizer.param_groups[0]["lr"] = 0.0
    before = training.seen()[0]
    training.call()
    for ours, old in zip(training.seen()[0], before, strict=True):
        np.testing.assert_array_equal(ours, old)


@compiled_package
def test_memory_is_taken_over():
    training = Training().warmed()
    before = places(training)
    training.call()
    assert places(training) == before
    other = training.model[0].weight.detach()
    training.call()
    assert places(training)[0] != before[0]
    del other
    training.call()
    before = places(training)
    training.call()
    assert places(training) == before


@pytest.mark.parametrize(
    "look",
    [
        lambda weight: weight.detach(),
        lambda weight: weight.data,
        lambda weight: adjoint.from_dlpack(weight.detach()),
        lambda weight: weight.detach().view(-1),
        lambda weight: weight.detach().numpy(force=True),
        lambda weight: weight.array,
        lambda weight: jax.device_put(weight.array),
    ],
    ids=["detach", "data", "dlpack", "view", "numpy", "array", "device_put"],
)
def test_who_looks_at_the_memory_keeps_it(look):
    training = Training().warmed()
    seen = look(training.model[0].weight)
    before = np.array(training.model[0].weight.detach().cpu()).reshape(-1)
    for _ in range(2):
        training.call()
    np.testing.assert_array_equal(np.array(getattr(seen, "array", seen)).reshape(-1), before)
    assert not np.array_equal(np.array(training.model[0].weight.detach().cpu()).ravel(), before)


@compiled_package
def test_memory_of_gradients_that_are_thrown_away_is_taken_over():
    training = Training().warmed()
    before = places_of_gradients(training)
    training.call()
    assert places_of_gradients(training) == before
    other = training.model[0].weight.grad
    training.call()
    assert places_of_gradients(training)[0] != before[0]
    del other
    training.call()
    before = places_of_gradients(training)
    training.call()
    assert places_of_gradients(training) == before


def short_form(training):
    (signature,) = training.call.signatures.values()
    return signature.programs[0].repeated


def set_rate(training):
    training.optimizer.param_groups[0]["lr"] = 0.5


def replace_layer(training):
    training.model[1] = nn.ReLU()


def replace_input(training):
    training.x = adjoint.ones(5, 3).to("xla")


def take_another_shape(training):
    training.x = adjoint.ones(2, 3).to("xla")


def freeze(training):
    training.model[0].weight.requires_grad_(False)


def drop_gradients(training):
    for parameter in training.model.parameters():
        parameter.grad = None


def hook_a_gradient(training):
    training.model[0].weight.register_hook(lambda grad: 2 * grad)


def hook_a_layer(training):
    training.model[0].register_forward_hook(lambda layer, given, made: 2 * made)


def write_a_weight(training):
    with adjoint.no_grad():
        training.model[0].weight.fill_(0.1)


def load_a_state(training):
    training.optimizer.load_state_dict(training.optimizer.state_dict())


CHANGES = [
    set_rate,
    replace_layer,
    replace_input,
    take_another_shape,
    freeze,
    drop_gradients,
    hook_a_gradient,
    hook_a_layer,
    write_a_weight,
    load_a_state,
]


@compiled_package
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *((optim.SGD, change) for change in CHANGES),
        (optim.Adam, set_rate),
        (optim.Adam, load_a_state),
    ],
)
def test_the_short_form_of_a_call_notices(kind, change):
    one, other = Training(kind).warmed(), Training(kind)
    for _ in range(6):
        other.step()
    assert short_form(one) is not None
    for training in (one, other):
        change(training)
    for _ in range(4):
        np.testing.assert_allclose(one.call().item(), other.step().item(), 1e-5, 1e-7)
    for ours, theirs in zip(one.tensors(), other.tensors(), strict=True):
        np.testing.assert_allclose(ours.detach().cpu(), theirs.detach().cpu(), rtol=1e-4, atol=1e-6)


@compiled_package
def test_the_short_form_of_a_call_is_the_one_taken():
    training = Training().warmed()
    long = training.call.signatures.popitem()[1].programs[0]
    long.check = None  # the long form would call it
    training.call()
    with adjoint.no_grad():
        training.model[0].weight.add_(1)
    with pytest.raises(TypeError):
        training.call()


@compiled_package
def test_tensors_of_one_shape_keep_their_own_memory():
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)]).to("xla")
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = adjoint.randn(5, 4).to("xla")

    @adjoint.compile
    def step():
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        optimizer.step()

    def seen():
        momenta = [state["momentum_buffer"] for state in optimizer.state.values()]
        kept = [*model.parameters(), *(p.grad for p in model.parameters()), *momenta]
        return [tensor.array.unsafe_buffer_pointer() for tensor in kept]

    for _ in range(4):
        step()
    before = seen()
    step()
    assert seen() == before


@pytest.mark.parametrize(
    "look",
    [
        lambda weight: weight.grad,
        lambda weight: weight.grad.detach(),
        lambda weight: weight.grad.view(-1),
        lambda weight: weight.grad.numpy(force=True),
        lambda weight: weight.grad.array,
        lambda weight: {"gradient": weight.grad}["gradient"],
        lambda weight: adjoint.from_dlpack(weight.grad),
    ],
    ids=["grad", "detach", "view", "numpy", "array", "dictionary", "dlpack"],
)
def test_who_looks_at_a_gradient_keeps_it(look):
    training = Training().warmed()
    seen = look(training.model[0].weight)
    before = np.array(training.model[0].weight.grad.cpu()).ravel()
    for _ in range(2):
        training.call()
    np.testing.assert_array_equal(np.array(getattr(seen, "array", seen)).reshape(-1), before)
    assert not np.array_equal(np.array(training.model[0].weight.grad.cpu()).ravel(), before)


def steps_of_gradients():
    """Functions that do something with the gradients there are before they make new ones."""

    def answered(first, second, backward):
        old = first.grad
        first.grad = None
        backward()
        return old

    def exchanged(first, second, backward):
        first.grad, second.grad = second.grad, None
        backward()
        return first.grad

    def added(first, second, backward):
        backward()
        return first.grad * 2

    def handed_on(first, second, backward):
        old, first.grad = first.grad, None
        backward()
        second.grad = old
        return second.grad + 1

    def read(first, second, backward):
        old, first.grad, second.grad = first.grad, None, None
        backward()
        return old * first.grad

    def changed(first, second, backward):
        old, first.grad = first.grad, None
        old *= 3
        backward()
        return first.grad

    return [answered, exchanged, added, handed_on, read, changed]


@pytest.mark.parametrize("step", steps_of_gradients(), ids=lambda step: step.__name__)
def test_gradients_that_are_used_are_not_taken_over(step):
    logs = []
    for compiled in (False, True):
        first, second = (
            adjoint.full((3,), value).to("xla").requires_grad_() for value in (1.5, 2.5)
        )

        def backward(first=first, second=second):
            ((first.detach() + 1) * first**2 + second**3).sum().backward()

        def call(first=first, second=second, backward=backward):
            return step(first, second, backward)

        backward()
        made = adjoint.compile(call) if compiled else call
        kept = []
        for _ in range(6):
            kept.append(made().detach())
            with adjoint.no_grad():
                first += 0.5
        kept += [first.grad, second.grad]
        logs.append([np.array(each.cpu()) for each in kept if each is not None])
    np.testing.assert_allclose(logs[0], logs[1], rtol=1e-6)


@compiled_package
def test_gradients_alone_take_over_memory_too():
    model = nn.Linear(3, 2).to("xla")
    x = adjoint.randn(5, 3).to("xla")

    @adjoint.compile
    def gradients():
        model.zero_grad()
        (model(x) ** 2).sum().backward()

    for _ in range(4):
        gradients()
    before = [p.grad.array.unsafe_buffer_pointer() for p in model.parameters()]
    gradients()
    assert [p.grad.array.unsafe_buffer_pointer() for p in model.parameters()] == before
    model.weight.grad = adjoint.ones(2, 3).to("xla")
    gradients()
    assert not (model.weight.grad.cpu() == 1).any()
    with pytest.raises(RuntimeError):
        model.weight.grad = adjoint.ones(3, 2).to("xla")


def test_a_tensor_that_got_another_array_is_taken_as_it_is():
    training, other = Training().warmed(), Training().warmed()
    for each in (training, other):
        each.model[0].weight.data = adjoint.ones(4, 3).to("xla")
    kept = training.model[0].weight.data
    for _ in range(3):
        training.call()
        other.step()
    np.testing.assert_allclose(
        training.model[0].weight.detach().cpu(), other.model[0].weight.detach().cpu(), rtol=1e-4
    )
    assert (kept == 1).all()


@pytest.mark.parametrize("schedule", [False, True])
def test_wherever_a_signal_is_heard_all_or_nothing(schedule):
    befores, afters = heard_everywhere(Training(schedule=schedule).warmed())
    assert befores > 20
    assert afters > 0


class Unseen(Training):
    """The same, of which nobody holds a gradient while it is called: its memory is taken over."""

    def seen(self):
        values, versions, _, gradients = super().seen()
        return [values, versions, gradients]


@compiled_package
def test_a_signal_takes_no_gradient_with_it():
    training = Unseen().warmed()
    before = places_of_gradients(training)
    befores, afters = heard_everywhere(training, looking_on=False)
    assert befores > 20
    assert afters > 0
    (signature,) = training.call.signatures.values()
    assert signature.programs[0].overwriting.plain.taking.ready is None  # it was never needed
    training.call()
    assert places_of_gradients(training) == before


@compiled_package
def test_a_signal_heard_while_a_call_is_prepared_loses_nothing(monkeypatch):
    training = Training().warmed()
    for parameter in training.model.parameters():
        parameter.data = parameter.data.clone()  # so that the call is not known to be C++'s alone
    before = training.seen()
    (signature,) = training.call.signatures.values()
    call = signature.programs[0].overwriting.sparing.taking.call()

    class Interrupted:
        """The call, with a signal that is heard when it has been made."""

        _cache_size = call._cache_size

        def __call__(self, *arrays):
            call(*arrays)
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(xla.Taking, "call", lambda taking: Interrupted())
        with pytest.raises(KeyboardInterrupt):
            training.call()
    for ours, old in zip(training.seen(), before, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, old, strict=True))
    assert training.call().item() > 0
