"""The call of a program that only computes, when everything is as it was at the last one.

Compiled, because XLA's own call takes few microseconds: in Python the looks at what the program
takes for granted would be half as much again.
"""

from typing import Any

from adjoint.tensors.core import are_without_hooks, have_kept, show
from adjoint.tensors.tensor import AS_IS, Tensor


class Repeated:
    """What such a call needs; the lists belong to others, who renew what is in them."""

    def __init__(
        self,
        call: Any,
        arrays: list[Any],
        tensors: tuple[list[Any], list[Any]],
        owners: tuple[list[Any], list[bool], list[bool]],
        guards: tuple[list[Any], list[Any], list[tuple[Any, Any, Any]]],
        made: list[int],
    ) -> None:
        self.call = call
        self.arrays = arrays
        self.tensors, self.known = tensors  # which have these arrays
        self.owners, self.needs_grad, self.without = owners  # see have_kept
        self.bare, self.tables, self.names = guards  # see `compiling.guards`
        self.made = made

    def results(self) -> list[Any] | None:
        """New tensors; None if anything may be other than it was."""
        if not show(self.tensors, self.known) or not are_without_hooks(self.bare):
            return None
        if not have_kept(self.owners, self.needs_grad, self.without):
            return None
        for table in self.tables:
            if table:
                return None
        for holder, key, value in self.names:
            now = holder.cell_contents if key is None else holder.get(key)
            if now is not value:
                return None
        found: list[Any] = self.call(*self.arrays)
        return [Tensor(found[number], AS_IS) for number in self.made]
