"""The whole sweep: `make soak`, or `python -m tests.faults.soak --help`.

Processes of their own make the injections, so that one which hangs is found, ended and counted.
"""

import argparse
import collections
import importlib
import importlib.util
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.program import GRAPHS, Graph
from tests.faults.sweep import BYTECODE, Fault, Outcome, Sweep, sweep, uncollected, variants

QUIET = 20.0  # seconds without a word after which a process is said to hang
STARTING = 300.0  # and before its first word
HANGS = 3  # in one task, after which the rest of it is left out


def kinds_of(library: str) -> dict[str, Any]:
    """The kinds of event that there are in a library, and where each is found."""
    if library == "torch":
        return dict.fromkeys(("hook", "function", "pack", "unpack", "callback", BYTECODE), nothing)
    seams = importlib.import_module("tests.faults.seams")
    return dict(seams.SEAMS)


class nothing:
    """The seam of what a graph tells of by itself."""

    def __init__(self, events: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def declared(library: str) -> dict[str, Graph]:
    """The graphs that can be made with a library."""
    importlib.import_module("tests.faults.graphs")
    if library == "adjoint":
        importlib.import_module("tests.faults.graphs.arrays")
    return {
        name: graph
        for name, graph in GRAPHS.items()
        if not graph.needs or (library == "adjoint" and importlib.util.find_spec(graph.needs))
    }


def tasks(
    names: list[str], kinds: list[str], library: str
) -> Iterator[tuple[str, str, str, list[str], int]]:
    """One variant of each graph after the other, then the next variants, then other places."""
    found = declared(library)
    for round_number in itertools.count():
        for name in names:
            each = variants(found[name])
            entry, grads = each[round_number % len(each)]
            yield name, entry, grads, kinds, round_number


def work(library: str, limits: dict[str, int], inbox: Any, outbox: Any) -> None:
    """A process: sweep what comes in, and say what was found."""
    warnings.simplefilter("ignore")
    module = importlib.import_module(library)
    importlib.import_module(f"{library}.utils.checkpoint")
    if library == "torch":
        module.set_num_threads(1)
    known, seams = declared(library), kinds_of(library)
    while True:
        task = inbox.recv()
        if task is None:
            return
        name, entry, grads, kinds, offset, skipped = task
        prepared = Sweep(known[name], module, entry, grads)
        chosen = {kind: seams[kind] for kind in kinds}
        found = sweep(
            prepared, chosen, lambda kind: limits.get(kind, limits["other"]), offset * 7, skipped
        )
        with uncollected():
            for fault, outcome in found:
                outbox.send((fault, outcome))
                if outcome is not None and outcome.problems:
                    repair(module)
        prepared.close()
        outbox.send(None)


def repair(library: Any) -> None:
    """Put back modes that a fault has left; adjoint's end with the context of each injection."""
    if library.__name__ == "torch":
        library.set_grad_enabled(True)
        library.set_anomaly_enabled(False)
        library.set_autocast_enabled("cpu", False)
        while library._C._autograd._top_saved_tensors_default_hooks(True) is not None:
            library._C._autograd._pop_saved_tensors_default_hooks()


class Worker:
    """A process that makes injections, and what it is at."""

    def __init__(self, library: str, limits: dict[str, int]) -> None:
        self.library, self.limits = library, limits
        self.task: Any = None
        self.start()

    def start(self) -> None:
        """Start the process, or another in its place."""
        context = multiprocessing.get_context("spawn")
        theirs, self.inbox = context.Pipe(duplex=False)
        self.outbox, ours = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(self.library, self.limits, theirs, ours), daemon=True
        )
        self.process.start()
        theirs.close()
        ours.close()
        self.at: Fault | None = None
        self.heard = time.monotonic()

    def give(self, task: Any) -> None:
        """Hand out a task, or None for the end of work."""
        self.task = task
        self.skipped: list[Fault] = []
        self.send()

    def send(self) -> None:
        """Hand the task over."""
        self.heard = time.monotonic()
        self.inbox.send(None if self.task is None else (*self.task, self.skipped))

    def replace(self) -> bool:
        """End a process that hangs or has died; True if another goes on with the task."""
        self.process.kill()
        self.process.join()
        stuck = self.at
        self.start()
        if stuck is None or len(self.skipped) >= HANGS:
            return False
        self.skipped.append(stuck)
        self.send()
        return True


