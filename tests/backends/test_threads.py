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

SIZE = threads.LEAST + 12_345
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_bits_are_those_of_one_thread(name, dtype):
    op = TABLE[name]
    arguments = values(dtype, op.required)
    with np.errstate(all="ignore"):
        wanted = of_one_thread(op.direct, *arguments)
        got = threads.spread(op.direct, *arguments)
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
    assert (threads.spread(watch, array)[6:] == -array[6:]).all()
    assert len(set(watch.callers)) > 1


def test_small_arrays_and_one_thread_are_left_to_the_caller():
    watch = Watch()
    threads.spread(watch, np.ones(threads.LEAST - 1))
    of_one_thread(threads.spread, watch, np.ones(SIZE))
    assert watch.callers == [threading.get_ident()] * 2


def test_an_error_of_any_thread_comes_out():
    def fail():
        if threading.get_ident() != caller:
            raise ArithmeticError("of a helper")

    caller = threading.get_ident()
    watch = Watch(fail)
    with pytest.raises(ArithmeticError, match="of a helper"):
        threads.spread(watch, np.ones(SIZE))
    assert watch.running == 0


def test_numpys_error_state_is_the_callers():
    array = np.ones(SIZE)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        threads.spread(np.divide, array, np.zeros(SIZE))
    with np.errstate(divide="ignore"):
        assert np.isinf(threads.spread(np.divide, array, np.zeros(SIZE))).all()


def test_an_interrupt_waits_for_the_helpers():
    main = threading.main_thread().ident
    if threading.get_ident() != main:
        pytest.skip("signals are heard in the main thread")

    def interrupt():
        if threading.get_ident() == main:
            signal.raise_signal(signal.SIGINT)

    watch = Watch(interrupt)
    with pytest.raises(KeyboardInterrupt):
        threads.spread(watch, np.ones(SIZE))
    assert watch.running == 0
    calls = len(watch.callers)
    time.sleep(0.1)
    assert len(watch.callers) == calls


def test_several_callers_share_the_helpers():
    (array,) = values(np.float32)
    wanted = of_one_thread(np.exp, array)
    answers = []
    callers = [
        threading.Thread(target=lambda: answers.append(threads.spread(np.exp, array)))
        for _ in range(8)
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
        result = threads.spread(np.negative, array)
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
    threads.spread(np.negative, array)
    child = os.fork()
    if child == 0:
        watch = Watch()
        fine = (threads.spread(watch, array) == -1).all() and len(set(watch.callers)) > 1
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_without_threads_to_start_the_caller_does_it_all(monkeypatch):
    def none_left(*given):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "helpers", threads.Helpers())
    monkeypatch.setattr(threads, "start_new_thread", none_left)
    threads.allow(3)
    watch = Watch()
    threads.spread(watch, np.ones(SIZE))
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


# ---- rows, windows and sums ----


def step(function, *shapes):
    """The result and gradients of a function of leaves of these shapes, as bytes."""
    chance = np.random.default_rng(0)
    leaves = [
        adjoint.from_numpy(chance.standard_normal(shape).astype(np.float32)).requires_grad_()
        for shape in shapes
    ]
    result = function(*leaves)
    weights = adjoint.from_numpy(chance.standard_normal(result.shape).astype(np.float32))
    grads = adjoint.autograd.grad(result, leaves, weights)
    return [part.detach().numpy().tobytes() for part in (result, *grads)]


F = adjoint.nn.functional
SHARED = {
    "sum": (lambda x: x.sum(), (700, 601)),
    "mean": (lambda x: x.mean(), (700, 601)),
    "sum of rows": (lambda x: x.sum(-1), (700, 601)),
    "softmax": (lambda x: x.softmax(-1), (50, 40, 133)),
    "log_softmax": (lambda x: x.log_softmax(-1), (501, 400)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (130,), w, b), (20, 100, 130), (130,), (130,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (130,), w), (20, 100, 130), (130,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 3, w, b), (7, 6, 41, 41), (6,), (6,)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (9, 8, 33, 35)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 5), (9, 8, 33, 35)),
    "conv1d": (lambda x, w: F.conv1d(x, w, None, 1, 1), (9, 20, 400), (8, 20, 3)),
    "conv2d": (lambda x, w: F.conv2d(x, w, None, 1, 1), (9, 8, 33, 35), (12, 8, 3, 3)),
    "conv3d": (lambda x, w: F.conv3d(x, w), (5, 6, 9, 17, 20), (7, 6, 3, 3, 3)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w), (9, 8, 33, 35), (8, 9, 3, 3)),
    "conv2d of each channel": (
        lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 8),
        (9, 8, 33, 35),
        (8, 1, 3, 3),
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_rows_and_windows_have_the_bits_of_one_thread(name):
    function, *shapes = SHARED[name]
    assert step(function, *shapes) == of_one_thread(step, function, *shapes)


def test_parts_of_rows_are_worked_on_by_several_threads():
    callers = set()

    def compute(part):
        time.sleep(0.02)
        callers.add(threading.get_ident())

    threads.over_rows(compute, 100, threads.SHARED)
    assert len(callers) > 1
    callers.clear()
    threads.over_rows(compute, 10, threads.SHARED // 11)
    assert callers == {threading.get_ident()}


def test_rows_beside_what_is_the_same_for_all():
    loop = np.vecdot  # a ufunc over rows, of NumPy's own
    rows, one = np.random.default_rng(0).normal(size=(2, 700, 301))
    np.testing.assert_array_equal(threads.spread_rows(loop, rows, one), loop(rows, one))
    np.testing.assert_array_equal(threads.spread_rows(loop, rows, one[0]), loop(rows, one[0]))
    cube = rows.reshape(70, 10, 301)
    np.testing.assert_array_equal(threads.spread_rows(loop, cube, one[:10]), loop(cube, one[:10]))


def test_the_first_error_in_parts_is_raised():
    def compute(part):
        raise ValueError(f"at {part.start}")

    with pytest.raises(ValueError, match="at "):
        threads.over_rows(compute, 100, threads.SHARED)
