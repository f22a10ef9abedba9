"""Calls of ufuncs that threads in C share: the bits of one thread, and nothing lost on the way."""

import os
import signal
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.backends import threads
from adjoint.backends.loops import compiled, narrow_form, written
from adjoint.backends.numpy import numpy_backend
from adjoint.ops.op import TABLE
from tests.interpreter import fresh_python

SIZE = 3 * 32768 + 12_345
LOOPS = {} if compiled() is None else compiled().loops
KINDS = "fd"

compiled_only = pytest.mark.skipif(threads.pool is None, reason="the pure package has no pool")


@pytest.fixture(autouse=True)
def three_threads():
    before = threads.helpers.allowed
    threads.allow(3)
    yield
    threads.allow(before)


def of_one_thread(function, *arguments, **options):
    threads.allow(1)
    answer = function(*arguments, **options)
    threads.allow(3)
    return answer


def as_bytes(answer):
    parts = answer if isinstance(answer, tuple) else (answer,)
    return [(part.shape, part.dtype, part.strides, part.tobytes()) for part in parts]


def assert_same_bits(function, *arguments, **options):
    wanted = as_bytes(of_one_thread(function, *arguments, **options))
    assert as_bytes(function(*arguments, **options)) == wanted


def values(kind, size=SIZE):
    array = np.random.default_rng(size).standard_normal(size).astype(kind)
    array[: min(size, 6)] = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1])[: min(size, 6)]
    return array


def wait_for_help(call):
    """Call until a thread other than this one has done a part."""
    before = threads.pool.helped()
    while threads.pool.helped() == before:
        call()


# ---- the same bits ----


def operands_for(loop, kind):
    """Operands for the loop of a ufunc that computes with a type; None if it has none.

    What is a double beside floats is one number for all elements.
    """
    first = loop.types[0].split("->")[0]
    for types in loop.types:
        given = types.split("->")[0]
        if kind in given and set(given) <= set("fdl?"):
            made = []
            for i, (letter, of_floats) in enumerate(zip(given, first, strict=True)):
                if "f" in first and of_floats == "d":
                    made.append(0.3)
                elif letter in KINDS:
                    made.append(values(letter, SIZE + i)[:SIZE])
                else:
                    made.append((np.arange(SIZE) % 3).astype(letter))
            return made
    return None


@compiled_only
@pytest.mark.parametrize("kind", KINDS)
def test_all_loops_over_elements(kind):
    others, compared = [], 0
    with np.errstate(all="ignore"):
        for name, loop in LOOPS.items():
            other = "_step_" in name or name == "zeta"  # take numbers, and are compared below
            arrays = None if loop.signature or other else operands_for(loop, kind)
            if arrays is not None:
                compared += 1
                if as_bytes(loop(*arrays)) != as_bytes(of_one_thread(loop, *arrays)):
                    others.append(name)
    assert compared > 100
    assert others == []


@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "Adagrad"])
def test_steps_of_optimizers(name):
    def steps():
        parameter = adjoint.nn.Parameter(adjoint.tensor(values("f")[6:]))
        optimizer = getattr(adjoint.optim, name)([parameter], lr=0.1, weight_decay=0.01)
        for _ in range(2):
            parameter.grad = parameter.detach() * 0.5
            optimizer.step()
        return parameter.detach().numpy()

    assert_same_bits(steps)


