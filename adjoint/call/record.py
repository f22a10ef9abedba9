"""What a call leaves behind for backward: its node, what that keeps, and how views are linked."""

from typing import TYPE_CHECKING, Any, Final

from adjoint.autograd.hooks import attach_region_hooks
from adjoint.autograd.node import (
    ANY_DEPTH,
    EDGEWISE,
    USER,
    Node,
    accumulator_of,
    edge_node,
    mark,
)
from adjoint.autograd.saved_tensors import pack, pack_arrays
from adjoint.call.context import Settings
from adjoint.call.layers import open_levels
from adjoint.call.op_node import OpNode, Rest
from adjoint.call.rule import Plan
from adjoint.dtypes import FLOAT, as_dtype
from adjoint.tensors.core import (
    DEFAULT_VIEW,
    INFERENCE_VIEW,
    MULTI_OUTPUT_VIEW,
    NO_GRAD_VIEW,
    TensorCore,
    backend_of,
    is_floating,
    shares_memory,
)
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import renewed, upper

if TYPE_CHECKING:
    from adjoint.ops.op import Op


# ---- questions about arguments ----


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


def wraps(tensor: Tensor) -> bool:
    """Whether a tensor is of a class that answers calls itself, as sparse ones do."""
    return tensor.layer is not None and bool(tensor.layer.wraps)


def any_wraps(values: Any) -> bool:
    """Whether a tensor among these is."""
    for value in values:
        if isinstance(value, Tensor) and value.special and wraps(value):
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
        if isinstance(value, Tensor):
            if value.needs_grad:
                return own
            before = value.cut or before
        elif isinstance(value, (list, tuple)):
            for element in value:
                if isinstance(element, Tensor):
                    if element.needs_grad:
                        return own
                    before = element.cut or before
    return before


def needing(op: "Op", values: list[Any]) -> int:
    """Which of an op's inputs need a gradient and have a rule, as the bits of a number."""
    mask = 0
    joint = op.joint is not None
    for i, parameter in enumerate(op.inputs):
        if (joint or op.rules[i] is not None) and needs(values[parameter]):
            mask |= 1 << i
    return mask


# ---- the node ----


def node_of(
    op: "Op",
    mask: int,
    first: Any,
    second: Any,
    values: list[Any] | None,
    result: Tensor | None,
    depth: int,
) -> OpNode:
    """The node of a call, with its edges and what the rules of the mask will want.

    The only place where nodes of ops are made. `values` are all arguments; None on the short path,
    where there are but two at most, each a tensor or a number, and each with an edge. `result` is
    the only one; None if there are several, see `attach_several`.
    """
    node = OpNode(op)
    node.mask = mask
    plan = op.plan_of_first if mask == 1 else op.plan_of_both if mask == 3 else op.plan(mask)
    if values is not None:
        keep_all(node, plan, values)
    else:
        node.edge_count = op.required
        node.lane = op.node_lane
        if isinstance(first, Tensor):
            if mask & 1:
                following = first.node
                node.next0 = accumulator_of(first) if following is None else following
                node.nr0 = first.output_number
            if plan.keep_first:
                node.first = first
                node.holds = True
                if first.extras is not None or first.inference:
                    node.first_version = version_to_keep(op, first)
        else:
            node.first = first
        if isinstance(second, Tensor):
            if mask & 2:
                following = second.node
                node.next1 = accumulator_of(second) if following is None else following
                node.nr1 = second.output_number
            if plan.keep_second:
                node.second = second
                node.holds = True
                if second.extras is not None or second.inference:
                    node.second_version = version_to_keep(op, second)
        else:
            node.second = second
    if result is not None:
        spec = result.known
        node.spec = result.spec() if spec is None else spec
        if plan.keep_result:
            node.holds = True
            node.result = kept_result(result)
        result.node = node
        result.needs_grad = True
    mark(node, depth)
    return node


def kept_result(result: Tensor, derived: bool = True) -> Any:
    """What a node keeps of its own result, which must not lead back to it: the array alone."""
    if result.layer is None:
        return result.array
    return renewed(result) if derived else result


def keep_all(node: OpNode, plan: Plan, values: list[Any]) -> None:
    """Edges and kept arguments of a call of any kind: lists of tensors, shapes, plain values."""
    op = node.op
    rest = node.rest = Rest()
    for i, parameter in enumerate(op.inputs):
        active = node.mask >> i & 1 != 0
        value = values[parameter]
        if isinstance(value, (list, tuple)):
            rest.lists = True
            rest.keep_shape(parameter, [shape_of(element) for element in value])
            for element in value:
                add_edge(node, element, active)
        else:
            add_edge(node, value, active)
    for parameter, value in enumerate(values):
        wanted = plan.wants_value[parameter]
        if isinstance(value, Tensor):
            if value.special and wraps(value):
                node.keeps_tensors = True
            if plan.wants_shape[parameter]:
                rest.keep_shape(parameter, value.spec().shape)
            if wanted:
                node.keep_version(parameter, version_to_keep(op, value))
            else:
                value = None
        elif isinstance(value, (list, tuple)) and has_tensor(value):
            if any_wraps(value):
                node.keeps_tensors = True
            if wanted:
                versions = [version_to_keep(op, e) if isinstance(e, Tensor) else 0 for e in value]
                node.keep_version(parameter, versions)
            else:
                value = None
        elif isinstance(value, tuple) and wanted and has_index(value):
            node.holds = True
        if parameter == 0:
            node.first = value
        elif parameter == 1:
            node.second = value
        elif rest.values is None:
            rest.values = [value]
        else:
            rest.values.append(value)


