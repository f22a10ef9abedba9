"""The one path of a call: override → promote → backend → record.

`unary` and `binary` are the same path cut short for one or two NumPy tensors of one data type with
nothing unusual active; everything else goes through `apply`.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint import lineage
from adjoint.ambient import ambient, change_watchers, overrides_enabled, switchboard
from adjoint.autograd.node import BINARY_DEPTH, UNARY_DEPTH, accumulator_of, mark
from adjoint.backends import Backend, lookup
from adjoint.backends.numpy import numpy_backend
from adjoint.complaints import complaint
from adjoint.op_node import OpNode
from adjoint.promotion import as_array, common_backend, narrowed, promoted, unwrapped
from adjoint.recording import (
    cut_of,
    has_tensor,
    link_views,
    needing,
    record,
    record_single,
    settle,
)
from adjoint.tensor import Tensor
from adjoint.tensor_core import (
    CUT_BY_MODE,
    CUT_BY_OP,
    F32,
    F64,
    NDARRAY,
    NUMPY_BACKEND,
    Spec,
    TensorCore,
    backend_of,
    is_floating,
)

if TYPE_CHECKING:
    from adjoint.ops.op import Op


class Operators:
    """The ops behind Tensor's operators; the tables fill them in."""

    def __init__(self) -> None:
        self.add: Any = None
        self.sub: Any = None
        self.mul: Any = None
        self.truediv: Any = None
        self.floordiv: Any = None
        self.remainder: Any = None
        self.pow: Any = None
        self.matmul: Any = None
        self.bitwise_and: Any = None
        self.bitwise_or: Any = None
        self.bitwise_xor: Any = None
        self.lshift: Any = None
        self.rshift: Any = None
        self.eq: Any = None
        self.ne: Any = None
        self.lt: Any = None
        self.le: Any = None
        self.gt: Any = None
        self.ge: Any = None
        self.neg: Any = None
        self.abs: Any = None
        self.bitwise_not: Any = None
        self.getitem: Any = None
        self.positive: Any = None
        self.unbind: Any = None
        self.stack: Any = None
        self.from_data: Any = None
        self.conj_physical: Any = None
        self.as_subclass: Any = None
        self.beside_device: Any = None
        self.add_: Any = None
        self.sub_: Any = None
        self.mul_: Any = None
        self.truediv_: Any = None
        self.floordiv_: Any = None
        self.remainder_: Any = None
        self.pow_: Any = None
        self.bitwise_and_: Any = None
        self.bitwise_or_: Any = None
        self.bitwise_xor_: Any = None
        self.lshift_: Any = None
        self.rshift_: Any = None
        self.setitem_: Any = None


operators: Final[Operators] = Operators()

NUMPY: Final[Any] = numpy_backend.xp


# ---- the short path ----


def unary(op: "Op", a: Any) -> Any:
    """An op of one input, on a NumPy tensor with nothing unusual active."""
    if isinstance(a, Tensor):
        if switchboard.unusual == 0 and not a.slow and op.fast_arity == 1:
            if a.extras is not None:
                a.refresh()
            spec = a.known
            if spec is None:
                spec = a.spec()
            if spec.short:
                x = a.array
                out = op.direct(x)
                if type(out) is not NDARRAY:
                    out = numpy_backend.asarray(out)
                result = Tensor(out)
                if a.needs_grad:
                    if op.rule0 is None:
                        result.cut = CUT_BY_OP
                        return result
                    node = OpNode(op)
                    above = a.node
                    node.next0 = accumulator_of(a) if above is None else above
                    node.nr0 = a.output_number
                    node.edge_count = 1
                    plan = op.plan1
                    if plan.keep0:
                        node.saved0 = a
                        node.holds = True
                        if a.extras is not None:
                            node.version0 = a.version()
                    if op.diagonal:
                        result.known = spec
                    finish_short(op, node, result, out, plan.keep_result, UNARY_DEPTH)
                elif a.cut:
                    result.cut = a.cut
                return result
    elif type(a) is NDARRAY and op.fast_arity == 1:
        return op.direct(a)
    return apply(op, [a, *op.defaults[1:]])


