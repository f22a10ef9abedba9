"""The one path of a call: watch → override → promote → backend → record.

`apply` is that path for every op, the user's own included. `unary` and `binary` are its short form
for ops whose forward is one NumPy function of one or two arguments (the lanes UNARY and BINARY).
On plain NumPy tensors of one floating type, or one and a Python number, there is nothing to watch,
override, promote or link, and no list is made (benchmarks/short_path.py says what that gives).
Inside a transform a layer has a short form as well, `Layer.brief`.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.autograd.node import ALIGNED, SHORT_DEPTH
from adjoint.backends import Backend, lookup
from adjoint.backends.numpy import numpy_backend
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
from adjoint.call.operators import as_operator
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
    node_of,
    pack_all,
    record,
    settle,
    to_keep,
    unlink,
    watch_results,
)
from adjoint.dtypes import can_cast, of_python_scalar
from adjoint.tensors.core import (
    CUT_BY_MODE,
    CUT_BY_OP,
    DEFAULT_VIEW,
    F32,
    F64,
    NDARRAY,
    NUMPY_BACKEND,
    Spec,
    TensorCore,
    backend_of,
)
from adjoint.tensors.tensor import AS_IS, Tensor, can_operate
from adjoint.tensors.upper import Calls, upper

if TYPE_CHECKING:
    from adjoint.call.op_node import OpNode
    from adjoint.ops.op import Op

NUMPY: Final[Any] = numpy_backend.xp

# The lanes of ops: which path a call may take.
UNARY: Final = 1  # forward is one NumPy function of one argument; its rules want no others
BINARY: Final = 2  # the same of two
GENERAL: Final = 3  # anything that has a forward and rules
OWN: Final = 4  # the op computes and records its calls by itself: Functions, custom operators


# ---- the short form ----


class Path(Calls):
    """The short form of a call, found by Tensor's operators through `upper.calls`."""

    def unary(self, op: "Op", a: Any, operator: bool = False) -> Any:
        """An op called with one argument."""
        if isinstance(a, Tensor):
            settings = current()
            if settings.plain and op.lane == UNARY:
                if a.extras is not None:
                    a.refresh()
                spec = a.known
                if spec is None:
                    spec = a.spec()
                if spec.short:
                    if not a.special:
                        out = op.direct(a.array)
                        own = out if type(out) is NDARRAY else numpy_backend.asarray(out)
                        return finished(op, settings, Tensor(own, AS_IS), a, None, spec, None)
                    found = briefly(op, settings, a, None)
                    if found is not None:
                        return found
                elif spec.launched and not a.special:
                    out = kernels_of(op, spec).of_one(a.array)
                    if out is not None:
                        return finished(op, settings, Tensor(out, AS_IS), a, None, spec, None)
        elif type(a) is NDARRAY and op.lane == UNARY and not op.looped:
            return op.direct(a)
        if operator and answered_elsewhere((a,), {}):
            return as_operator(op.name, a, None)
        return apply(op, [a, *op.defaults[1:]])

    def prefixed(self, function: Any, a: Any) -> Any:
        """An operator before its one argument, of a function that has no short form."""
        if answered_elsewhere((a,), {}):
            return as_operator(function.__name__, a, None)
        return function(a)

    def change(self, function: Any, a: Any, b: Any) -> Any:
        """An operator that changes its first argument by an in-place op."""
        if answered_elsewhere((a, b), {}):
            return as_operator(function.__name__, a, b)
        return function(a, b) if can_operate(b) else NotImplemented

    def binary(self, op: "Op", a: Any, b: Any, operator: int = 0) -> Any:
        """An op called with two; as an operator it leaves what it can't work with to the other."""
        settings = current()
        if settings.plain and op.lane == BINARY:
            first: Spec | None = None
            second: Spec | None = None
            x, y = a, b
            short = True
            if isinstance(a, Tensor):
                if a.extras is not None:
                    a.refresh()
                first = a.known
                if first is None:
                    first = a.spec()
                x = a.array
                short = first.short and not a.special
            elif type(a) is not float and type(a) is not int:
                short = False
            if not short:
                pass
            elif isinstance(b, Tensor):
                if b.extras is not None:
                    b.refresh()
                second = b.known
                if second is None:
                    second = b.spec()
                y = b.array
                short = second.short and not b.special
                if first is not None and first is not second:
                    short = short and first.dtype is second.dtype
            elif type(b) is not float and type(b) is not int:
                short = False
            if short and (first is not None or second is not None):
                try:
                    out = op.direct(x, y)
                except Exception as error:
                    raise complaint(op, [x, y], error)
                own = out if type(out) is NDARRAY else numpy_backend.asarray(out)
                return finished(op, settings, Tensor(own, AS_IS), a, b, first, second)
            found = briefly(op, settings, a, b)
            if found is not None:
                return found
            if is_launched(a, first) or is_launched(b, second):
                found = launched(op, settings, a, b)
                if found is not None:
                    return found
        if type(a) is NDARRAY and op.lane == BINARY and not isinstance(b, Tensor):
            if not op.looped:
                return op.direct(a, b)
        if not (can_operate(a) and can_operate(b)):
            return with_other(op, a, b, operator)
        if operator and answered_elsewhere((a, b), {}):
            return as_operator(op.name, a, b, operator == 2)
        return apply(op, [a, b, *op.defaults[2:]])

    def total(self, one: Any, other: Any) -> Any:
        """The sum of two arrays on which kernels work: of gradients that meet."""
        op = upper.operators.add
        if op.kernels is None:
            upper.attach_kernels(op, backend_of(one))
        found = op.kernels.of_two(one, other)
        return one + other if found is None else found

    def item(self, tensor: Any, index: Any) -> Any:
        """tensor[index]; asked here, in compiled code, and not where the function begins."""
        read = upper.operators.getitem
        if answered_elsewhere((tensor, index), {}):
            return offered(READ, (tensor, index), {})
        return read(tensor, index)

    def assign(self, tensor: Any, index: Any, value: Any) -> None:
        """tensor[index] = value."""
        if answered_elsewhere((tensor, index, value), {}):
            offered(WRITE, (tensor, index, value), {})
        else:
            upper.operators.setitem_(tensor, index, value)


