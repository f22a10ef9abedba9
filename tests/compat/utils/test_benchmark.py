"""torch.utils.benchmark: a Timer and what it measured."""

import pytest

from adjoint.compat.torch.utils import benchmark


def test_timer():
    calls = []
    timer = benchmark.Timer("f(1)", globals={"f": calls.append}, label="append")
    found = timer.timeit(100)
    assert len(calls) >= 100 and found.number_per_run == 100
    assert found.mean == found.median > 0 and "append" in repr(found)
    ranged = timer.blocked_autorange(min_run_time=0.001)
    assert len(ranged.times) == len(ranged.raw_times) >= 1 and sum(ranged.raw_times) >= 0.001


def test_timer_of_another_language():
    with pytest.raises(ValueError, match="Python"):
        benchmark.Timer("f();", language="c++")
