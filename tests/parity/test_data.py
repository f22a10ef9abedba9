"""Datasets, samplers, collating and loaders do and refuse what PyTorch's do."""

import importlib
import types
import warnings
from collections import OrderedDict, UserDict, namedtuple
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat
from adjoint.utils import data

Point = namedtuple("Point", "x y")


class Own(list):
    """A list with more than its items."""

    label = "none"


def described(value: Any, library: Any) -> Any:
    """A nest of containers with tensors as their dtype and elements."""
    if isinstance(value, library.Tensor):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict | UserDict | types.MappingProxyType):
        return type(value).__name__, [(k, described(v, library)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [described(item, library) for item in value]
    if isinstance(value, np.ndarray):
        return "ndarray", value.tolist()
    return type(value).__name__, value


SAMPLES: dict[str, Any] = {
    "tensors": lambda lib: [lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])],
    "arrays": lambda lib: [np.arange(3, dtype="int32"), np.ones(3, "int32")],
    "numpy scalars": lambda lib: [np.float32(1.5), np.float32(2)],
    "numpy bools": lambda lib: [np.bool_(True), np.bool_(False)],
    "0-d arrays": lambda lib: [np.array(1.5), np.array(2.5)],
    "floats": lambda lib: [1.0, 2.0],
    "ints": lambda lib: [1, 2],
    "bools": lambda lib: [True, False],
    "strings": lambda lib: ["a", "b"],
    "bytes": lambda lib: [b"a", b"b"],
    "tuples": lambda lib: [(1, "a"), (2, "b")],
    "lists": lambda lib: [[1, [2.0]], [3, [4.0]]],
    "named tuples": lambda lib: [Point(1, 2.0), Point(3, 4.0)],
    "dicts": lambda lib: [{"a": 1, "b": [2]}, {"a": 3, "b": [4]}],
    "ordered dicts": lambda lib: [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "user dicts": lambda lib: [UserDict(a=1), UserDict(a=2)],
    "read-only mappings": lambda lib: [types.MappingProxyType({"a": i}) for i in (1, 2)],
    "own lists": lambda lib: [Own([1, 2]), Own([3, 4])],
    "ranges": lambda lib: [range(2), range(2)],
    "empty tuples": lambda lib: [(), ()],
    "uneven lists": lambda lib: [[1], [1, 2]],
    "uneven tensors": lambda lib: [lib.ones(1), lib.ones(2)],
    "missing keys": lambda lib: [{"a": 1}, {"b": 1}],
    "arrays of strings": lambda lib: [np.array(["a"]), np.array(["b"])],
    "objects": lambda lib: [object(), object()],
    "none": lambda lib: [None, None],
    "sets": lambda lib: [{1}, {2}],
}


@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_collating(torch: Any, kind: str, function: str) -> None:
    outcomes = []
    for library in (adjoint, torch):
        package = importlib.import_module(f"{library.__name__}.utils.data")
        samples = SAMPLES[kind](library)
        if kind == "objects" and function == "default_convert":
            samples = [1j]
        try:
            outcomes.append(described(getattr(package, function)(samples), library))
        except Exception as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


def outcome(make: Any) -> Any:
    """What a program gives, or the type of its error, and how often it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = make()
        except Exception as error:
            result = type(error)
    return result, len(caught)


class Numbers:
    """Datasets of both libraries, made in the same way."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.data = importlib.import_module(f"{library.__name__}.utils.data")

        class Items(self.data.Dataset):  # type: ignore[name-defined,misc]
            def __init__(self, size: int = 4, start: int = 0) -> None:
                self.size, self.start = size, start

            def __len__(self) -> int:
                return self.size

            def __getitem__(self, index: int) -> int:
                return list(range(self.start, self.start + self.size))[index]

        class Stream(self.data.IterableDataset):  # type: ignore[name-defined,misc]
            def __iter__(self) -> Any:
                return iter(range(3))

            def __len__(self) -> int:
                return 3

        class Partial(self.data.Subset):  # type: ignore[name-defined,misc]
            def __getitem__(self, index: int) -> int:
                return 0

        self.items, self.stream, self.partial = Items, Stream, Partial

    def tensors(self) -> Any:
        made = self.library.arange(6).reshape(3, 2)
        return self.data.TensorDataset(made, made * 10)


DATASETS: dict[str, Any] = {
    "tensor": lambda n: [[part.tolist() for part in n.tensors()[i]] for i in range(3)],
    "tensor slice": lambda n: [part.tolist() for part in n.tensors()[:2]],
    "tensor length": lambda n: len(n.tensors()),
    "tensor mismatch": lambda n: n.data.TensorDataset(n.library.ones(2), n.library.ones(3)),
    "stack": lambda n: n.data.StackDataset(n.items(), n.items(4, 9))[1],
    "stack by name": lambda n: n.data.StackDataset(a=n.items(), b=n.items(4, 9))[1],
    "stack several": lambda n: n.data.StackDataset(n.items(), n.items(4, 9)).__getitems__([0, 2]),
    "stack several by name": lambda n: n.data.StackDataset(a=n.items()).__getitems__([0, 2]),
    "stack both": lambda n: n.data.StackDataset(n.items(), b=n.items()),
    "stack none": lambda n: n.data.StackDataset(),
    "stack mismatch": lambda n: n.data.StackDataset(n.items(), n.items(3)),
    "concat": lambda n: [(n.items() + n.items(2, 9))[i] for i in (0, 3, 4, 5, -1, -6)],
    "concat length": lambda n: len(n.data.ConcatDataset([n.items(), n.items(2)])),
    "concat sizes": lambda n: n.data.ConcatDataset([n.items(), n.items(2)]).cumulative_sizes,
    "concat beyond": lambda n: (n.items() + n.items())[8],
    "concat before": lambda n: (n.items() + n.items())[-9],
    "concat nothing": lambda n: n.data.ConcatDataset([]),
    "concat streams": lambda n: n.data.ConcatDataset([n.stream()]),
    "chain": lambda n: list(n.stream() + n.stream()),
    "chain length": lambda n: len(n.stream() + n.stream()),
    "chain items": lambda n: list(n.stream() + n.items()),
    "subset": lambda n: [n.data.Subset(n.items(), [3, 1])[i] for i in range(2)],
    "subset several": lambda n: n.data.Subset(n.items(), [3, 1]).__getitems__([1, 0]),
    "subset of subset": lambda n: n.data.Subset(
        n.data.Subset(n.items(), [3, 1, 0]), [2, 0]
    ).__getitems__([0, 1]),
    "subset beyond": lambda n: n.data.Subset(n.items(), [9])[0],
    "half a subset": lambda n: n.partial(n.items(), [1]),
    "no dataset": lambda n: n.data.Dataset()[0],
    "split": lambda n: [len(part) for part in n.data.random_split(n.items(), [3, 1])],
    "split fractions": lambda n: [
        len(part) for part in n.data.random_split(n.items(10), [0.3, 0.3, 0.4])
    ],
    "split rest": lambda n: [len(p) for p in n.data.random_split(n.items(11), [0.5, 0.25, 0.25])],
    "split empty": lambda n: [len(p) for p in n.data.random_split(n.items(1), [0.5, 0.5])],
    "split wrongly": lambda n: n.data.random_split(n.items(), [3, 2]),
    "split below zero": lambda n: n.data.random_split(n.items(), [1.5, -0.5]),
    "sequential": lambda n: list(n.data.SequentialSampler(n.items())),
    "random length": lambda n: len(n.data.RandomSampler(n.items(), num_samples=9)),
    "random nothing": lambda n: n.data.RandomSampler([]),
    "random zero": lambda n: n.data.RandomSampler(n.items(), num_samples=0),
    "random maybe": lambda n: n.data.RandomSampler(n.items(), replacement=1),
    "weighted length": lambda n: len(n.data.WeightedRandomSampler([1.0, 2.0], 5)),
    "weighted zero": lambda n: n.data.WeightedRandomSampler([1.0], 0),
    "weighted true": lambda n: n.data.WeightedRandomSampler([1.0], True),
    "weighted maybe": lambda n: n.data.WeightedRandomSampler([1.0], 1, 1),
    "weighted matrix": lambda n: n.data.WeightedRandomSampler([[1.0]], 1),
    "weighted too many": lambda n: list(n.data.WeightedRandomSampler([1.0], 2, False)),
    "batches": lambda n: list(n.data.BatchSampler(range(5), 2, False)),
    "batches dropped": lambda n: list(n.data.BatchSampler(range(5), 2, True)),
    "batches length": lambda n: [len(n.data.BatchSampler(range(5), 2, b)) for b in (True, False)],
    "batches of zero": lambda n: n.data.BatchSampler(range(5), 0, False),
    "batches of true": lambda n: n.data.BatchSampler(range(5), True, False),
    "batches dropped maybe": lambda n: n.data.BatchSampler(range(5), 2, 1),
    "no sampler": lambda n: iter(n.data.Sampler()),
    "shares": lambda n: [
        list(n.data.DistributedSampler(n.items(size), 3, rank, shuffle=False, drop_last=drop))
        for size in (7, 2, 9)
        for rank in range(3)
        for drop in (False, True)
        if size > 2 or not drop
    ],
    "share of nobody": lambda n: n.data.DistributedSampler(n.items(), 3, 3),
    "share before": lambda n: n.data.DistributedSampler(n.items(), 3, -1),
}


@pytest.mark.parametrize("program", DATASETS)
def test_datasets_and_samplers(torch: Any, program: str) -> None:
    ours, theirs = (
        outcome(lambda lib=lib: DATASETS[program](Numbers(lib))) for lib in (adjoint, torch)
    )
    if isinstance(theirs[0], type) or isinstance(ours[0], type):
        assert ours[0] is theirs[0]
    elif isinstance(theirs[0], list | tuple | dict | int):
        assert ours == theirs
    else:
        assert type(ours[0]).__name__ == type(theirs[0]).__name__


LOADERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batches": {"batch_size": 3},
    "dropped": {"batch_size": 3, "drop_last": True},
    "no batches": {"batch_size": None},
    "sampler": {"sampler": [2, 0], "batch_size": 2},
    "batch sampler": {"batch_sampler": [[1, 2], [0]]},
    "zero": {"batch_size": 0},
    "workers below zero": {"num_workers": -1},
    "timeout below zero": {"timeout": -1},
    "prefetch without workers": {"prefetch_factor": 2},
    "prefetch below zero": {"prefetch_factor": -1, "num_workers": 1},
    "persistent without workers": {"persistent_workers": True},
    "sampler and shuffle": {"sampler": [0], "shuffle": True},
    "batch sampler and size": {"batch_sampler": [[0]], "batch_size": 2},
    "batch sampler and shuffle": {"batch_sampler": [[0]], "shuffle": True},
    "batch sampler and sampler": {"batch_sampler": [[0]], "sampler": [0]},
    "batch sampler and drop": {"batch_sampler": [[0]], "drop_last": True},
    "no batches and drop": {"batch_size": None, "drop_last": True},
    "context without workers": {"multiprocessing_context": "fork"},
    "unknown context": {"multiprocessing_context": "beam", "num_workers": 1},
    "number as context": {"multiprocessing_context": 3, "num_workers": 1},
    "unordered": {"in_order": False, "batch_size": 3},
}


