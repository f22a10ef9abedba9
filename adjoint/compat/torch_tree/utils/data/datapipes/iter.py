"""torch.utils.data.datapipes.iter: the commonest of the datasets that are made of others."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from adjoint.compat.torch_tree.utils.data.datapipes._decorator import functional_datapipe
from adjoint.compat.torch_tree.utils.data.datapipes.datapipe import IterDataPipe as IterDataPipe


class IterableWrapper(IterDataPipe):
    """The elements of an iterable."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]  # an error where it has no length


@functional_datapipe("map")
class Mapper(IterDataPipe):
    """What a function answers to each element."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe = datapipe
        self.fn = fn

    def __iter__(self) -> Iterator[Any]:
        return map(self.fn, self.datapipe)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The elements for which a function holds."""

    def __init__(self, datapipe: Any, filter_fn: Callable[[Any], bool]) -> None:
        self.datapipe = datapipe
        self.filter_fn = filter_fn

    def __iter__(self) -> Iterator[Any]:
        return filter(self.filter_fn, self.datapipe)


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """Batches of elements, each made by a class of a list of them."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = list,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError(f"batch_size must be positive, got {batch_size}")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for element in self.datapipe:
            batch.append(element)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
