"""Loaders and their workers: order, seeds, errors, ends."""

import gc
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)

WORKERS = [0, 1, 2]
with_workers = pytest.mark.parametrize("num_workers", WORKERS)


class Squares(Dataset):
    """i and i * i; `act` happens at one index."""

    def __init__(self, size: int = 10, at: int = -1, act: Any = None) -> None:
        self.size = size
        self.at = at
        self.act = act

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        if index == self.at:
            self.act()
        return index, adjoint.tensor(float(index * index))


class Count(IterableDataset):
    """Numbers, shared out between workers."""

    def __init__(self, stop: int = 11) -> None:
        self.stop = stop

    def __iter__(self) -> Any:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from range(first, self.stop, step)

    def __len__(self) -> int:
        return self.stop


class Random(Dataset):
    """What each generator draws, and in which worker."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        where = (-1, -1) if info is None else (info.id, info.seed)
        return adjoint.rand(()).item(), random.random(), float(np.random.rand()), *where  # noqa: NPY002  # seeded too


def refuse() -> None:
    raise LookupError("no such sample")


class Awkward(Exception):
    """It can't be made from a text alone."""

    def __init__(self, one: Any, two: Any) -> None:
        super().__init__(one, two)


def needs_two() -> None:
    raise Awkward(1, 2)


def hides_its_class() -> None:
    class Awkward(Exception):
        pass

    raise Awkward


def end_abruptly() -> None:
    os._exit(3)


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang() -> None:
    time.sleep(1000)


def no_children() -> bool:
    """Whether every worker has gone."""
    gc.collect()
    return multiprocessing.active_children() == []


# ---- what comes, in which order ----


@with_workers
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_come_in_order(num_workers: int, drop_last: bool) -> None:
    loader = DataLoader(Squares(), 4, num_workers=num_workers, drop_last=drop_last)
    found = [(indices.tolist(), squares.tolist()) for indices, squares in loader]
    wanted = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]][: 2 if drop_last else 3]
    assert found == [(batch, [float(i * i) for i in batch]) for batch in wanted]
    assert len(loader) == len(wanted)


@with_workers
def test_without_batches(num_workers: int) -> None:
    loader = DataLoader(Squares(3), batch_size=None, num_workers=num_workers)
    assert [(index, square.item()) for index, square in loader] == [(0, 0.0), (1, 1.0), (2, 4.0)]


@with_workers
def test_an_iterable_dataset(num_workers: int) -> None:
    loader = DataLoader(Count(), 3, num_workers=num_workers)
    batches = [batch.tolist() for batch in loader]
    assert sorted(itertools.chain(*batches)) == list(range(11))
    assert len(loader) == 4
    if num_workers == 2:
        assert batches == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9]]
    short = DataLoader(Count(), 3, num_workers=num_workers, drop_last=True)
    assert all(len(batch) == 3 for batch in short)
    single = DataLoader(Count(3), None, num_workers=num_workers)
    assert sorted(single) == [0, 1, 2]


def test_an_iterable_dataset_that_is_longer_than_it_says() -> None:
    class Liar(Count):
        def __len__(self) -> int:
            return 2

    loader = DataLoader(Liar(4))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        list(loader)


@with_workers
def test_a_collate_function(num_workers: int) -> None:
    loader = DataLoader(Squares(4), 2, num_workers=num_workers, collate_fn=len)
    assert list(loader) == [2, 2]


@with_workers
def test_samplers(num_workers: int) -> None:
    reverse = DataLoader(Squares(4), 3, sampler=[3, 2, 1, 0], num_workers=num_workers)
    assert [batch[0].tolist() for batch in reverse] == [[3, 2, 1], [0]]
    uneven = DataLoader(Squares(4), batch_sampler=[[1], [2, 3, 0]], num_workers=num_workers)
    assert [batch[0].tolist() for batch in uneven] == [[1], [2, 3, 0]]


@with_workers
def test_shuffling_follows_the_generator(num_workers: int) -> None:
    def order() -> list[int]:
        generator = adjoint.Generator().manual_seed(3)
        loader = DataLoader(
            Squares(), 2, shuffle=True, generator=generator, num_workers=num_workers
        )
        return [i for batch in loader for i in batch[0].tolist()]

    first = order()
    assert sorted(first) == list(range(10)) and first != list(range(10))
    assert order() == first


