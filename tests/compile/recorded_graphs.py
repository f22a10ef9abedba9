"""What adjoint.backends.cupy_graphs is, for a machine without a GPU: NumPy's calls, recorded.

An array of this library is NumPy's memory in a class of its own, on the device cuda. While a graph
is captured each call on such arrays is noted with the memory it reads and writes; a launch makes
the calls of a part again, on the same memory. What capturing itself computed is taken back.
"""

import sys
from typing import Any

import numpy as np

from adjoint import backends
from adjoint.backends import Backend
from adjoint.backends.numpy import host
from adjoint.device import device

CUDA = device("cuda", 0)
UNKNOWN = 77  # what memory for fractions holds that nobody has written to


class State:
    """The graph that is captured, and for whom; whether a call inside another is under way."""

    graph: Any = None
    owner: Any = None
    inside = False


class Recorded(np.ndarray):
    """An array whose calls are noted."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return noted(getattr(ufunc, method), *args, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return noted(function, *args, **kwargs)


def _method(name: str) -> Any:
    function = getattr(np.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return noted(function, self, *args, **kwargs)

    return call


_OWN = ("view", "item", "tolist", "tobytes", "dump", "dumps")
for _name in dir(np.ndarray):
    if _name in ("__getitem__", "__setitem__") or (
        not _name.startswith("_") and callable(getattr(np.ndarray, _name)) and _name not in _OWN
    ):
        setattr(Recorded, _name, _method(_name))


def plain(value: Any) -> Any:
    """NumPy's own arrays in the place of recorded ones."""
    if isinstance(value, Recorded):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def leaves(value: Any) -> list[Any]:
    """The arrays in a nest."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [a for each in value for a in leaves(each)] if isinstance(value, (list, tuple)) else []


def shown(value: Any) -> Any:
    """What NumPy answers as arrays of this library."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).view(Recorded)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(shown, value))
    return value


def root(array: Any) -> Any:
    """The array that has the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def unknown(shape: Any, dtype: Any) -> Any:
    """An array that nobody has written to; its whole numbers are indices of anything."""
    return np.full(shape, 0 if dtype.kind in "biu" else UNKNOWN).astype(dtype)


def noted(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function answers; a graph that is captured notes the call."""
    if State.inside:
        return function(*plain(list(args)), **plain(kwargs))
    given, named = plain(list(args)), plain(kwargs)
    graph = State.graph
    if graph is not None:
        graph.see(leaves([given, named]))
    State.inside = True
    try:
        with np.errstate(all="ignore"):
            found = function(*given, **named)
    finally:
        State.inside = False
    if isinstance(found, np.generic):
        found = np.asarray(found)
    if graph is not None:
        graph.note(function, given, named, found)
    return shown(found)


