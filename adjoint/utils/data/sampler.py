"""Samplers: the order in which a loader asks for samples, singly or in batches."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from adjoint.call.context import current
from adjoint.creation.factories import empty, randint, randperm
from adjoint.creation.from_memory import as_tensor
from adjoint.dtypes import float64, int64
from adjoint.ops.sampling.random import multinomial
from adjoint.random import Generator, chosen

Index_co = TypeVar("Index_co", covariant=True)

_PORTION = 32  # how many indices are drawn at once


def drawn_seed(generator: Generator | None = None) -> int:
    """A seed at random, from a generator or the default one."""
    if current().modes:
        room: Any = empty((), dtype=int64)
        return int(room.random_(generator=generator).item())  # which they see
    seed: int = chosen(generator).draw(lambda stream: int(stream.integers(0, 2**63)))
    return seed


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[Index_co]):
    """An iterable of indices, or of lists of them; a subclass gives __iter__, maybe __len__."""

    def __iter__(self) -> Iterator[Index_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in a random order, or num_samples of them at random."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got {replacement!r}")
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices it gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        if size == 0:
            raise ValueError("RandomSampler: there is nothing to draw from an empty data_source")
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed())
        left = self.num_samples
        while left > 0:
            if self.replacement:
                portion = randint(size, (min(left, _PORTION),), generator=generator).tolist()
            else:
                portion = randperm(size, generator=generator).tolist()[:left]
            yield from portion
            left -= len(portion)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in a random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices at random, each as likely as its weight says."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got {replacement!r}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of batch_size; the last may be shorter."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]  # asked only of one that has a length
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


class DistributedSampler(Sampler[int]):
    """The part of the indices that belongs to one of several replicas.

    All parts have the same length: some indices come twice, or with drop_last some not at all.
    Call set_epoch before each epoch, or the order is the same in all of them.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "DistributedSampler: there is no process group to ask; give num_replicas and rank"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(len(indices), generator=generator).tolist()
        whole = itertools.islice(itertools.cycle(indices), self.total_size)
        return itertools.islice(whole, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Let the next order differ from those of other epochs."""
        self.epoch = epoch
