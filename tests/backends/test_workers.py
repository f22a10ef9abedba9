"""Backward work on a device with a thread of its own, proved on a device that NumPy stands for."""

import contextlib
import contextvars
import gc
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, backends
from adjoint.autograd import backward, grad, no_grad, workers
from adjoint.autograd.node import Node, edge_node, next_sequence_number
from adjoint.autograd.workers import thread_of
from adjoint.backends.numpy import NumpyBackend, NumpyNamespace
from adjoint.call.context import is_grad_enabled
from adjoint.device import device
from adjoint.tensors.core import Spec
from adjoint.tensors.tensor import AS_IS
from tests.signals import heard_at, is_free


class First(np.ndarray):
    """An array on the first made-up device."""


class Second(np.ndarray):
    """An array on the second."""


class MadeUpNamespace(NumpyNamespace):
    """NumPy's functions, all results on the made-up device."""

    def __init__(self, kind: type) -> None:
        super().__init__(np)
        self.kind = kind
        copied = [k for k, v in vars(self).items() if callable(v) and not isinstance(v, type)]
        for name in (*copied, "total", "relu", "power", "broadcast_to"):
            setattr(self, name, self.placed(getattr(self, name)))

    def placed(self, function: Any) -> Any:
        """A function with its result on the device."""
        return lambda *args, **kwargs: np.asarray(function(*args, **kwargs)).view(self.kind)


class MadeUpBackend(NumpyBackend):
    """NumPy under another name, with a worker."""

    device_type = "meta"

    def __init__(self, kind: type, index: int) -> None:
        self.name = f"made-up {index}"
        self.array_type = kind
        self.xp = MadeUpNamespace(kind)
        self.index = index

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        return np.asarray(value, dtype=numpy_dtype).view(self.array_type)

    def device(self, array: Any) -> device:
        return device("meta", self.index)

    def worker(self, array: Any) -> Any:
        return f"made-up:{self.index}"

    def copy(self, array: Any) -> Any:
        return np.array(array, order="C").view(self.array_type)


@pytest.fixture(autouse=True)
def made_up_devices() -> Iterator[None]:
    """Both devices, for the time of one test."""
    before = dict(backends._by_device)
    for index, kind in enumerate((First, Second)):
        backends.register(MadeUpBackend(kind, index), kind)
    yield
    for kind in (First, Second):
        del backends.BY_TYPE[kind]
    backends._by_device.clear()
    backends._by_device.update(before)


class Move(Node):
    """The backward of a transfer between devices."""

    def __init__(self, source: Tensor, target: Any) -> None:
        super().__init__(next_sequence_number())
        self.kind = type(source.array)
        self.spec = Spec(target)
        self.add_edge(edge_node(source), source.output_number)

    def apply(self, grads: list[Any], create_graph: bool, wanted: Any = None) -> list[Any]:
        return [np.asarray(grads[0]).view(self.kind)]


def moved(source: Tensor, kind: type) -> Tensor:
    """source on the device whose arrays are of this type."""
    result = Tensor(np.array(source.array).view(kind), AS_IS)
    result.node = Move(source, result.array)
    result.needs_grad = True
    return result


def leaf(kind: type = np.ndarray, size: int = 3) -> Tensor:
    """A leaf on a device, with the elements 1, 2, …"""
    return Tensor(np.arange(1.0, size + 1).view(kind), AS_IS).requires_grad_()


def thread_into(seen: dict[str, Any], key: str) -> Callable[[Any], None]:
    """A hook that notes on which thread it runs."""

    def hook(_: Any) -> None:
        seen[key] = threading.current_thread()

    return hook


def test_each_node_runs_where_its_device_is() -> None:
    seen: dict[str, Any] = {}
    x = leaf()
    on_cpu = x * 2.0
    there = moved(on_cpu, First)
    worked = there * there
    back = moved(worked, np.ndarray)
    loss = (back * x).sum()
    for key, tensor in (("cpu", on_cpu), ("device", worked), ("back", back)):
        tensor.register_hook(thread_into(seen, key))
    backward(loss)
    assert seen["cpu"] is seen["back"] is threading.current_thread()
    assert seen["device"] is not threading.current_thread()
    assert seen["device"].name == "adjoint-backward-made-up:0"
    assert seen["device"].daemon
    np.testing.assert_allclose(x.grad.array, 12 * np.arange(1.0, 4.0) ** 2)
    assert type(x.grad.array) is np.ndarray


