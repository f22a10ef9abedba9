"""Profiles of training loops, under the names of `torch.profiler`: schedules, steps, traces."""

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from adjoint.autograd import profiler
from adjoint.autograd.profiler import (
    EventList,
    record_function as record_function,
    tell_unused,
)
from adjoint.autograd.profiler_events import Results, write_trace


class ProfilerActivity(enum.Enum):
    """What is timed: the calls on the CPU, or with them the work of devices."""

    CPU = enum.auto()
    CUDA = enum.auto()
    XLA = enum.auto()


class ProfilerAction(enum.Enum):
    """What a schedule wants done in a step."""

    NONE = enum.auto()
    WARMUP = enum.auto()
    RECORD = enum.auto()
    RECORD_AND_SAVE = enum.auto()


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Skip some steps, then in cycles wait, warm up and record; `repeat` cycles, 0 for ever.

    With skip_first_wait the first cycle does not wait.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError("schedule: active must be positive, and all other numbers at least 0")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule: steps are counted from 0, got {step}")
        counted = step - skip_first + (wait if skip_first_wait else 0)
        cycle, place = divmod(counted, wait + warmup + active)
        if step < skip_first or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None
) -> Callable[["profile"], None]:
    """An `on_trace_ready` that writes each trace into a directory, under a name of its own."""

    def handle(finished: "profile") -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        target = Path(dir_name)
        target.mkdir(parents=True, exist_ok=True)
        finished.export_chrome_trace(target / f"{worker}.{time.time_ns()}.pt.trace.json")

    return handle


class profile(Results):
    """A profile of the steps that a schedule chooses, or of the whole block without one.

    Call `step()` after each step. When a cycle of the schedule is recorded, or the block ends, the
    results are there, and `on_trace_ready` is called with the profile. With no activity but the
    CPU's, devices are not waited for. `add_metadata` notes a text that traces are to have.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[["profile"], object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = True,
        with_stack: bool = True,
        with_modules: bool = True,
        **unused: Any,
    ) -> None:
        tell_unused("torch.profiler.profile", unused)
        wanted = None if activities is None else set(activities)
        if wanted is not None and not wanted:
            raise ValueError("profile: activities is empty; leave it out to see everything")
        self.schedule = schedule or _always
        self.on_trace_ready = on_trace_ready
        self.options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_modules": with_modules,
            "synchronize": wanted != {ProfilerActivity.CPU},
        }
        self.step_num = 0
        self.metadata: dict[str, Any] = {}
        self.running: profiler.profile | None = None
        self.finished: profiler.profile | None = None
        self.range: record_function | None = None
        self.stepped = schedule is not None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin; with a schedule, with its first step."""
        self._begin_step()

    def stop(self) -> None:
        """End, and hand over what is recorded."""
        self._end_step(save=True)

    def step(self) -> None:
        """A step of the loop is over; the next begins."""
        save = self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1  # before on_trace_ready, which may ask
        self._end_step(save)
        self.stepped = True
        self._begin_step()

    def _begin_step(self) -> None:
        if self.schedule(self.step_num) not in RECORDING:
            return
        if self.running is None:
            self.running = profiler.profile(**self.options)
            self.running.__enter__()
        if self.stepped:
            self.range = record_function(f"ProfilerStep#{self.step_num}")
            self.range.__enter__()

    def _end_step(self, save: bool) -> None:
        if self.range is not None:
            self.range.__exit__()
            self.range = None
        if self.running is None or not save:
            return
        self.running.__exit__()
        self.running, self.finished = None, self.running
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def add_metadata(self, key: str, value: str) -> None:
        """Note a text that traces are to have."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Note a value, written as JSON, that traces are to have."""
        self.metadata[key] = json.loads(value)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace, with what was noted for it."""
        write_trace(path, self.function_events, self.metadata)

    @property
    def function_events(self) -> EventList:
        """Every event of the last recording."""
        if self.finished is None:
            raise RuntimeError("a profile has results when a cycle of its schedule, or it, is over")
        return self.finished.function_events

    def events(self) -> EventList:
        """PyTorch's name for them here."""
        return self.function_events


def _always(step: int) -> ProfilerAction:
    """The schedule of a profile without one."""
    return ProfilerAction.RECORD
