"""A compiled function for one signature: arrays go in, the program runs, arrays come back."""

import sys
from typing import Any, Final

from adjoint.backends import xla
from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.host import Visit
from adjoint.compiling.outcomes import Outcome
from adjoint.compiling.places import Argument, GradientOf, Lifted, Place
from adjoint.compiling.resuming import Resumed
from adjoint.tensors.core import NDARRAY
from adjoint.tensors.tensor import AS_IS, Tensor

write: Final[Any] = xla.write


class Program:
    """What a trace has come to, to be run again."""

    def __init__(self, tracing: Any, traced: Any, outcome: Outcome) -> None:
        self.name = tracing.name
        self.xla = xla.built(traced, len(tracing.inputs))
        self.events: list[Any] = tracing.events
        self.host_calls: list[Any] = tracing.host_calls
        self.on_xla = tracing.device.type == "xla"
        used = [tracing.inputs[number] for number in self.xla.inputs]
        self.inputs: list[Any] = [None] * len(used)  # as the program takes them
        self.specs: list[Any] = [None] * len(used)
        self.fixed: list[tuple[int, Any]] = []  # tensors that are the same at every call
        self.known: list[Any] = []  # their arrays at the last call
        self.handed: set[int] = set()  # those whose memory XLA can't take as it lies
        self.moving: list[tuple[int, Place]] = []  # arguments and gradients
        self.places: dict[int, int] = {}  # of what events make, by their ids
        for position, source in enumerate(used):
            if not isinstance(source, Lifted):
                self.places[id(source)] = position
                continue
            self.specs[position] = (tuple(source.array.shape), source.array.dtype)
            if type(source.place) is Place:
                self.fixed.append((position, source.place.tensor))
                self.known.append(None)
            else:
                self.moving.append((position, source.place))
        # What the program was made for: whether tensors need a gradient, and have one.
        self.states = [
            (record.tensor, record.needs_grad, record.gradient is None)
            for record in tracing.lifted.values()
            if not isinstance(record.place, (Argument, GradientOf))
        ]
        self.changed = outcome.changed
        self.made = outcome.made
        self.gradients = outcome.gradients
        self.answers = outcome.answers
        self.tree = outcome.tree
        flat = self.tree.num_nodes == self.tree.num_leaves + 1
        self.kind = self.tree.type if flat or self.tree.is_leaf() else object  # how it is put up
        self.rest = outcome.rest
        self.packing = outcome.packing
        self.guards: list[Any] = []
        self.spent = False  # it is good for one call
        # Nothing but XLA runs, on memory that it knows: no event has to be undone.
        self.simple = not self.events and not self.moving and self.xla.only is not None

    # ---- before ----

    def check(self) -> None:
        """Raise OutdatedError if anything is not as it was when the program was made."""
        for guard in self.guards:
            guard.check()
        for tensor, needs_grad, without in self.states:
            if tensor.needs_grad is not needs_grad:
                raise OutdatedError(f"requires_grad of a tensor of {list(tensor.shape)} was set")
            if (tensor.gradient is None) is not without:
                gone = "is gone" if not without else "is there"
                raise OutdatedError(f"the grad of a tensor of shape {list(tensor.shape)} {gone}")

    def gather(self, arguments: list[Any]) -> list[Any]:
        """The inputs, but for what events make."""
        inputs, known = self.inputs, self.known
        for number, (position, tensor) in enumerate(self.fixed):
            if tensor.array is not known[number]:
                self._take(number, position, tensor)
        for position, place in self.moving:
            array = place.found(arguments).current_array()
            self._compare(position, array)
            inputs[position] = xla.handed(array)
        return inputs

    def _compare(self, position: int, array: Any) -> None:
        shape, dtype = self.specs[position]
        if array.shape != shape or array.dtype != dtype:
            raise OutdatedError(
                f"an array of {dtype}{list(shape)} has become one of {array.dtype}"
                f"{list(array.shape)}"
            )

    def _take(self, number: int, position: int, tensor: Any) -> None:
        """Take the array of a tensor that stays: from then on XLA reads its memory."""
        array = tensor.current_array()
        self._compare(position, array)
        if type(array) is not NDARRAY:
            self.inputs[position] = self.known[number] = array
            self.handed.discard(number)
            return
        alone = sys.getrefcount(array) <= 3 and array.base is None  # here, the tensor, the call
        if alone and array.flags.writeable and not xla.is_aligned(array):
            array = xla.aligned(array)
            if xla.is_aligned(array):
                tensor.array = array
        if xla.is_aligned(array):
            self.inputs[position], self.known[number] = xla.shown(array), array
            self.handed.discard(number)
        else:
            self.inputs[position], self.known[number] = array, None
            self.handed.add(number)

    # ---- a call ----

    def __call__(self, arguments: list[Any]) -> Any:
        """Run it on these tensors as arguments; the answer of the function."""
        self.check()
        inputs = self.gather(arguments)
        if self.simple:
            run = self.xla.results if self.handed else self.xla.results_at_once
            return self.finish(arguments, run(inputs), self.events)
        begun: list[Any] = []
        try:
            for event in self.events:
                begun.append(event)
                made = event.act()
                position = self.places.get(id(event))
                if position is not None:
                    inputs[position] = made
            if self.xla.only is not None:
                return self.finish(arguments, self.xla.results(inputs), begun)
            return self._with_host(arguments, inputs, begun)
        except BaseException:
            for event in reversed(begun):
                event.undo()
            raise

    def _with_host(self, arguments: list[Any], inputs: list[Any], begun: list[Any]) -> Any:
        """The answer of a program in pieces, between which the host is called."""
        visit = Visit(self, arguments)
        visit.begun = begun
        run = xla.Run(self.xla, [*inputs, *self.xla.fixed], visit.call)
        try:
            outputs = xla.ready(run.go_on())
        finally:
            visit.put_back()
        return self.finish(arguments, outputs, begun, run)

    def finish(
        self, arguments: list[Any], outputs: list[Any], events: list[Any], run: Any = None
    ) -> Any:
        """Write what has changed; the answer."""
        if self.packing is not None:
            outputs = self.packing.unpacked(outputs)
        if self.on_xla:
            made = [Tensor(outputs[output], AS_IS) for output in self.made]
        else:
            made = [Tensor(xla.received(outputs[output]), AS_IS) for output in self.made]
        if self.rest is not None:
            self._join(made, arguments, run)
        for place, output, bumps in self.changed:
            tensor = place.found(arguments)
            array = tensor.array
            if type(array) is NDARRAY:
                write(array, outputs[output])
            else:
                tensor.replace_array(outputs[output])
            if bumps:
                tensor.counter().value += bumps
        for place, slot, other in self.gradients:
            gradient = None if other is None else other.found(arguments)
            place.found(arguments).gradient = made[slot] if slot >= 0 else gradient
        for event in events:
            event.commit()
        return self.answer(made, arguments)

    def answer(self, made: list[Any], arguments: list[Any]) -> Any:
        """What the function answers, of new tensors and those from outside."""
        leaves = [
            made[slot] if slot >= 0 else what.found(arguments) if isinstance(what, Place) else what
            for slot, what in self.answers
        ]
        if self.kind is tuple:
            return tuple(leaves)
        return leaves[0] if self.kind is None else self.tree.unflatten(leaves)

    def _join(self, made: list[Any], arguments: list[Any], run: Any) -> None:
        """Let results that need a gradient have a history: it leads on into this program."""
        rest = self.rest
        if not self.on_xla:
            run.keep(len(self.inputs))
        inputs = [place.found(arguments) for place in rest.places]

        def resume(grads: list[Any]) -> list[Any]:
            found = run.again().go_on(grads)
            shown = found if self.on_xla else [xla.received(array) for array in found]
            return [None if n < 0 else Tensor(shown[n], AS_IS) for n in rest.found]

        waiting = [made[slot] for slot in rest.slots]
        for slot, tensor in zip(rest.slots, Resumed.apply(resume, waiting, *inputs)):
            made[slot] = tensor
