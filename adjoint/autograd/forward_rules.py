"""Forward derivatives of the table's ops: what each family's declaration already says.

Arguments and tangents are lists in the order of an op's parameters, as `dispatch.apply` takes them;
an argument without a tangent has None in its place.
"""

from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.grad_mode import enable_grad
from adjoint.backends import backend_of
from adjoint.call import dispatch
from adjoint.call.context import current, is_grad_enabled
from adjoint.call.dispatch import conj
from adjoint.call.layers import Level, needs_below, newest
from adjoint.call.op_node import OpNode
from adjoint.call.rule import OF_BOTH, OF_FIRST, OF_GRAD, OF_RESULT, OF_SECOND
from adjoint.ops.arranging.shape import expand
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.op import Op
from adjoint.tensors.core import NDARRAY, NUMPY_BACKEND, raw
from adjoint.tensors.tensor import Tensor


def jvp(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The tangent of op's result; None where no tangent reaches it."""
    return pushed(op, args, tangents)[1]


def pushed(op: Op, args: list[Any], tangents: list[Any]) -> tuple[Any, Any]:
    """The result of an op, computed once, and its tangent; tuples if there are several results."""
    if op.jvp is not None:
        result = dispatch.apply(op, args)
        moved = _Call(op, args, tangents, result).run(op.jvp, [], True, None)
        if not isinstance(result, tuple):
            return result, fitting(result, moved, tangents)
        return result, tuple([fitting(r, m, tangents) for r, m in zip(result, moved)])
    if op.family == "linear":
        return dispatch.apply(op, args), _linear(op, args, tangents)
    if op.family == "multilinear":
        return dispatch.apply(op, args), _multilinear(op, args, tangents)
    if op.family == "elementwise" and op.outputs is None:
        return _elementwise(op, args, tangents)
    return through_vjp(op, args, tangents)


def _zeros_like(value: Any) -> Any:
    """Zeros in the form of an argument: a tensor, a list of them, or a number."""
    if isinstance(value, Tensor):
        array = value.array
        return Tensor(backend_of(array).xp.zeros(array.shape, array.dtype))
    if isinstance(value, (list, tuple)):
        return [_zeros_like(element) for element in value]
    return None if value is None else 0


def _filled(value: Any, tangent: Any) -> Any:
    """The tangent of an argument, zeros where it has none."""
    if tangent is None:
        return _zeros_like(value)
    if isinstance(tangent, (list, tuple)):
        return [_filled(v, t) for v, t in zip(value, tangent)]
    return tangent


def _linear(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The op itself, on the tangents."""
    moved = list(args)
    for parameter in op.inputs:
        moved[parameter] = _filled(args[parameter], tangents[parameter])
    return dispatch.apply(op, moved)


def _multilinear(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The op with one input at a time replaced by its tangent."""
    total: Any = None
    for parameter in op.inputs:
        for slot in _slots(args[parameter], tangents[parameter]):
            term = dispatch.apply(op, [*args[:parameter], slot, *args[parameter + 1 :]])
            total = term if total is None else total + term
    return total


def _slots(value: Any, tangent: Any) -> list[Any]:
    """What stands for an argument in each term: its tangent, or its list with one replaced."""
    if not isinstance(tangent, (list, tuple)):
        return [] if tangent is None else [tangent]
    return [
        [*value[:i], element, *value[i + 1 :]]
        for i, element in enumerate(tangent)
        if element is not None
    ]


def _elementwise(op: Op, args: list[Any], tangents: list[Any]) -> tuple[Any, Any]:
    """The rules themselves: a diagonal Jacobian is its own transpose, but for the conjugate."""
    result = _called(op, args)
    if _is_short(op, args, tangents, result):
        return result, _on_arrays(op, args, tangents, result)
    call = _Call(op, args, tangents, result)
    total: Any = None
    for place, parameter in enumerate(op.inputs):
        if tangents[parameter] is None:
            continue
        pushed = _rule(op, place, expand(conj(tangents[parameter]), result.shape), call)
        if pushed is not None:
            total = conj(pushed) if total is None else total + conj(pushed)
    return result, fitting(result, total, tangents)


def _called(op: Op, args: list[Any]) -> Any:
    """The result of an op, by the short form if the call may take it."""
    count = op.required
    if op.lane == dispatch.UNARY or op.lane == dispatch.BINARY:
        for i in range(count, len(args)):
            if args[i] is not op.defaults[i]:
                return op.run(args)
        if op.lane == dispatch.UNARY:
            return dispatch.path.unary(op, args[0])
        return dispatch.path.binary(op, args[0], args[1])
    return op.run(args)


def fitting(result: Any, tangent: Any, given: list[Any]) -> Any:
    """A tangent in the data type of its result, in memory of its own."""
    if tangent is None:
        return None
    if tangent.dtype is not result.dtype:
        if tangent.dtype.is_complex and not result.dtype.is_complex:
            tangent = real(tangent)
        tangent = tangent.to(result.dtype)
    shown = tangent.extras is not None and tangent.extras.base is not None
    if shown or any(tangent is each for each in given):
        tangent = tangent.clone()  # or a change of the one would be one of the other
    return tangent


def _is_short(op: Op, args: list[Any], tangents: list[Any], result: Tensor) -> bool:
    """Whether rules may work on the arrays: ordinary NumPy floats, and nothing to record."""
    settings = current()
    spec = result.spec()
    if not settings.plain or op.joint is not None or not spec.short:
        return False
    kind = spec.dtype
    recording = settings.grad_enabled
    for value in args:
        if isinstance(value, Tensor):
            if value.special or (value.needs_grad and recording):
                return False
            if value.array.dtype is not kind or type(value.array) is not NDARRAY:
                return False
    for tangent in tangents:
        if tangent is not None:
            if tangent.special or (tangent.needs_grad and recording):
                return False
            if tangent.array.dtype is not kind or type(tangent.array) is not NDARRAY:
                return False
    return True


def _on_arrays(op: Op, args: list[Any], tangents: list[Any], result: Tensor) -> Tensor | None:
    """The tangent of a call whose rules may work on the arrays themselves."""
    shape = result.array.shape
    total: Any = None
    fresh = False  # whether total is memory that nobody else has
    for place, parameter in enumerate(op.inputs):
        tangent, rule = tangents[parameter], op.rules[place]
        if tangent is None or rule is None:
            continue
        array = tangent.array
        if array.shape != shape:
            array = NUMPY_BACKEND.xp.broadcast_to(array, shape)
        term = _term(op, rule, array, args, result)
        if total is None:
            total = term
            fresh = type(term) is NDARRAY and term is not array and term.base is None
        elif fresh and total.shape == shape and total.dtype is result.array.dtype:
            total += term
        else:
            total, fresh = total + term, True
    if total is None:
        return None
    if type(total) is not NDARRAY:
        total, fresh = NUMPY_BACKEND.asarray(total), True
    if total.shape != shape:  # a rule that answers a constant, to be broadcast
        total, fresh = NUMPY_BACKEND.xp.broadcast_to(total, shape), False
    return Tensor(total if fresh else total.copy())


def _term(op: Op, rule: Any, tangent: Any, args: list[Any], result: Tensor) -> Any:
    """What a rule makes of the array of a tangent; the common forms are called straight."""
    form = rule.form
    if form == OF_GRAD:
        return rule.function(tangent)
    if form == OF_RESULT:
        return rule.function(tangent, result.array)
    if form == OF_FIRST:
        return rule.function(tangent, raw(args[0]))
    if form == OF_SECOND:
        return rule.function(tangent, raw(args[1]))
    if form == OF_BOTH:
        return rule.function(tangent, raw(args[0]), raw(args[1]))
    return _ArrayCall(op, args, [], result).run(rule, [tangent], False, None)


class _Call(OpNode):
    """A call whose arguments and result are at hand: the rules find them as in a node."""

    def __init__(self, op: Op, args: list[Any], tangents: list[Any], result: Any = None) -> None:
        super().__init__(op)
        self.args = args
        self.tangents = tangents
        self.answer = result

    def value(self, parameter: int, recorded: bool) -> Any:
        """See OpNode."""
        return self.args[parameter]

    def shape(self, parameter: int) -> Any:
        """See OpNode."""
        return self.args[parameter].shape

    def result_value(self, index: int, recorded: bool) -> Any:
        """See OpNode; computed if a rule asks for it and it is not known."""
        if self.answer is None:
            self.answer = dispatch.apply(self.op, self.args)
        return self.answer[index] if isinstance(self.answer, tuple) else self.answer

    def tangent(self, parameter: int) -> Any:
        """See OpNode."""
        return self.tangents[parameter]


class _ArrayCall(_Call):
    """The same for rules on arrays."""

    def value(self, parameter: int, recorded: bool) -> Any:
        """See OpNode."""
        value = self.args[parameter]
        return value.array if isinstance(value, Tensor) else value

    def result_value(self, index: int, recorded: bool) -> Any:
        """See OpNode."""
        return self.answer.array


def _rule(op: Op, place: int, grad: Any, call: _Call) -> Any:
    """The derivative by one input, called with what its parameters name."""
    rule = op.rules[place] if op.joint is None else op.joint
    if rule is None:
        return None
    needs = [i == place for i in range(len(op.inputs))]
    answer = call.run(rule, [grad], True, needs)
    return answer if op.joint is None else answer[place]


def through_vjp(op: Op, args: list[Any], tangents: list[Any]) -> tuple[Any, Any]:
    """The vjp is linear in its cotangent, and its transpose is the jvp: differentiate twice."""
    inputs: list[Tensor] = []
    given: list[Tensor] = []
    tensors = dispatch.tensors_in([*args, *tangents])
    lasting = is_grad_enabled() and any(needs_below(tensor) for tensor in tensors)
    top = newest(tensors)
    level = None if top is None else top.level

    def watched(value: Any, tangent: Any) -> Any:
        """An alias of its own for each input, since one tensor may be given twice."""
        if tangent is None:
            return value
        if isinstance(tangent, (list, tuple)):
            return [watched(v, t) for v, t in zip(value, tangent)]
        alias = leaf_of(value, level)
        inputs.append(alias)
        given.append(tangent)
        return alias

    with enable_grad():
        results = dispatch.apply(op, [watched(v, t) for v, t in zip(args, tangents)])
        several = isinstance(results, (tuple, list))
        outputs: list[Tensor] = list(results) if several else [results]
        live = [i for i, output in enumerate(outputs) if output.needs_grad]
        cotangents = [leaf_of(_zeros_like(outputs[i]), level) for i in live]
        pulled = grad(
            [outputs[i] for i in live], inputs, cotangents, create_graph=True, allow_unused=True
        )
        pairs = [(p, t) for p, t in zip(pulled, given) if p is not None and p.needs_grad]
        found: tuple[Any, ...] = (None,) * len(live)
        if pairs:
            found = grad(
                [p for p, _ in pairs],
                cotangents,
                [t for _, t in pairs],
                create_graph=lasting,
                allow_unused=True,
            )
    answers: list[Any] = [None] * len(outputs)
    for i, answer in zip(live, found):
        answers[i] = answer
    if not lasting:
        outputs = [output.shared() if output.needs_grad else output for output in outputs]
    if not several:
        return outputs[0], answers[0]
    return (tuple(outputs) if op.outputs is None else op.outputs(*outputs)), tuple(answers)


def leaf_of(value: Tensor, level: Level | None) -> Tensor:
    """A tensor to differentiate by: on the level of all, and leading back to the one it shows."""
    own = None if value.layer is None or value.layer.wraps else value.layer.level
    if level is not None and level.fades:
        own = level
    if own is level and value.needs_grad and is_grad_enabled():
        shown: Tensor = expand(value, value.shape)
        return shown
    leaf = value.shared() if own is level or level is None else level.lift(value)
    leaf.needs_grad = True
    return leaf
