"""The one path of a call: watch → override → promote → backend → record.

`apply` is that path for every op, the user's own included; `short_form` is its short form.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.backends import Backend, lookup
from adjoint.backends.numpy import numpy_backend
from adjoint.call.arguments import has_layer, kinds_of, tensors_in
from adjoint.call.context import (
    Settings,
    below_innermost_mode,
    current,
    set_current,
    without_innermost_watcher,
)
from adjoint.call.errors import complaint
from adjoint.call.half_precision import forward_on_pairs
from adjoint.call.layers import (
    Layer,
    Level,
    newest,
    note_line,
    open_levels,
    recorded_at,
    unseen_by,
)
from adjoint.call.out import refuse_shared, write_out
from adjoint.call.overriding import (
    answered_elsewhere,
    by_mode,
    has_others,
    offered,
    override,
)
from adjoint.call.promotion import (
    arranged,
    as_array,
    common_backend,
    has_pairs,
    narrowed,
    promoted,
    unwrapped,
)
from adjoint.call.record import (
    cut_of,
    keep_shown,
    link_views,
    needs,
    pack_all,
    record,
    settle,
    to_keep,
    unlink,
    watch_results,
)
from adjoint.dtypes import BOOL, COMPLEX, FLOAT, can_cast, category_of, of_python_scalar
from adjoint.tensors.core import (
    CUT_BY_MODE,
    CUT_BY_OP,
    DEFAULT_VIEW,
    F32,
    NDARRAY,
    NUMPY_BACKEND,
    backend_of,
)
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

if TYPE_CHECKING:
    from adjoint.call.op_node import OpNode
    from adjoint.ops.op import Op

NUMPY: Final[Any] = numpy_backend.xp

# The lanes of ops: which path a call may take.
UNARY: Final = 1  # forward is one NumPy function of one argument; its rules want no others
BINARY: Final = 2  # the same of two
GENERAL: Final = 3  # anything that has a forward and rules
OWN: Final = 4  # the op computes and records its calls by itself: Functions, custom operators


def call(op: "Op", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op as users call it: any mixture of positions, keywords and out=."""
    raw = bool(args) and type(args[0]) is NDARRAY  # as rules call it
    if op.public and not raw and has_others(args, kwargs):
        return offered(op, args, kwargs)
    out = kwargs.pop("out", None) if kwargs else None
    if out is not None and op.public and answered_elsewhere((*args, out), kwargs):
        return offered(op, args, {**kwargs, "out": out})
    values = op.bind(args, kwargs)
    if op.tensors:
        op.refuse_numbers(values)
    if op.switches and not raw:
        op.refuse_no_flags(values)
    if raw and not tensors_in(values):
        return raw_result(op, NUMPY, values)
    if out is not None:
        if upper.seen_out is not None:
            seen = upper.seen_out(op, values, out)
            if seen is not None:
                return seen
        if op.apart:
            refuse_shared(op.name, tensors_in([values[i] for i in op.apart]), out)
        elif op.aligned:
            refuse_shared(op.name, tensors_in(values), out, True)
        if op.follows_out and kwargs.get("dtype") is None and followed(op, values, out):
            values[op.index_of["dtype"]] = out.dtype
    try:
        result = apply(op, values)
    except TypeError:
        whole = op.with_whole_numbers(values)
        if whole is None:
            raise
        result = apply(op, whole)
    if out is None:
        return result
    kind = kwargs.get("dtype")
    if kind is not None and kind is not out.dtype:
        raise RuntimeError(
            f"{op.name}(): dtype={kind.name} asks for another type than out has, {out.dtype.name}"
        )
    return write_out(op.name, result, out, op.exact_out)


def followed(op: "Op", values: list[Any], out: Any) -> bool:
    """Whether an op computes in the type of out=; see Op.follows_out."""
    if op.follows_out is True or not isinstance(values[0], Tensor):
        return True
    given = values[0].dtype
    least = FLOAT if op.follows_out == "floats" else BOOL
    fits = can_cast(given, out.dtype) or (least == BOOL and category_of(given) < COMPLEX)
    return fits and category_of(given) >= least


