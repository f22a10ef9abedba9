"""A signal that is heard anywhere leaves everything as it was, or as it would have become."""

import contextvars
import copy
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint import amp, library
from adjoint._base import moments
from adjoint.autograd import daemons, forward_ad, graph, hooks, leaves, profiler
from adjoint.autograd.graph_task import GraphTask, current_task
from adjoint.autograd.jacobians import shifted
from adjoint.autograd.node import next_sequence_number
from adjoint.backends.error_state import quiet
from adjoint.call.context import current, set_current
from adjoint.func import stateless
from adjoint.library.custom_op import REGISTRY
from adjoint.library.fake import FakeImplCtx
from adjoint.library.schema_text import parse
from adjoint.nn.utils import parametrize
from adjoint.tensors import printing
from adjoint.tensors.subclass import plain
from adjoint.utils import checkpoint
from tests.signals import Heard, handling, heard_at, is_free, meanwhile, send


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


class TestNested:
    """Passes so deep within others that they run on threads of their own."""

    def chain(self, depth, innermost):
        """A loss whose backward runs a pass within a pass, so deep, and then a function."""
        with adjoint.enable_grad():
            y = leaf(1.0) * 2.0
            if depth == 0:
                y.register_hook(lambda grad: innermost())
            else:
                y.register_hook(lambda grad: self.chain(depth - 1, innermost).backward())
            return y.sum()

    @pytest.mark.parametrize("depth", [12, 13, 24, 30])
    def test_an_interrupt_stops_them_before_it_is_raised(self, depth):
        x = leaf(1.0, 2.0)
        x.grad = adjoint.ones(2)
        threads = threading.active_count()
        steps = []

        def innermost():
            with adjoint.enable_grad():
                for _ in range(3):
                    (x * 2.0).sum().backward()
                send()
                time.sleep(0.05)  # the main thread hears of it
                y = x * 1.0
                for _ in range(20):
                    y = y * 1.0
                    y.register_hook(lambda grad: (time.sleep(0.01), steps.append(1)))
                y.sum().backward()

        with handling(), pytest.raises(Heard):
            self.chain(depth, innermost).backward()
        after = len(steps)
        assert x.grad.tolist() == [1.0, 1.0]
        assert x.grad._version == 0
        assert threading.active_count() == threads
        time.sleep(0.1)
        assert len(steps) == after < 20
        assert x.grad.tolist() == [1.0, 1.0]

    def test_a_pass_that_goes_on_after_it_can_nest_again(self):
        x = leaf(1.0)

        def innermost():
            with adjoint.enable_grad():
                send()
                time.sleep(0.05)
                (x * 2.0).sum().backward()

        def guarded():
            with adjoint.enable_grad():
                with pytest.raises(Heard):
                    self.chain(14, innermost).backward()
                self.chain(14, lambda: None).backward()
                (x * 3.0).sum().backward()

        with handling():
            self.chain(0, guarded).backward()
        assert x.grad.tolist() == [3.0]

    def test_a_thread_that_can_not_start(self, monkeypatch):
        def start(thread):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="can't start"):
            self.chain(12, lambda: (x * 2.0).sum().backward()).backward()
        assert x.grad is None

    @pytest.mark.parametrize("runs", [False, True])
    def test_an_interrupt_while_it_starts(self, monkeypatch, runs):
        start = threading.Thread.start
        ran = []

        def interrupted(thread):
            if runs:
                start(thread)
            raise Heard

        monkeypatch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(Heard):
            self.chain(12, lambda: (time.sleep(0.02), ran.append(1))).backward()
        after = list(ran)
        time.sleep(0.05)
        assert ran == after

    def test_a_signal_anywhere_as_a_thread_starts_and_ends(self):
        threads = threading.active_count()
        files = (threading.__file__, daemons.__file__)
        place = 0
        while True:
            x = leaf(1.0)
            inner = (x * 2.0).sum()
            loss = self.chain(12, inner.backward)
            heard = heard_at(place, loss.backward, folder=files)
            assert threading.active_count() == threads
            assert x.grad is None or x.grad.tolist() == [2.0]
            if not heard:
                break
            place += 1
        assert x.grad.tolist() == [2.0]
        assert place > 5