READ: Final[Any] = Tensor.__getitem__  # as those who answer them know them
WRITE: Final[Any] = Tensor.__setitem__


def with_other(op: "Op", a: Any, b: Any, operator: int) -> Any:
    """A call of two arguments, one of them no tensor and no number: its class may answer."""
    asked = has_others((a, b), {})
    if operator:
        return as_operator(op.name, a, b, operator == 2) if asked else NotImplemented
    return offered(op, (a, b), {}) if asked else apply(op, [a, b, *op.defaults[2:]])


path: Final[Path] = Path()
upper.calls = path


def is_launched(value: Any, spec: Spec | None) -> bool:
    """Whether kernels may work on an argument of the short form."""
    return spec is not None and spec.launched and not value.special


def kernels_of(op: "Op", spec: Spec) -> Any:
    """The kernels of an op, traced at the first call on arrays that they are for."""
    if op.kernels is None:
        upper.attach_kernels(op, backend_of(spec.array_type))
    return op.kernels


def launched(op: "Op", settings: Settings, a: Any, b: Any) -> Tensor | None:
    """A call of two arguments by a kernel, of which one is a tensor; None if none takes them."""
    first: Spec | None = None
    second: Spec | None = None
    x, y = a, b
    if isinstance(a, Tensor):
        first, x = a.spec(), a.array
    elif type(a) is not float and type(a) is not int:
        return None
    if isinstance(b, Tensor):
        if b.extras is not None:
            b.refresh()
        if b.special:
            return None
        second, y = b.spec(), b.array
    elif type(b) is not float and type(b) is not int:
        return None
    spec = second if first is None else first
    assert spec is not None
    if first is not None and second is not None and first.array_type is not second.array_type:
        return None
    try:
        out = kernels_of(op, spec).of_two(x, y)
    except Exception as error:
        raise complaint(op, [x, y], error)
    if out is None:
        return None
    return finished(op, settings, Tensor(out, AS_IS), a, b, first, second)


def finished(
    op: "Op",
    settings: Settings,
    result: Tensor,
    a: Any,
    b: Any,
    first: Spec | None,
    second: Spec | None,
) -> Tensor:
    """The result of a short call, recorded if it must be; an argument without spec is a number."""
    needed = cut = mask = 0
    if first is not None:
        x: Tensor = a
        cut = x.cut
        if x.needs_grad:
            needed = 1
    if second is not None:
        y: Tensor = b
        cut = cut or y.cut
        if y.needs_grad:
            needed |= 2
    if needed and settings.recording:
        mask = needed & op.ruled
    if op.node_lane == ALIGNED:  # one record for all tensors that meet and look the same
        if second is None or first is second:
            result.known = first
        elif first is None:
            result.known = second
        elif first.shape == second.shape:
            y.known = result.known = first
        elif result.array.shape == first.shape:
            result.known = first
        elif result.array.shape == second.shape:
            result.known = second
    if mask:
        node_of(op, mask, a, b, None, result, SHORT_DEPTH)
    elif needed:
        result.cut = CUT_BY_OP if settings.recording else CUT_BY_MODE
    elif cut:
        result.cut = cut
    if settings.inference:
        result.inference = True
    return result


def holds_complex(value: Any) -> bool:
    """Whether a Tensor, an array or a number is complex; rules ask it before they conjugate."""
    if isinstance(value, TensorCore):
        value = value.array
    elif isinstance(value, (float, int)):
        return False
    kind = getattr(value, "dtype", None)
    if kind is F32 or kind is F64:
        return False
    return isinstance(value, complex) if kind is None else bool(kind.kind in "cW")


