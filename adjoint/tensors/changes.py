"""In-place changes: what autograd can't follow is refused, the rest written and remembered.

The change becomes the history of the tensor or, of a view, that of its base (docs/notes/views.md).
"""

import warnings
from typing import TYPE_CHECKING, Any, Final

import adjoint.call.dispatch as dispatch
from adjoint.autograd.node import (
    ANY_DEPTH,
    Node,
    edge_node,
    mark,
    next_sequence_number,
)
from adjoint.autograd.saved_tensors import before_change
from adjoint.backends.numpy import numpy_backend
from adjoint.call.arguments import kinds_of, tensors_in
from adjoint.call.context import (
    Settings,
    current,
    is_recording,
    replaced,
    set_current,
)
from adjoint.call.layers import Below, derivatives, newest, open_levels
from adjoint.call.op_node import OpNode
from adjoint.call.overriding import by_mode, override
from adjoint.call.promotion import common_backend
from adjoint.call.record import (
    beginning,
    extended,
    keep_shown,
    needs,
    pack_all,
    record,
    settle,
    to_keep,
)
from adjoint.tensors.core import (
    DEFAULT_VIEW,
    NDARRAY,
    VersionCounter,
    backend_of,
    is_floating,
)
from adjoint.tensors.memory import check_result, mutate_plainly, refuse_shared, store, write_result
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import Sharing, renewed, upper
from adjoint.tensors.views import rebase, refusal, regenerate, replay, scattered, set_history

if TYPE_CHECKING:
    from adjoint.ops.op import Op


def apply_inplace(op: "Op", values: list[Any], function: Any = None, checked: bool = False) -> Any:
    """Run an op and put its result where its first argument is; subclasses see `function`."""
    if op.draws and not checked and open_levels.get():
        return draw_in_place(op, values, function)
    target: Tensor = values[0]
    if (op.mutate is not None or op.lane <= dispatch.BINARY) and mutate_plainly(op, values):
        return target
    settings = current()
    tensors = tensors_in(values)
    if settings.functions:
        kinds = kinds_of(tensors)
        return by_mode(settings, function or op.changer.as_method(), kinds, *op.spelled(values))
    if settings.tracing is not None:
        settings.tracing.lift_all(tensors)
    if settings.watchers:
        return dispatch.watched(function or op.changer, values, settings)
    for tensor in tensors:
        if tensor.extras is not None:
            tensor.refresh()
        if tensor.special:
            top = newest(tensors)
            if top is not None and not (settings.overrides and is_overridden(tensor)):
                return change_in_layer(op, values, top, settings)
            if tensor.special and settings.overrides:
                return override(op, function or op.changer.as_method(), values, tensors)
    if op.view:
        return become_view(op, values, target)
    given = values
    if op.dims:
        values = op.counted_from_end(values)
    recording = is_recording() and any(needs(v) for v in values)
    if recording and op.inputs and not op.converts and not is_floating(target.array):
        raise RuntimeError(
            f"{op.name}_(): the tensor to change is of {target.dtype.name}, which can't have the "
            "gradient that an argument needs: convert it, or detach() the argument"
        )
    constant = op.constant and len(tensors) == 1  # a number; PyTorch refuses a tensor of one
    check_inplace(op.name + "_", target, constant, recording and bool(op.inputs), op.rewrites)
    backend = common_backend(op, tensors)
    if backend is not backend_of(target.array):
        raise RuntimeError(f"{op.name}_(): the tensor to change is on another device")
    before: Tensor | None = None
    if recording and (op.inputs or target.needs_grad):
        keeps = 0 in op.plan((1 << len(op.inputs)) - 1).values
        before = alias_of(target, keeps)
    refuse_shared(op, values)
    before_change(target)
    kept: list[Any] | None = None
    if settings.modes:
        if before is not None:
            kept = to_keep(op, values, settings)
            show_copy(op, values)
        change_below(op, given, settings, kept)
    else:
        write_result(op, values, given, target, backend)
    if before is None:
        target.counter().bump()
        if settings.intermediates is not None:
            settings.intermediates.extend(op, values, [target])
    else:
        # As another operand the target is found changed in backward, as in PyTorch.
        rest = [alias_of(target, False) if v is target else v for v in values[1:]]
        remember_change(op, [before, *rest], target, kept)
    if before is None:
        settle_view(target)
    return target


