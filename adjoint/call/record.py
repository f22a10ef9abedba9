"""What a call leaves behind for backward: its node, what that keeps, and how views are linked."""

from typing import TYPE_CHECKING, Any

from adjoint.autograd.hooks import attach_region_hooks
from adjoint.autograd.node import ANY_DEPTH, edge_node, mark
from adjoint.autograd.saved_tensors import pack, pack_arrays
from adjoint.backends import Backend
from adjoint.call.op_node import Kept, OpNode
from adjoint.tensors.core import (
    INFERENCE_VIEW,
    MULTI_OUTPUT_VIEW,
    NO_GRAD_VIEW,
    TensorCore,
    is_floating,
)
from adjoint.tensors.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.ops.op import Op, Plan


def has_tensor(values: Any) -> bool:
    """Whether a list of arguments holds a tensor."""
    for value in values:
        if isinstance(value, Tensor):
            return True
    return False


def has_index(values: Any) -> bool:
    """Whether a tuple of arguments holds elements to look up: lists or arrays, not just numbers."""
    for value in values:
        if isinstance(value, list) or hasattr(value, "dtype"):
            return True
    return False


def needs(value: Any) -> bool:
    """Whether an argument, or one in a list, needs a gradient."""
    if isinstance(value, Tensor):
        return value.needs_grad
    if isinstance(value, (list, tuple)):
        for element in value:
            if isinstance(element, Tensor) and element.needs_grad:
                return True
    return False


def cut_of(values: list[Any], own: int) -> int:
    """Why a result has no history: what cuts it `own`, if an argument has one; or what did before.

    0 if no argument ever had one.
    """
    before = 0
    for value in values:
        for element in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(element, Tensor):
                if element.needs_grad:
                    return own
                if element.cut:
                    before = element.cut
    return before


def needing(op: "Op", values: list[Any]) -> int:
    """Which of an op's inputs need a gradient and have a rule, as the bits of a number."""
    mask = 0
    joint = op.joint is not None
    for i, parameter in enumerate(op.inputs):
        if (joint or op.rules[i] is not None) and needs(values[parameter]):
            mask |= 1 << i
    return mask


def record(
    op: "Op", values: list[Any], results: list[Tensor], several: bool, hidden: Any = None
) -> OpNode | None:
    """Make the node of a call; None if no input needs a gradient."""
    mask = needing(op, values)
    if not mask:
        return None
    if not several:
        if not is_floating(results[0].array):
            return None
        return record_single(op, values, results[0], mask, hidden)
    differentiable = [is_floating(r.array) for r in results]
    if not any(differentiable):
        return None
    node = OpNode(op)
    keep_inputs(op, node, values, mask, hidden)
    node.describe_outputs(list(results))
    wanted = op.plan(mask).results
    if wanted:
        node.holds = True
        node.result = [r.array if i in wanted else None for i, r in enumerate(results)]
    for number, result in enumerate(results):
        if differentiable[number]:
            result.node = node
            result.output_number = number
            result.needs_grad = True
    mark(node, ANY_DEPTH)
    return node


def record_single(op: "Op", values: list[Any], result: Tensor, mask: int, hidden: Any) -> OpNode:
    """The node of a call with one result."""
    node = OpNode(op)
    plan = keep_inputs(op, node, values, mask, hidden)
    node.spec = result.spec()
    kept = node.kept
    node.separable = op.joint is None and kept is not None and not kept.lists
    if plan.keep_result:
        node.holds = True
        node.result = result.array
    result.node = node
    result.needs_grad = True
    mark(node, ANY_DEPTH)
    return node


def keep_inputs(op: "Op", node: OpNode, values: list[Any], mask: int, hidden: Any) -> "Plan":
    """Edges to the inputs, and what the rules of the mask will want of the arguments."""
    plan = op.plan(mask)
    record = Kept(mask, list(values), hidden)
    if op.hides:
        node.holds = True
    for i, parameter in enumerate(op.inputs):
        value = values[parameter]
        if isinstance(value, (list, tuple)):
            record.lists = True
            keep_shape(record, parameter, [shape_of(element) for element in value])
            for element in value:
                add_edge(node, element, mask >> i & 1)
        else:
            add_edge(node, value, mask >> i & 1)
    for parameter, value in enumerate(values):
        if isinstance(value, Tensor):
            if plan.wants_shape[parameter]:
                keep_shape(record, parameter, value.spec().shape)
            if plan.wants_value[parameter]:
                refuse_inference(op, value)
                node.holds = True
                if value.extras is not None:
                    keep_version(record, parameter, value.version())
            else:
                record.values[parameter] = None
        elif isinstance(value, (list, tuple)) and has_tensor(value):
            if plan.wants_value[parameter]:
                node.holds = True
                keep_version(
                    record, parameter, [e.version() if isinstance(e, Tensor) else 0 for e in value]
                )
            else:
                record.values[parameter] = None
        elif isinstance(value, tuple) and plan.wants_value[parameter] and has_index(value):
            node.holds = True
    node.kept = record
    return plan


