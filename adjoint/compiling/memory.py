"""Whose memory a call writes to: a program is right only if nothing else of it lies there."""

from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.places import Argument, Lifted, Place
from adjoint.tensors.core import NDARRAY, show

_np: Any = numpy_backend.xp
_EFFORT = 10_000  # steps of NumPy's search for an element that two arrays share


def overlap(written: Any, read: Any) -> bool:
    """Whether two arrays of NumPy share an element, or it is too hard to tell."""
    try:
        return bool(_np.shares_memory(written, read, max_work=_EFFORT))
    except _np.exceptions.TooHardError:
        return True


def root_of(array: Any) -> int:
    """The id of what owns the memory of an array."""
    while type(array) is NDARRAY and array.base is not None:
        array = array.base
    return id(array)


class Memory:
    """The tensors that a program was made for as lying apart, looked at where arguments come."""

    def __init__(self, records: list[Lifted], changed: list[Place]) -> None:
        own = [r for r in records if r.index >= 0 and type(r.array) is NDARRAY]
        written = {id(place) for place in changed}
        given = [r.place for r in own if isinstance(r.place, Argument)]
        self.read = [place.number for place in given]
        self.written = [place.number for place in given if id(place) in written]
        # Those that stay: all of them, if an argument is written to.
        steady = [r for r in own if type(r.place) is Place]
        self.fixed = [r.tensor for r in steady if self.written or id(r.place) in written]
        self.looked_at = bool(self.read and written and (self.fixed or len(self.read) > 1))
        self.arrays: list[Any] = [None] * len(self.fixed)
        self.roots: set[int] = set()

    def check(self, arguments: list[Any]) -> None:
        """Raise OutdatedError if something written to is also something else of the program."""
        if not show(self.fixed, self.arrays):
            self.arrays = [tensor.array for tensor in self.fixed]
            self.roots = set(map(root_of, self.arrays))
        roots = [root_of(arguments[number].array) for number in self.read]
        if len(set(roots)) == len(roots) and self.roots.isdisjoint(roots):
            return
        for number in self.read:
            array = arguments[number].array
            others = self.fixed + [arguments[n] for n in self.written if n != number]
            if type(array) is NDARRAY and any(overlap(other.array, array) for other in others):
                raise OutdatedError("an argument lies in memory that the program changes")
