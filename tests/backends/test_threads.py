"""Large arrays shared among threads: the bits of one thread, and nothing left running."""

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import adjoint
from adjoint.backends import threads
from adjoint.ops.op import TABLE
from adjoint.utils.data import DataLoader, Dataset
from tests.signals import Heard, handling

SIZE = 3 * 32768 + 12_345
ELEMENTWISE = sorted(
    name for name, op in TABLE.items() if op.diagonal and op.direct is not None and op.required < 3
)


@pytest.fixture(autouse=True)
def three_threads():
    before = threads.helpers.allowed
    threads.allow(3)
    yield
    threads.allow(before)


def values(dtype, count=1, size=SIZE):
    chance = np.random.default_rng(0)
    found = [chance.standard_normal(size).astype(dtype) for _ in range(count)]
    for array in found:
        array[:6] = 0, -0.0, np.inf, -np.inf, np.nan, 1
        array[-1] = np.finfo(dtype).smallest_subnormal
    return found


def of_one_thread(function, *arguments):
    threads.allow(1)
    answer = function(*arguments)
    threads.allow(3)
    return answer


class Watch:
    """Stands for an elementwise function: it notes the threads that call it."""

    def __init__(self, at_call=lambda: None):
        self.at_call = at_call
        self.callers = []
        self.running = 0

    def __call__(self, array, out=None):
        if array.size > 0:
            self.callers.append(threading.get_ident())
            self.running += 1
            try:
                self.at_call()
                time.sleep(0.02)
            finally:
                self.running -= 1
        return np.negative(array, out=out)


def spread(function, array):
    """What an elementwise function answers, by parts that Python's threads share."""
    out, step = np.empty_like(array), array.size // 6

    def compute(start):
        part = slice(start, start + step)
        function(array[part], out=out[part])

    threads.shared(compute, [*range(0, array.size, step)], array.size)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_bits_are_those_of_one_thread(name, dtype):
    op = TABLE[name]
    arguments = values(dtype, op.required)
    with np.errstate(all="ignore"):
        wanted = of_one_thread(op.direct, *arguments)
        got = op.direct(*arguments)
    assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x.detach(),
        lambda x: 2.0 - x,
        lambda x: x * 3.5,
        lambda x: x.reshape(5, -1).exp(),
        lambda x: x.reshape(5, -1).t().exp(),
        lambda x: x.reshape(5, -1) + x[:5].reshape(5, 1),
        lambda x: x[:5].reshape(5, 1) * x.reshape(5, -1),
        adjoint.nn.functional.gelu,
        adjoint.nn.functional.silu,
        adjoint.relu,
        lambda x: x.clone().add_(x, alpha=0.3),
    ],
)
def test_calls_and_gradients_are_those_of_one_thread(function):
    array = np.random.default_rng(3).standard_normal(5 * threads.LEAST).astype(np.float32)

    def results():
        x = adjoint.tensor(array, requires_grad=True)
        y = function(x)
        (grad,) = adjoint.autograd.grad(y.sum(), x)
        return y.detach().numpy().tobytes() + grad.numpy().tobytes()

    assert results() == of_one_thread(results)


def test_threads_take_part():
    watch = Watch()
    (array,) = values(np.float64)
    assert (spread(watch, array)[6:] == -array[6:]).all()
    assert len(set(watch.callers)) > 1


def test_small_arrays_and_one_thread_are_left_to_the_caller():
    watch = Watch()
    spread(watch, np.ones(threads.SHARED - 4))
    of_one_thread(spread, watch, np.ones(SIZE))
    assert set(watch.callers) == {threading.get_ident()}


def test_an_error_of_any_thread_comes_out():
    def fail():
        if threading.get_ident() != caller:
            raise ArithmeticError("of a helper")

    caller = threading.get_ident()
    watch = Watch(fail)
    with pytest.raises(ArithmeticError, match="of a helper"):
        spread(watch, np.ones(SIZE))
    assert watch.running == 0


def test_numpys_error_state_is_the_callers():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        spread(np.reciprocal, np.zeros(SIZE))
    with np.errstate(divide="ignore"):
        assert np.isinf(spread(np.reciprocal, np.zeros(SIZE))).all()


def test_an_interrupt_waits_for_the_helpers():
    main = threading.main_thread().ident
    if threading.get_ident() != main:
        pytest.skip("signals are heard in the main thread")

    begun = threading.Event()

    def interrupt():
        if threading.get_ident() == main:
            begun.set()
            signal.raise_signal(signal.SIGUSR1)
        begun.wait(10)  # helpers leave a part for the main thread

    watch = Watch(interrupt)
    with handling(), pytest.raises(Heard):
        spread(watch, np.ones(SIZE))
    assert watch.running == 0
    calls = len(watch.callers)
    time.sleep(0.1)
    assert len(watch.callers) == calls


def test_several_callers_share_the_helpers():
    (array,) = values(np.float32)
    wanted = of_one_thread(np.exp, array)
    answers = []
    callers = [
        threading.Thread(target=lambda: answers.append(spread(np.exp, array))) for _ in range(8)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert [answer.tobytes() == wanted.tobytes() for answer in answers] == [True] * 8


def test_results_and_arguments_are_freed_at_once():
    array = np.ones(SIZE)
    reference = weakref.ref(array)
    gc.disable()
    try:
        result = spread(np.negative, array)
        del array
        assert reference() is None
        assert result[0] == -1
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads are the point
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")  # of JAX
def test_a_forked_process_has_threads_of_its_own():
    array = np.ones(SIZE)
    spread(np.negative, array)
    child = os.fork()
    if child == 0:
        watch = Watch()
        fine = (spread(watch, array) == -1).all() and len(set(watch.callers)) > 1
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_without_threads_to_start_the_caller_does_it_all(monkeypatch):
    def none_left(*given):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "helpers", threads.Helpers())
    monkeypatch.setattr(threads, "start_new_thread", none_left)
    threads.allow(3)
    watch = Watch()
    spread(watch, np.ones(SIZE))
    assert set(watch.callers) == {threading.get_ident()}


class Allowed(Dataset):
    """How many threads a call may have where a sample is fetched."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return threads.helpers.allowed


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
@pytest.mark.parametrize(("workers", "wanted"), [(0, 3), (1, 1)])
def test_a_loaders_worker_has_one_thread(workers, wanted):
    assert list(DataLoader(Allowed(), None, num_workers=workers)) == [wanted]


def test_parts_are_worked_on_by_several_threads():
    callers = set()

    def compute(part):
        time.sleep(0.02)
        callers.add(threading.get_ident())

    threads.shared(compute, [*range(6)])
    assert len(callers) > 1
    callers.clear()
    threads.shared(compute, [*range(6)], threads.SHARED - 1)
    assert callers == {threading.get_ident()}


def test_the_first_error_in_parts_is_raised():
    def compute(part):
        raise ValueError(f"at {part}")

    with pytest.raises(ValueError, match="at "):
        threads.shared(compute, [*range(6)])
