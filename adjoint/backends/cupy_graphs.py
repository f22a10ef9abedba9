"""Graphs of CUDA: the work of a function on CuPy, captured once and launched again and again.

While it is captured nothing is computed. It may come in parts, between which the host has its turn.
Its memory comes from a pool of its own, which the graph keeps: what a kernel has written there, the
next one finds there at every launch.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from adjoint.backends.cupy import cupy_backend, under_way
from adjoint.backends.cupy_products import prepare_graphs
from adjoint.backends.cupy_sums import prepare_stream

backend = cupy_backend
_failure: Any = cupy.cuda.runtime.CUDARuntimeError


class RefusedError(Exception):
    """What a function does can't be captured; the message says what CUDA answered."""


class Graph:
    """Captured work, in one part or several, and the memory it works on."""

    def __init__(self) -> None:
        self.pool = cupy.cuda.MemoryPool()
        self.addresses: set[int] = set()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.kept: list[Any] = []  # arrays that are filled before a launch
        self.parts: list[Any] = []

    def _memory(self, size: int) -> Any:
        found = self.pool.malloc(size)
        self.addresses.add(found.mem.ptr)
        return found

    def owns(self, array: Any) -> bool:
        """Whether an array lies in the memory of the graph."""
        if type(array) is not cupy.ndarray or not array.size:
            return False
        return array.data.mem.ptr in self.addresses

    def room(self, shape: Any, dtype: Any) -> Any:
        """An array of the graph for what the host brings before each launch.

        Not from the pool: what the graph puts there meanwhile would take its place.
        """
        with cupy.cuda.using_allocator(cupy.get_default_memory_pool().malloc):
            made = cupy.empty(shape, dtype)
        self.addresses.add(made.data.mem.ptr)
        self.kept.append(made)
        return made

    def capture(self, function: Callable[[], Any], owner: Any) -> Any:
        """Capture what a function does; what it answers."""
        prepare_graphs()
        prepare_stream(self.stream)
        token = under_way.set(owner)
        try:
            with cupy.cuda.using_allocator(self._memory), self.stream:
                self.stream.begin_capture()
                try:
                    answer = function()
                except BaseException:
                    self._abandon()
                    raise
                self.parts.append(self.stream.end_capture())
        except (_failure, NotImplementedError) as error:
            raise RefusedError(str(error)) from error
        finally:
            under_way.reset(token)
        return answer

    def part(self) -> None:
        """End a part while a function is captured; what it does from now on is the next one."""
        self.parts.append(self.stream.end_capture())
        self.stream.begin_capture()

    def _abandon(self) -> None:
        """End a capture that has failed, of which CUDA complains once more."""
        with contextlib.suppress(_failure):
            self.stream.end_capture()

    def launch(self, number: int) -> None:
        """Do the work of a part, on the current stream."""
        self.parts[number].launch(cupy.cuda.get_current_stream())


def fill(room: Any, values: Any) -> None:
    """Bring values of the host, or of another array, to where a graph reads them."""
    if isinstance(values, cupy.ndarray):
        room[...] = values
    else:
        room.set(np.ascontiguousarray(values, room.dtype).reshape(room.shape))


def copied(array: Any) -> Any:
    """What a graph has written, in memory of its own."""
    return array.copy()
