"""torch.utils.data.dataloader: rounds over a loader, for programs with loaders of their own."""

from typing import Any

from adjoint.utils.data.dataloader import DataLoader, Endless, LoaderIterator, WorkerIterator
from adjoint.utils.data.worker import Source

_BaseDataLoaderIter = LoaderIterator
_InfiniteConstantSampler = Endless


class DatasetKind:
    """Whether samples of a dataset have indices."""

    Map = 0
    Iterable = 1


_DatasetKind = DatasetKind


def _parts(loader: Any) -> tuple[Any, Source, Any, Any]:
    """What a round is made of; of another's loader by the private names that PyTorch's has."""
    if isinstance(loader, DataLoader):
        return loader, loader._source(), loader._index_sampler, loader._reported  # noqa: SLF001
    iterable = loader._dataset_kind == DatasetKind.Iterable  # noqa: SLF001
    batched = loader._auto_collation  # noqa: SLF001
    source = Source(loader.dataset, iterable, batched, loader.drop_last, loader.collate_fn)
    return loader, source, loader._index_sampler, loader._IterableDataset_len_called  # noqa: SLF001


class _SingleProcessDataLoaderIter(LoaderIterator):
    """A round over a loader, or over what looks like one, in this process."""

    def __init__(self, loader: Any) -> None:
        super().__init__(*_parts(loader))


class _MultiProcessingDataLoaderIter(WorkerIterator):
    """A round over a loader, or over what looks like one, by worker processes."""

    def __init__(self, loader: Any) -> None:
        super().__init__(*_parts(loader))
