"""Threads for devices: backward work on a GPU runs on that device's own daemon thread.

CPU work stays on the calling thread. A pass without such devices never comes here.
"""

import contextvars
import threading
from heapq import heappop, heappush
from typing import Any

from adjoint._base import after_fork
from adjoint.autograd import engine
from adjoint.autograd.graph_task import GraphTask
from adjoint.autograd.node import Node
from adjoint.backends import enter_worker


class DeviceThread:
    """One daemon thread a device, which runs the ready nodes of any pass, newest first."""

    def __init__(self, device: Any) -> None:
        self.ready: list[tuple[int, int, Node, Workers]] = []
        self.count = 0
        self.condition = threading.Condition()
        self.device = device
        threading.Thread(target=self.loop, daemon=True, name=f"adjoint-backward-{device}").start()

    def submit(self, node: Node, workers: "Workers") -> None:
        """Hand over a node that is ready."""
        with self.condition:
            self.count += 1
            heappush(self.ready, (-node.sequence_number, self.count, node, workers))
            self.condition.notify()

    def loop(self) -> None:
        """Run nodes as they come, each in the context of its pass."""
        enter_worker(self.device)
        while True:
            with self.condition:
                while not self.ready:
                    self.condition.wait()
                _, _, node, workers = heappop(self.ready)
            workers.context_of(node.worker()).run(workers.step, node)
            del node, workers  # a waiting thread keeps no graph alive


_threads: dict[Any, DeviceThread] = {}
_threads_lock = threading.Lock()


def _after_fork() -> None:
    global _threads_lock  # noqa: PLW0603  the parent may hold it for ever
    _threads.clear()  # a child starts its own threads when it needs them
    _threads_lock = threading.Lock()


after_fork(_after_fork)


def thread_of(device: Any) -> DeviceThread:
    """The thread of a device, started when first needed."""
    with _threads_lock:
        if device not in _threads:
            _threads[device] = DeviceThread(device)
        return _threads[device]


class Workers:
    """What the threads that work on one pass share."""

    def __init__(self, task: GraphTask) -> None:
        self.task = task
        self.condition = threading.Condition(threading.RLock())
        self.outstanding = 0
        self.errors: list[BaseException] = []
        self.contexts: dict[Any, contextvars.Context] = {}
        task.short = False  # the short form of a step does not lock

    def push(self, node: Node) -> None:
        """A node is ready; it goes to its device's thread, or to the caller."""
        with self.condition:
            self.outstanding += 1
            if node.worker() is None:
                self.task.pushed += 1
                heappush(self.task.ready, (-node.sequence_number, self.task.pushed, node))
                self.condition.notify_all()
                return
            if node.worker() not in self.contexts:
                self.contexts[node.worker()] = contextvars.copy_context()
        thread_of(node.worker()).submit(node, self)

    def context_of(self, device: Any) -> contextvars.Context:
        """The caller's settings, as the thread of a device sees them."""
        return self.contexts[device]

    def step(self, node: Node) -> None:
        """Evaluate one node, unless the pass has failed meanwhile."""
        try:
            if not self.errors:
                grad = self.take(node)
                self.task.current = node
                engine.visit(self.task, node, grad)
        except BaseException as error:
            engine.explain(self.task, node, error)
            self.errors.append(error)
        finally:
            with self.condition:
                self.outstanding -= 1
                if not self.outstanding or self.errors or self.task.ready:
                    self.condition.notify_all()

    def take(self, node: Node) -> Any:
        """The gradients that have come for a node."""
        with self.condition:
            grad = self.task.waiting.pop(node, None)
        return [None] * node.output_count() if grad is None and node.outputs is not None else grad

    def run(self) -> None:
        """The caller's share: evaluate CPU nodes until the pass is done or has failed."""
        while True:
            with self.condition:
                while not self.task.ready and self.outstanding and not self.errors:
                    self.condition.wait()
                if self.errors or not self.outstanding:
                    break
                node = heappop(self.task.ready)[2]
            self.step(node)
        with self.condition:
            while self.outstanding > len(self.task.ready):
                self.condition.wait()
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise BaseExceptionGroup("several devices failed in one backward", self.errors)
