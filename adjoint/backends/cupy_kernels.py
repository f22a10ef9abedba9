"""Kernels on CuPy's arrays: compiled at their first call, and launched with little ado."""

import ctypes
import struct
from typing import Any, Final

import cupy
import numpy as np
from cupy_backends.cuda.api import driver

from adjoint.backends.loops.cuda import EACH, NUMBER, SINGLE, STORED, THREADS, Printed
from adjoint.dtypes import bfloat16, float16, float32, float64

NDARRAY: Final[Any] = cupy.ndarray
BOOL: Final = np.dtype(bool)
OPTIONS: Final = ("--std=c++17", "--fmad=false")  # each step is rounded as NumPy's is
TYPES: Final[dict[Any, str]] = {
    kind.numpy_dtype: kind.name for kind in (float16, bfloat16, float32, float64) if kind
}
ALIGNED: Final = 15  # bits of an address that are zero where 16 bytes can be read at once

launch_kernel: Final[Any] = driver.launchKernel
current_stream: Final[Any] = cupy.cuda.get_current_stream
current_device: Final[Any] = cupy.cuda.runtime.getDevice
_SEVERAL: Final = cupy.cuda.is_available() and cupy.cuda.runtime.getDeviceCount() > 1


class Launch:
    """A compiled kernel, and memory to put its arguments in."""

    def __init__(self, text: str, layout: str) -> None:
        self.function = cupy.RawModule(code=text, options=OPTIONS).get_function("kernel").kernel
        self.handle: int = self.function.ptr
        packing = struct.Struct(layout)
        self.count = len(layout)
        self.pack = packing.pack_into
        self.free: list[tuple[bytearray, int]] = []  # taken while a thread launches

    def __call__(self, blocks: int, values: list[Any], threads: int = THREADS) -> None:
        """Queue it with these arguments, addresses and numbers."""
        memory, addresses = self.free.pop() if self.free else self._memory()
        self.pack(memory, 0, *values)
        launch_kernel(
            self.handle, blocks, 1, 1, threads, 1, 1, 0, current_stream().ptr, addresses, 0
        )
        self.free.append((memory, addresses))

    def _memory(self) -> tuple[bytearray, int]:
        """Room for the arguments, and behind them for their addresses."""
        memory = bytearray(16 * self.count)
        start = ctypes.addressof((ctypes.c_char * len(memory)).from_buffer(memory))
        places = [start + 8 * i for i in range(self.count)]
        struct.pack_into(f"{self.count}Q", memory, 8 * self.count, *places)
        return memory, start + 8 * self.count


class Kernel:
    """An expression on arrays and numbers, by one kernel for each way in which they may lie."""

    def __init__(self, texts: dict[str, Printed]) -> None:
        self.texts = texts  # by "float32" and "float64"
        self.truth = bool(texts["float32"].result)
        self.halves = texts["float32"].halves
        self.count = texts["float32"].arrays
        self.launches: dict[Any, Launch] = {}

    def __call__(self, *args: Any) -> Any:
        """The result, in an array of its own; None if the arguments are not such as it takes."""
        count = self.count
        like: Any = None
        for i in range(count):
            arg = args[i]
            if type(arg) is NDARRAY:
                if like is None or arg.size > like.size or arg.ndim > like.ndim:
                    like = arg
        if like is None:
            return None
        dtype, shape = like.dtype, like.shape
        kind = TYPES.get(dtype)
        if kind is None or (_SEVERAL and not _is_here(args)):
            return None
        if not self.halves and dtype.itemsize == 2:
            return None
        order = "C"
        if not like._c_contiguous and like._f_contiguous:
            order = "F"
        values: list[Any] = []
        pattern = ""
        bits = 0
        for i in range(count):
            arg = args[i]
            if type(arg) is not NDARRAY:
                pattern += NUMBER
                values.append(float(arg))
                continue
            if arg.dtype != dtype:
                return None
            pointer = arg.data.ptr
            values.append(pointer)
            ordered = arg._c_contiguous if order == "C" else arg._f_contiguous
            if arg.shape == shape and ordered:
                pattern += EACH
                bits |= pointer
            elif _is_single(arg, shape):
                pattern += SINGLE
            else:
                return None
        out = NDARRAY(shape, BOOL if self.truth else dtype, order=order)
        size = out.size
        if size:
            target = out.data.ptr
            together = 1 if bits & ALIGNED else STORED[kind][2]
            key = (kind, pattern, together, current_device() if _SEVERAL else 0)
            launch = self.launches.get(key)
            if launch is None:
                launch = self.launches[key] = self._compiled(kind, pattern, together)
            for number in args[count:]:
                values.append(float(number))
            values.append(target)
            values.append(size)
            launch(-(-size // (THREADS * together)), values)
        return out

    def _compiled(self, kind: str, pattern: str, together: int) -> Launch:
        text = self.texts["float64" if kind == "float64" else "float32"]
        return Launch(text.kernel(kind, pattern, together), text.layout(pattern))


def _is_here(args: tuple[Any, ...]) -> bool:
    """Whether all arrays are on the current device."""
    here = current_device()
    return all(arg.data.device_id == here for arg in args if type(arg) is NDARRAY)


def _is_single(arg: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array has one element, which all of a shape see."""
    if arg.ndim > len(shape):
        return False
    if arg.size == 1:
        return True
    if arg.shape != shape:
        return False
    return not any([step for step, length in zip(arg.strides, shape) if length != 1])
