"""Results of a program on XLA in the memory of what they replace: of parameters, of a state.

XLA takes over the memory of such inputs ("donation"), so that none is asked for and given back at
each call. Their arrays are gone then, and nobody else may refer to them.
"""

from typing import Any

from adjoint.backends import xla
from adjoint.compiling.inputs import Inputs
from adjoint.tensors.core import NDARRAY, UNSHARED, launch, most_held, renew

OTHERS = 2  # references beside that of the list: by the tensor, and by what the inputs know


class Overwriting:
    """Whether a call may write its results over what tensors had, and what makes it do so."""

    def __init__(
        self, program: xla.Program, inputs: Inputs, following: list[tuple[int, int, int]]
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.numbers = [number for number, _, _ in following]
        self.positions = program.overwritten = [position for _, position, _ in following]
        self.tensors = [inputs.fixed[number][1] for number in self.numbers]
        self.known: Any = None  # how the inputs and JAX's settings were when C++ made the call

    def call(self) -> Any:
        """The call that takes over memory; None if another needs one of the arrays as it is."""
        inputs = self.inputs
        if inputs.handed or most_held(inputs.arrays, self.positions) > UNSHARED + OTHERS:
            return None
        if any(type(inputs.known[number]) is NDARRAY for number in self.numbers):
            return None
        return self.program.overwriting()

    def launched(self, call: Any, inputs: list[Any], *written: Any) -> Any:
        """The results of the call, which tensors have got by then; see tensors.core.launch."""
        kind = (self.inputs.taken, xla.is_wide())
        if kind == self.known:
            return launch(call, inputs, *written)
        # Python code prepares a call of a new kind, and may hear a signal when it is made.
        copies = self.program.copies(inputs)
        signatures = xla.signatures(call)
        try:
            outputs = launch(call, inputs, *written)
        except BaseException:
            if self.tensors[0].array is inputs[self.positions[0]]:  # nothing is written yet
                lost = [n for n, each in enumerate(self.positions) if inputs[each].is_deleted()]
                renew([self.tensors[n] for n in lost], [copies[n] for n in lost], [], [], [])
            raise
        self.known = kind if xla.signatures(call) == signatures else None
        return outputs
