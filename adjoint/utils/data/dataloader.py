"""DataLoader: batches of a dataset, fetched here or by worker processes."""

import itertools
import multiprocessing
import os
import pickle
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from adjoint.autograd.profiler import record_function
from adjoint.call.context import current
from adjoint.random import Generator
from adjoint.utils.data.collate import default_collate, default_convert
from adjoint.utils.data.dataset import Dataset, IterableDataset
from adjoint.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    drawn_seed,
)
from adjoint.utils.data.worker import End, Failure, Setup, Source, Task, work

Sample_co = TypeVar("Sample_co", covariant=True)

_PATIENCE = 5.0  # seconds that a worker gets to end by itself
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class Endless(Sampler[None]):
    """The sampler of iterable datasets, which know no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[Sample_co]):
    """Iterates over a dataset in batches; with num_workers > 0, other processes fetch them."""

    _initialized = False

    def __init__(
        self,
        dataset: Dataset[Sample_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset: Any = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if self._iterable:
            _check_iterable(shuffle=shuffle, sampler=sampler, batch_sampler=batch_sampler)
        _check_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            sampler = Endless() if self._iterable else _order_of(dataset, shuffle, generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        self.generator = generator
        batched = batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self.persistent_workers = persistent_workers
        self._reported: int | None = None  # the length that an iterable dataset claimed
        self._iterator: WorkerIterator | None = None
        self._initialized = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of multiprocessing; None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        self._context = _checked_context(multiprocessing_context, self.num_workers)

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._initialized and attr in _FIXED:
            raise ValueError(
                f"{attr} attribute should not be set after {type(self).__name__} is initialized; "
                "make a new one"
            )
        super().__setattr__(attr, val)

    # Loaders of programs answer the last three in their own way, under PyTorch's names.
    @property
    def _iterable(self) -> bool:
        return isinstance(self.dataset, IterableDataset)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _source(self) -> Source:
        return Source(
            self.dataset, self._iterable, self._auto_collation, self.drop_last, self.collate_fn
        )

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return LoaderIterator(self, self._source(), self._index_sampler, self._reported)
        self.check_worker_number_rationality()
        return WorkerIterator(self, self._source(), self._index_sampler, self._reported)

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0 or not self.persistent_workers:
            begun: Iterator[Any] = self._get_iterator()
            return begun
        if self._iterator is None or self._iterator.closed:
            self._iterator = self._get_iterator()
        else:
            self._iterator.begin(self._reported)
        return self._iterator

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        length = self._reported = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are to be more workers than processors."""
        affinity = getattr(os, "sched_getaffinity", None)
        processors = len(affinity(0)) if affinity else os.cpu_count() or 1
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total, but "
                f"there are {processors} processors for them: fewer workers would be faster",
                stacklevel=3,
            )


def _check_batches(
    batch_size: int | None, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Refuse settings that contradict one another."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                "and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _order_of(dataset: Any, shuffle: bool | None, generator: Generator | None) -> Sampler[int]:
    """In which order the samples of a dataset are taken."""
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            f"num_workers option should be non-negative, got {num_workers}; 0 fetches in this "
            "process"
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option needs worker processes: let num_workers > 0")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, got {prefetch_factor}")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(**options: Any) -> None:
    for name, value in options.items():
        if value is not None and value is not False:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}: the dataset itself gives the order"
            )


def _checked_context(context: Any, num_workers: int) -> Any:
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0)"
        )
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {known}, "
                f"but got {context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a context object or the name of a start "
            f"method, but got {type(context).__name__}"
        )
    return context


class LoaderIterator:
    """One round over the data, fetched in this process."""

    _mark = "_SingleProcessDataLoaderIter"  # PyTorch's name of it, in marks of the profiler

    def __init__(
        self, loader: DataLoader[Any], source: Source, indices: Any, reported: int | None
    ) -> None:
        self._index_sampler = indices
        self._source = source
        self._base_seed = drawn_seed(loader.generator)
        self._prepare(loader)
        self.begin(reported)

    def _prepare(self, loader: DataLoader[Any]) -> None:
        """What is done once, before the first round."""
        self._fetch = self._source.fetcher()

    def begin(self, reported: int | None) -> None:
        """Start a round."""
        self._order = iter(self._index_sampler)
        self._reported = reported
        self._yielded = 0

    def __iter__(self) -> "LoaderIterator":
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        if current().plain:
            return self._next()
        with record_function(f"enumerate(DataLoader)#{self._mark}.__next__"):
            return self._next()

    def _next(self) -> Any:
        data = self._data()
        self._yielded += 1
        if self._source.iterable and self._reported is not None and self._yielded > self._reported:
            warnings.warn(
                f"Length of IterableDataset {self._source.dataset} was reported to be "
                f"{self._reported} (when accessing len(dataloader)), but {self._yielded} samples "
                "have been fetched; with workers, each must give its own part: see get_worker_info",
                stacklevel=3,
            )
        return data

    def _data(self) -> Any:
        return self._fetch(next(self._order))

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled; pickle the DataLoader")