class Recording:
    """NumPy's functions on these arrays."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(host, name)
        if not callable(found) or isinstance(found, type):
            return found
        return lambda *args, **kwargs: noted(found, *args, **kwargs)

    library = np

    def valued(self) -> bool:
        return True

    def readable(self, waiting: bool = False) -> bool:
        return waiting

    def are_indices(self, numbers: Any) -> bool:
        return bool(numbers.dtype == "int64")

    def drawn(self, draw: Any, shape: Any, *parameters: Any) -> Any:
        if State.owner is not None:
            return State.owner.drawn(draw, tuple(shape), parameters)
        return noted(host.drawn, draw, shape, *parameters)

    def flips(self, generator: Any, shape: Any, p: float) -> None:
        return None

    def memory(self, array: Any) -> Any:
        return None


class StepKernel:
    """The rule of an optimizer, noted call by call, on many parameters."""

    def __init__(self, notes: Any, operands: int) -> None:
        self.notes = notes
        self.operands = operands

    def takes(self, arrays: list[Any]) -> bool:
        return all(type(array) is Recorded for array in arrays)

    def calls(self, parameters: list[list[Any]], numbers: Any) -> list[tuple[Any, ...]]:
        return [(noted, self.run, arrays, numbers) for arrays in parameters]

    def run(self, arrays: list[Any], numbers: Any) -> None:
        known = {place: array.copy() for place, array in enumerate(arrays)}
        kind = arrays[0].dtype.type
        for name, out, *places in self.notes:
            values = [kind(numbers[-p - 1]) if p < 0 else known[p] for p in places]
            if name == "masked":
                known[out] = np.where(values[1], values[0], known[out])
            else:
                known[out] = getattr(np, name)(*values)
        for place, array in enumerate(arrays):
            array[...] = known[place]


class RecordedBackend(Backend):
    """Arrays of NumPy that say they are on a GPU."""

    name = "recorded"
    libraries = ("numpy",)
    device_type = "cuda"
    array_type = Recorded
    xp = Recording()

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        if isinstance(value, Recorded) and numpy_dtype in (None, value.dtype):
            return value
        return noted(np.array, value, numpy_dtype)

    def to_numpy(self, array: Any) -> Any:
        return np.array(array.view(np.ndarray))

    def from_numpy(self, array: Any, where: device) -> Any:
        if State.graph is not None:
            raise RefusedError("values of the host")
        return np.array(array).view(Recorded)

    def device(self, array: Any) -> device:
        return CUDA

    def launches(self, numpy_dtype: Any) -> bool:
        return False

    def step_kernel(self, notes: Any, operands: int, numbers: int) -> Any:
        return StepKernel(notes, operands)

    def shares_memory(self, array: Any, source: Any) -> bool:
        return root(array) is root(source)

    def copy(self, array: Any) -> Any:
        return noted(np.array, array, order="C")


backend = RecordedBackend()
backends.register(backend, Recorded)


class RefusedError(Exception):
    """What a function does can't be captured."""


class Graph:
    """The calls of each part, and the memory they work on."""

    def __init__(self) -> None:
        self.parts: list[list[Any]] = []
        self.own: dict[int, Any] = {}  # arrays that have memory of the graph, by their ids
        self.before: dict[int, Any] = {}  # those from outside, and what they held

    def owns(self, array: Any) -> bool:
        return isinstance(array, np.ndarray) and id(root(array)) in self.own

    def room(self, shape: Any, dtype: Any) -> Any:
        made = unknown(shape, np.dtype(dtype))
        self.own[id(made)] = made
        return made.view(Recorded)

    def see(self, arrays: list[Any]) -> None:
        for array in map(root, arrays):
            if id(array) not in self.own and id(array) not in self.before:
                self.before[id(array)] = (array, array.copy())

    def note(self, function: Any, args: Any, kwargs: Any, found: Any) -> None:
        known = [id(root(array)) for array in leaves([args, kwargs])]
        made = [array for array in leaves(found) if id(root(array)) not in known]
        for array in map(root, made):
            self.own[id(array)] = array
        self.parts[-1].append((function, args, kwargs, found, made))

    def capture(self, function: Any, owner: Any) -> Any:
        self.parts.append([])
        State.graph, State.owner = self, owner
        try:
            return function()
        finally:
            State.graph = State.owner = None
            for array, values in self.before.values():
                array[...] = values
            for array in self.own.values():  # nothing was computed yet
                array[...] = unknown(array.shape, array.dtype)

    def part(self) -> None:
        self.parts.append([])

    def launch(self, number: int) -> None:
        with np.errstate(all="ignore"):
            for function, args, kwargs, found, made in self.parts[number]:
                again = function(*args, **kwargs)
                for old, new in zip(leaves(found), leaves(again) or [again], strict=False):
                    if any(old is each for each in made):
                        old[...] = new


def fill(to: Any, values: Any) -> None:
    """Bring values to where a graph reads them."""
    to.view(np.ndarray)[...] = plain(values)


def copied(array: Any) -> Any:
    """What a graph has written, in memory of its own."""
    return np.array(array.view(np.ndarray)).view(Recorded)


def install() -> None:
    """Stand in for the real one."""
    sys.modules["adjoint.backends.cupy_graphs"] = sys.modules[__name__]
    backends.cupy_graphs = sys.modules[__name__]  # type: ignore[attr-defined]
