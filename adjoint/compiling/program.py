"""A compiled function for one signature: arrays go in, the program runs, arrays come back."""

import sys
from operator import setitem
from typing import Any

from adjoint.backends import xla
from adjoint.backends.meshes import placed
from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.host import Visit
from adjoint.compiling.outcomes import Outcome
from adjoint.compiling.places import Argument, GradientOf, Lifted, Place
from adjoint.compiling.resuming import Resumed
from adjoint.optim.writes import write_at_once
from adjoint.tensors.core import NDARRAY, counting, have_kept, set_attribute, show
from adjoint.tensors.tensor import AS_IS, Tensor


class Program:
    """What a trace has come to, to be run again."""

    def __init__(self, tracing: Any, traced: Any, outcome: Outcome) -> None:
        self.name = tracing.name
        self.xla = xla.built(traced, len(tracing.inputs))
        self.events: list[Any] = tracing.events
        self.host_calls: list[Any] = tracing.host_calls
        self.on_xla = tracing.device.type == "xla"
        self.spread = tracing.spread is not None  # over the devices of a mesh
        used = [tracing.inputs[number] for number in self.xla.inputs]
        self.inputs: list[Any] = [None] * len(used)  # as the program takes them
        self.specs: list[Any] = [None] * len(used)
        self.fixed: list[tuple[int, Any]] = []  # tensors that are the same at every call
        self.known: list[Any] = []  # their arrays at the last call
        self.handed: set[int] = set()  # inputs whose memory XLA can't take as it lies
        self.rooms: dict[int, Any] = {}  # memory for what events make, and XLA's view of it
        self.moving: list[tuple[int, Place]] = []  # arguments and gradients
        self.places: dict[int, int] = {}  # of what events make, by their ids
        self.shardings: dict[int, Any] = {}  # how inputs are spread over a mesh
        for position, source in enumerate(used):
            if not isinstance(source, Lifted):
                self.places[id(source)] = position
                continue
            self.specs[position] = (tuple(source.array.shape), source.array.dtype)
            if tracing.spread is not None:
                self.shardings[position] = source.sharding(tracing.spread)
            if type(source.place) is Place:
                self.fixed.append((position, source.place.tensor))
                self.known.append(None)
            else:
                self.moving.append((position, source.place))
        # What the program was made for: whether tensors need a gradient, and have one.
        lasting = [
            record
            for record in tracing.lifted.values()
            if not isinstance(record.place, (Argument, GradientOf))
        ]
        self.owners = [record.tensor for record in lasting]
        self.needs_grad = [record.needs_grad for record in lasting]
        self.without = [record.gradient is None for record in lasting]
        # Values of tensors that stay, which the packing has at the same place after each call.
        standing = {} if outcome.packing is None else outcome.packing.standing
        fixed = [
            (place.tensor, output, bumps)
            for place, output, bumps in outcome.changed
            if type(place) is Place and output in standing
        ]
        staying = {output for _, output, _ in fixed}
        self.varying = [each for each in outcome.changed if each[1] not in staying]
        self.targets = [tensor for tensor, _, _ in fixed]
        self.sources = [output for _, output, _ in fixed]
        self.counted = [tensor for tensor, _, bumps in fixed for _ in range(bumps)]
        self.memory: list[Any] = [None] * len(fixed)  # the arrays that `copies` write to
        self.copies: list[tuple[Any, ...]] = []
        self.made = outcome.made
        self.receiving = [] if self.on_xla else [outcome.packing.receiving[n] for n in self.made]
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
        if have_kept(self.owners, self.needs_grad, self.without):
            return
        for tensor, needs_grad, without in zip(self.owners, self.needs_grad, self.without):
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
            if self.spread:
                inputs[position] = placed(array, self.shardings[position])
            else:
                inputs[position] = xla.handed(array)
        if not show(self.targets, self.memory):  # after all that may have got other memory
            self._aim()
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
        if self.spread:
            self.inputs[position] = placed(array, self.shardings[position])
            self.known[number] = None if type(array) is NDARRAY else array
            return
        if type(array) is not NDARRAY:
            self.inputs[position] = self.known[number] = array
            self.handed.discard(position)
            return
        alone = sys.getrefcount(array) <= 3 and array.base is None  # here, the tensor, the call
        if alone and array.flags.writeable and not xla.is_aligned(array):
            array = xla.aligned(array)
            if xla.is_aligned(array):
                tensor.array = array
        if xla.is_aligned(array):
            self.inputs[position], self.known[number] = xla.shown(array), array
            self.handed.discard(position)
        else:
            self.inputs[position], self.known[number] = array, None
            self.handed.add(position)

    # ---- a call ----

    def __call__(self, arguments: list[Any]) -> Any:
        """Run it on these tensors as arguments; the answer of the function."""
        self.check()
        inputs = self.gather(arguments)
        if self.simple:
            return self.finish(arguments, self._results(inputs), None)
        visit = Visit(self, arguments)
        try:
            for event in self.events:
                visit.begun.append(event)
                made = event.act()
                position = self.places.get(id(event))
                if position is not None:
                    inputs[position] = self._given(position, made)
            if self.xla.only is None:
                return self._with_host(arguments, inputs, visit)
            return self.finish(arguments, self._results(inputs), visit)
        except BaseException:
            if not visit.done:
                visit.undo()
            raise

    def _results(self, inputs: list[Any]) -> list[Any]:
        """The outputs of a program of one piece."""
        if self.handed or self.spread or (self.moving and not self.on_xla):
            return self.xla.results(inputs)
        return self.xla.results_at_once(inputs)

    def _given(self, position: int, made: Any) -> Any:
        """What an event has made, in memory that XLA knows and reads again at each call."""
        if type(made) is not NDARRAY or self.spread:
            return made
        found = self.rooms.get(position)
        if found is None:
            room = xla.aligned(made)
            if not xla.is_aligned(room):
                self.handed.add(position)
                return made
            found = self.rooms[position] = (room, xla.shown(room))
        found[0][...] = made
        return found[1]

    def _with_host(self, arguments: list[Any], inputs: list[Any], visit: Visit) -> Any:
        """The answer of a program in pieces, between which the host is called."""
        run = xla.Run(self.xla, [*inputs, *self.xla.fixed], visit.call)
        try:
            outputs = xla.ready(run.go_on())
        finally:
            visit.put_back()
        return self.finish(arguments, outputs, visit, run)

    def finish(
        self, arguments: list[Any], outputs: list[Any], visit: Visit | None, run: Any = None
    ) -> Any:
        """Write what has changed, all of it in one call that no signal parts; the answer."""
        if self.packing is not None:
            outputs = self.packing.unpacked(outputs)
        if self.on_xla:
            made = [Tensor(outputs[output], AS_IS) for output in self.made]
        else:
            made = [
                Tensor(receive(outputs[output]), AS_IS)
                for receive, output in zip(self.receiving, self.made)
            ]
        if self.rest is not None:
            self._join(made, arguments, run)
        answer = self.answer(made, arguments)
        calls = self.copies.copy()
        counters = [tensor.counter() for tensor in self.counted]
        for place, output, bumps in self.varying:
            tensor = place.found(arguments)
            array = tensor.array
            if type(array) is NDARRAY:
                calls.append((setitem, array, ..., xla.looked_at(outputs[output])))
            else:
                calls.append((set_attribute, tensor, "array", outputs[output]))
                calls.append((set_attribute, tensor, "known", None))
            counters += [tensor.counter()] * bumps
        for place, slot, other in self.gradients:
            gradient = None if other is None else other.found(arguments)
            found = made[slot] if slot >= 0 else gradient
            calls.append((set_attribute, place.found(arguments), "gradient", found))
        if visit is not None:
            for event in visit.begun:
                calls += event.writes()
            calls.append((set_attribute, visit, "done", True))
        if calls:
            write_at_once(calls, counting, counters)
        return answer

    def _aim(self) -> None:
        """Prepare the copies to tensors that stay, from where the packing puts their values."""
        self.memory = [tensor.array for tensor in self.targets]
        if any(type(array) is not NDARRAY for array in self.memory):
            raise OutdatedError("a tensor that changes has moved to another device")
        self.copies = [
            (setitem, array, ..., self.packing.standing[output])
            for array, output in zip(self.memory, self.sources)
        ]

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