def version_to_keep(op: "Op", tensor: TensorCore) -> int:
    """The version at which a node keeps a tensor; one made in inference mode can't be kept."""
    if tensor.inference:
        raise RuntimeError(
            f"{op.name}(): Inference tensors cannot be saved for backward. Clone it outside "
            "inference_mode to get a normal tensor."
        )
    return 0 if tensor.extras is None else tensor.version()


def shape_of(element: Any) -> Any:
    """The shape of one tensor in a list; others have none."""
    return element.array.shape if isinstance(element, Tensor) else ()


def add_edge(node: OpNode, value: Any, active: bool) -> None:
    """The edge of one input; an empty one if it needs no gradient."""
    if active and isinstance(value, Tensor) and value.needs_grad:
        node.add_edge(edge_node(value), value.output_number)
    else:
        node.add_edge(None, 0)


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


# ---- its results ----


def attach_several(node: OpNode, results: list[Tensor]) -> None:
    """Make several results the outputs of a node; those of whole numbers have no history."""
    node.describe_outputs(list(results))
    kept = node.op.plan(node.mask).results
    derived = node.op.derived
    if kept:
        node.holds = True
        node.result = [
            kept_result(result, bool(derived >> i & 1)) if i in kept else None
            for i, result in enumerate(results)
        ]
    for number, result in enumerate(results):
        if derived >> number & 1 and is_floating(result.array):
            result.node = node
            result.output_number = number
            result.needs_grad = True
        elif number in kept:  # without a node of its own, it would not tell of changes
            node.watch(number, result.counter())


def record(
    op: "Op", values: list[Any], results: list[Tensor], several: bool, hidden: Any = None
) -> OpNode | None:
    """Record a call of any kind; None if no input needs a gradient, or no result can have one."""
    mask = needing(op, values)
    if not mask or not can_derive(op, values, results):
        return None
    node = node_of(op, mask, None, None, values, None if several else results[0], ANY_DEPTH)
    rest = node.rest
    assert rest is not None
    if any_wraps(results):
        node.keeps_tensors = True
    if op.hides:
        rest.hidden = hidden
        node.holds = True
    if several:
        attach_several(node, results)
    elif op.joint is None and not rest.lists and results[0].layer is None:
        node.lane = EDGEWISE
    return node


def can_derive(op: "Op", values: list[Any], results: list[Tensor]) -> bool:
    """Whether results can have a gradient, which all must that rules want one of."""
    if op.converts:
        place = op.index_of.get("dtype", -1)
        kind = results[0].dtype if place < 0 else values[place]
        if kind is not None and as_dtype(kind).category < FLOAT:
            return False
    for number, result in enumerate(results):
        if op.derived >> number & 1 and not is_floating(result.array):
            raise RuntimeError(
                f"{op.name}(): result {number} is of {result.dtype.name}, which can't have the "
                "gradient that it needs: answer floating numbers, or detach() the arguments"
            )
    return bool(results)


def settle(node: Node, settings: Settings) -> None:
    """Do to a new node what the context asks for; hooks on saving apart, see pack_all."""
    if settings.node_hooks:
        attach_region_hooks(node, settings.node_hooks)
    if settings.anomaly is not None:
        settings.anomaly.note(node)


def pack_all(node: OpNode, pairs: tuple[Any, ...], results: list[Tensor]) -> None:
    """Send everything a node keeps through the hooks on saving."""
    node.lane = USER
    for parameter in range(len(node.op.parameters)):
        value = node.kept(parameter)
        if isinstance(value, TensorCore):
            node.keep(parameter, pack(value, pairs))
        elif isinstance(value, (list, tuple)) and has_tensor(value):
            node.keep(parameter, type(value)([pack(v, pairs) for v in value]))
    if node.rest is not None:
        node.rest.hidden = pack_arrays(node.rest.hidden, pairs)
    if node.result is not None:
        # Detached, or hooks that keep them would make a cycle.
        kept = node.result if isinstance(node.result, list) else [node.result]
        packed = [
            None if array is None else pack(result.shared(), pairs)
            for array, result in zip(kept, results)
        ]
        node.result = packed if isinstance(node.result, list) else packed[0]
        node.packed = True


