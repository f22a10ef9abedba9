"""A compiled function for one signature: arrays go in, the program runs, arrays come back."""

from itertools import repeat
from operator import setitem
from typing import Any

from adjoint.autograd.provenance import INTERPRETED
from adjoint.backends import xla
from adjoint.backends.numpy import numpy_backend
from adjoint.compiling.copies import Copies
from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.guards import listed
from adjoint.compiling.host import Visit
from adjoint.compiling.inputs import Inputs
from adjoint.compiling.memory import Memory
from adjoint.compiling.outcomes import AMONG_ANSWERS, Outcome
from adjoint.compiling.overwriting import Form, Overwriting, Results
from adjoint.compiling.places import (
    Argument,
    GradientOf,
    Held,
    Lifted,
    Place,
    Shown,
    same_at_every_call,
)
from adjoint.compiling.reads import putting
from adjoint.compiling.repeated import BLANK, Bindings, Kept, Outright, Repeated, Replacing
from adjoint.compiling.resuming import Going, Resumed
from adjoint.compiling.scaling import Skipping
from adjoint.nn.parameter import Parameter
from adjoint.optim.writes import write_at_once
from adjoint.tensors.core import (
    ABSENT,
    NDARRAY,
    Spec,
    counting,
    have_kept,
    renew,
    set_attribute,
)
from adjoint.tensors.tensor import AS_IS, Tensor

_np: Any = numpy_backend.xp


