"""The call of a program when everything is as it was at the last one.

Compiled, because XLA's own call takes few microseconds: in Python the looks at what the program
takes for granted would be half as much again.
"""

from typing import Any, Final

from adjoint.backends.numpy import numpy_backend
from adjoint.tensors.core import are_without_hooks, have_kept, hold, launch, show
from adjoint.tensors.tensor import AS_IS, Tensor

BLANK: Final[Any] = numpy_backend.xp.empty(0)  # what new tensors hold until a program has run


class Kept:
    """What has to be as it was; the lists belong to others, who renew what is in them."""

    def __init__(
        self,
        tensors: tuple[list[Any], list[Any]],
        owners: tuple[list[Any], list[bool], list[bool]],
        guards: tuple[list[Any], list[Any], list[Any], list[Any]],
    ) -> None:
        self.tensors, self.known = tensors  # which have these arrays
        self.owners, self.needs_grad, self.without = owners  # see have_kept
        self.bare, self.tables, self.others, self.modules = guards  # see `compiling.guards`

    def holds(self) -> bool:
        """Whether it all is."""
        if not show(self.tensors, self.known) or not are_without_hooks(self.bare):
            return False
        if not have_kept(self.owners, self.needs_grad, self.without):
            return False
        for table in self.tables:
            if table:
                return False
        for other in self.others:
            if not other.holds():
                return False
        for guard in self.modules:
            if not hold(guard.owners, guard.names, guard.values):
                return False
            if [fields["training"] for fields in guard.fields] != guard.training:
                return False
        return True


class Repeated:
    """The call of a program that only computes."""

    def __init__(self, kept: Kept, call: Any, arrays: list[Any], made: list[int]) -> None:
        self.kept = kept
        self.call = call
        self.arrays = arrays
        self.made = made

    def results(self) -> list[Any] | None:
        """New tensors; None if anything may be other than it was."""
        if not self.kept.holds():
            return None
        found: list[Any] = self.call(*self.arrays)
        return [Tensor(found[number], AS_IS) for number in self.made]


class Replacing:
    """The call of a program whose results take over the memory of what they replace."""

    def __init__(
        self,
        kept: Kept,
        inputs: Any,
        events: list[Any],
        overwriting: Any,
        count: int,
        written: tuple[list[Any], list[int], list[Any], list[int]],
    ) -> None:
        self.kept = kept
        self.inputs = inputs
        self.arrays: list[Any] = inputs.arrays
        self.known: list[Any] = inputs.known
        self.events = events
        self.overwriting = overwriting
        self.count = count  # of new tensors
        # Tensors that change, which of them count a change, leaves, and which results those get.
        self.changed, self.bumps, self.leaves, self.slots = written

    def results(self) -> list[Any] | None:
        """New tensors, when all is written; None if anything may be other than it was."""
        if not self.kept.holds():
            return None
        for event in self.events:
            self.inputs.give(event, event.act())
        form, arrays, call = self.overwriting.form(self.arrays)
        if call is None or form.known != self.overwriting.kind():
            return None
        made: list[Any] = [Tensor(BLANK, AS_IS) for _ in range(self.count)]
        counters = [self.changed[number].counter() for number in self.bumps]
        gradients = [made[slot] for slot in self.slots]
        calls: list[tuple[Any, ...]] = []
        for event in self.events:
            calls += event.writes()
        outputs = launch(
            call,
            arrays,
            made + self.changed,
            form.written,
            self.leaves,
            gradients,
            counters,
            calls,
        )
        for number, position, output in form.following:
            self.known[number] = self.arrays[position] = outputs[output]
        return made
