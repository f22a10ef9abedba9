"""What a loader's worker process does: fetch the samples that it is told, and send them back.

The parent sends `Task`s through one pipe and gets (round, number, result) through another, of
which each worker has its own: one that is killed can't keep a lock that others need.
"""

import multiprocessing
import queue
import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from adjoint.backends import threads
from adjoint.backends.numpy import numpy_backend
from adjoint.random import manual_seed

Fetch = Callable[[Any], Any]


class Task(NamedTuple):
    """Samples to fetch: in which round over the data, as which batch, at which index."""

    round: int
    number: int
    index: Any


class End:
    """A worker's answer when its iterable dataset has no more samples."""


@dataclass(frozen=True)
class WorkerInfo:
    """What a dataset's copy in a worker can know of its place."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Place:
    """Where this process stands; in a worker, `info` says which one it is."""

    info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker this process is; None in the main process."""
    return _Place.info


class Failure:
    """An exception on its way from where it was raised to the caller, with its traceback."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: type[BaseException] = type(error)
        self.text = (
            f"Caught {self.kind.__name__} {where}.\n"
            f"Original {''.join(traceback.format_exception(error))}"
        )

    def exception(self) -> BaseException:
        """The same kind of exception; a RuntimeError if it can't be made from a text."""
        if self.kind is KeyError:  # it would show the text's line breaks as \n
            return KeyError(_Text(self.text))
        try:
            return self.kind(self.text)
        except Exception:
            return RuntimeError(self.text)


def _failed(error: BaseException, worker: int) -> Failure:
    return Failure(error, f"in DataLoader worker process {worker}")


class _Text(str):
    """A text that is shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Source(NamedTuple):
    """All that is needed to make batches of a dataset, here or in a worker."""

    dataset: Any
    iterable: bool
    batched: bool
    drop_last: bool
    collate: Callable[[Any], Any]

    def fetcher(self) -> Fetch:
        """A function from an index, or a list of them, to what the loader gives out."""
        if self.iterable:
            return self.from_iterator(iter(self.dataset))
        if not self.batched:
            return lambda index: self.collate(self.dataset[index])
        several = getattr(self.dataset, "__getitems__", None)
        if callable(several):
            return lambda indices: self.collate(several(indices))
        return lambda indices: self.collate([self.dataset[index] for index in indices])

    def from_iterator(self, samples: Iterator[Any]) -> Fetch:
        """The index of an iterable dataset says only how many samples are wanted."""
        if not self.batched:
            return lambda _: self.collate(next(samples))

        def fetch(indices: Any) -> Any:
            batch = [sample for _, sample in zip(indices, samples)]
            if not batch or (self.drop_last and len(batch) < len(indices)):
                raise StopIteration
            return self.collate(batch)

        return fetch


class Setup(NamedTuple):
    """A worker's number among how many, its seed, and what the user has it do first."""

    id: int
    num_workers: int
    base_seed: int
    init_fn: Callable[[int], Any] | None


def work(source: Source, setup: Setup, tasks: Any, results: Any) -> None:
    """The life of a worker: it ends when it is told None, or when its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    answer = _sender(results)
    failure = _prepare(source, setup)
    current, fetch, ended = -1, None, False
    for task in _received(tasks):
        if task.round != current:
            current, fetch, ended = task.round, None, False
        if ended:
            continue
        result: Any = failure
        if failure is None:
            try:
                fetch = fetch or source.fetcher()
                result = fetch(task.index)
            except StopIteration as error:
                ended = source.iterable
                result = End() if ended else _failed(error, setup.id)
            except Exception as error:
                result = _failed(error, setup.id)
        failure = None
        answer(_packed(task, result, setup.id))


def _prepare(source: Source, setup: Setup) -> Failure | None:
    """Seed this process's generators and run the user's function; what fails is told later."""
    threads.allow(1)  # workers have the other processors
    seed = setup.base_seed + setup.id
    random.seed(seed)
    manual_seed(seed)
    numpy_backend.xp.random.seed([seed & 0xFFFFFFFF, seed >> 32])
    _Place.info = WorkerInfo(setup.id, setup.num_workers, seed, source.dataset)
    try:
        if setup.init_fn is not None:
            setup.init_fn(setup.id)
    except Exception as error:
        return _failed(error, setup.id)
    return None


def _received(tasks: Any) -> Iterator[Task]:
    """Tasks as they come."""
    parent = multiprocessing.parent_process()
    watched = [tasks] if parent is None else [tasks, parent.sentinel]
    while tasks in connection.wait(watched):
        try:
            task = tasks.recv()
        except (EOFError, OSError):
            return
        if task is None:
            return
        yield task


def _packed(task: Task, result: Any, worker: int) -> Any:
    """A result as bytes; one that can't be pickled is a failure like any other."""
    try:
        return ForkingPickler.dumps((task.round, task.number, result))
    except Exception as error:
        if isinstance(result, Failure):
            result.kind = RuntimeError  # the parent can't find the class
        else:
            result = _failed(error, worker)
        return ForkingPickler.dumps((task.round, task.number, result))


def _sender(results: Any) -> Callable[[Any], None]:
    """A thread sends, so that the next batch is fetched while this one waits for its reader."""
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def send() -> None:
        while True:
            message = waiting.get()
            try:
                results.send_bytes(message)
            except OSError:  # nobody reads any more
                return

    threading.Thread(target=send, daemon=True).start()
    return waiting.put