def inputs_to_keep(op: "Op", values: list[Any]) -> list[Tensor] | None:
    """The tensors that a call will keep, in this order; None if it keeps more than its arguments.

    An op whose rules want an argument has floating results, so that the call will be recorded.
    """
    mask = needing(op, values)
    plan = op.plan(mask)
    if not mask or plan.keep_result or op.hides:
        return None
    found: list[Tensor] = []
    for parameter, value in enumerate(values):
        if plan.wants_value[parameter]:
            elements = value if isinstance(value, (list, tuple)) else (value,)
            found.extend([element for element in elements if isinstance(element, Tensor)])
    return found


def shape_of(element: Any) -> Any:
    """The shape of one tensor in a list; others have none."""
    return element.array.shape if isinstance(element, Tensor) else ()


def keep_shape(record: Kept, parameter: int, shape: Any) -> None:
    """Note the shape of an argument, or those of a list."""
    if record.shapes is None:
        record.shapes = {}
    record.shapes[parameter] = shape


def keep_version(record: Kept, parameter: int, version: Any) -> None:
    """Note the version an argument was saved at, or those of a list."""
    if record.versions is None:
        record.versions = {}
    record.versions[parameter] = version


def refuse_inference(op: "Op", tensor: Tensor) -> None:
    """A tensor made in inference mode can't be kept for backward."""
    if tensor.inference:
        raise RuntimeError(
            f"{op.name}(): Inference tensors cannot be saved for backward. Clone it outside "
            "inference_mode to get a normal tensor."
        )


def add_edge(node: OpNode, value: Any, active: int) -> None:
    """The edge of one input; an empty one if it needs no gradient."""
    if active and isinstance(value, Tensor) and value.needs_grad:
        node.add_edge(edge_node(value), value.output_number)
    else:
        node.add_edge(None, 0)


def settle(node: OpNode, settings: Any, results: list[Tensor]) -> None:
    """Do to a new node, whose outputs are results, what the context asks for."""
    if settings.saved_hooks:
        pack_all(node, settings.saved_hooks, results)
    if settings.node_hooks:
        attach_region_hooks(node, settings.node_hooks)
    if settings.anomaly is not None:
        settings.anomaly.note(node)


def pack_all(node: OpNode, pairs: tuple[Any, ...], results: list[Tensor]) -> None:
    """Send everything a node keeps through the hooks on saving."""
    node.runs_user_code = True
    if node.kept is not None:
        values = node.kept.values
        for i, value in enumerate(values):
            if isinstance(value, TensorCore):
                values[i] = pack(value, pairs)
            elif isinstance(value, (list, tuple)):
                values[i] = type(value)([pack(v, pairs) for v in value])
        node.kept.hidden = pack_arrays(node.kept.hidden, pairs)
    if node.result is not None:
        # Detached, or hooks that keep them would make a cycle.
        kept = node.result if isinstance(node.result, list) else [node.result]
        packed = [
            None if array is None else pack(result.shared(), pairs)
            for array, result in zip(kept, results)
        ]
        node.result = packed if isinstance(node.result, list) else packed[0]
        node.packed = True


def link_views(
    op: "Op",
    values: list[Any],
    results: list[Tensor],
    backend: Backend,
    settings: Any,
    several: bool,
) -> None:
    """Results that share memory with the first argument become its views."""
    source: Tensor = values[0]
    rest = tuple(values[1:])
    for number, result in enumerate(results):
        if not backend.shares_memory(result.array, source.array):
            continue
        if source.inference:  # no history leads to it, so none need be shared
            result.node, result.needs_grad = None, False
            result.mark_inference()
            continue
        result.inference = result.slow = False
        extras = result.rare()
        above = source.extras
        extras.counter = source.counter()
        if not op.inputs:  # memory is shared, history is not: the bytes as another data type
            continue
        if result.node is not None:
            result.node.watch(result.output_number, extras.counter)
        is_view = above is not None and above.base is not None
        extras.base = above.base if above is not None and is_view else source
        step = (op, rest, number if several else -1)
        extras.steps = (*above.steps, step) if above is not None and is_view else (step,)
        extras.view_version = extras.counter.value
        if settings is not None and settings.inference:
            extras.creation = INFERENCE_VIEW
        elif settings is not None and not settings.grad_enabled:
            extras.creation = NO_GRAD_VIEW
        elif several:
            extras.creation = MULTI_OUTPUT_VIEW
        elif above is not None and is_view:
            extras.creation = above.creation
        if settings is not None and not settings.grad_enabled and is_floating(result.array):
            result.needs_grad = source.needs_grad  # its own leaf, as in PyTorch
