"""torch.multiprocessing: Python's own, which sends tensors too, and spawn.

Tensors are sent as copies: there is no memory that processes share.
"""

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403  # all its names are PyTorch's too
from multiprocessing.connection import wait
from typing import Any

_STRATEGIES = {"file_descriptor", "file_system"}
_chosen = {"strategy": "file_descriptor"}


class ProcessRaisedException(Exception):  # noqa: N818  # PyTorch's name
    """One of the processes that spawn began ended with an exception."""


class ProcessExitedException(Exception):  # noqa: N818  # PyTorch's name
    """One of the processes that spawn began ended with an exit code."""


def get_all_sharing_strategies() -> set[str]:
    """The ways in which PyTorch shares memory; here they are only names."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """What set_sharing_strategy was last given."""
    return _chosen["strategy"]


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembered, and changes nothing: tensors are sent as copies."""
    if new_strategy not in _STRATEGIES:
        raise ValueError(f"unknown sharing strategy {new_strategy!r}: one of {_STRATEGIES}")
    _chosen["strategy"] = new_strategy


def _begin(function: Callable[..., Any], number: int, args: tuple[Any, ...], errors: Any) -> None:
    """What runs in each process: the function, and a message if it fails."""
    try:
        function(number, *args)
    except Exception as error:
        errors.put((number, f"{error!r}\n{traceback.format_exc()}"))
        raise SystemExit(1) from error


class SpawnContext:
    """The processes of one spawn; `join` waits for them."""

    def __init__(self, processes: list[Any], errors: Any) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait; when one process fails, end the others and raise. True when all are done."""
        sentinels = {process.sentinel: process for process in self.processes if process.is_alive()}
        while sentinels:
            done = wait(list(sentinels), timeout)
            if not done:
                return False
            for sentinel in done:
                process = sentinels.pop(sentinel)
                process.join()
                if process.exitcode:
                    self._fail(process)
        failed = [process for process in self.processes if process.exitcode]
        if failed:
            self._fail(failed[0])
        return True

    def _fail(self, process: Any) -> None:
        for other in self.processes:
            if other.is_alive():
                other.terminate()
            other.join()
        number = self.processes.index(process)
        if not self._errors.empty():
            number, message = self._errors.get()
            raise ProcessRaisedException(f"process {number} of spawn failed: {message}")
        raise ProcessExitedException(
            f"process {number} of spawn ended with exit code {process.exitcode}"
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> SpawnContext | None:
    """Run fn(number, *args) in several processes, and wait for them unless told not to."""
    context: Any = multiprocessing.get_context(start_method)
    errors = context.SimpleQueue()
    processes = []
    for number in range(nprocs):
        process = context.Process(target=_begin, args=(fn, number, args, errors), daemon=daemon)
        process.start()
        processes.append(process)
    begun = SpawnContext(processes, errors)
    if not join:
        return begun
    begun.join()
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> SpawnContext | None:
    """Run fn(number, *args) in processes that begin anew, and wait for them."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
