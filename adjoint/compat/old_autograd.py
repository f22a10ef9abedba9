"""Old and private names of torch.autograd: Variable, its engine, version counters, settings."""

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.autograd import graph
from adjoint.autograd.graph_task import current_task
from adjoint.compat.switches import switch
from adjoint.tensors.tensor import Tensor

_VIEWS = """How a view that was changed finds its history: adjoint always replays the view."""
_THREADS = """Whether backward may use threads: adjoint uses one for each device that needs it."""

_force_original_view_tracking, is_view_replay_enabled = switch(
    "_force_original_view_tracking", default=False, doc=_VIEWS
)
set_multithreading_enabled, is_multithreading_enabled = switch(
    "set_multithreading_enabled", default=True, doc=_THREADS
)


class Engine:
    """torch.autograd.Variable._execution_engine."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call callback when the backward pass that is under way ends."""
        graph.queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether the pass that is under way computes the gradients of all leaves."""
        return graph.is_checkpoint_valid()


class _VariableType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False) -> Tensor:
        """A leaf on the memory of a tensor."""
        leaf = Tensor() if data is None else data.detach()
        return leaf.requires_grad_() if requires_grad else leaf


class Variable(metaclass=_VariableType):
    """What Tensor was called when it could need a gradient; every tensor is one."""

    _execution_engine = Engine()


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the pass that is under way keeps its graph; True outside of one."""
    task = current_task()
    return task is None or bool(task.keep_graph)


def kineto_available() -> bool:
    """Whether PyTorch's profiler library is there: no."""
    return False


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Say how often tensors were changed in place, as if it had been so."""
    for version in versions:
        if version < 0:
            raise RuntimeError(f"a tensor can't have been changed {version} times")
    for tensor, version in zip(tensors, versions, strict=True):
        tensor.counter().value = version


class _unsafe_preserve_version_counter:
    """Changes inside are not counted."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        self.versions = [tensor.version() for tensor in self.tensors]

    def __enter__(self) -> None:
        """Nothing to do yet."""

    def __exit__(self, *exc: object) -> None:
        _unsafe_set_version_counter(self.tensors, self.versions)