def binary(op: "Op", a: Any, b: Any) -> Any:
    """An op of two inputs, on NumPy tensors of one type, or one and a Python number."""
    if isinstance(a, Tensor):
        if switchboard.unusual == 0 and not a.slow and op.fast_arity == 2:
            if a.extras is not None:
                a.refresh()
            first = a.known
            if first is None:
                first = a.spec()
            if not first.short:
                pass
            elif isinstance(b, Tensor):
                if not b.slow:
                    if b.extras is not None:
                        b.refresh()
                    second = b.known
                    if second is None:
                        second = b.spec()
                    if first is second or (second.short and second.dtype is first.dtype):
                        return short_binary(op, a, b, first, second)
            elif type(b) is float or type(b) is int:
                return short_with_number(op, a, b, first)
    elif isinstance(b, Tensor):
        if (
            switchboard.unusual == 0
            and not b.slow
            and op.fast_arity == 2
            and (type(a) is float or type(a) is int)
        ):
            if b.extras is not None:
                b.refresh()
            second = b.spec()
            if second.short:
                return short_from_number(op, a, b, second)
    elif type(a) is NDARRAY and op.fast_arity == 2:
        return op.direct(a, b)
    return apply(op, [a, b, *op.defaults[2:]])


def compute(op: "Op", x: Any, y: Any) -> Any:
    """NumPy's own function, with errors that name the op."""
    try:
        out = op.direct(x, y)
    except Exception as error:
        raise complaint(op, [x, y], error)
    return out if type(out) is NDARRAY else numpy_backend.asarray(out)


def short_binary(op: "Op", a: Tensor, b: Tensor, first: Spec, second: Spec) -> Tensor:
    """Both are tensors of one data type."""
    try:  # as in `compute`, whose call would cost the interpreter as much as a small op
        out = op.direct(a.array, b.array)
    except Exception as error:
        raise complaint(op, [a.array, b.array], error)
    if type(out) is not NDARRAY:
        out = numpy_backend.asarray(out)
    result = Tensor(out)
    mask = 0
    if a.needs_grad and op.rule0 is not None:
        mask = 1
    if b.needs_grad and op.rule1 is not None:
        mask += 2
    if mask:
        node = OpNode(op)
        if mask & 1:
            following = a.node
            node.next0 = accumulator_of(a) if following is None else following
            node.nr0 = a.output_number
        if mask & 2:
            following = b.node
            node.next1 = accumulator_of(b) if following is None else following
            node.nr1 = b.output_number
        plan = op.plan1 if mask == 1 else op.plan2 if mask == 2 else op.plan3
        if plan.keep0:
            node.saved0 = a
            node.holds = True
            if a.extras is not None:
                node.version0 = a.version()
        if plan.keep1:
            node.saved1 = b
            node.holds = True
            if b.extras is not None:
                node.version1 = b.version()
        node.edge_count = 2
        if op.diagonal:
            if first is second:
                result.known = first
            elif first.shape == second.shape:
                b.known = first  # one record for all tensors that meet
                result.known = first
            else:
                shape = out.shape
                result.known = (
                    first if shape == first.shape else second if shape == second.shape else None
                )
        finish_short(op, node, result, out, plan.keep_result, BINARY_DEPTH)
    elif a.needs_grad or b.needs_grad:
        result.cut = CUT_BY_OP
    elif a.cut or b.cut:
        result.cut = a.cut or b.cut
    return result


def short_with_number(op: "Op", a: Tensor, b: Any, first: Spec) -> Tensor:
    """A tensor and a Python number."""
    out = compute(op, a.array, b)
    result = Tensor(out)
    if a.needs_grad and op.rule0 is not None:
        node = OpNode(op)
        following = a.node
        node.next0 = accumulator_of(a) if following is None else following
        node.nr0 = a.output_number
        plan = op.plan1
        if plan.keep0:
            node.saved0 = a
            node.holds = True
            if a.extras is not None:
                node.version0 = a.version()
        node.saved1 = b
        node.edge_count = 2
        if op.diagonal:
            result.known = first
        finish_short(op, node, result, out, plan.keep_result, BINARY_DEPTH)
    elif a.cut:
        result.cut = a.cut
    return result


def short_from_number(op: "Op", a: Any, b: Tensor, second: Spec) -> Tensor:
    """A Python number and a tensor."""
    out = compute(op, a, b.array)
    result = Tensor(out)
    if b.needs_grad and op.rule1 is not None:
        node = OpNode(op)
        following = b.node
        node.next1 = accumulator_of(b) if following is None else following
        node.nr1 = b.output_number
        plan = op.plan2
        node.saved0 = a
        if plan.keep1:
            node.saved1 = b
            node.holds = True
            if b.extras is not None:
                node.version1 = b.version()
        node.edge_count = 2
        if op.diagonal:
            result.known = second
        finish_short(op, node, result, out, plan.keep_result, BINARY_DEPTH)
    elif b.cut:
        result.cut = b.cut
    return result