def test_leaves_on_the_device_keep_their_kind() -> None:
    x = leaf(First)
    backward((x * x * 3.0).sum())
    assert type(x.grad.array) is First
    np.testing.assert_allclose(np.asarray(x.grad.array), 6 * np.arange(1.0, 4.0))
    backward((x * 2.0).sum())
    np.testing.assert_allclose(np.asarray(x.grad.array), 6 * np.arange(1.0, 4.0) + 2)


def test_one_thread_serves_every_pass() -> None:
    seen: dict[str, Any] = {}
    for key in ("once", "twice"):
        y = leaf(First) * 2.0
        y.register_hook(thread_into(seen, key))
        backward(y.sum())
    assert seen["once"] is seen["twice"]


def test_two_devices_in_one_pass() -> None:
    seen: dict[str, Any] = {}
    a, b, c = leaf(First), leaf(Second), leaf()
    outputs = [a * 2.0, b * 3.0, c * 4.0]
    for key, output in zip("abc", outputs):
        output.register_hook(thread_into(seen, key))
    backward([output.sum() for output in outputs])
    assert len({seen[key] for key in "abc"}) == 3
    for tensor, expected in ((a, 2.0), (b, 3.0), (c, 4.0)):
        np.testing.assert_array_equal(np.asarray(tensor.grad.array), np.full(3, expected))


def test_grad_and_create_graph_go_through_the_device() -> None:
    x = leaf()
    there = moved(x, First)
    y = (there * there * there).sum()
    (first,) = grad(y, there, create_graph=True)
    (second,) = grad(first.sum(), there)
    np.testing.assert_allclose(np.asarray(second.array), 6 * np.arange(1.0, 4.0))


color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")


def test_hooks_see_the_callers_context() -> None:
    seen: list[str] = []
    y = leaf(First) * 2.0
    y.register_hook(lambda _: seen.append(color.get()))
    token = color.set("blue")
    try:
        backward(y.sum())
    finally:
        color.reset(token)
    assert seen == ["blue"]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("recording", [False, True])
def test_hooks_see_the_grad_mode_of_the_pass(create_graph: bool, recording: bool) -> None:
    seen: list[bool] = []
    x = leaf(First)
    y = x * 2.0
    y.register_hook(lambda _: seen.append(is_grad_enabled()))
    loss = y.sum()
    if recording:
        backward(loss, create_graph=create_graph)
    else:
        with no_grad():
            backward(loss, create_graph=create_graph)
    assert seen == [create_graph]
    assert is_grad_enabled()


def failing(error: Exception, before: Callable[[], Any] = lambda: None) -> Callable[[Any], Any]:
    """A hook that raises."""

    def hook(_: Any) -> None:
        before()
        raise error

    return hook


def test_an_exception_reaches_the_caller_as_it_was_raised() -> None:
    error = ValueError("out of patience")
    x = leaf()
    y = moved(x * 2.0, First) * 3.0
    y.register_hook(failing(error))
    with pytest.raises(ValueError, match="out of patience") as caught:
        backward(moved(y, np.ndarray).sum())
    assert caught.value is error
    assert any("MulBackward0" in note for note in error.__notes__)
    assert x.grad is None
    fine = leaf(First)
    backward((fine * 2.0).sum())  # the thread has survived
    np.testing.assert_array_equal(np.asarray(fine.grad.array), np.full(3, 2.0))


def test_a_failing_cpu_node_stops_the_devices_too() -> None:
    error = RuntimeError("no")
    x = leaf(First)
    y = moved(x * 2.0, np.ndarray) * 1.0
    y.register_hook(failing(error))
    with pytest.raises(RuntimeError) as caught:
        backward(y.sum())
    assert caught.value is error
    assert x.grad is None


