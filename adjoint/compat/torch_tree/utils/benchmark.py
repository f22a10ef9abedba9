"""torch.utils.benchmark: how long a statement takes."""

import timeit
from statistics import mean, median
from typing import Any


class Measurement:
    """The times of several runs of a statement, in seconds for one execution."""

    def __init__(self, label: str, number_per_run: int, raw_times: list[float]) -> None:
        self.label = label
        self.number_per_run = number_per_run
        self.raw_times = raw_times

    @property
    def times(self) -> list[float]:
        """The time of one execution, in each run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        """Their mean."""
        return mean(self.times)

    @property
    def median(self) -> float:
        """Their median."""
        return median(self.times)

    def __repr__(self) -> str:
        return (
            f"{self.label}\n  {self.median * 1e6:.2f} us (median of {len(self.raw_times)} runs, "
            f"{self.number_per_run} executions each)"
        )


class Timer:
    """Times a statement of Python; num_threads changes nothing."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Any = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py", "language.python"):
            raise ValueError(f"Timer: only Python is timed, not {language!r}")
        self.label = " ".join(part for part in (label, sub_label, description) if part) or stmt
        self.timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of `number` executions, after a short one to warm up."""
        self.timer.timeit(max(number // 100, 2))
        return Measurement(self.label, number, [self.timer.timeit(number)])

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """As many runs as take min_run_time, each long enough that the clock does not matter."""
        number = 1
        while (took := self.timer.timeit(number)) < min_run_time / 1000:
            number *= 10
        times = [took]
        while sum(times) < min_run_time:
            times.append(self.timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(self.label, number, times)
