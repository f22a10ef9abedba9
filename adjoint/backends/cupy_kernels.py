"""Kernels on CuPy's arrays: compiled at their first call, and launched with little ado."""

import ctypes
import struct
from typing import Any, Final

import cupy
import numpy as np
from cupy_backends.cuda.api import driver

from adjoint.backends.loops.cuda import (
    COLUMN,
    EACH,
    NUMBER,
    ROW,
    SINGLE,
    STORED,
    TABLE,
    THREADS,
    Printed,
    step_text,
)
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

    def __init__(self, text: str, layout: str, options: tuple[str, ...] = ()) -> None:
        module = cupy.RawModule(code=text, options=(*OPTIONS, *options))
        self.function = module.get_function("kernel").kernel
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
        like = _largest(args, count)
        if like is None:
            return None
        dtype, shape = like.dtype, like.shape
        kind = TYPES.get(dtype)
        if kind is None or (_SEVERAL and not _is_here(args)):
            return None
        if not self.halves and dtype.itemsize == 2:
            return None
        order = "C"
        # Private, but read in a fifth of the time that flags take.
        if not like._c_contiguous and like._f_contiguous:  # noqa: SLF001
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
            ordered = arg._c_contiguous if order == "C" else arg._f_contiguous  # noqa: SLF001
            if arg.shape == shape and ordered:
                pattern += EACH
                bits |= pointer
            elif _is_single(arg, shape):
                pattern += SINGLE
            else:
                found, width = _spread(arg, shape) if order == "C" else ("", 0)
                if not found:
                    return None
                pattern += found
                values.append(width)
                if found == ROW:
                    bits |= pointer
                if width * dtype.itemsize & ALIGNED:  # 16 bytes would reach into the next row
                    bits |= 1
        out = NDARRAY(shape, BOOL if self.truth else dtype, order=order)
        if out.size:
            for number in args[count:]:
                values.append(float(number))
            self._launch(kind, pattern, 1 if bits & ALIGNED else STORED[kind][2], values, out)
        return out

    def _launch(self, kind: str, pattern: str, together: int, values: list[Any], out: Any) -> None:
        """Queue the kernel for arguments that lie so; it is compiled first if it was not yet."""
        key = (kind, pattern, together, current_device() if _SEVERAL else 0)
        launch = self.launches.get(key)
        if launch is None:
            launch = self.launches[key] = self._compiled(kind, pattern, together)
        size = out.size
        values.append(out.data.ptr)
        values.append(size)
        launch(-(-size // (THREADS * together)), values)

    def _compiled(self, kind: str, pattern: str, together: int) -> Launch:
        text = self.texts["float64" if kind == "float64" else "float32"]
        return Launch(text.kernel(kind, pattern, together), text.layout(pattern))


def _largest(args: tuple[Any, ...], count: int) -> Any:
    """The array among the first arguments whose shape the result has; None if there is none."""
    like: Any = None
    for i in range(count):
        arg = args[i]
        if type(arg) is NDARRAY:
            if like is None or arg.size > like.size or arg.ndim > like.ndim:
                like = arg
    return like


def _is_here(args: tuple[Any, ...]) -> bool:
    """Whether all arrays are on the current device."""
    here = current_device()
    return all(arg.data.device_id == here for arg in args if type(arg) is NDARRAY)


def _spread(arg: Any, shape: tuple[int, ...]) -> tuple[str, int]:
    """How an array in order is seen by all of a shape, and the length of a row; "" if it is not."""
    own = arg.shape
    if not arg._c_contiguous or not own:  # noqa: SLF001  as above
        return "", 0
    if own == shape[len(shape) - len(own) :]:
        return ROW, arg.size
    if own[-1] == 1 and own[:-1] == shape[:-1]:
        return COLUMN, shape[-1]
    return "", 0


def _is_single(arg: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array has one element, which all of a shape see."""
    if arg.ndim > len(shape):
        return False
    if arg.size == 1:
        return True
    if arg.shape != shape:
        return False
    return not any(step for step, length in zip(arg.strides, shape) if length != 1)


class StepKernel:
    """The rule of an optimizer on many parameters: the calls that launch it."""

    def __init__(self, notes: Any, operands: int, numbers: int) -> None:
        self.notes = notes
        self.operands = operands
        self.numbers = numbers
        self.size = TABLE * (operands + 1) * 8  # of the table among a kernel's arguments
        self.compiled: dict[Any, Any] = {}

    def takes(self, arrays: list[Any]) -> bool:
        """Whether it can work on a parameter, its gradient and its state as they lie."""
        first = arrays[0]
        if type(first) is not NDARRAY or first.dtype not in TYPES:
            return False
        if any(type(a) is not NDARRAY or a.dtype != first.dtype for a in arrays):
            return False
        if _SEVERAL and not _is_here(tuple(arrays)):
            return False
        rows = all(a.flags.c_contiguous for a in arrays)
        return rows or all(a.flags.f_contiguous for a in arrays)

    def calls(self, parameters: list[list[Any]], numbers: Any) -> list[tuple[Any, ...]]:
        """What is to be called for parameters of one type; numbers may lie on the device."""
        kind = TYPES[parameters[0][0].dtype]
        kept = type(numbers) is NDARRAY
        key = (kind, kept, current_device())
        function = self.compiled.get(key)
        if function is None:
            text = step_text(self.notes, self.operands, self.numbers, kind, kept)
            module = cupy.RawModule(code=text, options=OPTIONS)
            function = self.compiled[key] = module.get_function("kernel").kernel
        if kept:
            second = struct.pack("Q", numbers.data.ptr)
        else:
            second = struct.pack(f"{len(numbers)}d", *numbers) or bytes(8)
        return [
            self._call(function.ptr, parameters[start : start + TABLE], second)
            for start in range(0, len(parameters), TABLE)
        ]

    def _call(self, handle: int, some: list[list[Any]], second: bytes) -> tuple[Any, ...]:
        """The call for as many parameters as a table has room for."""
        addresses = [array.data.ptr for arrays in some for array in arrays]
        addresses += [0] * (TABLE * self.operands - len(addresses))
        sizes = [arrays[0].size for arrays in some]
        blocks = min(1024, max(1, -(-max(sizes) // (THREADS * 4))))
        sizes += [0] * (TABLE - len(sizes))
        memory = _Arguments(struct.pack(f"{self.size // 8}Q", *addresses, *sizes), second)
        stream = current_stream().ptr
        given = (handle, blocks, len(some), 1, THREADS, 1, 1, 0, stream, memory.places, 0)
        return (_launched, memory, given)


class _Arguments:
    """The two arguments of such a kernel, and where a launch finds them."""

    __slots__ = ("memory", "places", "pointers")

    def __init__(self, table: bytes, second: bytes) -> None:
        self.memory = ctypes.create_string_buffer(table + second, len(table) + len(second))
        start = ctypes.addressof(self.memory)
        self.pointers = (ctypes.c_void_p * 2)(start, start + len(table))
        self.places = ctypes.addressof(self.pointers)


def _launched(memory: _Arguments, given: tuple[Any, ...]) -> None:
    """Launch a kernel with arguments that lie in memory, which is held until then."""
    launch_kernel(*given)