class Figures:
    """What the soak has counted."""

    def __init__(self) -> None:
        self.by_graph: collections.Counter[str] = collections.Counter()
        self.by_kind: collections.Counter[str] = collections.Counter()
        self.by_fault: collections.Counter[str] = collections.Counter()
        self.complete = 0
        self.excused: collections.Counter[str] = collections.Counter()
        self.broken: collections.Counter[str] = collections.Counter()
        self.broken_in: collections.Counter[str] = collections.Counter()
        self.failed = 0
        self.examples: dict[tuple[str, str, str], list[str]] = {}
        self.began = time.monotonic()

    def add(self, fault: Fault, outcome: Outcome) -> None:
        """One injection."""
        problems = outcome.problems
        self.by_graph[fault.graph] += 1
        self.by_kind[fault.kind] += 1
        self.by_fault[fault.fault] += 1
        self.complete += outcome.complete
        if outcome.excused:
            self.excused[outcome.excused] += 1
        if not problems:
            return
        self.failed += 1
        self.broken_in[fault.graph] += 1
        self.broken.update({promise for promise, _ in problems})
        for promise, text in problems:
            alike = self.examples.setdefault((fault.graph, fault.kind, promise), [])
            alike.append(f"{fault} | {promise} | {text[:160]}")

    @property
    def total(self) -> int:
        """How many injections were made."""
        return self.by_kind.total()

    def print(self, title: str, show: int) -> None:
        """Everything, as tables."""
        seconds = time.monotonic() - self.began
        print(f"\n{title}")
        print(f"\n{'graph':28}{'injections':>12}{'failed':>9}")
        for name, count in self.by_graph.items():
            print(f"{name:28}{count:12,}{self.broken_in[name]:9,}")
        for label, table in (("kind", self.by_kind), ("fault", self.by_fault)):
            print(f"\n{label:28}{'injections':>12}")
            for name, count in table.most_common():
                print(f"{name:28}{count:12,}")
        print("\nbroken promises:", dict(self.broken) or "none")
        for lines in list(self.examples.values())[:show]:
            print(f"  {len(lines)} like: {lines[0]}")
        # Before the first bytecode of an __exit__ in Python, or in a weak reference's callback.
        print(f"\n{'where nothing can be done':60}{'injections':>12}")
        for name, count in self.excused.most_common():
            print(f"{name:60}{count:12,}")
        print(
            f"\n{self.total:,} injections in {len(self.by_graph)} graphs, {self.failed:,} failed, "
            f"{self.complete:,} came when the pass was complete, {self.excused.total():,} where "
            f"nothing can be done; {seconds:,.0f} s"
        )

    def save(self, path: Path, title: str) -> None:
        """The same for other programs."""
        content = {
            "title": title,
            "injections": self.total,
            "failed": self.failed,
            "complete": self.complete,
            "excused": dict(self.excused),
            "seconds": round(time.monotonic() - self.began, 1),
            "broken": dict(self.broken),
            "graphs": dict(self.by_graph),
            "failed_in": dict(self.broken_in),
            "kinds": dict(self.by_kind),
            "faults": dict(self.by_fault),
            "examples": [lines[:20] for lines in self.examples.values()],
        }
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def soak(options: argparse.Namespace) -> Figures:
    """Hand out tasks until there were injections enough, and gather what was found."""
    figures = Figures()
    kinds = options.kinds or list(kinds_of(options.library))
    names = options.graphs or list(declared(options.library))
    limits = {BYTECODE: options.bytecodes, "other": options.events}
    waiting = tasks(names, kinds, options.library)
    workers = [Worker(options.library, limits) for _ in range(options.processes)]
    end = time.monotonic() + options.minutes * 60

    def go_on(worker: Worker) -> None:
        enough = figures.total >= options.injections or time.monotonic() > end
        worker.give(None if enough else next(waiting))

    for worker in workers:
        go_on(worker)
    while any(worker.task is not None for worker in workers):
        open_ends = [worker.outbox for worker in workers if worker.task is not None]
        ready = multiprocessing.connection.wait(open_ends, timeout=1.0)
        for worker in workers:
            if worker.task is None:
                continue
            if worker.outbox in ready:
                hear(worker, figures, go_on)
            elif time.monotonic() - worker.heard > (QUIET if worker.at else STARTING):
                stopped(worker, figures, "it hangs", go_on)
    for worker in workers:
        worker.process.join()
    return figures


def hear(worker: Worker, figures: Figures, go_on: Any) -> None:
    """Take what a process has to say."""
    try:
        while worker.outbox.poll():
            message = worker.outbox.recv()
            worker.heard = time.monotonic()
            if message is None:
                worker.at = None
                go_on(worker)
                return
            worker.at, outcome = message
            if outcome is not None:
                figures.add(worker.at, outcome)
    except EOFError:
        stopped(worker, figures, "the process has died", go_on)


def stopped(worker: Worker, figures: Figures, why: str, go_on: Any) -> None:
    """A process makes no further progress."""
    at = worker.at
    if at is None:
        raise RuntimeError(f"{worker.task}: {why} before the first injection")
    figures.add(at, Outcome(complete=False, problems=[("hang", why)]))
    if not worker.replace():
        go_on(worker)


def title_of(library: str) -> str:
    """What is swept: the library, its build, and where."""
    module = importlib.import_module(library)
    build = ""
    if library == "adjoint":
        build = ", compiled" if module.__compiled__ else ", pure"
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"{library} {module.__version__}{build}, {python}"


def main() -> int:
    """Sweep, print, and fail if any promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="adjoint", choices=("adjoint", "torch"))
    parser.add_argument("--injections", type=int, default=200_000, help="how many at least")
    parser.add_argument("--minutes", type=float, default=60.0, help="then no new task begins")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--bytecodes", type=int, default=300, help="most of a run to try")
    parser.add_argument("--events", type=int, default=40, help="most of another kind to try")
    parser.add_argument("--graphs", type=lambda text: text.split(","))
    parser.add_argument("--kinds", type=lambda text: text.split(","))
    parser.add_argument("--show", type=int, default=40, help="how many failures are printed")
    parser.add_argument("--save", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    figures = soak(options)
    title = title_of(options.library)
    figures.print(title, options.show)
    if options.save:
        figures.save(options.save, title)
    return 1 if figures.failed and options.library == "adjoint" else 0


if __name__ == "__main__":
    sys.exit(main())
