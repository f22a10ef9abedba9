"""One injection: a run that is disturbed, all that must hold afterwards, and a run that is not."""

import contextlib
import contextvars
import dataclasses
import gc
import sys
import threading
from collections.abc import Callable, Container, Iterator
from typing import Any

from tests.faults import state
from tests.faults.injection import RAISED, SIGNALS, Bytecodes, Events, handled, left_undone
from tests.faults.program import ENTRIES, GRADS, Graph, Kit

BYTECODE = "bytecode"
# Python 3.12 dies if several threads are traced by bytecodes, whatever they do: opcode_tracing.py.
TRACING_KILLS = sys.version_info[:2] == (3, 12)
NOTHING = "nothing was raised"
REPEATED = 4  # times that a count must grow before it is a leak: caches fill but once


@dataclasses.dataclass(frozen=True)
class Fault:
    """Where a fault is injected, and which."""

    graph: str
    entry: str
    grads: str
    kind: str
    number: int
    fault: str

    def __str__(self) -> str:
        where = f"{self.graph} ({self.entry}, .grad {self.grads})"
        return f"{where}: {self.fault} at {self.kind} {self.number}"


@dataclasses.dataclass
class Outcome:
    """What an injection has shown: whether the pass was complete, and each promise broken."""

    complete: bool
    problems: list[tuple[str, str]]  # what kind of promise, and how it was broken
    excused: str = ""  # where it came, if nothing can be done there; see injection


def faults_of(kind: str) -> tuple[str, ...]:
    """Which faults are injected at events of a kind."""
    if kind == BYTECODE:
        return SIGNALS
    return RAISED if kind == "call" else (*RAISED, "signal")


def variants(graph: Graph) -> list[tuple[str, str]]:
    """How the graph's pass may start, and with which gradients."""
    entries = ENTRIES[:1] if graph.whole else ENTRIES
    return [(entry, grads) for grads in GRADS for entry in entries]