@pytest.mark.parametrize("kind", ["items", "stream"])
@pytest.mark.parametrize("options", LOADERS)
def test_loaders(torch: Any, kind: str, options: str) -> None:
    def program(numbers: Any) -> Any:
        dataset = getattr(numbers, kind)()
        loader = numbers.data.DataLoader(dataset, **LOADERS[options])
        library = numbers.library
        return len(loader), [described(batch, library) for batch in loader], loader.batch_size

    ours, theirs = (outcome(lambda lib=lib: program(Numbers(lib))) for lib in (adjoint, torch))
    assert ours == theirs


def test_public_names(torch: Any) -> None:
    """Everything that PyTorch documents here is here, data pipes aside."""
    names = {name for name in torch.utils.data.__all__ if "Pipe" not in name}
    left_out = {
        *(
            "DFIterDataPipe",
            "argument_validation",
            "functional_datapipe",
            "guaranteed_datapipes_determinism",
        ),
        *(
            "DataChunk",
            "_DatasetKind",
            "non_deterministic",
            "runtime_validation",
            "runtime_validation_disabled",
        ),
    }
    assert {name for name in names - left_out if not hasattr(data, name)} == set()


def test_rounds_of_programs(torch):
    """A class that fetches by itself, on the private parts of a loader that torchdata uses."""

    def outcome(library):
        data = library.utils.data
        private = data.dataloader

        class Round(private._BaseDataLoaderIter):
            def __init__(self, loader):
                super().__init__(loader)
                self.fetcher = private._DatasetKind.create_fetcher(
                    self._dataset_kind,
                    self._dataset,
                    self._auto_collation,
                    self._collate_fn,
                    self._drop_last,
                )

            def _next_data(self):
                return self.fetcher.fetch(self._next_index())

        class Numbers(data.IterableDataset):
            def __iter__(self):
                return iter(range(5))

        log = []
        for dataset in (list(range(5)), Numbers()):
            for options in ({"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {}):
                loader = data.DataLoader(dataset, **(options or {"batch_size": None}))
                own = Round(loader)
                batches = [each.tolist() if hasattr(each, "tolist") else each for each in own]
                log.append((batches, own._num_yielded, own._dataset_kind))
                log.append(isinstance(iter(loader), private._BaseDataLoaderIter))
                own._reset(loader)
                log.append(own._num_yielded)
        return log

    assert outcome(compat) == outcome(torch)