def check_inplace(
    op_name: str,
    target: Tensor,
    constant: bool = False,
    recorded: bool = False,
    rewrites: bool = False,
) -> None:
    """Refuse an in-place change that autograd can't follow, before anything is touched.

    A `constant` written everywhere may meet a place twice, and what `rewrites` may, with a warning;
    `recorded` says that an operand needs a gradient.
    """
    recording = is_recording()
    if target.inference and not current().inference:
        raise RuntimeError(
            f"{op_name}(): Inplace update to inference tensor outside InferenceMode is not "
            "allowed. Clone it first to get a normal tensor."
        )
    array = target.array
    if type(array) is NDARRAY and not array.flags.writeable:
        before_change(target)  # who waits for it may know better why not
        raise RuntimeError(f"{op_name}(): the tensor's memory is read-only; clone() it first")
    if not backend_of(array).mutable and target.extras is not None:
        if target.extras.base is not None:  # its strides are those that NumPy would give it
            shadow = numpy_backend.xp.zeros(target.extras.base.array.shape, "bool")
            array = replay(shadow, target.extras.steps)
    if not constant and hasattr(array, "strides") and array.size:
        for size, stride in zip(array.shape, array.strides):
            if stride == 0 and size > 1:
                if rewrites and not (recording and (recorded or target.needs_grad)):
                    warnings.warn(
                        f"{op_name}() on an expanded tensor is deprecated: more than one element "
                        "refers to a single memory location; clone() it first",
                        stacklevel=2,
                    )
                    break
                raise RuntimeError(
                    f"{op_name}(): unsupported operation: more than one element of the written-to "
                    "tensor refers to a single memory location; clone() it first"
                )
    if recording:
        check_history(op_name, target, recorded)


def check_history(op_name: str, target: Tensor, recorded: bool) -> None:
    """Refuse to change a leaf, or a view that can't be made again."""
    extras = target.extras
    base = None if extras is None else extras.base
    if base is not None and extras is not None and extras.creation != DEFAULT_VIEW:
        if base.needs_grad or target.needs_grad or recorded:
            raise refusal(target, extras.creation, "is being")
    leaf = target.needs_grad and target.node is None
    view_of_leaf = base is not None and base.needs_grad and base.node is None
    if leaf or view_of_leaf:
        what = "a leaf Variable" if leaf else "a view of a leaf Variable"
        raise RuntimeError(
            f"{op_name}(): {what} that requires grad is being used in an in-place operation. Use "
            "the out-of-place form, or change it under no_grad()."
        )
    if recorded and not target.needs_grad:
        for derivative in derivatives.get():
            if derivative.captures(target):
                raise RuntimeError(
                    f"{op_name}(): inside {derivative.name} it would mutate a captured Tensor: one "
                    "from outside the function, changed by what depends on its inputs, would have "
                    "a history that ends with the transform. Let it be an argument, or clone() it"
                )


def alias_of(tensor: Tensor, copy: bool) -> Tensor:
    """The tensor as it is now, for a node to refer to: the tensor itself is about to change."""
    array = backend_of(tensor.array).copy(tensor.array) if copy else tensor.array
    before = Tensor(array, AS_IS)
    tensor.counter()  # made now, so that the two share it
    before.needs_grad = tensor.needs_grad
    before.node, before.output_number = tensor.node, tensor.output_number
    if copy:
        before.rare().counter = VersionCounter()  # memory of its own, that nobody changes
    else:
        before.extras = tensor.extras
    if before.node is None and before.needs_grad:
        before.node = edge_node(tensor)
    return before


def settle_view(target: Tensor) -> None:
    """A view was changed and nothing recorded: its node, if there is none to find, still holds."""
    extras = target.extras
    if extras is not None and extras.base is not None:
        if not extras.base.needs_grad and target.node is None:
            extras.view_version = target.counter().value


def draw_in_place(op: "Op", values: list[Any], function: Any) -> Any:
    """Fill a tensor by chance inside transforms; those newer than it need not know more of it."""
    levels = open_levels.get()
    top = newest(tensors_in(values))
    for level in levels:
        level.check_draw_in_place(op.draws, values[0])
    with Below(1 if top is None else top.level.number + 1):
        return apply_inplace(op, values, function, checked=True)


def show_copy(op: "Op", values: list[Any]) -> None:
    """Let modes see that a recorded change is to a tensor of which backward wants a copy."""
    needed = sum(1 << i for i, place in enumerate(op.inputs) if needs(values[place]))
    if 0 in op.plan(needed).values:
        upper.copied(op, values[0])


def change_below(
    op: "Op", values: list[Any], settings: Settings, kept: list[Any] | None = None
) -> None:
    """Let a mode change the first argument; that it is changed once more is counted outside."""
    counter = values[0].counter()
    version = counter.value
    dispatch.asked_below(settings, True, op, values, kept)
    counter.value = version