def conj(value: Any) -> Any:
    """Complex conjugate of a Tensor, an array or a number; what is real is returned as it is."""
    if not holds_complex(value):
        return value
    return value.conjugate() if isinstance(value, complex) else upper.operators.conj_physical(value)


# ---- the general path ----


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
        if op.follows_out and kwargs.get("dtype") is None:
            values[op.index_of["dtype"]] = out.dtype
    result = apply(op, values)
    if out is None:
        return result
    kind = kwargs.get("dtype")
    if kind is not None and kind is not out.dtype:
        raise RuntimeError(
            f"{op.name}(): dtype={kind.name} asks for another type than out has, {out.dtype.name}"
        )
    return write_out(op.name, result, out, op.exact_out)


def refuse_shared(name: str, tensors: list[Tensor], out: Any, elsewhere: bool = False) -> None:
    """Refuse a tensor as out= that lies where an argument is read, or where another of its is."""
    for target in tensors_in([out]):
        for tensor in tensors:
            written, read = target.array, tensor.array
            shared = target is tensor or numpy_backend.overlap(written, read)
            if shared and elsewhere:
                shared = target is not tensor and numpy_backend.partly_overlap(written, read)
            if shared:
                raise RuntimeError(
                    f"{name}(): unsupported operation: out shares memory with an argument; clone() "
                    "the argument first"
                )


def write_out(name: str, result: Any, out: Any, exact: Any = False) -> Any:
    """Put a result into the tensors given as out=: cast, unless it must fit exactly.

    What can't be cast is a RuntimeError, or of the class that `exact` names.
    """
    if isinstance(out, (tuple, list)):
        pairs = list(zip(out, result, strict=True))
        for target, value in pairs:
            _check_out(name, value, target, exact)
        for target, value in pairs:
            target.overwrite(value, name)
        return type(result)(*out) if hasattr(result, "_fields") else out
    _check_out(name, result, out, exact)
    return out.overwrite(result, name)


def _check_out(name: str, result: Any, out: Any, exact: Any) -> None:
    """Refuse a tensor given as out= that can't take a result."""
    if has_layer([result, out]):
        raise RuntimeError(
            f"{name}(): it is an out= function, which can't be used inside a transform, nor on "
            "sparse tensors; use what the function returns"
        )
    if result.needs_grad or (out.needs_grad and current().recording):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad"
        )
    if type(result.array) is not type(out.array) and result.device != out.device:
        raise RuntimeError(
            f"{name}(): expected out to be on {result.device}, where the result is, but it is on "
            f"{out.device}"
        )
    if isinstance(exact, type):
        if not can_cast(result.dtype, out.dtype):
            raise exact(
                f"{name}(): {result.dtype.name} can't be cast to the type of out, {out.dtype.name}"
            )
    elif exact and out.dtype is not result.dtype:
        if result.dtype.name != "bool" or out.dtype.name != "uint8":
            raise RuntimeError(
                f"{name}(): expected out of dtype {result.dtype.name}, got {out.dtype.name}"
            )


def tensors_in(values: list[Any]) -> list[Tensor]:
    """The tensors among the arguments, lists included."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            for element in value:
                if isinstance(element, Tensor):
                    found.append(element)
    return found


def kinds_of(tensors: list[Tensor]) -> tuple[Any, ...]:
    """The subclasses among tensors, each once."""
    found: dict[Any, None] = {}
    for tensor in tensors:
        if type(tensor) is not Tensor:
            found[type(tensor)] = None
    return tuple(found)


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


def answered_below(op: "Op", values: list[Any], settings: Settings) -> Any:
    """A call that a mode answers on the tensors as they are; it is recorded here."""
    apart = upper.apart.get(op.name)
    # Not under hooks on saving: a checkpoint may have been made, or be run again, without modes.
    if apart is not None and settings.recording and not settings.saved_hooks:
        if any(needs(value) for value in values):
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


def has_layer(tensors: list[Tensor]) -> bool:
    """Whether one of the arguments takes part in a transform."""
    for tensor in tensors:
        if tensor.layer is not None:
            return True
    return False


def briefly(op: "Op", settings: Settings, a: Any, b: Any) -> Tensor | None:
    """A call inside a transform by the short form of its layer; None if it must go all the way."""
    layer = layer_of(a)
    if layer is None:
        layer = layer_of(b)
    return None if layer is None else layer.brief(op, settings, a, b)


def layer_of(value: Any) -> Layer | None:
    """What an argument is inside a transform; None outside, or if it is no tensor."""
    if isinstance(value, Tensor):
        layer: Layer | None = value.layer
        return layer
    return None


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
            raise ValueError(f"{op.name}(): expected a list of Tensors that is not empty")
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