def test_several_samples_at_once() -> None:
    class Several(Squares):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [-index for index in indices]

    assert [batch.tolist() for batch in DataLoader(Several(3), 2)] == [[0, -1], [-2]]


def test_results_may_come_as_they_are_ready() -> None:
    dataset = Squares(8, 0, lambda: time.sleep(0.5))
    ready = DataLoader(dataset, 1, num_workers=2, in_order=False, prefetch_factor=1)
    found = [batch[0].item() for batch in ready]
    assert sorted(found) == list(range(8)) and found[0] != 0


def test_prefetching_on_demand_only() -> None:
    loader = DataLoader(Squares(5), 2, num_workers=1, prefetch_factor=0)
    assert [batch[0].tolist() for batch in loader] == [[0, 1], [2, 3], [4]]


def test_large_batches_pass_through() -> None:
    dataset = TensorDataset(adjoint.arange(400_000.0).reshape(4, 100_000))
    loader = DataLoader(dataset, 2, num_workers=2)
    assert [batch[0][:, 0].tolist() for batch in loader] == [[0.0, 1e5], [2e5, 3e5]]


def test_workers_may_be_started_afresh() -> None:
    loader = DataLoader(Squares(3), 2, num_workers=1, multiprocessing_context="spawn")
    assert [batch[0].tolist() for batch in loader] == [[0, 1], [2]]


def test_a_loader_pickles_but_its_iterator_does_not() -> None:
    loader = pickle.loads(pickle.dumps(DataLoader(Squares(3), 2)))
    assert [batch[0].tolist() for batch in loader] == [[0, 1], [2]]
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(loader))


# ---- seeds ----


def test_each_worker_has_its_seed() -> None:
    def rows(seed: int) -> list[Any]:
        generator = adjoint.Generator().manual_seed(seed)
        loader = DataLoader(Random(), 1, num_workers=2, generator=generator)
        return [tuple(part.item() for part in batch) for batch in loader]

    found = rows(5)
    assert rows(5) == found and rows(6) != found
    seeds = {worker: seed for *_, worker, seed in found}
    assert seeds[1] == seeds[0] + 1
    for column in range(3):
        assert len({row[column] for row in found}) == len(found)
    first = next(row for row in found if row[3] == 0)
    adjoint.manual_seed(seeds[0])
    assert adjoint.rand(()).item() == pytest.approx(first[0])


def test_the_main_process_is_no_worker() -> None:
    assert get_worker_info() is None
    assert [batch[3].tolist() for batch in DataLoader(Random(), 4)] == [[-1] * 4] * 2


