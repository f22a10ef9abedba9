"""The writes of a step: everything that can fail comes first, then one call makes them all.

A step that is interrupted by an exception or a signal leaves parameters and state as they were, or
as they should be: Python hears signals between bytecodes, and the one call runs none.
"""

from collections import deque
from itertools import chain, starmap
from operator import call, setitem
from typing import Any, Final

from adjoint._base import moments
from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.autograd.provenance import INTERPRETED
from adjoint.autograd.saved_tensors import before_change
from adjoint.backends import call_quietly
from adjoint.call.context import current
from adjoint.optim.programs import GRAD, Program, Spare, pieces
from adjoint.optim.wrapped import answers_calls, restoring
from adjoint.tensors.core import F32, F64, backend_of, counted, set_attribute
from adjoint.tensors.views import move_retain_grad

exhaust: Final[Any] = deque(maxlen=0).extend


def write_at_once(calls: list[tuple[Any, ...]], count: Any, changed: list[Any]) -> None:
    """Make calls and count changes, all in one call that runs no bytecode: no signal parts them."""
    if not INTERPRETED:
        call_quietly(exhaust, chain(starmap(call, calls), count(changed)))
        return
    with moments.lock:  # from reading the counts on, so that no change of another is lost
        call_quietly(exhaust, chain(starmap(call, calls), count(changed)))


class Undo:
    """How things were, to put them back where a change has failed halfway."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.tables: list[dict[Any, Any]] = []
        self.histories: list[tuple[Any, Any, int]] = []

    def mapping(self, target: dict[Any, Any]) -> None:
        """Remember the entries of a dict."""
        self.tables.append(target)
        self.calls += [(target.clear,), (target.update, target.copy())]

    def sequence(self, target: list[Any]) -> None:
        """Remember the entries of a list."""
        self.calls.append((setitem, target, slice(None), target.copy()))

    def tensor(self, target: Any) -> None:
        """Remember the values, the version and the history of a tensor, and of its base."""
        array = target.current_array()
        backend = backend_of(array)
        if target.layer is not None and target.layer.sparse:
            self.calls.append((set_attribute, target, "layer", target.layer))
        elif target.layer is not None and answers_calls(target):
            self.calls.append(restoring(target))
        elif backend.mutable:
            self.calls.append((setitem, array, ..., backend.copy(array)))
        self.calls.append((set_attribute, target, "array", array))
        for name in ("node", "output_number", "needs_grad"):
            self.calls.append((set_attribute, target, name, getattr(target, name)))
        counter = target.counter()
        self.calls.append((set_attribute, counter, "value", counter.value))
        self.histories.append((target, target.node, target.output_number))
        extras = target.rare()
        if extras.base is not None:
            self.calls.append((set_attribute, extras, "view_version", extras.view_version))
            self.tensor(extras.base)

    def run(self) -> None:
        """Put all of it back."""
        now = [(target, target.node, target.output_number) for target, *_ in self.histories]
        exhaust(starmap(call, self.calls))
        for (target, old, _), (_, node, number) in zip(self.histories, now):
            if node is not old:
                move_retain_grad(target, node, number)


class Writes:
    """What a step is going to write, and how it is put back where one call can't write it."""

    __slots__ = ("calls", "changed", "changes", "late", "launches", "spare")

    def __init__(self, spare: Spare) -> None:
        self.spare = spare
        self.calls: list[tuple[Any, ...]] = []  # functions with their arguments
        self.changed: list[Any] = []  # tensors whose memory the calls change
        self.late: list[tuple[Any, Any, bool]] = []  # tensors to copy_ to, what, and if recorded
        # Functions that change tensors and tables by themselves, and which.
        self.changes: list[tuple[Any, list[Any], list[Any]]] = []
        # Kernels by rule, type and numbers, with all parameters for which one launch does.
        self.launches: dict[Any, tuple[Any, Any, list[Any]]] = {}

    def set(self, target: Any, name: str, value: Any) -> None:
        """Have an attribute set."""
        self.calls.append((set_attribute, target, name, value))

    def put(self, target: Any, key: Any, value: Any) -> None:
        """Have an entry of a dict or an array set."""
        self.calls.append((setitem, target, key, value))

    def change(self, function: Any, tensors: list[Any], tables: list[Any]) -> None:
        """Have a function called that changes tensors and dicts, or leaves them as they were."""
        self.changes.append((function, tensors, tables))

    def apply(self, program: Program, arrays: list[Any], numbers: dict[str, Any]) -> None:
        """Have a program run on a parameter, its gradient and its state, in place."""
        if program.kernel is not None and program.kernel.takes(arrays):
            values = program.ordered(numbers)
            if all(isinstance(value, (int, float)) for value in values):
                key = (id(program), arrays[0].dtype, *values)
                self.launches.setdefault(key, (program.kernel, values, []))[2].append(arrays)
                return
        for operands in pieces(arrays):
            wide = [self._widened(number, array) for number, array in enumerate(operands)]
            self.calls += program.on(wide, numbers, self.spare)
            for number, (array, room) in enumerate(zip(operands, wide)):
                if room is not array and number != GRAD:
                    self.put(array, ..., room)

    def _widened(self, number: int, array: Any) -> Any:
        """An array that programs can use: of 16-bit floats a copy in 32 bits."""
        if array.dtype in (F32, F64):
            return array
        room = self.spare.room(-1 - number, F32, array)
        self.put(room, ..., array)
        return room

    def run(self) -> None:
        """Write, all at once."""
        if current().guards:
            for tensor in self.changed:
                before_change(tensor)
        if self.late or self.changes:
            self._run_late()
            return
        for kernel, values, arrays in self.launches.values():
            self.calls += kernel.calls(arrays, values)
        write_at_once(self.calls, counted, self.changed)

    def _run_late(self) -> None:
        """Change and copy first, and put it back if anything fails then."""
        undo = Undo()
        for target in chain(*(each[1] for each in self.changes), (late[0] for late in self.late)):
            undo.tensor(target)
        for table in chain(*(each[2] for each in self.changes)):
            undo.mapping(table)
        done: list[bool] = []
        try:
            for function, *_ in self.changes:
                function()
            for target, value, recorded in self.late:
                with set_grad_enabled(recorded):
                    target.copy_(value)
            self.late, self.changes = [], []
            self.calls.append((done.append, True))
            self.run()
        except BaseException:
            if not done:
                undo.run()
            raise