class Sweep:
    """A graph that is ready for injections, with what it computes when it is not disturbed."""

    def __init__(self, graph: Graph, library: Any, entry: str, grads: str) -> None:
        self.graph, self.library, self.entry, self.grads = graph, library, entry, grads
        self.events = Events()
        self.make()

    def make(self) -> None:
        """Make the graph's leaves, and run it undisturbed until its caches are warm."""
        self.kit = Kit(self.library, self.events)
        self.kit.entry = self.entry
        self.run = self.graph.make(self.kit)
        for _ in range(3):
            self.reset()
            self.run()
            self.expected = self.computed()
        self.forget()
        self.settled, self.usual = False, 0
        self.locks = state.all_locks() if self.kit.is_adjoint else []

    def close(self) -> None:
        """Undo what the graph has set up."""
        self.forget()
        for each in self.kit.teardown:
            each()

    # ---- runs ----

    def forget(self) -> None:
        """Drop what a run has left for us."""
        self.kit.watched.clear()
        self.kit.kept.clear()
        self.kit.results.clear()

    def reset(self) -> None:
        """Give each leaf the `.grad` that runs start with."""
        self.forget()
        for i, leaf in enumerate(self.kit.leaves):
            exists = self.grads == "existing" or (self.grads == "mixed" and i % 2 == 0)
            leaf.grad = (leaf.detach() * 0.5) if exists else None

    def computed(self) -> Any:
        """What a run has computed, bit for bit."""
        grads = [state.bits(leaf.grad) for leaf in self.kit.leaves]
        return grads, [state.bits(result) for result in self.kit.results]

    def count(self, kind: str) -> tuple[int, list[bool | None]]:
        """How many events of a kind a run has, and at which of them the pass was complete."""
        self.reset()
        before = self.stamps()
        if kind == BYTECODE:
            tracer = Bytecodes(self.events)
            self.traced(tracer.enter)
            return -tracer.left, []
        self.events.before()
        with self.events.count(kind, self.stamps):
            self.traced()
        self.events.after()
        after = self.stamps()
        notes = self.events.notes
        # `grad` writes nothing itself: passes within it have, and whether it is done can't be seen.
        done = None if self.entry == "grad" else True
        return self.events.counts[kind], [
            done if note == after and note != before else False for note in notes
        ]

    def traced(self, enter: Any = None) -> None:
        """Run, with what is called told to a tracer, by other threads too."""
        enter = enter or self.events.tracer
        if enter is None:
            self.run()
            return
        threading.settrace(enter)
        sys.settrace(enter)
        try:
            self.run()
        finally:
            sys.settrace(None)  # a call: what is pending is heard here at the latest
            threading.settrace(None)  # type: ignore[arg-type]

    def stamps(self) -> list[Any]:
        """Which `.grad` each leaf has, and how often it was changed."""
        return [
            None if leaf.grad is None else (id(leaf.grad), leaf.grad._version)
            for leaf in self.kit.leaves
        ]

    # ---- one injection ----

    def inject(self, kind: str, number: int, fault: str, complete: bool | None) -> Outcome | None:
        """Disturb a run and look at what is left; None if it had no such event.

        `complete` says that an undisturbed pass has written its gradients before this event; None,
        that it may have.
        """
        if not self.settled:  # what the first run replaces was not counted
            self.counted(kind, number, fault, complete)
            self.usual = 0 if self.kit.is_adjoint else self.usually_left()
            self.settled = True
        outcome = self.counted(kind, number, fault, complete)
        if outcome is None or outcome.problems:
            return outcome
        grown = self.left
        for _ in range(REPEATED):
            if grown <= self.usual:
                return outcome
            self.counted(kind, number, fault, complete)
            grown = min(grown, self.left)
        if grown > self.usual:
            outcome.problems.append(("object", f"{grown} objects more after each run"))
        return outcome

    def usually_left(self) -> int:
        """How many objects a run leaves to the collector that nothing has disturbed."""
        before = len(gc.get_objects(generation=0))
        self.reset()
        self.run()
        self.forget()
        return max(0, len(gc.get_objects(generation=0)) - before)

    def counted(self, kind: str, number: int, fault: str, complete: bool | None) -> Outcome | None:
        """One injection in a context of its own; `left` is how many objects there are more."""
        outcome = Outcome(complete=False, problems=[])
        threads = threading.active_count()
        before = len(gc.get_objects(generation=0))
        context = contextvars.copy_context()
        reached = context.run(self.disturbed, outcome, kind, number, fault, complete)
        del context
        self.left = len(gc.get_objects(generation=0)) - before
        if threading.active_count() > threads:  # that of a device, which stays
            self.left = 0
        return outcome if reached else None

    def disturbed(
        self, outcome: Outcome, kind: str, number: int, fault: str, complete: bool | None
    ) -> bool:
        kit = self.kit
        problems = outcome.problems
        self.reset()
        tensors = [*kit.leaves, *kit.others]
        grads, values = state.gradients(kit.leaves), [state.own(each) for each in tensors]
        modes, threads = state.modes(kit), set(threading.enumerate())
        context = contextvars.copy_context()
        came = self.attempt(kind, number, fault)
        if came is None:
            return False
        if came == NOTHING and self.events.dropped:
            outcome.excused = self.events.dropped
        elif came:
            problems.append(("exception", came))
        watched = list(kit.watched)

        # A signal may be heard when all is done; what the interpreter drops lets the run go on.
        at_will = fault in SIGNALS or complete is None or bool(outcome.excused)
        wrong, outcome.complete = self.gradients_wrong(grads, bool(complete), at_will)
        if wrong:
            problems.append(("grad", wrong))
        for tensor, old in zip(tensors, values):
            if state.own(tensor) != old:
                problems.append(("tensor", f"a tensor of shape {tuple(tensor.shape)} has changed"))
        changed = state.difference(modes, state.modes(kit))
        if changed and self.undone:
            outcome.excused = self.undone
        elif changed:
            problems.append(("mode", changed))
        problems.extend(("thread", name) for name in state.extra_threads(threads))
        if any(state.is_held(lock) for lock in self.locks):
            problems.append(("lock", "a lock is held"))
            for lock in self.locks:
                if state.is_held(lock):
                    lock.release()

        if changed and outcome.excused:
            context.run(self.run_clean, problems)
        else:
            self.run_clean(problems)
        alive = [reference() for reference in watched if reference() is not None]
        if alive:
            problems.append(("object", f"{len(alive)} are alive: {type(alive[0]).__name__}"))
        return True

    def run_clean(self, problems: list[tuple[str, str]]) -> None:
        """A run that nothing disturbs must compute what it always does."""
        self.reset()
        try:
            self.run()
        except BaseException as error:
            problems.append(("rerun", f"a clean run raises {error!r}"))
        else:
            if self.computed() != self.expected:
                problems.append(("rerun", "a clean run computes something else"))
        self.forget()

    def attempt(self, kind: str, number: int, fault: str) -> str | None:
        """Run until the fault comes; None if it did not, or what came out instead of it."""
        events = self.events
        tracer = Bytecodes(events, number) if kind == BYTECODE else None
        came = NOTHING
        self.undone = ""
        events.before()
        events.arm(kind, number, fault)
        try:
            self.traced(tracer.enter if tracer else None)
        except BaseException as error:
            came = "" if error is events.error else f"{type(error).__name__}: {error}"
            self.undone = left_undone(error)
        sys.settrace(None)  # what was heard may have come before
        threading.settrace(None)  # type: ignore[arg-type]
        fired = events.fired
        events.disarm()
        events.after()
        return came if fired or came != NOTHING else None

    def gradients_wrong(self, before: list[Any], complete: bool, at_will: bool) -> tuple[str, bool]:
        """What is wrong with the gradients, and whether the pass was complete."""
        kit = self.kit
        strict = [
            i for i, leaf in enumerate(kit.leaves) if all(leaf is not c for c in kit.consumed)
        ]
        now = state.gradients(kit.leaves)
        changed = [i for i in strict if now[i] != before[i]]
        lacking = [i for i in strict if state.bits(kit.leaves[i].grad) != self.expected[0][i]]
        retained = [tensor.grad is not None for tensor in kit.kept]
        if not changed and not any(retained) and (at_will or not complete or not lacking):
            return "", False
        if not lacking and all(retained) and (at_will or complete or not changed):
            return "", True
        text = f"{len(changed)} of {len(strict)} leaves have changed"
        return f"{text}, {sum(retained)} of {len(retained)} retained" if retained else text, False