def same(tensor):
    return tensor


class Example:
    """What managers change that is no context variable."""

    def __init__(self):
        self.values = adjoint.ones(2)
        self.module = adjoint.nn.Linear(2, 1)
        self.others = {"weight": adjoint.ones(1, 2), "bias": adjoint.ones(1)}
        self.op = library.CustomOpDef("interrupts", "same", parse("same(Tensor x) -> Tensor"))

    def state(self):
        """All of it, by identity where that counts."""
        parameters = {name: id(value) for name, value in self.module.named_parameters()}
        options = printing.get_printoptions(), adjoint.get_rng_state().tolist()
        return self.values.tolist(), parameters, self.op.disabled, list(REGISTRY), options


example = Example()

MANAGERS = {
    "no_grad": adjoint.no_grad,
    "enable_grad": adjoint.enable_grad,
    "inference_mode": adjoint.inference_mode,
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(same, same),
    "save_on_cpu": graph.save_on_cpu,
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("no"),
    "allow_mutation_on_saved_tensors": graph.allow_mutation_on_saved_tensors,
    "node_hooks": lambda: graph.node_hooks(pre=lambda node, grads: None),
    "profile": profiler.profile,
    "autocast": lambda: amp.autocast("cpu"),
    "plain": plain,
    "checkpoint_scope": checkpoint.checkpoint_scope,
    "quiet": quiet,
    "device": lambda: adjoint.device("cpu"),
    "dual_level": forward_ad.dual_level,
    "record_function": lambda: profiler.record_function("part"),
    "set_checkpoint_early_stop": lambda: checkpoint.set_checkpoint_early_stop(False),
    "set_checkpoint_debug_enabled": lambda: checkpoint.set_checkpoint_debug_enabled(True),
    "GraphExecGroup": checkpoint.GraphExecGroup,
    "cached": parametrize.cached,
    "fake": FakeImplCtx,
    "shifted": lambda: shifted(example.values, 1.0),
    "replaced": lambda: stateless.replaced(example.module, dict(example.others)),
    "set_kernel_enabled": lambda: example.op.set_kernel_enabled("cpu", enabled=False),
    "scoped": library.scoped,
    "fork_rng": adjoint.random.fork_rng,
    "printoptions": lambda: printing.printoptions(precision=2),
}


def settings():
    return (current(), np.geterr(), dict(contextvars.copy_context()), example.state())


UNSEEN = {"record_function", "enable_grad"}  # without a profile, and where it is enabled


@pytest.fixture
def restored():
    """Whatever a test finds, the next starts as it did; all variables of a pass have been set."""
    example.module(leaf(1.0, 2.0)).sum().backward()
    before, errors = current(), np.geterr()
    yield
    set_current(before)
    np.seterr(**errors)


