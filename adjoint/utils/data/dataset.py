"""Datasets: things with samples by index, or one after another, and ways to combine them."""

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from adjoint.creation.factories import randperm
from adjoint.random import Generator
from adjoint.tensors.tensor import Tensor

Sample_co = TypeVar("Sample_co", covariant=True)


class Dataset(Generic[Sample_co]):
    """Samples by index: a subclass gives __getitem__, most often __len__, maybe __getitems__."""

    def __getitem__(self, index: Any) -> Sample_co:
        raise NotImplementedError(f"{type(self).__name__} must give __getitem__ to be a Dataset")

    def __add__(self, other: "Dataset[Any]") -> "ConcatDataset[Any]":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample_co], Iterable[Sample_co]):
    """Samples one after another: a subclass gives __iter__."""

    def __add__(self, other: Dataset[Any]) -> "ChainDataset":  # type: ignore[override]  # no index
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors that agree in their first size."""

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [tensor.shape[0] for tensor in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(f"Size mismatch between tensors: their first sizes are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


def _fetched(dataset: Any, indices: Any) -> list[Any]:
    """Several samples, at once if the dataset has a way to do so."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items: list[Any] = dataset.__getitems__(indices)
    return items


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is a tuple of theirs, or a dict if they have names."""

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "StackDataset takes datasets by position or by name, and at least one of them; got "
                f"{len(args)} by position and {len(kwargs)} by name"
            )
        self.datasets: Any = args or kwargs
        lengths = [len(dataset) for dataset in self._members()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _members(self) -> list[Any]:
        named = isinstance(self.datasets, dict)
        return list(self.datasets.values() if named else self.datasets)

    def _sample(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample(dataset[index] for dataset in self._members())

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = [_fetched(dataset, indices) for dataset in self._members()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch: wanted {len(indices)} samples, got "
                    f"{len(column)}"
                )
        return [self._sample(row) for row in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Sample_co]):
    """Datasets one after another, as one."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise AssertionError("ConcatDataset does not support IterableDataset: add them up")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each dataset ends."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError(f"index {idx} is before the start of {len(self)} samples")
            idx += len(self)
        place = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][idx - start]


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after another."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _members(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}"
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._members():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._members())


class Subset(Dataset[Sample_co]):
    """Some samples of a dataset, by their indices."""

    def __init__(self, dataset: Dataset[Sample_co], indices: Sequence[int]) -> None:
        self.dataset: Any = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__, which a DataLoader "
                "calls: give both, the second as [self[index] for index in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[each] for each in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return _fetched(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[Sample_co],
    lengths: Sequence[int | float],
    generator: Generator | None = None,
) -> list[Subset[Sample_co]]:
    """Split at random into parts of the given lengths, or fractions that add up to one."""
    size = len(dataset)  # type: ignore[arg-type]  # only one with a length can be split
    total = sum(lengths)
    if math.isclose(total, 1) and total <= 1:
        parts = _from_fractions(size, lengths)
    else:
        parts = [int(length) for length in lengths]
        if total != size:
            raise ValueError(
                "Sum of input lengths does not equal the length of the input dataset: "
                f"{total} instead of {size}"
            )
    indices = randperm(size, generator=generator).tolist()
    ends = itertools.accumulate(parts)
    return [Subset(dataset, indices[end - part : end]) for end, part in zip(ends, parts)]


def _from_fractions(size: int, fractions: Sequence[float]) -> list[int]:
    """Whole numbers for fractions; what is left over goes to the parts in turn."""
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1: {fraction}")
    parts = [math.floor(size * fraction) for fraction in fractions]
    for left in range(size - sum(parts)):
        parts[left % len(parts)] += 1
    for index, part in enumerate(parts):
        if part == 0:
            warnings.warn(
                f"Length of split at index {index} is 0: it will be an empty dataset", stacklevel=3
            )
    return parts
