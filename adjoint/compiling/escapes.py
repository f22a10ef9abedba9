"""Tensors that leave a trace other than as results: they have no values, and say so when used."""

import gc
from collections.abc import Callable
from typing import Any

from adjoint.autograd import alive
from adjoint.backends import register_recogniser
from adjoint.compiling.errors import CompileError
from adjoint.tensors.core import TensorCore


class Escaped:
    """Stands where the array of such a tensor was."""

    reason = ""

    def __getattr__(self, name: str) -> Any:
        raise CompileError(self.reason)


def _refuse(kind: Any) -> None:
    if isinstance(kind, type) and issubclass(kind, Escaped):
        raise CompileError(kind.reason)


register_recogniser(_refuse)


class _First:
    """An object that shows whether the first generation has been moved."""


class Newcomers:
    """What Python makes inside: while the collector rests, objects stay in its first generation.

    To look at all others as well takes longer than the trace of a small program.
    """

    def __init__(self) -> None:
        self.collects = gc.isenabled()
        self.first = _First()
        self.frozen = 0

    def __enter__(self) -> "Newcomers":
        return self

    def begin(self) -> None:
        """Let the collector rest, from inside: no signal leaves it so."""
        gc.disable()
        self.first = _First()
        self.frozen = gc.get_freeze_count()

    def __exit__(self, *_: object) -> None:
        if self.collects:
            gc.enable()

    def found(self) -> list[Any]:
        """The tensors made since it began; all that there are if the first has been moved."""
        if self.first in alive.of_kinds([_First], 0):
            return all_tensors(0)
        if gc.get_freeze_count() <= self.frozen:
            return all_tensors()
        gc.unfreeze()  # what `gc.freeze` hides
        found = all_tensors()
        gc.freeze()
        return found


def all_tensors(generation: int | None = None) -> list[Any]:
    """All tensors that the collector knows, of a generation or of all."""
    found = [kind for kind in alive.kinds(generation) if issubclass(kind, TensorCore)]
    return alive.of_kinds(found, generation)


def mark_escaped(name: str, is_inside: Callable[[Any], bool], among: list[Any]) -> None:
    """Let all tensors that still hold tracers, or memory of a graph, refuse to be used."""
    for each in among:
        if is_inside(each.array):
            shape = list(each.array.shape)
            reason = (
                f"a tensor of shape {shape} was made inside the compiled {name}, and kept "
                "elsewhere: it has no values, because only the results of a compiled function, "
                "and the tensors from outside that it changes, have some. Return it, or copy_() it "
                "into a tensor made before"
            )
            each.array = type("Escaped", (Escaped,), {"reason": reason})()
            each.known = None