class Program:
    """What a trace has come to, to be run again."""

    def __init__(self, tracing: Any, traced: Any, outcome: Outcome) -> None:
        self.name = tracing.name
        self.xla = xla.built(traced, len(tracing.inputs))
        self.events: list[Any] = tracing.events
        self.host_calls: list[Any] = tracing.host_calls
        self.on_xla = tracing.device.type == "xla"
        self.inputs = Inputs(tracing, self.xla)
        # What the program was made for: whether tensors need a gradient, and have one.
        lasting = [
            record
            for record in tracing.lifted.values()
            if not isinstance(record.place, (Argument, GradientOf, Held))
        ]
        self.owners = [record.tensor for record in lasting]
        self.needs_grad = [record.needs_grad for record in lasting]
        self.without = [record.gradient is None for record in lasting]
        self.memory = Memory(
            list(tracing.lifted.values()), [place for place, _, _ in outcome.changed]
        )
        self.copies = Copies(outcome)
        staying = set(self.copies.sources)
        self.varying = [each for each in outcome.changed if each[1] not in staying]
        self.bumps = [n for n, (_, _, bumps) in enumerate(self.varying) for _ in range(bumps)]
        self.made = outcome.made
        self.written = self.made + [output for _, output, _ in self.varying]
        self.receiving = [] if self.on_xla else [outcome.packing.receiving[n] for n in self.made]
        self.gradients = outcome.gradients
        self.changed = same_at_every_call([place for place, _, _ in self.varying])
        self.leaves = same_at_every_call([place for place, _, _ in self.gradients])
        self.flags = outcome.flags
        self.bound = outcome.bound
        self.carried = [
            (record.place, record.needs_grad, record.gradient is None)
            for record in tracing.lifted.values()
            if isinstance(record.place, Held)
        ]
        self.changes = bool(outcome.changed or outcome.gradients or outcome.flags or self.bound)
        self.answers = outcome.answers
        self.again = outcome.again
        self.kinds = {
            n: type(each) for n, each in enumerate(outcome.tensors) if _has_class_of_its_own(each)
        }
        # Attributes of new tensors, where they are not those of most; and versions.
        self.marks: list[tuple[int, str, bool]] = []
        answered = {slot for slot, _ in outcome.answers if slot >= 0}
        versions = [(slot, outcome.tensors[slot].version()) for slot in answered]
        self.versions = [each for each in versions if each[1]]
        made = [(slot, outcome.tensors[slot]) for slot in answered]
        self.retaining = [n for n, t in made if t.extras is not None and t.extras.retains_grad]
        for number, each in enumerate(outcome.tensors):
            if each.inference:
                self.marks.append((number, "inference", True))
            if each.needs_grad and each.node is None:
                self.marks.append((number, "needs_grad", True))
        self.gone = [
            (slot, Going(label, freed_by, self._spec_of(outcome.tensors[slot]), places))
            for slot, label, freed_by, places in outcome.gone
        ]
        self.tree = outcome.tree
        flat = self.tree.num_nodes == self.tree.num_leaves + 1
        self.kind = self.tree.type if flat or self.tree.is_leaf() else object  # how it is put up
        self.outright = self._outright()
        self.rest = outcome.rest
        self.packing = outcome.packing
        self.guards: list[Any] = []
        self.read = Bindings([])  # see Reads.held
        self.named: list[tuple[int, Any]] = []  # arguments that may also be read by name
        self.known = set(map(id, self.owners))
        self.spent = False  # it is good for one call
        self.unrepeated: list[str] = []  # names of what Python changed while it was traced
        # Nothing but XLA changes anything: if it fails there is nothing to be undone.
        self.simple = self.xla.only is not None and all(event.only_asks for event in self.events)
        self.repeated: Any = None  # once it has run, the short form of a call, if there is one
        self.decided = False  # whether there is
        # Of tensors on XLA: what they get is the input of the next call, if it is of the same kind.
        self.following = self._followed(outcome.arrays) if self.on_xla else []
        self.overwriting: Overwriting | None = None
        plain = (
            not self.flags
            and not self.bound
            and not self.kinds
            and not any(
                what is not None if slot >= 0 else isinstance(what, Shown)
                for slot, what in self.answers
            )
        )
        plain = plain and self.xla.only is not None and self.rest is None
        if plain and self.on_xla and not INTERPRETED:
            self.overwriting = self._overwriting(tracing, outcome, traced.out_avals)

    def _spec_of(self, tensor: Any) -> Spec:
        """What a new tensor will look like."""
        xp = xla.backend.xp if self.on_xla else _np
        return Spec(xp.zeros(tensor.array.shape, tensor.array.dtype))

    # ---- before ----

    def check(self) -> None:
        """Raise OutdatedError if anything is not as it was when the program was made."""
        for guard in self.guards:
            guard.check()
        for place, needs_grad, without in self.carried:
            tensor = place.found([])
            if not isinstance(tensor, Tensor) or tensor.needs_grad is not needs_grad:
                raise OutdatedError("what is kept from call to call has changed")
            if (tensor.gradient is None) is not without:
                raise OutdatedError("the grad of what is kept from call to call has changed")
        if have_kept(self.owners, self.needs_grad, self.without):
            return
        for tensor, needs_grad, without in zip(self.owners, self.needs_grad, self.without):
            if tensor.needs_grad is not needs_grad:
                raise OutdatedError(f"requires_grad of a tensor of {list(tensor.shape)} was set")
            if (tensor.gradient is None) is not without:
                gone = "is gone" if not without else "is there"
                raise OutdatedError(f"the grad of a tensor of shape {list(tensor.shape)} {gone}")

    def check_arguments(self, arguments: list[Any]) -> None:
        """Raise OutdatedError if one is also something else of the program, or is not any more."""
        if self.memory.looked_at:
            self.memory.check(arguments)
        if self.changes and not self.known.isdisjoint(map(id, arguments)):
            raise OutdatedError("an argument is read by name, too")
        for number, tensor in self.named:
            if arguments[number] is not tensor:
                raise OutdatedError("an argument was read by name, too")

    # ---- a call ----

    def seen(self, array: Any) -> Any:
        """A value of the program as hooks see it."""
        return array if self.on_xla else xla.looked_at(array)

    def run(self, arguments: list[Any]) -> Any:
        """Run it on these tensors as arguments; the answer of the function."""
        if self.repeated is not None:
            answer = self.repeated.answer(self, arguments)
            if answer is not ABSENT:
                return answer
        self.check()
        if arguments:
            self.check_arguments(arguments)
        inputs = self.inputs.gather(arguments)
        if self.copies.targets:  # after the inputs, for which tensors may have got other memory
            self.copies.aim()
        if self.simple:
            for event in self.events:
                self.inputs.give(event, event.act())
            if self.overwriting is None:
                return self.finish(arguments, self._results(inputs), None)
            return self._finished(arguments, inputs, None)
        visit = Visit(self, arguments)
        try:
            for event in self.events:
                visit.begun.append(event)
                self.inputs.give(event, event.act())
                if self.xla.only is None:
                    event.show(visit)
            if self.xla.only is None:
                return self._with_host(arguments, inputs, visit)
            return self._finished(arguments, inputs, visit)
        except BaseException:
            if not visit.done:
                visit.undo()
            raise

    def _finished(self, arguments: list[Any], inputs: list[Any], visit: Visit | None) -> Any:
        """The answer of a program of one piece, when all is written."""
        if self.overwriting is None or self.inputs.handed:
            return self.finish(arguments, self._results(inputs), visit)
        form, arrays, call = self.overwriting.form(inputs)
        if call is None:
            return self.finish(arguments, form.taking.results(arrays), visit)
        if not self.decided:
            self.decided, self.repeated = True, self._replacing()
        return self._launched(form, call, arguments, arrays, visit)

    def _results(self, inputs: list[Any]) -> list[Any]:
        """The outputs of a program of one piece."""
        if self.inputs.handed or self.inputs.spread:
            return self.xla.results(inputs)
        outputs = self.xla.results_at_once(inputs)
        if not self.decided and self.xla.quick is not None:
            self.decided, self.repeated = True, self._repeated()
        return outputs

    def _kept(self) -> Kept | None:
        """What a short form of a call looks at; None if it would have to look at more."""
        guards = listed(self.guards)
        plain = self.rest is None and self.packing is None and self.on_xla
        if guards is None or self.inputs.moving or not plain:
            return None
        tensors = (self.inputs.tensors, self.inputs.known)
        return Kept(tensors, (self.owners, self.needs_grad, self.without), guards)

    def _repeated(self) -> Repeated | None:
        """The short form of a call, if there is nothing to write and little to look at."""
        kept = None if self.events or self.changes else self._kept()
        if kept is None:
            return None
        return Repeated(kept, self.xla.quick, self.inputs.arrays, self.made, self.outright)

    def _replacing(self) -> Replacing | None:
        """The short form of a call that writes over what tensors had, and does nothing else."""
        slots = [slot for _, slot, _ in self.gradients]
        if self.changed is None or self.leaves is None or -1 in slots:
            return None
        kept = self._kept()
        if kept is None or not self.simple or self.copies.targets or self.kind is object:
            return None
        written = (self.changed, self.bumps, self.leaves, slots)
        count = len(self.made)
        given = (self.inputs, self.events, self.overwriting)
        return Replacing(kept, *given, count, written, self.outright)

    def _launched(
        self, form: Form, call: Any, arguments: list[Any], arrays: list[Any], visit: Visit | None
    ) -> Any:
        """The answer, by a call that takes over memory: tensors get results as it returns."""
        assert self.overwriting is not None
        made = [Tensor(BLANK, AS_IS) for _ in self.made]
        answer = self.answer(made, arguments)
        changed = self.changed
        if changed is None:
            changed = [place.found(arguments) for place, _, _ in self.varying]
        counters = [changed[number].counter() for number in self.bumps]
        _forget_skipped(counters, visit)
        leaves, gradients = self._gradients(arguments, made)
        calls = self._further_calls(visit)
        outputs = form.launched(
            call,
            self.overwriting.kind(),
            arrays,
            made + changed,
            form.written,
            leaves,
            gradients,
            counters,
            calls,
        )
        self._follow(form.following, outputs)
        return answer

    def _further_calls(self, visit: Visit | None) -> list[tuple[Any, ...]]:
        """What else changes when a call succeeds: counts of steps, and that it is done."""
        calls: list[tuple[Any, ...]] = []
        for event in self.events if visit is None else visit.begun:
            calls += event.writes()
        if visit is not None:
            calls.append((set_attribute, visit, "done", True))
        return calls

    def _gradients(self, arguments: list[Any], made: list[Any]) -> tuple[list[Any], list[Any]]:
        """The leaves whose gradient is set, and to what."""
        leaves = self.leaves
        if leaves is None:
            leaves = [place.found(arguments) for place, _, _ in self.gradients]
        gradients = [
            made[slot] if slot >= 0 else None if other is None else other.found(arguments)
            for _, slot, other in self.gradients
        ]
        return leaves, gradients

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
            self._join(made, arguments, run, visit)
        leaves = self.leaves_of(made, arguments)
        answer = self.put_up(leaves)
        further = self._further_calls(visit) if self.events or visit is not None else []
        if further or self.changes:
            for holder, key, slot, other in self.bound:
                value = (
                    leaves[other] if slot == AMONG_ANSWERS else _leaf(slot, other, made, arguments)
                )
                further.append(putting(holder, key, value))
            self._write(self.copies.calls + further, arguments, outputs, made, visit)
        if self.following:
            self._follow(self.following, outputs)
        return answer

    def _write(
        self,
        calls: list[tuple[Any, ...]],
        arguments: list[Any],
        outputs: list[Any],
        made: list[Any],
        visit: Visit | None,
    ) -> None:
        """Let tensors have what they have become, together with other calls."""
        counters = [tensor.counter() for tensor in self.copies.counted]
        tensors: list[Any] = []
        arrays: list[Any] = []
        for place, output, bumps in self.varying:
            tensor = place.found(arguments)
            array = tensor.array
            if type(array) is NDARRAY:
                calls.append((setitem, array, ..., xla.looked_at(outputs[output])))
            else:
                tensors.append(tensor)
                arrays.append(outputs[output])
            counters += [tensor.counter()] * bumps
        _forget_skipped(counters, visit)
        leaves, gradients = self._gradients(arguments, made)
        for place, needs_grad in self.flags:
            calls.append((set_attribute, place.found(arguments), "needs_grad", needs_grad))
        if INTERPRETED:
            calls += [(set_attribute, *each) for each in zip(tensors, repeat("array"), arrays)]
            calls += [(set_attribute, tensor, "known", None) for tensor in tensors]
            calls += [(set_attribute, *each) for each in zip(leaves, repeat("gradient"), gradients)]
            write_at_once(calls, counting, counters)
        elif calls:
            calls.append((renew, tensors, arrays, leaves, gradients, counters))
            write_at_once(calls, counting, [])
        else:
            renew(tensors, arrays, leaves, gradients, counters)

    def _followed(self, results: Any) -> list[tuple[int, int, int]]:
        """Of tensors that get a result: their number and position as an input, and the result."""
        found: list[tuple[int, int, int]] = []
        for place, output, _ in self.varying:
            number, position = self.inputs.place(place.tensor)
            kind = (results[output].shape, results[output].dtype)
            if position >= 0 and not self.inputs.spread and self.inputs.specs[position] == kind:
                found.append((number, position, output))
        return found

    def _overwriting(self, tracing: Any, outcome: Outcome, kinds: list[Any]) -> Overwriting | None:
        """What lets results take over memory; None where there is none to be taken over."""
        sources = [tracing.inputs[number] for number in self.xla.inputs]
        met = [source.place for source in sources if isinstance(source, Lifted)]
        met += [place for place, _, _ in outcome.changed]
        met += [place for _, _, place in self.gradients if place is not None]
        met += [place for _, place in self.answers if isinstance(place, Place)]
        needed = {id(place.owner.tensor) for place in met if isinstance(place, GradientOf)}
        renewed = {
            slot: (place.tensor, self.made[slot])
            for place, slot, _ in self.gradients
            if slot >= 0
            and type(place) is Place
            and id(place.tensor) not in needed
            and tracing.lifted[id(place.tensor)].gradient is not None
        }
        if self.inputs.spread or not (self.following or renewed):
            return None
        results = Results(self.xla, kinds, self.written, self.following, list(renewed.values()))
        return Overwriting(results, self.inputs)

    def _follow(self, following: list[tuple[int, int, int]], outputs: list[Any]) -> None:
        """Know what tensors hold now as the inputs of the next call, so that none is looked at."""
        inputs = self.inputs
        for number, position, output in following:
            inputs.known[number] = inputs.arrays[position] = outputs[output]

    def _outright(self) -> Outright | None:
        """How the answer is put up where that takes no more than to pick new tensors."""
        marked = self.kinds or self.marks or self.gone or self.versions or self.retaining
        if marked or self.kind not in (tuple, None):
            return None
        if any(slot < 0 or what is not None for slot, what in self.answers):
            return None
        slots = [slot for slot, _ in self.answers]
        for number, first in self.again:
            slots[number] = slots[first]
        return Outright(slots, self.kind is tuple)

    def answer(self, made: list[Any], arguments: list[Any]) -> Any:
        """What the function answers, of new tensors and those from outside."""
        if self.outright is not None:
            return self.outright.of(made)
        return self.put_up(self.leaves_of(made, arguments))

    def leaves_of(self, made: list[Any], arguments: list[Any]) -> list[Any]:
        """The leaves of that."""
        for slot, kind in self.kinds.items():
            made[slot] = made[slot].as_subclass(kind)
            if issubclass(kind, Parameter):
                made[slot].rare().base = None  # of what nobody else has
        for slot, name, value in self.marks:
            set_attribute(made[slot], name, value)
        for slot, going in self.gone:
            made[slot].node, made[slot].needs_grad = going.node(arguments), True
        for slot, version in self.versions:
            made[slot].counter().value = version
        for slot in self.retaining:
            made[slot].retain_grad()
        if self.outright is not None:
            return [made[slot] for slot in self.outright.slots]
        leaves = [_leaf(slot, what, made, arguments) for slot, what in self.answers]
        for number, first in self.again:
            leaves[number] = leaves[first]
        return leaves

    def put_up(self, leaves: list[Any]) -> Any:
        """The answer that has these leaves."""
        if self.kind is tuple:
            return tuple(leaves)
        return leaves[0] if self.kind is None else self.tree.unflatten(leaves)

    def _join(self, made: list[Any], arguments: list[Any], run: Any, visit: Any) -> None:
        """Let results that need a gradient have a history: it leads on into this program."""
        rest = self.rest
        if not self.on_xla:
            run.keep(len(self.inputs.arrays))
        inputs = [place.found(arguments) for place in rest.places]

        def resume(grads: list[Any]) -> list[Any]:
            used = {number for number, each in enumerate(grads) if each is not None}
            starts = [
                xla.backend.xp.zeros(*spec) if each is None else each
                for each, spec in zip(grads, rest.specs)
            ]
            try:
                found = run.again().go_on(starts)
            finally:
                visit.put_back()
            shown = found if self.on_xla else [xla.received(array) for array in found]
            return [
                None if n < 0 or used.isdisjoint(reached) else Tensor(shown[n], AS_IS)
                for n, reached in zip(rest.found, rest.reached)
            ]

        waiting = [made[slot] for slot in rest.slots]
        for slot, tensor in zip(rest.slots, Resumed.apply(resume, waiting, *inputs)):
            made[slot] = tensor


def _leaf(slot: int, what: Any, made: list[Any], arguments: list[Any]) -> Any:
    """A new tensor, or a part of one, a tensor from outside, or what is none."""
    if slot >= 0:
        return made[slot] if what is None else what.of(made[slot])
    return what.found(arguments) if isinstance(what, Place) else what


def _forget_skipped(counters: list[Any], visit: Visit | None) -> None:
    """Let those not count up that belong to steps which a call has skipped."""
    for event in () if visit is None else visit.begun:
        if isinstance(event, Skipping):
            for counter in event.uncounted():
                counters.remove(counter)


def _has_class_of_its_own(tensor: Any) -> bool:
    """Whether a new tensor is of a class of the user's, as results of such tensors are."""
    return type(tensor) is not Tensor