def numbers(total: int, limit: int, offset: int = 0) -> Iterator[int]:
    """At most `limit` of the numbers from 1 to total, evenly spread."""
    if total <= limit:
        yield from range(1, total + 1)
        return
    for i in range(limit):
        yield 1 + (i * total // limit + offset) % total


def sweep(
    prepared: Sweep,
    kinds: dict[str, Callable[[Events], Any]],
    limits: Callable[[str], int],
    offset: int = 0,
    skipped: Container[Fault] = (),
) -> Iterator[tuple[Fault, Outcome | None]]:
    """Inject at events of each kind; before an injection it is said with no outcome yet."""
    where = (prepared.graph.name, prepared.entry, prepared.grads)
    for kind, seam in kinds.items():
        if kind == BYTECODE and prepared.graph.threads and TRACING_KILLS:
            continue
        with seam(prepared.events), handled(prepared.events):
            total, complete = prepared.count(kind)
            for fault in faults_of(kind):
                for number in numbers(total, limits(kind), offset):
                    at = Fault(*where, kind, number, fault)
                    if at in skipped:
                        continue
                    yield at, None
                    known = complete[number - 1] if number <= len(complete) else False
                    outcome = prepared.inject(kind, number, fault, known)
                    if outcome is None:
                        continue
                    yield at, outcome
                    if outcome.problems:  # which may have spoiled what comes after
                        prepared.close()
                        prepared.make()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Only what nobody refers to is freed, and what is new can be counted.

    Where something is frozen already, it all stays so: to look at it again would take seconds.
    """
    stays = gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if not stays:
            gc.unfreeze()