UNARY = ["exp", "log", "sqrt", "negative", "tanh", "isnan", "square"]
BINARY = ["add", "multiply", "divide", "maximum", "greater", "power", "arctan2"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_ways_to_lie_in_memory(name, kind):
    function = getattr(np, name)
    ways = {
        "reversed": values(kind)[::-1],
        "every second": values(kind, 2 * SIZE)[::2],
        "by columns": values(kind, 300 * 401).reshape(300, 401).T,
        "part of rows": values(kind, 300 * 401).reshape(300, 401)[:, 3:-2],
        "repeated": np.broadcast_to(values(kind, 401), (300, 401)),
        "one number": np.asarray(values(kind, 1))[0],
        "one element": values(kind, 1),
        "nothing": values(kind, 0),
        "just enough": values(kind, 32768),
        "one too few": values(kind, 32767),
    }
    with np.errstate(all="ignore"):
        for array in ways.values():
            given = (array,) if name in UNARY else (array, values(kind, 7)[5])
            assert_same_bits(function, *map(np.asarray, given))


def test_sums_of_prefixes_and_other_calls_that_are_not_elementwise():
    array = values("d", SIZE)[6:]
    for call in (np.add.accumulate, np.add.reduce, np.maximum.reduce, np.multiply.accumulate):
        with np.errstate(all="ignore"):
            assert_same_bits(call, array)
    assert_same_bits(np.add.reduceat, array, np.arange(0, array.size, 40_000))
    assert_same_bits(np.add.reduce, array[:100_000].reshape(2, -1), axis=0)
    assert_same_bits(np.add.outer, array[:300], array[:400])


def test_operands_that_lie_where_the_result_does():
    def in_place():
        array = values("f")
        np.add(array, 1, out=array)
        return array

    def moved_by_one(step):
        array = values("d")
        np.add(array[:-1], 1, out=array[1:]) if step > 0 else np.add(array[1:], 1, out=array[:-1])
        return array

    assert_same_bits(in_place)
    assert_same_bits(moved_by_one, 1)
    assert_same_bits(moved_by_one, -1)


@compiled_only
@pytest.mark.parametrize("letter", ["e", "E"])
def test_floats_of_16_bits(letter):
    form = narrow_form(np.add, letter)
    if form is None:
        pytest.skip("no conversion of float16 on this machine")
    bits = np.random.default_rng(0).integers(0, 1 << 16, SIZE).astype(np.uint16)
    array = bits.view(np.float16) if letter == "e" else bits
    assert_same_bits(form, array, array[::-1])


def test_whole_numbers_and_truths():
    numbers = np.random.default_rng(0).integers(-99, 99, SIZE)
    for function in (np.gcd, np.bitwise_xor, np.add, np.equal, np.left_shift):
        assert_same_bits(function, numbers, np.abs(numbers[::-1]) % 60)
    assert_same_bits(np.logical_and, numbers > 0, numbers % 2 == 0)
    with pytest.raises(ValueError, match="negative integer powers"):
        np.power(numbers, -1)


# ---- parts of rows ----

F = adjoint.nn.functional


def step(function, *shapes):
    """The result and gradients of a function of leaves of these shapes, as bytes."""
    chance = np.random.default_rng(0)
    leaves = [
        adjoint.from_numpy(chance.standard_normal(shape).astype(np.float32)).requires_grad_()
        for shape in shapes
    ]
    results = function(*leaves)
    results = [results] if isinstance(results, adjoint.Tensor) else [*results]
    live = [result for result in results if result.requires_grad]
    weights = [
        adjoint.from_numpy(chance.standard_normal(result.shape).astype(np.float32))
        for result in live
    ]
    grads = adjoint.autograd.grad(live, leaves, weights)
    return [part.detach().numpy().tobytes() for part in (*results, *grads)]


INDEX = np.random.default_rng(1).integers(0, 301, (401, 301))
CASES = {
    "sum": (lambda x: x.sum(), (700, 601)),
    "mean": (lambda x: x.mean(), (700, 601)),
    "sum of rows": (lambda x: x.sum(-1), (700, 601)),
    "softmax of a cube": (lambda x: x.softmax(-1), (50, 40, 133)),
    "log_softmax": (lambda x: x.log_softmax(-1), (501, 400)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (130,), w, b), (20, 100, 130), (130,), (130,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (130,), w), (20, 100, 130), (130,)),
    "group_norm of 3": (
        lambda x, w, b: F.group_norm(x, 3, w, b),
        (7, 6, 41, 41),
        (6,),
        (6,),
    ),
    "max_pool2d of windows that meet": (lambda x: F.max_pool2d(x, 3, 2, 1), (9, 8, 33, 35)),
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
    "cumsum": (lambda x: x.cumsum(1), (401, 301)),
    "cumprod": (lambda x: x.cumprod(0), (401, 301)),
    "cummax": (lambda x: x.cummax(1), (401, 301)),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), (401, 301)),
    "gather": (lambda x: x.gather(1, adjoint.tensor(INDEX)), (401, 301)),
    "scatter_add": (lambda x, y: x.scatter_add(1, adjoint.tensor(INDEX), y), *[(401, 301)] * 2),
    "softmax": (lambda x: x.softmax(-1), (401, 301)),
    "native_layer_norm": (
        lambda x, w, b: adjoint.native_layer_norm(x, (301,), w, b, 1e-5),
        (401, 301),
        (301,),
        (301,),
    ),
    "layer_norm of one row": (
        lambda x, w, b: F.layer_norm(x, (301,), w, b),
        (1, 301),
        (301,),
        (301,),
    ),
    "group_norm": (lambda x, w: F.group_norm(x, 2, w), (5, 6, 41, 41), (6,)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), (5, 6, 41, 41)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (5, 6, 41, 41)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (5, 6, 15, 15, 15)),
    "sort": (lambda x: x.sort(1), (401, 301)),
    "sort of columns": (lambda x: x.sort(0, descending=True), (401, 301)),
    "topk": (lambda x: x.topk(7), (501, 401)),
    "median": (lambda x: x.nanmedian(1), (501, 401)),
    "glu": (F.glu, (401, 302)),
    "logsumexp": (lambda x: x.logsumexp(1), (401, 301)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), (9, 8, 33, 35)),
    "pdist": (F.pdist, (300, 40)),
    "cdist": (adjoint.cdist, (300, 40), (290, 40)),
    "conv_tbc": (
        lambda x, w, b: adjoint.conv_tbc(x, w, b, 1),
        (200, 16, 32),
        (3, 32, 32),
        (32,),
    ),
    "fft": (lambda x: adjoint.fft.fft(x).abs(), (501, 401)),
    "fft2": (lambda x: adjoint.fft.fft2(x, norm="ortho").abs(), (501, 401)),
    "irfft2": (lambda x: adjoint.fft.irfft2(x), (501, 401)),
    "rfftn": (lambda x: adjoint.fft.rfftn(x, (60, 50, 70), (0, 2, 1)).real, (61, 57, 49)),
    "bmm": (adjoint.bmm, (40, 40, 60), (40, 60, 40)),
    "det": (lambda x: adjoint.linalg.det(x), (24, 64, 64)),
    "solve": (adjoint.linalg.solve, (50, 33, 33), (50, 33, 7)),
    "ndtri": (lambda x: adjoint.special.ndtri(x.sigmoid()), (401, 301)),
    "bessel": (lambda x: (adjoint.special.bessel_j0(x.detach()), x * 1), (401, 301)),
    "polygamma": (lambda x: adjoint.special.polygamma(1, x.abs() + 1), (401, 301)),
    "erfcx": (adjoint.special.erfcx, (SIZE,)),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_have_the_bits_of_one_thread(name):
    function, *shapes = CASES[name]
    assert step(function, *shapes) == of_one_thread(step, function, *shapes)