class WorkerIterator(LoaderIterator):
    """Rounds over the data, fetched by worker processes."""

    _mark = "_MultiProcessingDataLoaderIter"

    def _prepare(self, loader: DataLoader[Any]) -> None:
        self._round = -1
        self._count = loader.num_workers
        self._timeout = loader.timeout or None
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._ahead = (loader.prefetch_factor or 0) * loader.num_workers
        self._workers: list[Any] = []
        self._tasks: list[Any] = []
        self._results: list[Any] = []
        self._close = weakref.finalize(
            self, _shut_down, os.getpid(), self._workers, self._tasks, self._results
        )
        self._start(loader)

    @property
    def closed(self) -> bool:
        """Whether its workers are gone."""
        return not self._close.alive

    def _start(self, loader: DataLoader[Any]) -> None:
        """Start the workers, each with a pipe for its tasks and one for its results."""
        context = loader.multiprocessing_context or multiprocessing.get_context()
        for number in range(self._count):
            setup = Setup(number, self._count, self._base_seed, loader.worker_init_fn)
            tasks_in, tasks_out = context.Pipe(duplex=False)
            results_in, results_out = context.Pipe(duplex=False)
            process = context.Process(
                target=work, args=(self._source, setup, tasks_in, results_out), daemon=True
            )
            process.start()
            tasks_in.close()
            results_out.close()
            self._workers.append(process)
            self._tasks.append(tasks_out)
            self._results.append(results_in)

    def begin(self, reported: int | None) -> None:
        super().begin(reported)
        self._round += 1
        self._numbers = itertools.count()
        self._turns = deque(range(self._count))  # those that have samples left
        self._pending: dict[int, int] = {}  # batch → the worker that fetches it
        self._sequence: deque[int] = deque()  # batches in the order they were asked for
        self._arrived: dict[int, Any] = {}
        for _ in range(self._ahead):
            self._ask()

    def _ask(self) -> None:
        """Have the next batch fetched, if there is one and a worker for it."""
        if not self._turns:
            return
        try:
            index = next(self._order)
        except StopIteration:
            return
        worker = self._turns[0]
        if self._in_order:
            self._turns.rotate(-1)
        else:
            busy = list(self._pending.values())
            worker = min(self._turns, key=busy.count)
        number = next(self._numbers)
        self._pending[number] = worker
        self._sequence.append(number)
        try:
            self._tasks[worker].send(Task(self._round, number, index))
        except OSError:
            self._fail(worker)

    def _data(self) -> Any:
        if self.closed:
            raise StopIteration
        while True:
            number = self._deliverable()
            if number is not None:
                break
            if not self._pending:
                if not self._ahead:  # prefetch_factor=0: ask for each batch when it is wanted
                    self._ask()
                if not self._pending:
                    if not self._persistent:
                        self._close()
                    raise StopIteration
            self._receive()
        self._sequence.remove(number)
        data = self._arrived.pop(number)
        if self._ahead:
            self._ask()
        if isinstance(data, Failure):
            raise data.exception()
        return data

    def _deliverable(self) -> int | None:
        """A batch that is there, and whose turn it is."""
        if not self._in_order:
            return next(iter(self._arrived), None)
        while self._sequence and self._sequence[0] not in self._pending:
            if self._sequence[0] in self._arrived:
                return self._sequence[0]
            self._sequence.popleft()  # its worker had no more samples
        return None

    def _receive(self) -> None:
        """Wait for a worker's answer."""
        sentinels = [process.sentinel for process in self._workers]
        ready = connection.wait([*self._results, *sentinels], self._timeout)
        if not ready:
            self._close()
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for worker, results in enumerate(self._results):
            if results not in ready:
                continue
            try:
                message = results.recv_bytes()
            except (EOFError, OSError):
                self._fail(worker)
            self._take(*pickle.loads(message))  # noqa: S301  # our own worker has sent it
            return
        self._fail(next(i for i, sentinel in enumerate(sentinels) if sentinel in ready))

    def _take(self, round_number: int, number: int, data: Any) -> None:
        """Note an answer; those to an earlier round are of no use."""
        if round_number != self._round:
            return
        worker = self._pending.pop(number)
        if not isinstance(data, End):
            self._arrived[number] = data
            return
        self._turns.remove(worker)
        for other in [other for other, who in self._pending.items() if who == worker]:
            del self._pending[other]
        self._ask()

    def _fail(self, worker: int) -> None:
        """A worker is gone: end the others, and say so."""
        process = self._workers[worker]
        process.join(_PATIENCE)
        code = process.exitcode
        self._close()
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly with code {code}; with "
            "num_workers=0 its error would be seen here"
        )


def _shut_down(owner: int, processes: list[Any], tasks: list[Any], results: list[Any]) -> None:
    """Tell workers to end, and end those that don't; in a fork of the owner, leave them alone."""
    if os.getpid() != owner:
        return
    for channel in tasks:
        try:
            channel.send(None)
        except OSError:  # that worker is gone already
            continue
    for channel in [*tasks, *results]:
        channel.close()
    for process in processes:
        process.join(_PATIENCE)
        if process.is_alive():
            process.terminate()
            process.join()