def change_in_layer(op: "Op", values: list[Any], top: Any, settings: Settings) -> Tensor:
    """The same inside a transform: the result is computed aside, and put where the target is.

    Each level below notices the change by itself, since it is one to a tensor of its own.
    """
    if top.wraps:
        return change_wrapped(op, values, top, settings)
    target: Tensor = values[0]
    bare = top.bare(values)
    if bare is not None:
        below: Tensor = apply_inplace(op, bare)
        if below is not target:
            target.replace_array(below.array)
            if target.counter() is not below.counter():
                target.counter().bump()
        return target
    name = op.name + "_"
    recording = is_recording() and any(needs(v) for v in values)
    if recording:
        check_history(name, target, bool(op.inputs))
    top.adopt(name, values)
    before = target
    if is_recording() and 0 in op.plan((1 << len(op.inputs)) - 1).values:
        before = renewed_with_history(target)
        before.layer = target.layer.copied()
    elif recording:
        before = renewed_with_history(target)
    result: Tensor = dispatch.apply(op, [before, *values[1:]])
    if isinstance(result, (tuple, list)):
        raise RuntimeError(f"{name}(): an op with several results has no in-place form")
    if op.view:
        target.layer = result.layer
        target.replace_array(result.array)
    else:
        check_result(name, target, result.array)
        before_change(target)
        top.store(target, result)
    target.counter().bump()
    if result.node is not None:
        settle(rebase(target, result.node, result.output_number), current())
        if isinstance(result.node, OpNode):  # it keeps what is there after the change
            result.node.watches().version = target.counter().value
    else:
        settle_view(target)
    return target


def is_overridden(tensor: Tensor) -> bool:
    """Whether the class of a tensor in a layer wants to see calls before they are recorded."""
    return tensor.layer is not None and bool(tensor.layer.overridden)


def change_wrapped(op: "Op", values: list[Any], top: Any, settings: Settings) -> Tensor:
    """The same where a class answers the calls on its instances: it makes the change itself."""
    target: Tensor = values[0]
    recording = is_recording() and any(needs(v) for v in values)
    before: Any = None
    if recording:
        check_history(op.name + "_", target, bool(op.inputs))
        before = renewed_with_history(target)
        if 0 in op.plan((1 << len(op.inputs)) - 1).values:
            whole: Any = target.detach()
            copy = whole.clone()
            copy.needs_grad = before.needs_grad
            copy.node, copy.output_number = before.node, before.output_number
            before = copy
    before_change(target)
    if settings.modes:
        change_below(op, values, settings)
    else:
        top.change(op, values)
    if op.view:  # the class changes what its instance holds, not how that looks from outside
        target.replace_array(dispatch.apply_raw(op, [target.array, *values[1:]]))
    if before is None:
        target.counter().bump()
        settle_view(target)
    else:
        remember_change(op, [before if v is target else v for v in values], target)
    return target


def renewed_with_history(tensor: Tensor) -> Tensor:
    """The tensor as it is now, at its place in the graph, in the same layer."""
    now: Any = renewed(tensor)
    now.needs_grad = tensor.needs_grad
    now.node, now.output_number = edge_node(tensor), tensor.output_number
    return now  # type: ignore[no-any-return]  # made by `upper.tensor`


def become_view(op: "Op", values: list[Any], target: Tensor) -> Tensor:
    """The in-place form of a view op, such as `unsqueeze_`: a tensor shows its memory otherwise."""
    check_inplace(op.name + "_", target, constant=True)
    before_change(target)
    rest = values[1:]
    source = alias_of(target, False)
    whole = beginning(target)
    settings = current()
    if settings.tracing is not None and (target.extras is None or target.extras.base is None):
        settings.tracing.lay(target, (op, tuple(rest), -1))
    if settings.modes:
        shown = shown_below(op, values, source, settings)
    else:
        shown = dispatch.apply(op, [source, *rest])
    target.replace_array(shown.array)
    if shown.node is not None:
        set_history(target, shown.node, shown.output_number)
    counter = target.counter()
    counter.bump()
    extras = target.rare()
    if extras.base is None:
        extras.origin = whole
        extras.reformed = counter.value
    else:
        step = (op, tuple(rest), -1)
        extras.steps = extended(extras.steps, step, extras.base, target)
        if shown.node is not None:
            extras.view_version = counter.value
        else:
            settle_view(target)
    return target