def apply(op: "Op", values: list[Any]) -> Any:
    """Run an op on arguments in the order of its parameters, and record it if it must be."""
    settings = current()
    tensors = tensors_in(values)
    if not tensors and op.lane != OWN:
        return apply_raw(op, values)
    if settings.tracing is not None:
        settings.tracing.lift_all(tensors)
    if not settings.plain and not op.transparent:
        if settings.functions:
            return by_mode(settings, op, kinds_of(tensors), *op.spelled(values))
        if settings.watchers:
            return watched(op, values, settings)
    if op.draws and open_levels.get():
        level = unseen_by(tensors)
        if level is not None:
            return apply(op, with_first_in(level, values))
    backend: Backend = NUMPY_BACKEND
    for tensor in tensors:
        if tensor.extras is not None:
            tensor.refresh()
        if tensor.special:
            if has_layer(tensors):
                return through_layers(op, values, tensors, settings)
            if settings.overrides and not op.transparent:
                return override(op, op, values, tensors)
        if type(tensor.array) is not NDARRAY and op.lane != OWN:
            backend = common_backend(op, tensors)
    if op.lane == OWN:
        return op.evaluated(values)
    if settings.modes:
        return answered_below(op, values, settings)
    given = values
    if op.dims:
        values = op.counted_from_end(values)
    if backend is not NUMPY_BACKEND:
        values = beside(values, tensors, backend)
    return wrap(op, values, backend, computed(op, values, given, backend), settings)


def apply_openly(op: "Op", values: list[Any]) -> tuple[Any, Any]:
    """A call, and what its forward hides for rules; None inside transforms, or if it is recorded.

    Dimensions are counted from the end already.
    """
    settings = current()
    tensors = tensors_in(values)
    plain = settings.plain
    for tensor in tensors:
        if tensor.special or (tensor.needs_grad and settings.recording):
            plain = False
        elif tensor.extras is not None:
            tensor.refresh()
    if not plain:
        return apply(op, values), None
    backend = common_backend(op, tensors)
    if backend is not NUMPY_BACKEND:
        values = beside(values, tensors, backend)
    out = computed(op, values, values, backend)
    return wrap(op, values, backend, out, settings), out[1]


def computed(op: "Op", values: list[Any], given: list[Any], backend: Backend) -> Any:
    """What an op's forward answers to arguments, as arrays; `given` are those of the user."""
    arrays: list[Any] = []
    for value in values:
        arrays.append(value.array if isinstance(value, Tensor) else unwrapped(value))
    if backend is not NUMPY_BACKEND and op.diagonal and backend.launches(F32):
        if op.kernels is None:
            upper.attach_kernels(op, backend)
        out = op.kernels.answer(arrays)
        if out is not None:
            return arranged(op, arrays, out, backend) if op.ordered else out
    if op.promotes:
        try:
            arrays = promoted(op, values, arrays, backend)
        except AttributeError as error:  # of what is no array
            raise complaint(op, as_given(op, arrays, given), error)
    try:
        out = run_forward(op, backend.xp, arrays)
    except Exception as error:
        raise complaint(op, as_given(op, arrays, given), error)
    if not op.hides:
        out = narrowed(op, arrays, out)
    return arranged(op, arrays, out, backend) if op.ordered else out


def as_given(op: "Op", arrays: list[Any], given: list[Any]) -> list[Any]:
    """The raw arguments with dimensions as the user counted them, for an error message."""
    shown = list(arrays)
    for parameter, _ in op.dims:
        shown[parameter] = given[parameter]
    return shown


def watched(op: Any, values: list[Any], settings: Settings) -> Any:
    """Let the innermost watcher make the call, by `op.run`; the others see it then."""
    try:
        set_current(without_innermost_watcher(settings))
        return settings.watchers[-1](op, values)
    finally:
        set_current(settings)


def asked_below(
    settings: Settings, change: bool, op: Any, values: list[Any], kept: list[Any] | None = None
) -> Any:
    """What the innermost mode answers to a call, or to a change of the first argument.

    It puts what it has seen as kept of the results into `kept`; None if nothing is recorded.
    """
    mode = settings.modes[-1]
    try:
        set_current(below_innermost_mode(settings))
        return mode.change(op, values, kept) if change else mode.call(op, values, kept)
    finally:
        set_current(settings)


