"""Definitions and registrations that end with a `with` statement."""

from typing import Any

from adjoint.call.held import Held
from adjoint.library.custom_op import REGISTRY


class scoped(Held):
    """Whatever is defined and registered inside is undone at the end."""

    def __init__(self) -> None:
        self.before: Any = None

    def _variable(self) -> Any:
        """See Held."""
        return self

    def _inside(self, before: Any) -> Any:
        """See Held."""
        self.before = before
        return None

    def _outside(self, now: Any) -> Any:
        """See Held."""
        return self.before

    def get(self) -> Any:
        """All ops, and what is registered for each."""
        return dict(REGISTRY), {op: op.registered.copy() for op in REGISTRY.values()}

    def set(self, state: Any) -> None:
        """Let there be these; None: those that there are."""
        if state is not None:
            ops, registered = state
            REGISTRY.clear()
            REGISTRY.update(ops)
            for op, each in registered.items():
                op.registered = each
