"""torch.utils.data.dataloader: rounds over a loader, for programs with loaders of their own."""

import abc
from collections.abc import Callable
from typing import Any

from adjoint.utils.data.dataloader import (
    DataLoader,
    Endless,
    LoaderIterator,
    WorkerIterator,
)
from adjoint.utils.data.sampler import drawn_seed
from adjoint.utils.data.worker import Source

_InfiniteConstantSampler = Endless


class Fetcher:
    """What makes batches of a dataset, with the iterator that it goes through, if it does."""

    def __init__(self, source: Source) -> None:
        self.dataset, self.ended = source.dataset, False
        self.source = source
        if source.iterable:
            self.dataset_iter = iter(source.dataset)
        else:
            self.taken = source.fetcher()

    def fetch(self, index: Any) -> Any:
        """The batch of an index, or of a list of them; StopIteration if there is none."""
        if not self.source.iterable:
            return self.taken(index)
        if self.ended:
            raise StopIteration
        try:
            return self.source.from_iterator(self.dataset_iter)(index)
        except StopIteration:
            self.ended = True
            raise


class DatasetKind:
    """Whether samples of a dataset have indices."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int,
        dataset: Any,
        auto_collation: bool,
        collate_fn: Callable[[Any], Any],
        drop_last: bool,
    ) -> Fetcher:
        """What makes batches of a dataset of a kind."""
        iterable = kind == DatasetKind.Iterable
        return Fetcher(Source(dataset, iterable, auto_collation, drop_last, collate_fn))


_DatasetKind = DatasetKind


def _parts(loader: Any) -> tuple[Any, Source, Any, Any]:
    """What a round is made of; of another's loader by the private names that PyTorch's has."""
    if isinstance(loader, DataLoader) and hasattr(loader, "_reported"):
        return loader, loader._source(), loader._index_sampler, loader._reported  # noqa: SLF001
    iterable = loader._dataset_kind == DatasetKind.Iterable  # noqa: SLF001
    batched = loader._auto_collation  # noqa: SLF001
    source = Source(loader.dataset, iterable, batched, loader.drop_last, loader.collate_fn)
    return loader, source, loader._index_sampler, loader._IterableDataset_len_called  # noqa: SLF001


class _BaseDataLoaderIter(abc.ABC):  # noqa: B024  # a class says what its data are by _next_data
    """A round over a loader, for classes that fetch the data themselves.

    The rounds of adjoint's own loaders count as instances.
    """

    def __init__(self, loader: Any) -> None:
        _, source, self._index_sampler, _ = _parts(loader)
        self._dataset, self._auto_collation = source.dataset, source.batched
        self._dataset_kind = DatasetKind.Iterable if source.iterable else DatasetKind.Map
        self._drop_last, self._collate_fn = source.drop_last, source.collate
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._prefetch_factor = loader.prefetch_factor
        self._persistent_workers = loader.persistent_workers
        self._world_size, self._rank = 1, 0
        self._pin_memory, self._pin_memory_device = False, None
        self._shared_seed = self._pg = None
        self._base_seed = drawn_seed(loader.generator)
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = _parts(loader)[3]  # PyTorch's name

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._begin(loader)

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._next_data is not defined")

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        return data


_BaseDataLoaderIter.register(LoaderIterator)


class _SingleProcessDataLoaderIter(LoaderIterator):
    """A round over a loader, or over what looks like one, in this process."""

    def __init__(self, loader: Any) -> None:
        super().__init__(*_parts(loader))


class _MultiProcessingDataLoaderIter(WorkerIterator):
    """A round over a loader, or over what looks like one, by worker processes."""

    def __init__(self, loader: Any) -> None:
        super().__init__(*_parts(loader))
