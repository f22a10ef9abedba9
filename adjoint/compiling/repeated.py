"""The call of a program when everything is as it was at the last one.

Compiled, because XLA's own call takes few microseconds: in Python the looks at what the program
takes for granted would be half as much again.
"""

import logging
from types import FunctionType
from typing import Any, Final

from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import current
from adjoint.call.layers import open_levels
from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.stance import stance
from adjoint.dtypes import defaults
from adjoint.tensors.core import ABSENT, are_without_hooks, have_kept, hold, launch, show
from adjoint.tensors.tensor import AS_IS, Tensor

# Of a function: what it runs, and what it is called with.
PARTS: Final = ("__code__", "__defaults__", "__kwdefaults__")

log: Final = logging.getLogger("adjoint.compile")

BLANK: Final[Any] = numpy_backend.xp.empty(0)  # what new tensors hold until a program has run


class Bindings:
    """The values that names in dicts, cells, and attributes of objects had."""

    def __init__(self, found: list[Any]) -> None:
        self.renew(found)

    def renew(self, found: list[Any]) -> None:
        """Let it be these: holders, keys, None for a cell, and values."""
        self.found = found
        self.tables: list[dict[Any, Any]] = []
        self.names: list[Any] = []
        self.values: list[Any] = []
        self.cells: list[Any] = []
        self.contents: list[Any] = []
        self.others: list[Any] = []
        codes: dict[Any, dict[str, Any]] = {}  # of functions, of which these three are looked at
        for holder, key, value in found:
            if isinstance(holder, dict):
                self.tables.append(holder)
                self.names.append(key)
                self.values.append(value)
            elif key is None and value is not ABSENT:
                self.cells.append(holder)
                self.contents.append(value)
            elif isinstance(holder, FunctionType) and key in PARTS:
                codes.setdefault(holder, {})[key] = value
            else:
                self.others.append((holder, key, value))
        whole = [(each, parts) for each, parts in codes.items() if len(parts) == len(PARTS)]
        self.functions: list[Any] = [each for each, _ in whole]
        self.codes: list[Any] = [parts["__code__"] for _, parts in whole]
        self.given: list[Any] = [parts["__defaults__"] for _, parts in whole]
        self.named: list[Any] = [parts["__kwdefaults__"] for _, parts in whole]
        for each, parts in codes.items():
            if len(parts) < len(PARTS):
                self.others += [(each, key, value) for key, value in parts.items()]

    def hold(self) -> bool:
        """Whether they have the very same; compiled, cells and functions are read by C."""
        for table, name, value in zip(self.tables, self.names, self.values):
            if table.get(name, ABSENT) is not value:
                return False
        for function, code, given, named in zip(self.functions, self.codes, self.given, self.named):
            if function.__code__ is not code or function.__defaults__ is not given:
                return False
            if function.__kwdefaults__ is not named:
                return False
        for cell, content in zip(self.cells, self.contents):
            try:
                if cell.cell_contents is not content:
                    return False
            except ValueError:  # it is not bound
                return False
        for holder, key, value in self.others:
            try:
                now = holder.cell_contents if key is None else getattr(holder, key)
            except (ValueError, AttributeError):
                now = ABSENT
            if now is not value:
                return False
        return True


class Kept:
    """What has to be as it was; the lists belong to others, who renew what is in them."""

    def __init__(
        self,
        tensors: tuple[list[Any], list[Any]],
        owners: tuple[list[Any], list[bool], list[bool]],
        guards: tuple[list[Any], list[Any], list[Bindings], list[Any], list[Any]],
    ) -> None:
        self.tensors, self.known = tensors  # which have these arrays
        self.owners, self.needs_grad, self.without = owners  # see have_kept
        # See `compiling.guards`.
        self.bare, self.tables, self.bindings, self.others, self.modules = guards

    def holds(self) -> bool:
        """Whether it all is."""
        if not show(self.tensors, self.known) or not are_without_hooks(self.bare):
            return False
        if not have_kept(self.owners, self.needs_grad, self.without):
            return False
        for table in self.tables:
            if table:
                return False
        for bindings in self.bindings:
            if not bindings.hold():
                return False
        for holds in self.others:
            if not holds():
                return False
        for guard in self.modules:
            if not hold(guard.owners, guard.names, guard.values):
                return False
            if [fields["training"] for fields in guard.fields] != guard.training:
                return False
        return True


class Outright:
    """How new tensors alone become the answer of a function: one of them, or a tuple."""

    def __init__(self, slots: list[int], several: bool) -> None:
        self.slots = slots
        self.several = several

    def of(self, made: list[Any]) -> Any:
        """The answer."""
        if self.several:
            return tuple([made[slot] for slot in self.slots])
        return made[self.slots[0]]


class Repeated:
    """The call of a program that only computes."""

    def __init__(
        self, kept: Kept, call: Any, arrays: list[Any], made: list[int], outright: Outright | None
    ) -> None:
        self.kept = kept
        self.call = call
        self.arrays = arrays
        self.made = made
        self.outright = outright

    def answer(self, program: Any, arguments: Any) -> Any:
        """The function's answer; ABSENT if anything may be other than it was."""
        if not self.kept.holds():
            return ABSENT
        found: list[Any] = self.call(*self.arrays)
        made: list[Any] = [Tensor(found[number], AS_IS) for number in self.made]
        if self.outright is not None:
            return self.outright.of(made)
        return program.answer(made, arguments)


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
        outright: Outright | None,
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
        self.outright = outright

    def answer(self, program: Any, arguments: Any) -> Any:
        """The function's answer, when all is written; ABSENT if anything may be other than it was.

        What puts an answer up runs no code of the user's: it can't fail, nor change anything.
        """
        if not self.kept.holds():
            return ABSENT
        for event in self.events:
            self.inputs.give(event, event.act())
        form, arrays, call = self.overwriting.form(self.arrays)
        if call is None or form.known != self.overwriting.kind():
            return ABSENT
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
        if self.outright is not None:
            return self.outright.of(made)
        return program.answer(made, arguments)


class Last:
    """The newest call without arguments, and its program, which is asked first."""

    def __init__(self, lock: Any, settings: Any, kind: Any, program: Any) -> None:
        self.lock = lock
        self.settings = settings
        self.kind = kind  # the data type of numbers
        self.program = program
        self.repeated: Repeated | None = None

    def answer(self) -> Any:
        """What a call here and now answers, if it is like that one; ABSENT if it is another."""
        if current() is not self.settings or defaults.floating is not self.kind:
            return ABSENT
        if stance.eager or open_levels.get():
            return ABSENT
        if self.repeated is not None:  # which any number of threads may do at a time
            answer = self.repeated.answer(self.program, ())
            if answer is not ABSENT:
                return answer
        with self.lock:
            try:
                answer = self.program.run(())
            except OutdatedError as outdated:
                log.debug("%s: %s", self.program.name, outdated.reason)
                self.settings = None
                return ABSENT
            if isinstance(self.program.repeated, Repeated):
                self.repeated = self.program.repeated
            return answer
