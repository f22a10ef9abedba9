"""Results of a program on XLA in the memory of what they replace: parameters, a state, gradients.

XLA takes over the memory of such inputs ("donation"), so that none is asked for and given back at
each call. Their arrays are gone then, and nobody else may refer to them.
"""

from typing import Any

from adjoint.backends import xla
from adjoint.compiling.inputs import Inputs
from adjoint.tensors.core import (
    NDARRAY,
    THROWN_AWAY,
    UNSHARED,
    launch,
    most_held,
    most_held_gradient,
    renew,
)

OTHERS = 2  # references beside that of the list: by the tensor, and by what the inputs know


class Form:
    """A program that takes over the memory of some arrays, and where its results are."""

    def __init__(
        self, results: "Results", taken: dict[int, int], tensors: list[Any], leaves: list[Any]
    ) -> None:
        self.taking = xla.Taking(results.program, taken, len(results.kinds))
        self.tensors = tensors  # whose memory it is, in the order of the positions; then
        self.leaves = leaves  # those whose gradients have it
        places = self.taking.places
        self.written = [places[output] for output in results.written]
        self.following = [
            (n, position, places[output]) for n, position, output in results.following
        ]
        self.known: Any = None  # how the inputs and JAX's settings were when C++ made the call

    def launched(self, call: Any, kind: Any, arrays: list[Any], *writes: Any) -> Any:
        """The results of the call, which tensors have got by then; see tensors.core.launch."""
        if kind == self.known:
            return launch(call, arrays, *writes)
        # Python code prepares a call of a new kind, and may hear a signal when it is made.
        owners = [*self.tensors, *(leaf.gradient for leaf in self.leaves)]
        had = [arrays[position] for position in self.taking.positions]
        copies = self.taking.copies(arrays)
        signatures = xla.signatures(call)
        try:
            outputs = launch(call, arrays, *writes)
        except BaseException:
            lost = [n for n, array in enumerate(had) if array.is_deleted()]
            lost = [n for n in lost if owners[n].array is had[n]]  # no result is written there yet
            renew([owners[n] for n in lost], [copies[n] for n in lost], [], [], [])
            raise
        self.known = kind if xla.signatures(call) == signatures else None
        return outputs


class Results:
    """What the results of a program are, and which tensors get them."""

    def __init__(
        self,
        program: xla.Program,
        kinds: list[Any],
        written: list[int],
        following: list[tuple[int, int, int]],
        renewed: list[tuple[Any, int]],
    ) -> None:
        self.program = program
        self.kinds = kinds  # avals of JAX's
        self.written = written
        self.following = following  # tensors: their number and position as an input, the result
        self.renewed = renewed  # leaves, and the results that become their gradients


class Overwriting:
    """Whether a call may write its results over what tensors had, and what makes it do so."""

    def __init__(self, results: Results, inputs: Inputs) -> None:
        self.inputs = inputs
        self.numbers = [number for number, _, _ in results.following]
        taken = {position: output for _, position, output in results.following}
        self.positions = sorted(taken)
        owners = {position: tensor for position, tensor in inputs.fixed if position in taken}
        tensors = [owners[position] for position in self.positions]
        self.plain = Form(results, taken, tensors, [])
        self.leaves = [leaf for leaf, _ in results.renewed]
        self.kinds = [results.kinds[output] for _, output in results.renewed]
        spare = {len(inputs.arrays) + n: output for n, (_, output) in enumerate(results.renewed)}
        self.sparing = Form(results, taken | spare, tensors, self.leaves)
        self.known: list[Any] = []  # kinds of gradients at the last call
        self.changes = 0  # of those
        self.looked_at = -1  # how many arrays tensors had come with, when all were XLA's

    def kind(self) -> tuple[Any, ...]:
        """What C++ tells calls apart by: how often it has changed, and a setting of JAX's."""
        return self.inputs.taken, self.changes, xla.is_wide()

    def form(self, arrays: list[Any]) -> tuple[Form, list[Any], Any]:
        """How a call is made, its arrays, and what makes it; None if another needs one of them."""
        if most_held(arrays, self.positions) > UNSHARED + OTHERS or not self._own_arrays():
            return self.plain, arrays, None
        spares = self._thrown_away()
        if spares:
            return self.sparing, arrays + spares, self.sparing.taking.call()
        return self.plain, arrays, self.plain.taking.call()

    def _own_arrays(self) -> bool:
        """Whether all tensors that get results have arrays of XLA's."""
        inputs = self.inputs
        if self.looked_at != inputs.taken:
            if any(type(inputs.known[number]) is NDARRAY for number in self.numbers):
                return False
            self.looked_at = inputs.taken
        return True

    def _thrown_away(self) -> list[Any]:
        """The arrays of the gradients that are replaced, if nobody else refers to them."""
        if not self.leaves or most_held_gradient(self.leaves) > THROWN_AWAY:
            return []
        spares = [leaf.gradient.array for leaf in self.leaves]
        kinds = xla.kinds(spares)
        if kinds != self.known:
            if kinds[: len(spares)] != self.kinds:
                return []
            self.known = kinds
            self.changes += 1
        return spares