def shown_below(op: "Op", values: list[Any], source: Tensor, settings: Settings) -> Tensor:
    """Let a mode make a tensor show its memory otherwise; it is not told of the graph."""
    extras = values[0].extras
    steps = None if extras is None else extras.steps
    change_below(op, values, settings)
    if extras is not None and steps is not None:
        extras.steps = steps
    try:
        set_current(replaced(settings, {"modes": ()}))
        shown: Tensor = dispatch.apply(op, [source, *values[1:]])
    finally:
        set_current(settings)
    return shown


def remember_change(
    op: "Op", values: list[Any], target: Tensor, kept: list[Any] | None = None
) -> None:
    """The autograd half of an in-place change.

    The node is made before the version is counted up: an operand that shares the memory, and is
    needed for backward, is then found changed.
    """
    counter = target.counter()
    if not is_floating(target.array):
        counter.bump()
        return
    extras = target.extras
    base: Any = None if extras is None else extras.base
    if base is not None:
        values[0].needs_grad = values[0].needs_grad or base.needs_grad
        if values[0].needs_grad and values[0].node is None:
            values[0].node = edge_node(target) or _Detached(target)
    node: Node | None = recorded_change(op, values, target)
    if kept:
        keep_shown(node, kept)
    counter.bump()
    if node is not None:
        made = rebase(target, node, 0)
        settle(made, current())


def recorded_change(op: "Op", values: list[Any], target: Tensor) -> Node | None:
    """The node of an in-place change of `target`; None if nothing needs a gradient."""
    if not op.inputs:
        return Forgotten(op, values[0])
    changed: Any = renewed(target)
    node = record(op, values, [changed], False)
    if node is None:
        return None
    counter = target.counter()
    node.watch(0, counter)
    watched = node.watches()
    watched.version = counter.value + 1
    changed.rare().counter = counter
    pairs = current().saved_hooks
    if pairs:
        pack_all(node, pairs, [changed])
        if node.packed:
            node.result.version = watched.version
    return node


class Forgotten(Node):
    """The backward of an in-place change that has no derivative, such as `eq_`: zeros."""

    def __init__(self, op: "Op", before: Tensor) -> None:
        super().__init__(next_sequence_number())
        self.op = op
        self.spec = before.spec()
        self.add_edge(edge_node(before), before.output_number)
        mark(self, ANY_DEPTH)

    def name(self) -> str:
        """PyTorch's name of this step."""
        name = self.op.node_name
        found: str = name if isinstance(name, str) else f"{self.op.name.capitalize()}Backward0"
        return found

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        spec = self.spec_of(0)
        return [backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype)]


class _Detached(Node):
    """Stands for the place of a view whose base had no history; nothing arrives there."""

    def __init__(self, view: Tensor) -> None:
        super().__init__(0)
        self.spec = view.spec()


# Those that resize an out= without a word, as PyTorch's do: what makes new tensors, and a few.
_WITHOUT_A_WORD: Final = """
    addbmm bernoulli empty eye full linspace logsigmoid logspace lu multinomial narrow_copy normal
    ones rand randint randn randperm zeros
"""
SILENT: Final = frozenset(_WITHOUT_A_WORD.split())


def overwrite(target: Tensor, result: Any, name: str) -> Tensor:
    """Put a result into a tensor given as out=, resizing it if it has another shape."""
    tracing = current().tracing
    if tracing is not None:
        tracing.lift_all([target])
    check_inplace(name, target, constant=name in ("full", "ones", "zeros"))
    before_change(target)
    value = result.array
    backend = backend_of(target.array)
    if value.shape != target.array.shape:
        if target.array.size and name not in SILENT:
            warnings.warn(
                f"{name}(): An output with one or more elements was resized, from "
                f"{tuple(target.array.shape)} to {tuple(value.shape)}; this is deprecated: give an "
                "empty tensor, or one of the right shape",
                stacklevel=2,
            )
        room = backend.xp.empty_like(value, dtype=target.array.dtype)  # it lies as the result does
        target.replace_array(room)
    store(name, target, value, backend)
    target.counter().bump()
    return target


class _Sharing(Sharing):
    """Views, for Tensor's methods."""

    def regenerate(self, view: Any, asked: bool) -> None:
        regenerate(view, asked)

    def overwrite(self, target: Any, result: Any, name: str) -> Any:
        return overwrite(target, result, name)

    def shown(self, array: Any, steps: Any) -> Any:
        return replay(array, steps)

    def scattered(self, array: Any, steps: Any, part: Any) -> Any:
        return scattered(array, steps, part)


upper.sharing = _Sharing()