# ---- what must not be lost ----


@compiled_only
def test_threads_take_part_and_one_thread_means_one():
    array, loop = np.ones(1 << 20), written("standard")
    rows = (np.ones((1000, 1000)), np.ones(1000), np.ones(1000), 1.0)
    wait_for_help(lambda: np.exp(array))
    wait_for_help(lambda: loop(*rows))
    threads.allow(1)
    before = threads.pool.helped()
    for _ in range(20):
        np.exp(array)
        loop(*rows)
    assert threads.pool.helped() == before


@compiled_only
def test_work_that_python_shares_keeps_the_pool_away():
    before = threads.pool.helped()
    array = np.ones(1 << 20)
    threads.shared(lambda part: np.exp(array), [*range(6)])
    assert threads.pool.helped() == before
    wait_for_help(lambda: np.exp(array))


def test_floating_point_errors_of_any_part_are_the_callers():
    for place in (0, SIZE // 2, SIZE - 1):
        array = np.ones(SIZE)
        array[place] = 0
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            np.divide(1, array)
        with np.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
            np.divide(1, array)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with np.errstate(divide="ignore"):
                assert np.isinf(np.divide(1, array)[place])
            np.divide(1, np.ones(SIZE))  # nothing is left of it in any thread


def test_two_callers_at_once():
    array = values("f")
    with np.errstate(all="ignore"):
        wanted = of_one_thread(np.exp, array).tobytes()
    answers = []

    def call():
        for _ in range(20):
            with np.errstate(all="ignore"):
                answers.append(np.exp(array).tobytes() == wanted)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert answers == [True] * 80


def test_how_many_threads_may_change_between_calls():
    array = np.abs(values("d"))
    with np.errstate(all="ignore"):
        wanted = of_one_thread(np.log, array).tobytes()
        for count in (2, 1, 5, 3, 1, 64, 200, 2):
            threads.allow(count)
            assert np.log(array).tobytes() == wanted


def test_an_interrupt_is_heard_after_a_call_and_leaves_all_in_order():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are heard in the main thread")
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timer on this system")
    array, out = np.ones(1 << 20), np.empty(1 << 20)

    def interrupt(*given):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(5):
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                while True:
                    np.exp(array, out)
            assert (np.exp(array, out) == out[0]).all()
    finally:
        signal.signal(signal.SIGALRM, before)
    if threads.pool is not None:
        wait_for_help(lambda: np.exp(array, out))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads are the point
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")  # of JAX
def test_a_process_forked_in_the_middle_of_a_call_has_threads_of_its_own():
    array, going = np.ones(1 << 20), threading.Event()
    wanted = of_one_thread(np.exp, array).tobytes()

    def call():
        while not going.is_set():
            np.exp(array)

    other = threading.Thread(target=call)
    other.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                if threads.pool is not None:
                    wait_for_help(lambda: np.exp(array))
                os._exit(np.exp(array).tobytes() != wanted)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        going.set()
        other.join()


WITHOUT_THREADS = """
import os, resource
import numpy as np
import adjoint
from adjoint.backends import threads

array = np.linspace(0, 1, 1 << 20)
wanted, out = np.exp(array), np.empty_like(array)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (5 << 20), resource.RLIM_INFINITY))
adjoint.set_num_threads(3)
np.exp(array, out)
assert (out == wanted).all()
assert threads.pool.helped() == 0
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
adjoint.set_num_threads(2)  # it is tried again
while not threads.pool.helped():
    np.exp(array, out)
assert (out == wanted).all()
print("fine")
"""


@compiled_only
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not told")
def test_without_threads_to_start_the_caller_does_it_all(tmp_path):
    assert fresh_python("-c", WITHOUT_THREADS, cwd=tmp_path).strip() == "fine"


@compiled_only
def test_direct_calls_of_ops_are_shared():
    assert TABLE["exp"].direct is not None
    tensor = adjoint.ones(1 << 20)
    wait_for_help(tensor.exp)
    wait_for_help(lambda: F.gelu(tensor))
    wait_for_help(lambda: tensor + tensor)


WITHOUT_MEMORY = """
import resource
import numpy as np
import adjoint
from adjoint.backends.loops import compiled
from adjoint.backends import threads

loop = next(f for f in compiled().loops.values() if f.signature == "(n)->(n)" and f.nin == 1
            and f.__name__.startswith("softmax"))
adjoint.set_num_threads(3)
rows = np.ones((6, 1 << 23), np.float32)[:, ::2]
out = np.empty(rows.shape, np.float32)
while not threads.pool.helped():
    loop(rows[:, :10_000], out=out[:, :10_000])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
for _ in range(3):
    try:
        loop(rows, out=out)
    except MemoryError:
        print("fine")
"""


@compiled_only
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not told")
def test_a_loop_that_finds_no_memory_says_so(tmp_path):
    assert fresh_python("-c", WITHOUT_MEMORY, cwd=tmp_path).split() == ["fine"] * 3


# ---- what the namespace shares by itself ----


def test_a_step_into_memory_however_operands_lie():
    xp = numpy_backend.xp
    images = values("f", 8 * 16 * 64 * 64).reshape(8, 16, 64, 64)
    near, far = images[:, :, ::2], images[:, :, 1::2]
    assert_same_bits(lambda: xp.into(np.maximum, None, near, far))
    assert_same_bits(lambda: xp.into(np.add, near.copy(), near, images[0, :, :1, :1]))
    assert_same_bits(lambda: xp.into(np.add, None, near.astype(int), far.astype(int)))


@pytest.mark.parametrize("width", [16, 1760, 1777])
def test_rows_that_meet_are_shared_by_columns(width):
    rng = np.random.default_rng(width)
    table, rows = rng.standard_normal((250, width)), rng.standard_normal((300, width))
    numbers = rng.integers(0, 250, 300)
    xp = numpy_backend.xp
    assert_same_bits(xp.rows_added, table, numbers, rows)
    expected = table.copy()
    np.add.at(expected, numbers, rows)
    np.testing.assert_allclose(xp.rows_added(table, numbers, rows), expected)
    wide = np.broadcast_to(numbers[:, None], rows.shape)
    assert_same_bits(xp.combined_along, "maximum", table, wide, rows, 0)
