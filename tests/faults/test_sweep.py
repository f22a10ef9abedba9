"""The sweep in small: every graph and every kind of event, at places that are evenly spread.

`make soak` tries many more. That the sweep finds what is broken is tested first.
"""

import contextlib
import threading
from typing import Any

import pytest

import adjoint
from adjoint.autograd import leaves
from tests.faults.injection import handled
from tests.faults.program import Graph, Kit
from tests.faults.seams import SEAMS
from tests.faults.soak import declared
from tests.faults.sweep import BYTECODE, Outcome, Sweep, sweep, uncollected, variants

GRAPHS = declared("adjoint")
NAMES = list(GRAPHS)
FEW = 2  # events of each kind
SOME = 12  # bytecodes


def test_there_are_enough_graphs() -> None:
    assert len(NAMES) >= 50


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_changes_nothing(name: str, turn: int) -> None:
    graph = GRAPHS[name]
    place = NAMES.index(name)
    each = variants(graph)
    found = []
    entry, grads = each[(place + turn * (len(each) // 2)) % len(each)]
    prepared = Sweep(graph, adjoint, entry, grads)
    limits = lambda kind: SOME if kind == BYTECODE else FEW
    with uncollected():
        for fault, outcome in sweep(prepared, SEAMS, limits, place + turn):
            if outcome is not None and outcome.problems:
                found.append(f"{fault}: {outcome.problems}")
    prepared.close()
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", [kind for kind in SEAMS if kind != BYTECODE])
def test_each_kind_of_event_is_found(kind: str) -> None:
    """On the compiled package too; seams.py says where."""

    def count(name: str) -> int:
        prepared = Sweep(GRAPHS[name], adjoint, "backward", "existing")
        with SEAMS[kind](prepared.events):
            found, _ = prepared.count(kind)
        prepared.close()
        return found

    graphs = ("node_hooks", "function", "saved_tensor_hooks", "callbacks", "on_a_device")
    assert any(count(name) for name in (*graphs, "deeply_reentrant", "probed_arrays", "wide"))


# ---- the sweep finds what is broken ----


def injected(make: Any, kind: str = "hook", fault: str = "Exception", number: int = 1) -> Outcome:
    """The outcome of one injection into a graph that is made for this."""
    prepared = Sweep(Graph(make, "", whole=True), adjoint, "backward", "existing")
    with uncollected(), SEAMS[kind](prepared.events), handled(prepared.events):
        _, complete = prepared.count(kind)
        known = complete[number - 1] if complete else False
        outcome = prepared.inject(kind, number, fault, known)
    assert outcome is not None
    return outcome


def promises(outcome: Outcome) -> set[str]:
    return {promise for promise, _ in outcome.problems}


def broken(change: Any) -> Any:
    """A graph whose run fails at its hook, and then does what it must not."""

    def make(kit: Kit) -> Any:
        x = kit.leaf(3)

        def run() -> None:
            y = kit.watch(x * 2.0)
            y.register_hook(kit.hook)
            try:
                kit.finish(y.sum())
            except BaseException as error:
                change(kit, x, y, error)
                raise

        return run

    return make


def test_nothing_is_found_where_nothing_is_broken() -> None:
    for fault in ("Exception", "MemoryError", "KeyboardInterrupt", "signal"):
        assert injected(broken(lambda *_: None), fault=fault) == Outcome(False, [])


def replace_error(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    raise ValueError("another") from error


def change_grad(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    x.grad.mul_(1.0)


def change_leaf(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    x.detach().mul_(1.0)


def leave_mode(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    adjoint.set_grad_enabled(False)


KEPT: list[Any] = []


def keep_graph(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    KEPT.append(y)


def keep_anything(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    KEPT.append([])


def hold_lock(kit: Kit, x: Any, y: Any, error: BaseException) -> None:
    leaves._locks.accumulate.acquire()


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (replace_error, "exception"),
        (change_grad, "grad"),
        (change_leaf, "tensor"),
        (leave_mode, "mode"),
        (keep_graph, "object"),
        (keep_anything, "object"),
        (hold_lock, "lock"),
    ],
)
def test_what_is_broken_is_found(change: Any, promise: str) -> None:
    try:
        found = promises(injected(broken(change)))
    finally:
        KEPT.clear()
    assert found - {"rerun"} == {promise}  # a mode that is left disturbs the next run too


def test_a_thread_that_is_left_is_found() -> None:
    end = threading.Event()
    started: list[threading.Thread] = []

    def leave_thread(*_: Any) -> None:
        started.append(threading.Thread(target=end.wait))
        started[-1].start()

    try:
        assert promises(injected(broken(leave_thread))) == {"thread"}
    finally:
        end.set()
        for thread in started:
            thread.join()


def test_a_run_that_computes_something_else_is_found() -> None:
    def make(kit: Kit) -> Any:
        x = kit.leaf(3)
        failed: list[bool] = []

        def run() -> None:
            y = x * (3.0 if failed else 2.0)
            y.register_hook(kit.hook)
            try:
                y.sum().backward()
            except BaseException:
                failed.append(True)
                raise

        return run

    assert promises(injected(make)) == {"rerun"}


def test_a_fault_that_is_swallowed_is_found() -> None:
    def make(kit: Kit) -> Any:
        x = kit.leaf(3)

        def run() -> None:
            y = x * 2.0
            y.register_hook(kit.hook)
            with contextlib.suppress(Exception):
                y.sum().backward()

        return run

    assert promises(injected(make)) == {"exception"}


def test_a_signal_is_heard_where_the_interpreter_looks_for_it() -> None:
    """Between a lock and its `try` there is such a place; in a `with` there is none."""
    lock = threading.Lock()

    def careless() -> None:
        lock.acquire()
        try:
            len("")
        finally:
            lock.release()

    def careful() -> None:
        with lock:
            len("")

    left = {}
    for body in (careless, careful):

        def make(kit: Kit, body: Any = body) -> Any:
            return body

        prepared = Sweep(Graph(make, "", whole=True), adjoint, "backward", "none")
        held = 0
        with handled(prepared.events):
            for number in range(1, prepared.count(BYTECODE)[0] + 1):
                assert prepared.attempt(BYTECODE, number, "signal") == ""
                held += lock.locked()
                if lock.locked():
                    lock.release()
        left[body] = held
    assert left[careless] > 0
    assert left[careful] == 0
