"""Views: tensors that share memory share their history.

A view remembers its base and the view operations that lead to it. When the memory changes, the
base gets a new node and each view replays those operations to find its own (docs/notes/views.md).
"""

from typing import Any

import adjoint.call.dispatch as dispatch
from adjoint.autograd.node import (
    USER,
    Node,
    SavedItem,
    conform,
    edge_node,
    next_sequence_number,
)
from adjoint.call.context import (
    change_grad_enabled,
    current,
    is_recording,
    replaced,
    set_current,
)
from adjoint.call.record import read_from
from adjoint.tensors.core import (
    CUSTOM_VIEW,
    DEFAULT_VIEW,
    INFERENCE_VIEW,
    MULTI_OUTPUT_VIEW,
    NO_GRAD_VIEW,
    TensorCore,
    backend_of,
    shares_memory,
)
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import renewed, upper


def replay(base: Any, steps: tuple[Any, ...]) -> Any:
    """The view operations again, on another base: a Tensor or a raw array."""
    for op, rest, number in steps:
        if isinstance(base, TensorCore):
            base = dispatch.apply(op, [base, *rest])
        else:
            base = dispatch.apply_raw(op, [base, *rest])
        if number >= 0:
            base = base[number]
    return base


def regenerate(view: Tensor, asked: bool) -> None:
    """The memory of a view was changed elsewhere, or unrecorded: find the view's node anew.

    Where nothing is recorded the node can wait, unless it is `asked` for.
    """
    extras = view.extras
    assert extras is not None and extras.base is not None and extras.counter is not None
    base: Any = extras.base
    if base.extras is not None and base.extras.reformed > extras.view_version:
        read = read_from(base, view)
        if read is None:
            raise RuntimeError(
                "a view can't be found again, since the tensor it shows was given another shape or "
                "order in place; clone() the view before, or make it anew"
            )
        extras.steps = read
    if base.layer is not None and not base.layer.level.ended:
        follow(view, base)
    immutable = not backend_of(base.array).mutable
    if not asked and not is_recording():
        if immutable:
            view.replace_array(replay(base.array, extras.steps))
        return
    if base.needs_grad or view.node is not None:  # or else it is a leaf of its own, and stays one
        if extras.creation != DEFAULT_VIEW:
            raise refusal(view, extras.creation, "its base or another view of its base has been")
        settings = current()
        try:
            # Modes are told of what the program does, and not of this.
            set_current(replaced(settings, {"modes": (), "beneath": False, "grad_enabled": True}))
            fresh = replay(base, extras.steps)
        finally:
            set_current(settings)
        old, old_number = view.node, view.output_number
        view.node, view.output_number = fresh.node, fresh.output_number
        view.needs_grad = fresh.needs_grad
        move_retain_grad(view, old, old_number)
        if immutable:
            view.replace_array(fresh.array)
    elif immutable:
        view.replace_array(replay(base.array, extras.steps))
    extras.view_version = extras.counter.value


def follow(view: Tensor, base: Tensor) -> None:
    """The base was changed inside a transform: what it holds now, the view shows."""
    extras = view.extras
    assert extras is not None and base.layer is not None
    if view.layer is None or view.layer.level.number <= base.layer.level.number:
        layer = replay(renewed(base), extras.steps).layer
        if layer is not None:
            view.layer = layer
            view.special = True
            if base.layer.borrowed:
                layer.borrowed = True
                layer.level.borrowed.append(view)


def refusal(view: Tensor, creation: int, what: str) -> RuntimeError:
    """Why a view of this kind can't be changed."""
    if creation in (MULTI_OUTPUT_VIEW, CUSTOM_VIEW):
        name = "a function" if view.node is None else view.node.name().partition("Backward")[0]
        reason = "was created inside a custom Function, whose backward does not know of the change"
        if creation == MULTI_OUTPUT_VIEW:
            reason = "is the output of a function that returns multiple views"
        return RuntimeError(
            f"Output {view.output_number} of {name} is a view and {what} modified inplace. This "
            f"view {reason}; use the out-of-place form of the change instead, or clone the view."
        )
    made = {NO_GRAD_VIEW: "in no_grad mode", INFERENCE_VIEW: "in inference mode"}[creation]
    return RuntimeError(
        f"A view was created {made} and {what} modified inplace with grad mode enabled, which is "
        "ambiguous: make the view and the change both inside that mode, or both outside; or clone "
        "the view first."
    )


def scattered(base: Any, steps: tuple[Any, ...], value: Any) -> Any:
    """base with the part its steps show replaced by value, for arrays that can't be changed."""
    xp = backend_of(base).xp
    if value.dtype != base.dtype:  # the real or imaginary part of a complex base
        return base + transposed(base, steps, value - replay(base, steps))
    places = replay(xp.arange(base.size).reshape(base.shape), steps)
    flat = xp.updated(base.reshape(-1), places.reshape(-1), value.reshape(-1))
    return flat.reshape(base.shape)