def note_worker(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    info.dataset.size = 100 + worker


class Size(Squares):
    def __getitem__(self, index: int) -> int:
        return self.size


def test_a_function_runs_first_in_each_worker() -> None:
    loader = DataLoader(Size(4), 1, num_workers=2, worker_init_fn=note_worker)
    assert [batch.item() for batch in loader] == [100, 101, 100, 101]


# ---- what goes wrong ----


@with_workers
def test_errors_reach_the_caller(num_workers: int) -> None:
    loader = DataLoader(Squares(6, 3, refuse), 2, num_workers=num_workers)
    found = iter(loader)
    assert next(found)[0].tolist() == [0, 1]
    with pytest.raises(LookupError, match="no such sample") as caught:
        next(found)
    if num_workers:
        assert "in DataLoader worker process" in str(caught.value)
        assert "in refuse" in str(caught.value)
    assert next(found)[0].tolist() == [4, 5]
    del found, caught
    assert no_children()


@pytest.mark.parametrize("act", [needs_two, hides_its_class])
def test_errors_that_can_not_be_made_again(act: Any) -> None:
    loader = DataLoader(Squares(2, 0, act), num_workers=1)
    with pytest.raises(RuntimeError, match="Caught Awkward in DataLoader worker process 0"):
        list(loader)


def test_a_key_error_shows_its_lines() -> None:
    def miss() -> None:
        raise KeyError("colour")

    with pytest.raises(KeyError) as caught:
        list(DataLoader(Squares(2, 0, miss), num_workers=1))
    assert "\n" in str(caught.value) and "colour" in str(caught.value)


def test_an_error_of_the_first_function() -> None:
    def fail(worker: int) -> None:
        raise ArithmeticError(f"worker {worker} is not well")

    with pytest.raises(ArithmeticError, match="worker 0 is not well"):
        list(DataLoader(Squares(2), num_workers=1, worker_init_fn=fail))


def test_a_sample_that_can_not_be_sent() -> None:
    loader = DataLoader(Squares(1), None, num_workers=1, collate_fn=lambda data: lambda: data)
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        list(loader)


@pytest.mark.parametrize(("act", "code"), [(end_abruptly, "3"), (be_killed, "-9")])
def test_a_worker_that_dies(act: Any, code: str) -> None:
    loader = DataLoader(Squares(6, 4, act), 2, num_workers=2)
    with pytest.raises(RuntimeError, match=f"exited unexpectedly with code {code}"):
        list(loader)
    assert no_children()


def test_a_worker_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjoint.utils.data.dataloader._PATIENCE", 0.1)
    loader = DataLoader(Squares(2, 0, hang), num_workers=1, timeout=0.3)
    with pytest.raises(RuntimeError, match="timed out after 0.3 seconds"):
        list(loader)
    assert no_children()


# ---- how it ends ----


def test_workers_end_with_their_iterator() -> None:
    list(DataLoader(Squares(), 2, num_workers=2))
    assert no_children()
    half = iter(DataLoader(Squares(), 2, num_workers=2))
    next(half)
    del half
    assert no_children()


def test_an_exhausted_iterator_stays_so() -> None:
    found = iter(DataLoader(Squares(2), 2, num_workers=1))
    next(found)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(found)


def new_children(before: list[Any]) -> list[Any]:
    """The processes that were not there before: another test's may be slow to end."""
    return [child for child in multiprocessing.active_children() if child not in before]


def test_persistent_workers_stay() -> None:
    before = multiprocessing.active_children()
    loader = DataLoader(Squares(), 2, num_workers=2, persistent_workers=True)
    wanted = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert [batch[0].tolist() for batch in loader] == wanted
    workers = {child.pid for child in new_children(before)}
    assert len(workers) == 2
    next(iter(loader))  # the rest of this round is dropped
    assert [batch[0].tolist() for batch in loader] == wanted
    assert {child.pid for child in new_children(before)} == workers
    del loader
    assert new_children(before) == []


def test_persistent_workers_of_an_iterable_dataset() -> None:
    loader = DataLoader(Count(), 3, num_workers=2, persistent_workers=True)
    rounds = [[batch.tolist() for batch in loader] for _ in range(3)]
    assert rounds[0] == rounds[1] == rounds[2]
    assert sorted(itertools.chain(*rounds[0])) == list(range(11))


def test_persistent_workers_are_replaced_when_one_has_died() -> None:
    before = multiprocessing.active_children()
    loader = DataLoader(Squares(4), 2, num_workers=1, persistent_workers=True)
    list(loader)
    (worker,) = new_children(before)
    worker.kill()
    worker.join()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)
    assert [batch[0].tolist() for batch in loader] == [[0, 1], [2, 3]]


