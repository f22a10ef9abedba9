"""Threads for devices: backward work on a GPU runs on that device's own daemon thread.

CPU work stays on the calling thread. A pass without such devices never comes here. The caller may
be interrupted at any time: locks are taken by `with`, and it waits by queues (`daemons`).
"""

import contextvars
import threading
from heapq import heapify, heappop, heappush
from queue import SimpleQueue
from typing import Any

from adjoint._base import after_fork
from adjoint.autograd import engine
from adjoint.autograd.daemons import Daemon
from adjoint.autograd.graph_task import GraphTask
from adjoint.autograd.node import Node
from adjoint.backends import enter_worker


class DeviceThread:
    """One daemon thread a device, which runs the ready nodes of any pass, newest first."""

    def __init__(self, device: Any) -> None:
        self.ready: list[tuple[int, int, Node, Workers]] = []
        self.count = 0
        self.lock = threading.Lock()
        self.wake: SimpleQueue[None] = SimpleQueue()
        self.device = device
        self.broken: BaseException | None = None
        self.at: Workers | None = None  # for whom it works, or is about to
        self.daemon = Daemon(f"adjoint-backward-{device}", self.loop)

    def submit(self, node: Node, workers: "Workers") -> None:
        """Hand over a node that is ready."""
        with self.lock:
            if self.broken is not None:
                raise RuntimeError(f"the thread of {self.device} has failed: {self.broken}")
            self.count += 1
            heappush(self.ready, (-node.sequence_number, self.count, node, workers))
        self.wake.put(None)

    def discard(self, workers: "Workers") -> None:
        """Take back all nodes of a pass, which has ended."""
        with self.lock:
            kept = [entry for entry in self.ready if entry[3] is not workers]
            heapify(kept)
            self.ready = kept

    def loop(self) -> None:
        """Run nodes as they come, each in the context of its pass."""
        try:
            enter_worker(self.device)
        except BaseException as error:
            self.give_up(error)
            return
        while True:
            self.wake.get()
            while self.run_newest():
                pass

    def run_newest(self) -> bool:
        """Run the newest node; False if there is none. A waiting thread keeps no graph alive."""
        with self.lock:
            if not self.ready:
                return False
            ready: list[Any] = [*heappop(self.ready)]
            workers: Workers = ready.pop()
            self.at = workers
        try:
            workers.serve(ready)
        finally:
            ready.clear()
            self.at = None
            workers.wake.put(None)
        return True

    def give_up(self, error: BaseException) -> None:
        """The thread can't work: fail the passes that wait for it; the next starts another."""
        with _locks.threads:
            if _threads.get(self.device) is self:
                del _threads[self.device]
        with self.lock:
            self.broken = error
            waiting, self.ready = self.ready, []
        for _, _, _, workers in waiting:
            workers.fail(error)


class _Locks:
    def __init__(self) -> None:
        self.threads = threading.Lock()


_threads: dict[Any, DeviceThread] = {}
_locks = _Locks()


def _after_fork() -> None:
    _threads.clear()  # a child starts its own threads when it needs them
    _locks.threads = threading.Lock()  # the parent may hold it for ever


after_fork(_after_fork)


def thread_of(device: Any) -> DeviceThread:
    """The thread of a device, started when first needed."""
    with _locks.threads:
        found = _threads.get(device)
        if found is None:
            found = DeviceThread(device)
            try:
                found.daemon.start()
            except BaseException:
                if not found.daemon.cancel():
                    _threads[device] = found  # it runs: only its starter was interrupted
                raise
            _threads[device] = found
        return found


class Workers:
    """What the threads that work on one pass share."""

    task: GraphTask  # while it runs

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.wake: SimpleQueue[None] = SimpleQueue()  # of the caller, after each change
        self.outstanding = 0  # nodes that are ready or being evaluated
        self.closed = False
        self.errors: list[BaseException] = []
        self.contexts: dict[Any, contextvars.Context] = {}
        self.threads: set[DeviceThread] = set()  # to which nodes were handed over

    def push(self, node: Node) -> None:
        """A node is ready; it goes to its device's thread, or to the caller."""
        device = node.worker()
        with self.lock:
            self.outstanding += 1
            if device is None:
                self.task.pushed += 1
                heappush(self.task.ready, (-node.sequence_number, self.task.pushed, node))
            elif device not in self.contexts:
                self.contexts[device] = contextvars.copy_context()  # the caller's settings
        if device is None:
            self.wake.put(None)
        else:
            thread = thread_of(device)
            self.threads.add(thread)
            thread.submit(node, self)

    def serve(self, ready: list[Any]) -> None:
        """Evaluate the last of a list on its device's thread, unless the pass has ended meanwhile.

        It is taken out of the list, so that nothing of the pass is kept here when that ends.
        """
        with self.lock:
            if self.closed:
                return
            context = self.contexts[ready[-1].worker()]
        try:
            context.run(self.step, ready.pop())
        finally:
            with self.lock:
                self.outstanding -= 1

    def step(self, node: Node) -> None:
        """Evaluate one node, unless another has failed."""
        try:
            if not self.errors:
                grads = self.take(node)
                self.task.current = node
                engine.visit(self.task, node, grads)
        except BaseException as error:
            engine.explain(self.task, node, error)
            self.errors.append(error)

    def take(self, node: Node) -> list[Any]:
        """The gradients that have come for a node."""
        with self.lock:
            grad = self.task.waiting.pop(node, None)
        if node.outputs is None:
            return [grad]
        return [None] * node.output_count() if grad is None else grad

    def fail(self, error: BaseException) -> None:
        """Let the pass fail for a reason that lies outside of it."""
        self.errors.append(error)
        self.wake.put(None)

    def run(self) -> None:
        """The caller's share: evaluate CPU nodes until the pass is done or has failed."""
        while True:
            with self.lock:
                if self.errors or not self.outstanding:
                    break
                node = heappop(self.task.ready)[2] if self.task.ready else None
            if node is None:
                self.wake.get()
                continue
            self.step(node)
            with self.lock:
                self.outstanding -= 1
        self.close()
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise BaseExceptionGroup("several devices failed in one backward", self.errors)

    def close(self) -> None:
        """The pass has ended or failed: wait until no device works for it any more."""
        with self.lock:
            self.closed = True
        threads = list(self.threads)
        for thread in threads:
            thread.discard(self)
        while any(thread.at is self for thread in threads):
            self.wake.get()