def to_keep(op: "Op", values: list[Any], settings: Settings) -> list[Any] | None:
    """Where a mode puts what is kept of a call's results; None if nothing is, or hooks see it.

    Nor is it seen inside transforms, which have memory of their own in PyTorch.
    """
    if not settings.recording or settings.saved_hooks or open_levels.get():
        return None
    if not needing(op, values):
        return None
    return []


def keep_shown(node: Any, kept: list[Any]) -> None:
    """Let a node have what a mode has seen as kept of its results: it is seen once more there."""
    if isinstance(node, OpNode):
        node.watches().shown = kept


# ---- views ----

MANY_STEPS: Final = 8


def extended(
    steps: tuple[Any, ...], step: Any, base: TensorCore, view: TensorCore
) -> tuple[Any, ...]:
    """The view operations that lead to a view of a view; many as one that reads the base's memory.

    So no view takes long to replay, however many it is a view of.
    """
    steps = (*steps, step)
    if len(steps) <= MANY_STEPS:
        return steps
    read = read_from(base, view)
    return steps if read is None else read


def read_from(base: TensorCore, view: TensorCore) -> tuple[Any, ...] | None:
    """One view operation that leads to a view, by their places in memory; None if none can."""
    backend = backend_of(base.array)
    if view.array.dtype != base.array.dtype or base.layer is not None or not backend.mutable:
        return None
    whole, part = backend.xp.memory(base.array), backend.xp.memory(view.array)
    if min((0, *whole.strides, *part.strides)) < 0:
        return None
    source = (base.array.shape, whole.strides, 0)
    pattern = (view.array.shape, part.strides, part.start - whole.start, source)
    return ((upper.operators.strided_view, pattern, -1),)


def shows(result: TensorCore, source: TensorCore) -> bool:
    """Whether a result shows the memory of an argument; in a layer, if what it holds does."""
    if result.layer is None or source.layer is None:
        alike = result.layer is source.layer and type(result.array) is type(source.array)
        return alike and shares_memory(result.array, source.array)
    pairs = zip(result.layer.parts(result), source.layer.parts(source))
    return any(shows(shown, whole) for shown, whole in pairs)


def beginning(source: Tensor) -> Any:
    """The array whose first element the storage offsets of what shows a tensor count from."""
    whole = source.whole_array()
    return source.array if whole is None else whole


def unlink(results: list[Any], given: list[Any]) -> None:
    """Let results be no views, but of what was given: others, made below, belong to nobody."""
    for result in results:
        extras = result.extras
        if extras is not None and extras.base is not None and not is_among(extras.base, given):
            extras.origin = result.whole_array()
            extras.base, extras.steps, extras.creation = None, (), DEFAULT_VIEW


def is_among(base: Any, given: list[Any]) -> bool:
    """Whether a base is one of the tensors given, or what one of them is a view of."""
    for tensor in given:
        if tensor is base or (tensor.extras is not None and tensor.extras.base is base):
            return True
    return False


def watch_results(results: list[Any]) -> None:
    """Let nodes learn of changes to results whose versions were counted before they had a node."""
    for result in results:
        extras, node = result.extras, result.node
        if extras is None or extras.counter is None or not isinstance(node, OpNode):
            continue
        if extras.counter.value and len(results) == 1:
            node.watches().version = extras.counter.value
        if not extras.counter.value or len(results) == 1:
            node.watch(result.output_number, extras.counter)


def link_views(
    op: "Op",
    values: list[Any],
    results: list[Tensor],
    settings: Settings,
    several: bool,
) -> None:
    """Results that share memory with the first argument become its views."""
    source: Tensor = values[0]
    for number, result in enumerate(results):
        if not shows(result, source):
            continue
        if source.inference:  # no history leads to it, so none need be shared
            result.node, result.needs_grad = None, False
            result.mark_inference()
            result.rare().origin = beginning(source)
            continue
        result.inference = False
        extras = result.rare()
        above = source.extras
        extras.counter = source.counter()
        if not op.inputs:  # memory is shared, history is not: the bytes as another data type
            extras.origin = beginning(source)
            continue
        if result.node is not None:
            result.node.watch(result.output_number, extras.counter)
        is_view = above is not None and above.base is not None
        base = above.base if above is not None and above.base is not None else source
        extras.base = base
        step = (op, tuple(values[1:]), number if several else -1)
        before = above.steps if above is not None and is_view else ()
        extras.steps = extended(before, step, base, result)
        extras.view_version = extras.counter.value
        if settings.inference:
            extras.creation = INFERENCE_VIEW
        elif not settings.recording:
            extras.creation = NO_GRAD_VIEW
        elif several:
            extras.creation = MULTI_OUTPUT_VIEW
        elif above is not None and is_view:
            extras.creation = above.creation
        if not settings.recording and is_floating(result.array):
            result.needs_grad = source.needs_grad  # its own leaf, as in PyTorch
