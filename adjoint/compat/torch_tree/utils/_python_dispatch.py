"""torch.utils._python_dispatch: modes that see every operation of their block.

A mode is a watcher of the calling context (`call.context`). It sees adjoint's operations as they
are called on tensors; gradients without create_graph are computed on arrays, and unseen.
"""

from collections.abc import Mapping
from typing import Any, Self

from adjoint.call.context import Scope, Settings, current, replaced
from adjoint.call.dispatch import tensors_in
from adjoint.compat.torch_tree.ops import overload_of
from adjoint.tensors.tensor import Tensor


class TorchDispatchMode(Scope):
    """Inside its block, `__torch_dispatch__(func, types, args, kwargs)` answers every call."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Answer a call; a mode that only looks calls func itself."""
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_dispatch__")

    def __call__(self, operation: Any, values: list[Any]) -> Any:
        """See call.context.Settings.watchers."""
        args, kwargs = operation.spelled(values)
        kinds = {type(tensor) for tensor in tensors_in(values)} - {Tensor}
        return self.__torch_dispatch__(overload_of(operation), tuple(kinds), args, kwargs)

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("watchers",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(outer, {"watchers": (*outer.watchers, self)})

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new mode of this class, to be entered."""
        return cls(*args, **kwargs)


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes of the calling context, the innermost last."""
    return [watcher for watcher in current().watchers if isinstance(watcher, TorchDispatchMode)]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode of the calling context."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


def _len_torch_dispatch_stack() -> int:
    """How many modes the calling context is in."""
    return len(_get_current_dispatch_mode_stack())


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor is made of others: none is."""
    return False