def transposed(base: Any, steps: tuple[Any, ...], piece: Any) -> Any:
    """The adjoint of the view operations: piece in its place, zeros elsewhere.

    base and piece are raw arrays, or both Tensors, which records the work.
    """
    recorded = isinstance(piece, TensorCore)
    start: Any = base
    if not isinstance(base, TensorCore) or base.layer is None or not base.layer.wraps:
        start = upper.tensor(base.array if isinstance(base, TensorCore) else base)
    else:  # its class alone knows what a view of it shows
        start = renewed(base)
    start.needs_grad = True
    settings = current()
    try:
        if settings.beneath:
            set_current(replaced(settings, {"beneath": False}))
        change_grad_enabled(True)
        end = replay(start, steps)
    finally:
        set_current(settings)
    node, number = end.node, end.output_number
    while node is not None and node.edge_count > 0:
        grads = [None] * node.output_count()
        grads[number] = piece
        piece = node.apply(grads, recorded)[0]
        following, number = node.next0, node.nr0
        assert following is not None
        piece = conform(following, number, piece)
        node = following
    return piece


def set_history(tensor: Any, node: Node, output_number: int) -> None:
    """A tensor's value now comes from `node`; retain_grad moves along, other hooks stay behind."""
    old, old_number = tensor.node, tensor.output_number
    tensor.node = node
    tensor.output_number = output_number
    tensor.needs_grad = True
    extras = tensor.extras
    if extras is None:
        return
    if extras.counter is not None:
        node.watch(output_number, extras.counter)
    move_retain_grad(tensor, old, old_number)


def move_retain_grad(tensor: Any, old: Node | None, old_number: int) -> None:
    """A tensor has another node than before: it keeps the gradient that arrives there now."""
    if tensor.node is None or old is None or old.hooks is None or not tensor.extras.retains_grad:
        return
    reference = old.hooks.retain.pop(old_number, None)
    if reference is not None:
        tensor.node.any_hooks().retain[tensor.output_number] = reference


def rebase(target: Tensor, node: Node, output_number: int, position: int = 0) -> Node:
    """Let a change of target by the step of `node` be its history, or that of its base.

    `position` is the target's place among the inputs of the step.
    """
    extras = target.extras
    base: Any = None if extras is None else extras.base
    if extras is None or base is None:
        set_history(target, node, output_number)
        return node
    copy = CopySlices(base, extras.steps, node, position)
    set_history(base, copy, 0)
    regenerate(target, True)
    return copy


class CopySlices(Node):
    """The backward of changing a view in place, as the base sees it.

    Outside the view the gradient passes; inside, it goes through the step that made the change.
    """

    def __init__(
        self, base: TensorCore, steps: tuple[Any, ...], step: Node, position: int = 0
    ) -> None:
        super().__init__(next_sequence_number())
        self.steps = steps
        self.step = step
        self.position = position  # of the view among the inputs of step
        whole: Any = base
        self.strides = whole.stride() if current().modes else None  # for those who see the pass
        if step.lane == USER:
            self.lane = USER
        self.code, self.instruction = step.code, step.instruction
        self.module_call = step.module_call
        self.spec = base.spec()
        self.add_edge(edge_node(base), base.output_number)
        for i, (following, number) in enumerate(step.edges()):
            if i != position:
                self.add_edge(following, number)

    def name(self) -> str:
        """PyTorch's name of this step."""
        return "CopySlices"

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        grad = grads[0]
        recorded = isinstance(grad, TensorCore)
        if recorded and self.strides is not None:
            found = upper.passed(self, grad, replay)
            if found is not None:
                return found  # type: ignore[no-any-return]  # a list of gradients
        mutable = recorded or backend_of(grad).mutable
        if recorded:
            grad = grad.contiguous()
        elif mutable:
            grad = grad.copy()  # ours to change, and of the base's own layout
        piece = replay(grad, self.steps)
        own = piece if recorded or not mutable else piece.copy()
        results = self.step.apply([own], create_graph)
        inside = results.pop(self.position)
        if self.step.edges()[self.position][0] is None:
            inside = None
        if recorded:
            total = grad - transposed(grad, self.steps, piece)
            if inside is not None:
                total = total + transposed(grad, self.steps, inside)
        elif mutable and shares_memory(piece, grad):
            total = grad
            piece[...] = 0 if inside is None else inside
        else:
            if inside is None:
                inside = backend_of(grad).xp.zeros(piece.shape, piece.dtype)
            total = scattered(grad, self.steps, inside)
        return [total, *results]

    def release(self) -> None:
        self.step.release()
        self.released = self.step.released

    def saved_items(self) -> list[SavedItem]:
        return self.step.saved_items()