def taken_apart(op: "Op", values: list[Any], settings: Settings) -> Any:
    """What makes a recorded call in the steps that PyTorch has nodes of; None if it is one step.

    Not under hooks on saving: a checkpoint may have been made, or be run again, without modes.
    """
    apart = upper.apart.get(op.name)
    if apart is None or not settings.recording or settings.saved_hooks:
        return None
    return apart if any(needs(value) for value in values) else None


def answered_below(op: "Op", values: list[Any], settings: Settings) -> Any:
    """A call that a mode answers on the tensors as they are; it is recorded here."""
    apart = taken_apart(op, values, settings)
    if apart is not None:
        return apart(*values)
    kept = to_keep(op, values, settings)
    out = asked_below(settings, False, op, values, kept)
    if out is None:
        return None
    several = isinstance(out, tuple)
    results: list[Tensor] = list(out) if several else [out]
    if op.dims:
        values = op.counted_from_end(values)
    recorded = settings.recording and bool(op.inputs)
    if not op.view:
        unlink(results, [])
    keep_history(op, values, results, several, None, recorded, settings)
    watch_results(results)
    if op.view and isinstance(values[0], Tensor):
        for result in results:
            if result.extras is not None:
                result.extras.creation = DEFAULT_VIEW  # it was made where nothing is recorded
        link_views(op, values, results, settings, several)
    if kept:
        keep_shown(results[0].node, kept)
    return out


def wrap(op: "Op", values: list[Any], backend: Backend, out: Any, settings: Settings) -> Any:
    """The results as Tensors, recorded if one of the inputs needs a gradient."""
    hidden: Any = None
    if op.hides:
        out, hidden = out
    several = isinstance(out, (tuple, list))
    results: list[Tensor] = []
    for array in out if several else (out,):
        results.append(
            Tensor(array if type(array) is backend.array_type else as_array(array, backend), AS_IS)
        )
    recorded = settings.recording and bool(op.inputs)
    keep_history(op, values, results, several, hidden, recorded, settings)
    if op.view:
        link_views(op, values, results, settings, several)
    if not several:
        return results[0]
    return tuple(results) if op.outputs is None else op.outputs(*results)


def keep_history(
    op: "Op",
    values: list[Any],
    results: list[Tensor],
    several: bool,
    hidden: Any,
    recorded: bool,
    settings: Settings,
) -> None:
    """Record a call, if it is to be, and do to its results what the context asks for."""
    node: OpNode | None = None
    if recorded:
        node = record(op, values, results, several, hidden)
    if node is None:
        cut = cut_of(values, CUT_BY_OP if settings.recording else CUT_BY_MODE)
        if cut:
            for result in results:
                result.cut = cut
    elif not settings.plain:
        if settings.saved_hooks:
            pack_all(node, settings.saved_hooks, results)
        settle(node, settings)
    if settings.intermediates is not None:
        settings.intermediates.extend(op, values, results)
    if settings.inference:
        for result in results:
            result.mark_inference()


# ---- inside transforms ----


def with_first_in(level: Level, values: list[Any]) -> list[Any]:
    """The arguments, the first tensor among them as one of a level."""
    lifted = list(values)
    for i, value in enumerate(values):
        if isinstance(value, Tensor):
            lifted[i] = level.lift(value)
            break
    return lifted


