"""What programs of users do around a compiled function: eager code and it must not differ."""

import array
import collections
import contextlib
import gc
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import func, nn, optim
from adjoint.autograd import forward_ad
from adjoint.compiling import CompileError
from adjoint.pytree import tree_leaves

# ---- transforms around it ----

WEIGHT = adjoint.tensor([[1.0, 2.0], [-0.5, 0.3]], requires_grad=True)


def curved(x):
    return (x @ WEIGHT).tanh()


def jvp_by_duals(function, x):
    with forward_ad.dual_level():
        out = function(forward_ad.make_dual(x, adjoint.ones(2)))
        return [part.detach().clone() for part in forward_ad.unpack_dual(out)]


def batched_gradients(function, x):
    x = x.clone().requires_grad_()
    return adjoint.autograd.grad(function(x), x, adjoint.eye(2), is_grads_batched=True)[0]


AROUND = {
    "vmap": lambda f, x: func.vmap(f)(adjoint.stack([x, x + 1])),
    "vmap of gradients": lambda f, x: func.vmap(func.grad(lambda z: f(z).sum()))(x.expand(3, 2)),
    "grad": lambda f, x: func.grad(lambda z: f(z).sum())(x),
    "grad of grad": lambda f, x: func.grad(
        lambda z: func.grad(lambda y: f(y).sum())(z).sum(),
    )(x),
    "jvp": lambda f, x: func.jvp(f, (x,), (adjoint.ones(2),)),
    "duals": jvp_by_duals,
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(lambda z: f(z).sum())(x),
    "batched gradients": batched_gradients,
    "jacobian": lambda f, x: adjoint.autograd.functional.jacobian(f, x, vectorize=True),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_inside_a_transform_and_outside_in_turns(around):
    compiled = adjoint.compile(curved)
    for step in range(4):
        x = adjoint.tensor([0.2 * step, -0.3])
        mine, theirs = around(compiled, x), around(curved, x)
        for one, other in zip(tree_leaves(mine), tree_leaves(theirs), strict=True):
            np.testing.assert_allclose(one.detach(), other.detach(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(compiled(x).detach(), curved(x).detach(), rtol=1e-6)
    assert compiled.count in (1, 2)  # for arguments that need a gradient, and for others


def test_a_name_that_a_transform_binds():
    held = [adjoint.tensor([1.0, 2.0])]
    doubled = adjoint.compile(lambda: held[0] * 2)

    def by_name(x):
        held[0] = x
        return doubled()

    for _ in range(3):
        assert doubled().tolist() == [2.0, 4.0]
    assert func.vmap(by_name)(adjoint.eye(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]


# ---- tensors that hold no values themselves ----


def test_sparse_arguments_are_refused_also_by_a_function_that_knows_dense_ones():
    doubled = adjoint.compile(lambda x: (x * 2).to_dense() if x.is_sparse else x * 2)
    for _ in range(3):
        assert doubled(adjoint.eye(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    sparse = (adjoint.eye(2) * 3).to_sparse()
    assert doubled(sparse).tolist() == [[6.0, 0.0], [0.0, 6.0]]
    with pytest.raises(CompileError, match="an argument of shape .* is sparse"):
        doubled(sparse)


def test_a_result_inside_a_transform_is_refused():
    @adjoint.compile
    def kept(x):
        found = []
        func.vmap(lambda row: found.append(row * 2) or row)(x)
        return found[0]

    kept(adjoint.eye(2))
    with pytest.raises(CompileError, match="is inside a transform"):
        kept(adjoint.eye(2))


# ---- objects among the arguments ----


def cases():
    behind = {"a": 1}
    masked = np.ma.array([1, 2])
    record = np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
    kinds = {
        "set": (made := {1, 2}, sum, lambda: made.add(7)),
        "set in a dict": (nest := {"q": {1}}, lambda n: sum(n["q"]), lambda: nest["q"].add(9)),
        "bytearray": (raw := bytearray(b"a"), lambda b: b[0], lambda: raw.append(1) or raw.pop(0)),
        "array": (ints := array.array("i", [1]), sum, lambda: ints.append(4)),
        "deque": (line := collections.deque([1]), sum, lambda: line.append(4)),
        "counter": (
            tally := collections.Counter("aa"),
            lambda c: c["a"],
            lambda: tally.update("a"),
        ),
        "proxy": (
            types.MappingProxyType(behind),
            lambda d: d["a"],
            lambda: behind.update(a=5),
        ),
        "list of a class": (own := type("Own", (list,), {})([1]), sum, lambda: own.append(2)),
        "dict of a class": (
            mine := type("Mine", (dict,), {})(a=1),
            lambda d: d["a"],
            lambda: mine.update(a=2),
        ),
        "masked": (masked, lambda m: int(m.sum()), lambda: masked.__setitem__(0, 5)),
        "record": (record, lambda r: int(r.a[0]), lambda: record.a.__setitem__(0, 5)),
        "object": (
            plain := types.SimpleNamespace(a=1),
            lambda o: o.a,
            lambda: setattr(plain, "a", 5),
        ),
    }
    return [pytest.param(*case, id=name) for name, case in kinds.items()]


@pytest.mark.parametrize(("given", "read", "change"), cases())
def test_what_an_argument_holds_is_that_of_the_call(given, read, change):
    scaled = adjoint.compile(lambda x, other: x * read(other))
    x = adjoint.ones(1)
    before = read(given)
    assert [scaled(x, given).item() for _ in range(3)] == [before] * 3
    change()
    assert read(given) != before
    assert [scaled(x, given).item() for _ in range(3)] == [read(given)] * 3
    assert scaled.count == 2


def test_an_iterator_among_the_arguments_goes_on():
    numbers = iter(range(1, 9))
    scaled = adjoint.compile(lambda x, given: x * next(given))
    with pytest.warns(UserWarning, match="a range_iterator among the arguments"):
        found = [scaled(adjoint.ones(1), numbers).item() for _ in range(4)]
    assert found == [1.0, 2.0, 3.0, 4.0]


SAME = {
    "whole number": lambda: np.int64(300),
    "number": lambda: np.float32(0.1),
    "slice": lambda: slice(0, 2),
    "range": lambda: range(2),
    "device": lambda: adjoint.device("cpu"),
    "size": lambda: adjoint.Size([2, 2]),
    "frozenset": lambda: frozenset([1000, 2000]),
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_values_made_anew_are_known_by_what_they_are(make):
    doubled = adjoint.compile(lambda x, other: x * 2)
    for _ in range(4):
        doubled(adjoint.ones(2), make())
    assert doubled.count == 1
    assert len(doubled.signatures) == 1


def test_arrays_of_objects_are_those_of_the_call():
    scaled = adjoint.compile(lambda x, given: x * given[0])
    for number in (1.0, 2.0, 3.0):
        given = np.array([number, None], dtype=object)
        assert [scaled(adjoint.ones(1), given).item() for _ in range(3)] == [number] * 3


def test_objects_that_come_once_are_let_go_and_it_is_said():
    class Batch:
        def __init__(self, x):
            self.x = x

    doubled = adjoint.compile(lambda batch: batch.x * 2)
    alive = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(100):
            batch = Batch(adjoint.full((1,), float(number)))
            alive.append(weakref.ref(batch))
            assert doubled(batch).item() == 2.0 * number
    assert ["has met 64 kinds of arguments" in str(each.message) for each in caught] == [True]
    assert caught[0].filename == __file__
    del batch
    gc.collect()
    assert sum(each() is not None for each in alive) <= 64


# ---- threads, and traces that fail ----


def train():
    """A training of its own, whose third step is a program's."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.Adam(net.parameters())

    @adjoint.compile
    def step(x):
        optimizer.zero_grad()
        loss = sum(net(x).square().mean() for _ in range(10))
        loss.backward()
        optimizer.step()

    for _ in range(3):
        step(adjoint.ones(2, 3))
    assert step.count == 1


def test_threads_trace_one_at_a_time():
    failed = []

    def trains():
        try:
            for _ in range(3):
                train()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=trains) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed, failed
    assert gc.isenabled()


def test_what_is_compiled_inside_waits_for_no_other_thread():
    inner = adjoint.compile(lambda x: x * 2)
    outer = adjoint.compile(lambda x: inner(x) + 1)
    outer(adjoint.ones(1))
    entered, left = threading.Event(), threading.Event()

    def hold():
        with inner.lock:  # as while another thread calls it
            entered.set()
            left.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    try:
        assert outer(adjoint.ones(1)).item() == 3.0
    finally:
        left.set()
        thread.join()


@pytest.mark.parametrize("error", [None, ValueError("mine")], ids=["value", "own"])
def test_tensors_kept_by_a_trace_that_failed_refuse_to_be_used(error):
    kept = [] if error is not None else collections.deque()  # which nobody puts back

    @adjoint.compile
    def step(x):
        kept.append(x * 2)
        if error is not None:
            raise error
        return bool(x.sum())

    for _ in range(2):
        with contextlib.suppress(ValueError, CompileError):
            step(adjoint.ones(2))
    assert kept[0].tolist() == [2.0, 2.0]
    with pytest.raises(CompileError, match="was made inside the compiled"):
        kept[1] + 1


def test_what_a_trace_that_failed_has_done_to_values_of_python_is_undone():
    kept = {"calls": 0, "rows": [], "more": {"last": 0.0}}

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            kept["calls"] += 1
            kept["rows"].append(x * 2)
            kept["more"]["last"] = 1.0 * kept["calls"]
            kept["more"][str(self.calls)] = 1
            return x * float(x.sum())

    def now(module):
        return module.calls, kept["calls"], len(kept["rows"]), kept["more"]

    module = Counting()
    step = adjoint.compile(module)
    step(adjoint.ones(2))
    with pytest.raises(CompileError):
        step(adjoint.ones(2))
    assert now(module) == (1, 1, 1, {"last": 1.0, "1": 1})
    step = adjoint.compile(module, fallback=True, warm_up=0)
    with pytest.warns(UserWarning, match="runs eagerly"):
        step(adjoint.ones(2))
    assert now(module) == (2, 2, 2, {"last": 2.0, "1": 1, "2": 1})
    assert kept["rows"][1].tolist() == [2.0, 2.0]


class Counted(optim.Optimizer):
    """One that counts its steps by a number of Python's."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @adjoint.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                home = self.state[param]
                home["step"] = home.get("step", 0) + 1
                param.add_(param.grad / home["step"], alpha=-group["lr"])


class Decaying(Counted):
    """One that changes its rate."""

    @adjoint.no_grad()
    def step(self):
        for group in self.param_groups:
            group["lr"] *= 0.5
            for param in group["params"]:
                param.add_(param.grad, alpha=-group["lr"])


@pytest.mark.parametrize("kind", [Counted, Decaying])
def test_an_optimizer_that_counts_by_itself_runs_eagerly_and_says_so(kind):
    found = []
    for wrap in (lambda step: step, adjoint.compile):
        weight = adjoint.ones(2, requires_grad=True)
        optimizer = kind([weight])

        @wrap
        def step(weight=weight, optimizer=optimizer):
            weight.grad = adjoint.ones(2)
            optimizer.step()

        step()
        with (
            pytest.warns(UserWarning, match="optimizer")
            if wrap is adjoint.compile
            else contextlib.nullcontext()
        ):
            step()
        for _ in range(3):
            step()
        found.append(weight.tolist())
    assert found[0] == found[1]


# ---- what a call leaves behind ----


def test_a_name_that_means_none_gets_a_tensor():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.RNNCell(3, 4)
            self.state = None

        def forward(self, x):
            if self.state is None:
                self.state = adjoint.zeros(x.shape[0], 4)
            self.state = self.cell(x, self.state.detach())
            return self.state

    def run(compiled):
        adjoint.manual_seed(0)
        net = Recurrent()
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = net(x).square().sum()
            loss.backward()
            optimizer.step()
            net.state = net.state.detach()
            return loss.detach()

        made = adjoint.compile(step) if compiled else step
        for number in range(9):
            if number in (4, 7):
                net.state = None
            yield made(adjoint.full((2, 3), 0.1 * number)), net.state.clone()
        assert not compiled or made.count == 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mine, theirs in zip(run(True), run(False), strict=True):
            for one, other in zip(mine, theirs, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("leave", "found"),
    [
        (lambda: adjoint.set_grad_enabled(False), adjoint.is_grad_enabled),
        (lambda: adjoint.set_default_dtype(adjoint.float64), adjoint.get_default_dtype),
    ],
    ids=["grad mode", "default dtype"],
)
def test_a_function_that_leaves_modes_changed_runs_eagerly(leave, found):
    @adjoint.compile
    def changed(x):
        leave()
        return x * 2

    before = found()
    try:
        leave()
        after = found()
        for number in range(4):
            adjoint.set_grad_enabled(True)
            adjoint.set_default_dtype(adjoint.float32)
            if number == 1:
                with pytest.warns(UserWarning, match="leaves grad mode, or the default data type"):
                    changed(adjoint.ones(1))
            else:
                changed(adjoint.ones(1))
            assert found() is after
            assert found() is not before
    finally:
        adjoint.set_grad_enabled(True)
        adjoint.set_default_dtype(adjoint.float32)