def finish_short(
    op: "Op", node: OpNode, result: Tensor, out: Any, keep_result: bool, depth: int
) -> None:
    """What all short nodes have in common; a gradient of the same spec needs no second look."""
    node.simple = True
    if keep_result:
        node.result = out
        node.holds = True
    spec = result.known
    if spec is None:
        spec = result.spec()
    elif spec.shape:
        following = node.next0
        if following is not None and following.spec is spec:
            node.exact0 = True
        following = node.next1
        if following is not None and following.spec is spec:
            node.exact1 = True
    node.spec = spec
    result.node = node
    result.needs_grad = True
    mark(node, depth)


def holds_complex(value: Any) -> bool:
    """Whether a Tensor, an array or a number is complex; rules ask it before they conjugate."""
    if isinstance(value, TensorCore):
        value = value.array
    elif isinstance(value, (float, int)):
        return False
    kind = getattr(value, "dtype", None)
    if kind is F32 or kind is F64:
        return False
    return isinstance(value, complex) if kind is None else bool(kind.kind == "c")


def conj(value: Any) -> Any:
    """Complex conjugate of a Tensor, an array or a number; what is real is returned as it is."""
    if not holds_complex(value):
        return value
    return value.conjugate() if isinstance(value, complex) else operators.conj_physical(value)


def operate(op: "Op", a: Any, b: Any, other: Any) -> Any:
    """An operator of Tensor; NotImplemented if `other` is nothing it can work with."""
    if isinstance(other, (Tensor, bool, int, float, complex)) or lookup(type(other)) is not None:
        return binary(op, a, b)
    return NotImplemented


# ---- the general path ----