def through_layers(op: "Op", values: list[Any], tensors: list[Tensor], settings: Settings) -> Any:
    """A call inside transforms: the newest level makes it, on what lies below."""
    for tensor in tensors:
        if tensor.layer is None or tensor.layer.overridden:
            if tensor.special and settings.overrides and not op.transparent:
                return override(op, op, values, tensors)
        if tensor.extras is not None:
            tensor.refresh()
    top = newest(tensors)
    if top is None:  # their levels have ended, and left them as they were
        return apply(op, values)
    if op.lane == OWN:
        return own_call(op, values, top)
    if settings.modes and top.level.number <= 0:  # no transform's, but the tensors' own
        return answered_below(op, values, settings)
    if top.wraps and not top.sparse:
        apart = taken_apart(op, values, settings)
        if apart is not None:
            return apart(*values)
    given = values
    if op.dims:
        values = op.counted_from_end(values)
    out = top.call(op, given if top.wraps else values)
    if out is None:
        return None
    several = isinstance(out, tuple)
    results: list[Tensor] = list(out) if several else [out]
    if not has_layer(results) and not top.wraps:  # it is a call of the level below
        return out
    recorded = False
    if settings.recording and op.inputs:
        for tensor in tensors:
            if tensor.needs_grad and recorded_at(tensor, top.level):
                recorded = True
    keep_history(op, values, results, several, None, recorded, settings)
    for result in results:
        if result.layer is not None:
            note_line(result.layer)
    if op.view:
        link_views(op, values, results, settings, several)
    return out


def own_call(op: "Op", values: list[Any], top: Layer) -> Any:
    """The same of an op that records by itself; its node keeps what the layer's class answers."""
    out = top.own(op, values)
    if top.wraps:
        for result in tensors_in([out]):
            if result.node is not None:
                result.node.keeps_tensors = True
    return out


def raw_result(op: "Op", xp: Any, arrays: list[Any]) -> Any:
    """What an op answers to raw arrays: its result, without what it hides for its rules."""
    out = run_forward(op, xp, arrays)
    return out[0] if op.hides else out


def run_forward(op: "Op", xp: Any, arrays: list[Any]) -> Any:
    """Call a forward, or a loop in its place, with arguments in the order of the parameters."""
    if op.fused is not None and xp is NUMPY:
        found = op.fused.answer(arrays)
        if found is not None:
            return found
    if (xp is NUMPY or xp.holds_pairs) and has_pairs(arrays, xp is NUMPY):
        return forward_on_pairs(op, xp, arrays, call_forward)
    return call_forward(op, xp, arrays)


def call_forward(op: "Op", xp: Any, arrays: list[Any]) -> Any:
    """Call a forward itself."""
    if op.positional == len(op.parameters) and op.star < 0:
        return op.forward(xp, *arrays)
    named = dict(zip(op.parameters[op.positional :], arrays[op.positional :]))
    if op.star < 0:
        return op.forward(xp, *arrays[: op.positional], **named)
    return op.forward(xp, *arrays[: op.star], *arrays[op.star], **named)


def apply_raw(op: "Op", values: list[Any]) -> Any:
    """Arrays come in, arrays go out: how rules run on raw gradients."""
    for value in values:
        for element in value if isinstance(value, (list, tuple)) else (value,):
            backend = lookup(type(element))
            if backend is not None:
                return raw_result(op, backend.xp, values)
        if op.parameters[0] == "tensors" and isinstance(value, (list, tuple)) and not value:
            kind = RuntimeError if op.name == "stack" else ValueError  # as PyTorch has them
            raise kind(f"{op.name}(): expected a list of Tensors that is not empty")
    if has_others(tuple(values), {}):
        return offered(op, *op.spelled(values))
    if op.numbers:
        kind = of_python_scalar(values[0]).numpy_dtype
        return apply(op, [Tensor(numpy_backend.asarray(values[0], kind), AS_IS), *values[1:]])
    raise TypeError(
        f"{op.name}(): expected a Tensor, got "
        + ", ".join(type(v).__name__ for v in values[: op.required])
    )


def beside(values: list[Any], tensors: list[Tensor], backend: Backend) -> list[Any]:
    """The arguments with single numbers of the CPU on the device of the others; recorded."""
    alone = False
    for tensor in tensors:
        if type(tensor.array) is NDARRAY:
            alone = True
    if not alone:
        return values
    for tensor in tensors:
        if backend_of(tensor.array) is backend:
            where = backend.device(tensor.array)
            break
    return [
        upper.operators.beside_device(v, where)
        if isinstance(v, Tensor) and type(v.array) is NDARRAY
        else v
        for v in values
    ]
