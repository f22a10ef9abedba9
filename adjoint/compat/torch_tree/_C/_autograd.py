"""torch._C._autograd: the places in which nodes keep tensors, and what an engine tells."""

from collections.abc import Sequence
from typing import Any

from adjoint.autograd import saved_tensors
from adjoint.autograd.graph_task import current_task
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


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the pass that is under way keeps its graph; True outside of one."""
    task = current_task()
    return task is None or bool(task.keep_graph)


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Say how often tensors were changed in place, as if it had been so."""
    for version in versions:
        if version < 0:
            raise RuntimeError(f"a tensor can't have been changed {version} times")
    for tensor, version in zip(tensors, versions, strict=True):
        tensor.counter().value = version


def kineto_available() -> bool:
    """Whether PyTorch's profiler library is there: no."""
    return False
