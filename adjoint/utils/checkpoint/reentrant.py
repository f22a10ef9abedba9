"""Checkpointing by a pass within the pass: the older form, as PyTorch's use_reentrant=True.

One node stands for the region; its backward runs the region again and calls backward on that.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from adjoint.autograd.entry_points import backward
from adjoint.autograd.grad_mode import no_grad
from adjoint.autograd.graph_task import current_task
from adjoint.autograd.node import USER, Node, edge_node, next_sequence_number
from adjoint.autograd.saved_tensors import freed
from adjoint.call.context import is_recording
from adjoint.tensors.core import is_floating, raw
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.utils.checkpoint.surroundings import Surroundings, keep, restored


def run_reentrant(function: Callable[..., Any], preserve_rng_state: bool, args: Any) -> Any:
    """The function's outputs, with one node for the whole call."""
    check_backward_validity(args)
    surroundings = Surroundings(preserve_rng_state)
    kept = [keep(value) for value in args]
    with no_grad():
        outputs = function(*args)
    surroundings.forget_unused()
    sources = [value for value in args if isinstance(value, Tensor) and value.requires_grad]
    if not sources or not is_recording():
        return outputs
    if not isinstance(outputs, (Tensor, tuple, list)):
        raise TypeError(
            "checkpoint with use_reentrant=True needs a function that returns a Tensor or a tuple, "
            f"got {type(outputs).__name__}; use_reentrant=False takes anything"
        )
    several = not isinstance(outputs, Tensor)
    results = [
        o.detach() if isinstance(o, Tensor) else o for o in (outputs if several else [outputs])
    ]
    node = CheckpointFunctionBackward(function, kept, surroundings, sources)
    node.describe(results)
    return tuple(results) if several else results[0]


class CheckpointFunctionBackward(Node):
    """The backward of a whole region."""

    def __init__(
        self,
        function: Callable[..., Any],
        kept: list[Any],
        surroundings: Surroundings,
        sources: list[Tensor],
    ) -> None:
        super().__init__(next_sequence_number())
        self.lane = USER
        self.function = function
        self.kept = kept
        self.surroundings = surroundings
        self.places: list[int] = []  # of the outputs that have a gradient, among all
        for tensor in sources:
            self.add_edge(edge_node(tensor), tensor.output_number)

    def describe(self, results: list[Any]) -> None:
        """Become the node of every result that can have a gradient."""
        self.places = [
            i for i, r in enumerate(results) if isinstance(r, Tensor) and is_floating(r.array)
        ]
        self.describe_outputs([results[i] for i in self.places])
        for number, i in enumerate(self.places):
            results[i].node, results[i].output_number = self, number
            results[i].needs_grad = True

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """See Node: run the region again, and backward on it."""
        kept = self.kept
        if self.released:
            raise freed(self.name())
        _refuse_unfit_pass(create_graph)
        inputs = detach_variable(tuple(restored(value) for value in kept))
        outputs = self.surroundings.again(partial(self.function, *inputs))
        given = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        roots, starts = [], []
        for i, grad in zip(self.places, grads):
            if given[i].requires_grad and grad is not None:
                roots.append(given[i])
                start = raw(grad)
                starts.append(start if isinstance(start, Tensor) else Tensor(start, AS_IS))
        if not any(given[i].requires_grad for i in self.places):
            raise RuntimeError(
                "checkpoint: none of output has requires_grad=True, so this checkpoint() is not "
                "necessary: the function computes without recording"
            )
        if roots:
            backward(roots, starts)
        sources = (value for value in inputs if isinstance(value, Tensor) and value.requires_grad)
        return [None if s.gradient is None else raw(s.gradient) for s in sources]

    def release(self) -> None:
        """Let go of the arguments."""
        self.released = True  # first: another thread may be reading them
        self.kept = []


def _refuse_unfit_pass(create_graph: bool) -> None:
    """The pass within must reach every leaf, which no restricted pass allows."""
    task = current_task()
    while task is not None:
        if task.needed is not None:
            raise RuntimeError(
                "checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward() when use_reentrant=True: the pass within adds to the .grad of every "
                "leaf. Use use_reentrant=False."
            )
        task = task.parent
    if create_graph and is_recording():  # or gradients are Tensors for another reason
        raise RuntimeError(
            "checkpoint with use_reentrant=True has no second derivative: create_graph=True would "
            "lose it without a word. Use use_reentrant=False."
        )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input needs a gradient, as then no output has one."""
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warnings.warn(
            "checkpoint: None of the inputs have requires_grad=True, so that with "
            "use_reentrant=True gradients will be None; use_reentrant=False has no such limit",
            stacklevel=3,
        )


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values as leaves, needing gradients where they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported, got {type(inputs).__name__}")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value
        for value in inputs
    )
