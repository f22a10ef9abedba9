"""Copies of results to tensors that stay, prepared once: after each call they are the same."""

from operator import setitem
from typing import Any

from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.outcomes import Outcome
from adjoint.compiling.places import Place
from adjoint.tensors.core import NDARRAY, show


class Copies:
    """Tensors whose new values a packing has at the same place after each call."""

    def __init__(self, outcome: Outcome) -> None:
        self.standing = {} if outcome.packing is None else outcome.packing.standing
        fixed = [
            (place.tensor, output, bumps)
            for place, output, bumps in outcome.changed
            if type(place) is Place and type(place.tensor.array) is NDARRAY
            if output in self.standing
        ]
        self.targets = [tensor for tensor, _, _ in fixed]
        self.sources = [output for _, output, _ in fixed]
        self.counted = [tensor for tensor, _, bumps in fixed for _ in range(bumps)]
        self.memory: list[Any] = [None] * len(fixed)  # the arrays that are written to
        self.calls: list[tuple[Any, ...]] = []

    def aim(self) -> None:
        """Look where the tensors have their memory now."""
        if show(self.targets, self.memory):
            return
        self.memory = [tensor.array for tensor in self.targets]
        if any(type(array) is not NDARRAY for array in self.memory):
            raise OutdatedError("a tensor that changes has moved to another device")
        self.calls = [
            (setitem, array, ..., self.standing[output])
            for array, output in zip(self.memory, self.sources)
        ]