def run(program: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


PROGRAM = """
    import multiprocessing, sys, time
    from adjoint.utils.data import DataLoader
    found = iter(DataLoader(range(100), 2, num_workers=2))
    next(found)
    print(*[child.pid for child in multiprocessing.active_children()], flush=True)
    if sys.argv[1] == "wait":
        time.sleep(1000)
"""


def gone(pid: int) -> bool:
    """Whether a process has ended, or only waits to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return state.rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("end", ["exit", "wait"])
def test_workers_outlive_no_parent(end: str) -> None:
    """Whether it returns or is killed, in the middle of a round."""
    parent = run(PROGRAM, end)
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    if end == "wait":
        parent.kill()
    _, errors = parent.communicate()
    assert errors == ""
    while not all(gone(pid) for pid in workers):  # the test's own limit ends a wait for ever
        time.sleep(0.05)


# ---- samplers and splits ----


def test_random_samplers() -> None:
    generator = adjoint.Generator().manual_seed(1)
    once = list(RandomSampler(range(10), generator=generator))
    assert sorted(once) == list(range(10))
    assert list(RandomSampler(range(10), generator=adjoint.Generator().manual_seed(1))) == once
    assert sorted(RandomSampler(range(3), num_samples=7)) != []
    assert len(list(RandomSampler(range(3), num_samples=7))) == 7
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=70))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2}
    with pytest.raises(ValueError, match="empty"):
        next(iter(RandomSampler([], num_samples=2)))
    adjoint.manual_seed(4)
    first = list(RandomSampler(range(10)))
    assert list(RandomSampler(range(10))) != first
    adjoint.manual_seed(4)
    assert list(RandomSampler(range(10))) == first


def test_subset_and_weighted_samplers() -> None:
    assert sorted(SubsetRandomSampler([4, 7, 9])) == [4, 7, 9]
    drawn = list(WeightedRandomSampler([0.0, 1.0, 3.0], 200))
    assert len(drawn) == 200 and set(drawn) == {1, 2}
    assert drawn.count(2) > drawn.count(1)
    assert sorted(WeightedRandomSampler([1.0, 0.0, 1.0], 2, replacement=False)) == [0, 2]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_replicas_share_the_data(shuffle: bool, drop_last: bool) -> None:
    parts = [
        DistributedSampler(range(10), 4, rank, shuffle, drop_last=drop_last) for rank in range(4)
    ]
    lists = [list(part) for part in parts]
    assert {len(part) for part in lists} == {2 if drop_last else 3}
    together = list(itertools.chain(*lists))
    assert len(set(together)) == (8 if drop_last else 10)
    parts[0].set_epoch(1)
    assert (list(parts[0]) != lists[0]) is shuffle
    with pytest.raises(RuntimeError, match="num_replicas and rank"):
        DistributedSampler(range(3))


def test_a_random_split_is_a_partition() -> None:
    parts = random_split(range(10), [0.5, 0.25, 0.25], adjoint.Generator().manual_seed(0))
    assert [len(part) for part in parts] == [6, 2, 2]
    assert sorted(itertools.chain(*(part.indices for part in parts))) == list(range(10))
    again = random_split(range(10), [6, 2, 2], adjoint.Generator().manual_seed(0))
    assert [part.indices for part in again] == [part.indices for part in parts]
    assert parts[0][0] == parts[0].indices[0]


# ---- refusals ----


@pytest.mark.parametrize(
    "attribute",
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"],
)
def test_a_loader_is_fixed_once_made(attribute: str) -> None:
    loader = DataLoader(Squares())
    with pytest.raises(ValueError, match=f"{attribute} attribute should not be set"):
        setattr(loader, attribute, None)


def test_too_many_workers_are_worth_a_warning() -> None:
    with pytest.warns(UserWarning, match="will create 10000 worker processes"):
        DataLoader(Squares(), num_workers=10000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DataLoader(Squares(), num_workers=1)


def test_collating_what_has_no_batch() -> None:
    with pytest.raises(TypeError, match="collate_fn"):
        default_collate([object()])
    point = namedtuple("point", "x y")
    assert default_collate([point(1, 2.0), point(3, 4.0)]).x.tolist() == [1, 3]


def test_batches_of_a_sampler() -> None:
    assert list(BatchSampler(SequentialSampler(range(5)), 2, False)) == [[0, 1], [2, 3], [4]]
    assert len(BatchSampler(SequentialSampler(range(5)), 2, True)) == 2


def test_a_loader_that_fetches_batches_whole():
    """By PyTorch's private names, which programs override."""

    class Whole(DataLoader):
        @property
        def _auto_collation(self):
            return False

        @property
        def _index_sampler(self):
            return self.batch_sampler

    class Squares(Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return [i * i for i in index]

    loader = Whole(Squares(), batch_size=2, collate_fn=lambda batch: batch)
    assert list(loader) == [[0, 1], [4, 9], [16]]


def test_a_loader_with_rounds_of_its_own():
    class Twice(DataLoader):
        def _get_iterator(self):
            return itertools.chain(super()._get_iterator(), super()._get_iterator())

    assert len(list(Twice(list(range(3)), batch_size=3))) == 2
