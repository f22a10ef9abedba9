"""torch._C._autograd.SavedTensor: the places in which nodes keep tensors for backward."""

import warnings
from typing import Any

from adjoint.autograd import saved_tensors
from adjoint.call.context import current
from adjoint.tensors.tensor import Tensor


class _SavedTensorType(type):
    """Knows the places by what can be done with them: each kind of node has its own."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return hasattr(instance, "register_hooks") and hasattr(instance, "unpack")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Trying to create a SavedTensor object from Python is forbidden; nodes make them, see "
            "the attributes of grad_fn that begin with _raw_saved_"
        )


class SavedTensor(metaclass=_SavedTensorType):
    """A place in which a node keeps a tensor for backward, and where hooks can be registered."""


def _make_saved_tensor(tensor: Tensor, is_output: bool = False) -> saved_tensors.SavedTensor:
    """A tensor saved as nodes do it, through the hooks that are active here."""
    return saved_tensors.SavedTensor(tensor, current().saved_hooks)


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether hooks on saving are allowed here."""
    return current().hooks_refusal is None


def _saved_variables(ctx: Any) -> Any:
    what = "saved_variables is deprecated; use saved_tensors"
    warnings.warn(what, DeprecationWarning, stacklevel=2)
    return ctx.saved_tensors


FUNCTION_METHODS: dict[str, Any] = {"saved_variables": property(_saved_variables)}
MUTATION_METHODS: dict[str, Any] = {
    "tid_to_weakhandle": property(lambda context: context.handles),
    "sid_to_tid": property(lambda context: context.memories),
}