def call(op: "Op", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op as users call it: any mixture of positions, keywords and out=."""
    out = kwargs.pop("out", None) if kwargs else None
    values = op.bind(args, kwargs)
    if args and type(args[0]) is NDARRAY and not tensors_in(values):
        return raw_result(op, NUMPY, values)
    result = apply(op, values)
    if out is None:
        return result
    kind = kwargs.get("dtype")
    if kind is not None and kind is not out.dtype:
        raise RuntimeError(
            f"{op.name}(): dtype={kind.name} asks for another type than out has, {out.dtype.name}"
        )
    return write_out(op.name, result, out, op.exact_out)


def write_out(name: str, result: Any, out: Any, exact: bool = False) -> Any:
    """Put a result into the tensors given as out=: cast, unless it must fit exactly."""
    if isinstance(out, (tuple, list)):
        for target, value in zip(out, result, strict=True):
            write_out(name, value, target, exact)
        return type(result)(*out) if hasattr(result, "_fields") else out
    if result.needs_grad or (out.needs_grad and ambient().grad_enabled):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad"
        )
    if exact and out.dtype is not result.dtype:
        if result.dtype.name != "bool" or out.dtype.name != "uint8":
            raise RuntimeError(
                f"{name}(): expected out of dtype {result.dtype.name}, got {out.dtype.name}"
            )
    return out.overwrite(result, name)


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


def apply(op: "Op", values: list[Any]) -> Any:
    """Run an op on arguments in the order of its parameters, and record it if it must be."""
    if switchboard.unusual == 0 and op.plain:
        arrays = plain_arrays(values)
        if arrays is not None:
            return apply_plain(op, values, arrays)
    tensors = tensors_in(values)
    if not tensors and op.custom is None:
        return apply_raw(op, values)
    if switchboard.unusual:
        watchers = ambient().watchers
        if watchers:
            return watched(op, values, watchers)
    backend: Backend = NUMPY_BACKEND
    for tensor in tensors:
        if tensor.special and overrides_enabled():
            return override(op, op, values, tensors)
        if tensor.extras is not None:
            tensor.refresh()
        if type(tensor.array) is not NDARRAY and op.custom is None:
            backend = common_backend(op, tensors)
    if op.custom is not None:
        return op.custom(values)
    if backend is not NUMPY_BACKEND:
        values = beside(values, tensors, backend)
    arrays = promoted(op, values, [unwrapped(value) for value in values], backend)
    try:
        out = run_forward(op, backend.xp, arrays)
    except Exception as error:
        raise complaint(op, arrays, error)
    return wrap(op, values, backend, out if op.hides else narrowed(op, arrays, out))


def watched(op: Any, values: list[Any], watchers: tuple[Any, ...]) -> Any:
    """Let the innermost watcher make the call, by `op.run`; the others see it then."""
    change_watchers(watchers[:-1])
    try:
        return watchers[-1](op, values)
    finally:
        change_watchers(watchers)


def plain_arrays(values: list[Any]) -> list[Any] | None:
    """The raw arguments, if all tensors are ordinary ones on NumPy and none is in a list."""
    arrays: list[Any] = []
    found = False
    for value in values:
        if isinstance(value, Tensor):
            if value.slow or type(value.array) is not NDARRAY:
                return None
            if value.extras is not None:
                value.refresh()
            found = True
            arrays.append(value.array)
        elif isinstance(value, (list, tuple)) and has_tensor(value):
            return None
        else:
            arrays.append(value)
    return arrays if found else None


def apply_plain(op: "Op", values: list[Any], arrays: list[Any]) -> Any:
    """The general path on NumPy with nothing unusual active, for ops of one result."""
    if op.promotes:
        arrays = promoted(op, values, arrays, NUMPY_BACKEND)
    try:
        out = run_forward(op, NUMPY, arrays)
    except Exception as error:
        raise complaint(op, arrays, error)
    hidden: Any = None
    if op.hides:
        out, hidden = out
    elif isinstance(out, (tuple, list)):
        return wrap(op, values, NUMPY_BACKEND, out)
    else:
        out = narrowed(op, arrays, out)
    result = Tensor(out if type(out) is NDARRAY else as_array(out, NUMPY_BACKEND))
    mask = needing(op, values)
    if mask and is_floating(result.array):
        record_single(op, values, result, mask, hidden)
    else:
        result.cut = cut_of(values, CUT_BY_OP)
    return result


def raw_result(op: "Op", xp: Any, arrays: list[Any]) -> Any:
    """What an op answers to raw arrays: its result, without what it hides for its rules."""
    out = run_forward(op, xp, arrays)
    return out[0] if op.hides else out


def run_forward(op: "Op", xp: Any, arrays: list[Any]) -> Any:
    """Call a forward with its arguments in the order of the parameters."""
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
        if isinstance(value, (list, tuple)) and not value and op.required:
            raise ValueError(f"{op.name}(): expected a list of Tensors that is not empty")
    raise TypeError(
        f"{op.name}(): expected a Tensor, got "
        + ", ".join(type(v).__name__ for v in values[: op.required])
    )


def override(op: "Op", function: Any, values: list[Any], tensors: list[Tensor]) -> Any:
    """Let a subclass handle the call of `function`, which is op or its in-place form."""
    kinds = tuple(dict.fromkeys(type(t) for t in tensors))
    kwargs = dict(zip(op.parameters, values))
    args = tuple(kwargs.pop(name) for name in op.parameters[: min(op.required, op.positional)])
    if op.star >= 0:
        args = args[: op.star] + tuple(args[op.star])
    kwargs = {k: v for k, v in kwargs.items() if v is not op.defaults[op.index_of[k]]}
    for tensor in tensors:
        if tensor.special:
            handler: Any = type(tensor).__torch_function__  # type: ignore[attr-defined]  # subclass
            answer = handler(function, kinds, args, kwargs)
            if answer is not NotImplemented:
                return answer
    names = ", ".join(k.__name__ for k in kinds)
    raise TypeError(f"no implementation of {function.__name__} for the types {names}")


def beside(values: list[Any], tensors: list[Tensor], backend: Backend) -> list[Any]:
    """The arguments with single numbers of the CPU on the device of the others; recorded."""
    for tensor in tensors:
        if backend_of(tensor.array) is backend:
            where = backend.device(tensor.array)
            break
    return [
        operators.beside_device(v, where)
        if isinstance(v, Tensor) and type(v.array) is NDARRAY
        else v
        for v in values
    ]


def wrap(op: "Op", values: list[Any], backend: Backend, out: Any) -> Any:
    """The results as Tensors, recorded if one of the inputs needs a gradient."""
    settings = ambient() if switchboard.unusual else None
    hidden: Any = None
    if op.hides:
        out, hidden = out
    outs: list[Any] = list(out) if isinstance(out, (tuple, list)) else [out]
    results: list[Tensor] = []
    for array in outs:
        results.append(
            Tensor(array if type(array) is backend.array_type else as_array(array, backend))
        )
    node: OpNode | None = None
    recording = settings is None or settings.grad_enabled
    if op.inputs and recording:
        node = record(op, values, results, isinstance(out, (tuple, list)), hidden)
        if node is not None and settings is not None:
            settle(node, settings, results)
    elif op.inputs and lineage.tracking.used:
        lineage.extend(op, values, results)
    if node is None:
        cut = cut_of(values, CUT_BY_OP if recording else CUT_BY_MODE)
        if cut:
            for result in results:
                result.cut = cut
    if settings is not None and settings.inference:
        for result in results:
            result.mark_inference()
    if op.view:
        link_views(op, values, results, backend, settings, isinstance(out, (tuple, list)))
    if not isinstance(out, (tuple, list)):
        return results[0]
    if op.outputs is not None:
        return op.outputs(*results)
    return tuple(results)