@pytest.mark.usefixtures("restored")
class TestSettings:
    @pytest.mark.parametrize("name", MANAGERS)
    def test_a_signal_anywhere_in_a_context_manager(self, name):
        """But at the start of an `__exit__` in Python, which no such class can do anything about.

        Compiled, all classes of settings leave by Scope's, which is no such function.
        """
        exits = {"__exit__"} if "__code__" in dir(type(MANAGERS[name]()).__exit__) else set()
        with MANAGERS[name]():
            pass  # a context variable that has its default is in a context only once it was set
        before = settings()
        seen = []

        def block(manager):
            with manager:
                if name == "scoped":
                    REGISTRY["interrupts::same"] = example.op
                if name == "fork_rng":
                    adjoint.rand(1)
                seen.append(settings() != before)

        block(MANAGERS[name]())
        assert seen == [name not in UNSEEN]
        assert settings() == before

        place = 0
        while heard_at(place, block, MANAGERS[name](), except_in=exits):
            assert settings() == before
            place += 1
        assert settings() == before
        assert place or not exits

    @pytest.mark.parametrize("mode", [False, True])
    def test_a_setting_that_is_entered_later(self, mode):
        before = settings()

        def block(manager):
            with manager:
                pass

        place = 0
        while True:
            manager = adjoint.set_grad_enabled(mode)
            heard = heard_at(place, block, manager, except_in={"__exit__", "__enter__"})
            if not heard:
                break
            adjoint.set_grad_enabled(True)
            place += 1
        assert settings() == before

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_a_signal_anywhere_in_a_pass(self, create_graph):
        before = settings()
        place = 0
        while True:
            x = leaf(1.0, 2.0)
            x.grad = adjoint.zeros(2)
            loss = (x * x).sum()
            if not heard_at(place, lambda loss=loss: loss.backward(create_graph=create_graph)):
                break
            assert settings() == before
            assert current_task() is None
            assert is_free(leaves._locks.accumulate)
            assert is_free(moments.lock)
            assert x.grad.tolist() in ([0.0, 0.0], [2.0, 4.0])
            place += 1
        assert settings() == before

    def test_a_function_and_a_module(self):
        class Square(adjoint.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return grad * 2 * ctx.saved_tensors[0]

        model = adjoint.nn.Linear(2, 2)

        def run():
            Square.apply(model(leaf(1.0, 2.0))).sum()

        before = settings()
        place = 0
        while heard_at(place, run):
            assert settings() == before
            assert adjoint.autograd.provenance.calls.get() is None
            place += 1
        assert not place or place > 10

    def test_one_instance_in_several_threads(self):
        shared = adjoint.no_grad()
        seen = []
        inside, go = threading.Event(), threading.Event()

        def other():
            with adjoint.no_grad(), shared:
                inside.set()
                go.wait(5)
            seen.append(adjoint.is_grad_enabled())

        thread = threading.Thread(target=other)
        with shared:
            thread.start()
            assert inside.wait(5)
        seen.append(adjoint.is_grad_enabled())
        go.set()
        thread.join(5)
        assert seen == [True, True]


FIRST_USE = """
import os, sys
import adjoint
place = int(sys.argv[1])
def on_line(frame, event, argument):
    global place
    place -= 1
    if place < 0:
        sys.settrace(None)
        raise KeyboardInterrupt
    return on_line
def on_call(frame, event, argument):
    return on_line if os.sep + "adjoint" + os.sep in frame.f_code.co_filename else None
def use():
    adjoint.nn.functional.relu(adjoint.ones(1))
    adjoint.nn.utils.parametrize.cached
    adjoint.nn.parameter.Parameter, adjoint.nn.init.zeros_
    adjoint.nn.Linear(2, 2)(adjoint.ones(2)).sum().backward()
for start in range(place, 6000, 397):
    child = os.fork()
    if child == 0:
        place = start
        sys.settrace(on_call)
        try:
            use()
        except KeyboardInterrupt:
            pass
        sys.settrace(None)
        use()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        sys.exit(f"interrupted at line {start}: {status}")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_an_interrupt_during_the_first_use_of_nn():
    run = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", FIRST_USE, "3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]


class TestKernels:
    """What a signal's handler raises while a kernel runs comes out as it is."""

    @pytest.mark.parametrize("error", [TimeoutError("late"), ValueError("x"), RuntimeError("y")])
    def test_as_it_is(self, error):
        x = adjoint.ones(3, 4)

        with handling(error), pytest.raises(type(error)) as caught:
            adjoint.cumsum(x, Index())
        assert caught.value is error

    def test_in_the_library_itself(self, monkeypatch):
        error = TimeoutError("late")

        def slow(*args, **kwargs):
            signal.raise_signal(signal.SIGUSR1)

        monkeypatch.setattr(adjoint.backends.numpy.numpy_backend.xp, "cumsum", slow)
        with handling(error), pytest.raises(TimeoutError) as caught:
            adjoint.cumsum(adjoint.ones(3), 0)
        assert caught.value is error

    def test_in_functions_that_set_the_state_of_warnings(self):
        """NumPy does so in Python, where a signal may be heard."""
        before = np.geterr(), np.geterrcall()
        matrix = adjoint.eye(2, dtype=adjoint.float64)  # float32 is left to what lies beneath
        folder = str(Path(np.__file__).with_name("_core") / "_ufunc_config.py")
        for function in (adjoint.linalg.eigh, adjoint.linalg.inv, adjoint.linalg.svd):
            place = 0
            while heard_at(place, function, matrix, folder=folder):
                assert (np.geterr(), np.geterrcall()) == before
                place += 1
            assert place

    @pytest.mark.parametrize(
        "function",
        [
            lambda x: adjoint.tensor([0.5, 1e300], dtype=adjoint.float32),
            lambda x: adjoint.multinomial(x, 2),
            lambda x: adjoint.nn.functional.ctc_loss(x.expand(4, 1, 3), x[:2].long(), (4,), (2,)),
        ],
        ids=["tensor", "multinomial", "ctc_loss"],
    )
    def test_no_function_of_ours_sets_it_in_python(self, function):
        """A signal that is heard in NumPy's own code could leave the state changed."""
        folder = str(Path(np.__file__).with_name("_core") / "_ufunc_config.py")
        assert not heard_at(0, function, adjoint.tensor([1.0, 2.0, 1.0]), folder=folder)

    def test_in_the_name_of_a_hook(self):
        class Sending:
            def __repr__(self):
                signal.raise_signal(signal.SIGUSR1)
                return "never"

        class Broken:
            def __repr__(self):
                raise ValueError

        error = TimeoutError("late")
        with handling(error), pytest.raises(TimeoutError) as caught:
            hooks.name_of(Sending())
        assert caught.value is error
        broken = Broken()
        assert hooks.name_of(broken) == object.__repr__(broken)

    def test_what_the_kernel_raises_is_reworded(self):
        with pytest.raises(RuntimeError, match="add"):
            adjoint.ones(2) + adjoint.ones(3)


class Index:
    """A dimension whose look-up is interrupted."""

    def __index__(self):
        signal.raise_signal(signal.SIGUSR1)
        return 0


DRAWN = {
    "hook": lambda: hooks.RemovableHandle(hooks.HookTable()).id,
    "node": next_sequence_number,
    "pass": lambda: GraphTask([], False, False, None).id,
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_number_is_drawn_in_one_piece(name):
    """Whatever is drawn between two bytecodes is another; compiled code has none."""
    place, draw = 0, DRAWN[name]
    found = True
    while found:
        drawn = []
        found = meanwhile(place, lambda d=drawn: d.append(draw()), lambda d=drawn: d.append(draw()))
        assert len(set(drawn)) == len(drawn) == 1 + found
        place += 1


def test_a_handle_that_is_copied_while_others_are_made():
    handle = hooks.RemovableHandle(hooks.HookTable())
    place = 0
    found = True
    while found:
        drawn = []
        draw = lambda d=drawn: d.extend(DRAWN["hook"]() for _ in range(2))
        found = meanwhile(place, lambda: copy.copy(handle), draw)
        draw()
        assert len(set(drawn)) == len(drawn)
        place += 1


def test_no_two_threads_draw_the_same_number():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for name, draw in DRAWN.items():
            drawn = []

            def body(draw=draw, drawn=drawn):
                mine = [draw() for _ in range(5000)]
                drawn.extend(mine)

            pool = [threading.Thread(target=body) for _ in range(4)]
            for thread in pool:
                thread.start()
            for thread in pool:
                thread.join()
            assert len(set(drawn)) == len(drawn) == 20000, name
    finally:
        sys.setswitchinterval(interval)