def test_two_failing_devices_give_a_group() -> None:
    both = threading.Barrier(2)
    errors = [ValueError("first"), KeyError("second")]
    outputs = [leaf(First) * 2.0, leaf(Second) * 2.0]
    for output, error in zip(outputs, errors):
        output.register_hook(failing(error, lambda: both.wait(timeout=20)))
    with pytest.raises(BaseExceptionGroup) as caught:
        backward([output.sum() for output in outputs])
    assert set(caught.value.exceptions) == set(errors)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    backward((leaf(First) * 2.0).sum())  # the parent has its thread now
    child = os.fork()
    if child == 0:
        x = leaf(First)
        backward((x * 5.0).sum())
        os._exit(0 if np.all(np.asarray(x.grad.array) == 5.0) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    x = leaf(First)
    backward((x * 7.0).sum())
    np.testing.assert_array_equal(np.asarray(x.grad.array), np.full(3, 7.0))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("locked", [False, True], ids=["at work", "holding its lock"])
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_child_that_is_forked_while_the_device_works(locked: bool) -> None:
    started, leave = threading.Event(), threading.Event()
    x = leaf(First)
    y = x * 2.0
    waiting = thread_of("made-up:0").lock

    def stay(_: Any) -> None:
        with waiting if locked else contextlib.nullcontext():
            started.set()
            leave.wait()

    y.register_hook(stay)
    caller = threading.Thread(target=lambda: backward(y.sum()))
    caller.start()
    started.wait()
    child = os.fork()
    if child == 0:
        z = leaf(First)
        backward((z * 5.0).sum())
        os._exit(0 if np.all(np.asarray(z.grad.array) == 5.0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    leave.set()
    caller.join()
    np.testing.assert_array_equal(np.asarray(x.grad.array), np.full(3, 2.0))


@pytest.mark.parametrize("kind", [np.ndarray, First])
def test_passes_of_several_threads_sum_exactly(kind: type) -> None:
    threads, passes = 4, 25
    x = leaf(kind)
    start = threading.Barrier(threads)
    failed: list[BaseException] = []

    def work(factor: float) -> None:
        try:
            start.wait(timeout=20)
            for _ in range(passes):
                backward((x * factor).sum())
        except BaseException as error:
            failed.append(error)

    pool = [threading.Thread(target=work, args=(float(i + 1),)) for i in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join(timeout=60)
    assert not failed
    np.testing.assert_array_equal(np.asarray(x.grad.array), np.full(3, passes * 10.0))


def test_many_roots_meet_in_one_leaf() -> None:
    for _ in range(20):
        x, y = leaf(First), leaf()
        mixed = [(x * 2.0).sum(), (moved(x, np.ndarray) * y).sum(), (moved(y, First) * x).sum()]
        backward(mixed)
        np.testing.assert_allclose(np.asarray(x.grad.array), 2 + 2 * np.arange(1.0, 4.0))
        np.testing.assert_allclose(y.grad.array, 2 * np.arange(1.0, 4.0))


# ---- what goes wrong outside of the nodes ----


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not used the devices yet."""
    monkeypatch.setattr(workers, "_threads", {})


@pytest.mark.usefixtures("no_threads")
@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_a_thread_that_can_not_start(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def start(thread: threading.Thread) -> None:
        raise error

    x = leaf()
    loss = (moved(x * 2.0, First) * 3.0).sum()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(type(error)):
            backward(loss, retain_graph=True)
    assert x.grad is None
    backward(loss)
    np.testing.assert_array_equal(x.grad.array, np.full(3, 6.0))


@pytest.mark.usefixtures("no_threads")
def test_another_thread_that_can_not_start_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start
    steps: list[str] = []

    def second_fails(thread: threading.Thread) -> None:
        if "made-up:1" in thread.name:
            raise RuntimeError("can't start new thread")
        start(thread)

    def slow(_: Any) -> None:
        time.sleep(0.05)
        steps.append("done")

    monkeypatch.setattr(threading.Thread, "start", second_fails)
    first, second = leaf(First) * 2.0, leaf(Second) * 2.0
    first.register_hook(slow)
    with pytest.raises(RuntimeError, match="can't start"):
        backward([moved(first, np.ndarray).sum(), first.sum(), second.sum()])
    after = list(steps)
    time.sleep(0.1)
    assert steps == after


@pytest.mark.usefixtures("no_threads")
def test_a_thread_that_can_not_enter_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(worker: Any) -> None:
        raise OSError("no such device")

    with monkeypatch.context() as patch:
        patch.setattr(workers, "enter_worker", refuse)
        with pytest.raises((OSError, RuntimeError), match="no such device"):
            backward((leaf(First) * 2.0).sum())
    x = leaf(First)
    backward((x * 2.0).sum())
    np.testing.assert_array_equal(np.asarray(x.grad.array), np.full(3, 2.0))


@pytest.mark.parametrize("handed", [False, True])
def test_an_interrupt_while_a_node_is_handed_over(
    monkeypatch: pytest.MonkeyPatch, handed: bool
) -> None:
    submit = workers.DeviceThread.submit

    def interrupted(thread: Any, node: Node, work: Any) -> None:
        if handed:
            submit(thread, node, work)
        raise KeyboardInterrupt

    x = leaf(First)
    with monkeypatch.context() as patch:
        patch.setattr(workers.DeviceThread, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            backward((x * 2.0).sum())
    time.sleep(0.02)
    assert x.grad is None
    backward((x * 2.0).sum())
    np.testing.assert_array_equal(np.asarray(x.grad.array), np.full(3, 2.0))


def test_a_signal_anywhere_in_the_callers_share() -> None:
    place = 0
    while True:
        x = leaf()
        loss = moved(moved(x * 2.0, First) * 3.0, np.ndarray).sum()
        if not heard_at(place, backward, loss):
            break
        assert x.grad is None or np.all(x.grad.array == 6.0)
        place += 7  # every place would take minutes
    np.testing.assert_array_equal(x.grad.array, np.full(3, 6.0))


def test_no_lock_is_kept_by_a_signal_that_is_heard_as_it_is_taken() -> None:
    """Compiled or not, the threads of devices are interpreted."""
    backward((leaf(First) * 2.0).sum())  # their thread is there, so that places keep their numbers
    place = 0
    while True:
        loss = moved(moved(leaf() * 2.0, First) * 3.0, np.ndarray).sum()
        heard = heard_at(place, backward, loss, folder=workers.__file__)
        assert is_free(workers._locks.threads)
        assert all(is_free(thread.lock) for thread in workers._threads.values())
        if not heard:
            break
        place += 1
    assert place > 20


@pytest.mark.parametrize("fails", [False, True])
def test_a_pass_leaves_nothing_to_the_cyclic_collector(fails: bool) -> None:
    def scope() -> list[Any]:
        x = leaf()
        y = moved(x * 2.0, First) * 3.0
        z = moved(y, np.ndarray).sum()
        if fails:
            y.register_hook(lambda _: int("no"))  # a new error each time: it keeps nothing
        with contextlib.suppress(ValueError):
            backward(z, retain_graph=True)
        return [weakref.ref(thing) for thing in (x, y.node, z.node)]

    scope()  # the thread is there from now on
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):  # whatever the device's thread is at
            references = scope()
            assert not [r() for r in references if r() is not None]
    finally:
        gc.enable()


class Backing(np.ndarray):
    """An array whose addition in place runs a pass of its own."""

    inner: Any = None

    def __iadd__(self, other: Any) -> Any:
        if Backing.inner is not None:
            loss, Backing.inner = Backing.inner, None
            backward(loss)
        return np.ndarray.__iadd__(self, other)


def test_a_gradient_whose_addition_calls_backward() -> None:
    backends.register(MadeUpBackend(Backing, 2), Backing)
    backends.BY_TYPE[Backing].worker = lambda array: None  # type: ignore[method-assign]
    try:
        x, y = leaf(Backing), leaf()
        backward((x * 2.0).sum())
        Backing.inner = (y * 5.0).sum()
        done = threading.Event()

        def work() -> None:
            backward((x * 3.0).sum())
            done.set()

        threading.Thread(target=work, daemon=True).start()
        assert done.wait(20)
        np.testing.assert_array_equal(np.asarray(x.grad.array), np.full(3, 5.0))
        np.testing.assert_array_equal(y.grad.array, np.full(3, 5.0))
    finally:
        del backends.BY_TYPE[Backing]


class Failing(np.ndarray):
    """An array whose addition in place fails at one time, before or after it has been made."""

    left = 0
    late = False

    def __iadd__(self, other: Any) -> Any:
        Failing.left -= 1
        if Failing.left == 0 and not Failing.late:
            raise MemoryError
        np.ndarray.__iadd__(self, other)
        if Failing.left == 0:
            raise MemoryError
        return self


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_a_gradient_whose_addition_fails(
    monkeypatch: pytest.MonkeyPatch, place: int, late: bool
) -> None:
    backends.register(MadeUpBackend(Failing, 2), Failing)
    monkeypatch.setattr(Failing, "late", late)
    backends.BY_TYPE[Failing].worker = lambda array: None  # type: ignore[method-assign]
    try:
        leaves = [leaf(Failing), leaf(), leaf(Failing), leaf(Failing)]
        losses = [(x * 3.0).sum() for x in leaves]
        backward(losses, retain_graph=True)
        grads = [x.grad for x in leaves]
        Failing.left = place
        with pytest.raises(MemoryError) if place <= 3 else contextlib.nullcontext():
            backward(losses)
        expected = 3.0 if place <= 3 else 6.0
        for x, grad in zip(leaves, grads):
            assert x.grad is grad
            np.testing.assert_array_equal(np.asarray(grad.array), np.full(3, expected))
            assert grad._version == int(place > 3)
    finally:
        Failing.left = 0
        del backends.BY_TYPE[Failing]
