"""Forward derivatives of the table's ops: what each family's declaration already says.

Arguments and tangents are lists in the order of an op's parameters, as `dispatch.apply` takes them;
an argument without a tangent has None in its place.
"""

from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.grad_mode import recording
from adjoint.backends import backend_of
from adjoint.backends.error_state import IGNORE, STATE
from adjoint.call import dispatch
from adjoint.call.arguments import conj, tensors_in
from adjoint.call.context import current, is_recording
from adjoint.call.layers import Level, needs_below, newest
from adjoint.call.op_node import OpNode
from adjoint.call.rule import (
    GRAD,
    OF_BOTH,
    OF_FIRST,
    OF_GRAD,
    OF_LATER,
    OF_MORE,
    OF_RESULT,
    OF_SECOND,
    RESULT,
    SHAPE,
    TANGENT,
    Rule,
)
from adjoint.call.short_form import path
from adjoint.ops.arranging.shape import expand
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.op import Op
from adjoint.tensors.core import NDARRAY, NUMPY_BACKEND, Spec, raw
from adjoint.tensors.tensor import AS_IS, Tensor


def jvp(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The tangent of op's result; None where no tangent reaches it."""
    return pushed(op, args, tangents)[1]


def pushed(op: Op, args: list[Any], tangents: list[Any]) -> tuple[Any, Any]:
    """The result of an op, computed once, and its tangent; tuples if there are several results."""
    if op.family == "elementwise" and op.outputs is None:
        return _elementwise(op, args, tangents)
    if op.jvp is not None:
        hidden: Any = None
        if op.hides:
            result, hidden = dispatch.apply_openly(op, args)
        else:
            result = dispatch.apply(op, args)
        moved = _Call(op, args, tangents, result, hidden).run(op.jvp, [], True, None)
        if not isinstance(result, tuple):
            return result, fitting(result, moved, tangents)
        return result, tuple([fitting(r, m, tangents) for r, m in zip(result, moved)])
    if op.family == "linear":
        return dispatch.apply(op, args), _linear(op, args, tangents)
    if op.family == "multilinear":
        return dispatch.apply(op, args), _multilinear(op, args, tangents)
    return through_vjp(op, args, tangents)


def _zeros_like(value: Any) -> Any:
    """Zeros in the form of an argument: a tensor, a list of them, or a number."""
    if isinstance(value, Tensor):
        array = value.array
        return Tensor(backend_of(array).xp.zeros(array.shape, array.dtype), AS_IS)
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
    both = _paired(op, args, tangents)
    if both is not None:
        return both
    result = _called(op, args)
    if _is_short(op, args, tangents, result.spec()):
        values = [raw(value) for value in args]
        moved = on_arrays(op, values, [raw(tangent) for tangent in tangents], result.array)
        return result, None if moved is None else Tensor(moved, AS_IS)
    call = _Call(op, args, tangents, result)
    if op.jvp is not None:
        total = call.run(op.jvp, [], True, None)
        if total is not None:
            total = expand(total, result.shape)
        return result, fitting(result, total, tangents)
    total = None
    for place, parameter in enumerate(op.inputs):
        if tangents[parameter] is None:
            continue
        pushed = _rule(op, place, expand(conj(tangents[parameter]), result.shape), call)
        if pushed is not None:
            total = conj(pushed) if total is None else total + conj(pushed)
    return result, fitting(result, total, tangents)


def _paired(op: Op, args: list[Any], tangents: list[Any]) -> tuple[Any, Any] | None:
    """The result and its tangent from one loop of the wheel; None where the call has none."""
    count = op.required
    if count == 0 or count > 2 or not isinstance(args[0], Tensor):
        return None
    moved = (tangents[0] is not None) + (2 if count == 2 and tangents[1] is not None else 0)
    pair = op.pairs[moved]
    if pair is None or current().inference or not _is_short(op, args, tangents, args[0].spec()):
        return None
    for i in range(count, len(args)):
        if args[i] is not op.defaults[i]:
            return None
    if not isinstance(args[count - 1], (Tensor, float, int)):
        return None  # a complex number makes the result complex
    given = [raw(value) for value in args[:count]]
    given += [raw(tangent) for tangent in tangents[:count] if tangent is not None]
    out, pushed_on = pair(*given)
    backend = NUMPY_BACKEND
    return Tensor(backend.asarray(out), AS_IS), Tensor(backend.asarray(pushed_on), AS_IS)


def _called(op: Op, args: list[Any]) -> Any:
    """The result of an op, by the short form if the call may take it."""
    count = op.required
    if op.lane == dispatch.UNARY or op.lane == dispatch.BINARY:
        for i in range(count, len(args)):
            if args[i] is not op.defaults[i]:
                return op.run(args)
        if op.lane == dispatch.UNARY:
            return path.unary(op, args[0])
        return path.binary(op, args[0], args[1])
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


def _is_short(op: Op, args: list[Any], tangents: list[Any], spec: Spec) -> bool:
    """Whether rules may work on the arrays: ordinary NumPy floats, and nothing to record."""
    settings = current()
    if not settings.plain or op.joint is not None or not spec.short:
        return False
    kind = spec.dtype
    recording = settings.recording
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


def is_brief(op: Op) -> bool:
    """Whether calls of one or two arguments can have their tangents by `brief_tangent`."""
    return op.diagonal or op.family == "multilinear" or (op.family == "linear" and op.required == 1)


def brief_tangent(op: Op, array: Any, tangent: Any, out: Any) -> Any:
    """The array of the tangent of a call of one argument; None if there is none."""
    rule = op.first_rule
    if not op.diagonal:
        found = op.direct(tangent)
    elif op.jvp is None and rule is None:
        return None
    elif op.jvp is None and rule is not None and rule.form == OF_GRAD:
        found = rule.function(tangent)
    else:
        before = STATE.get()
        try:  # what `quiet` does, which takes three times as long
            STATE.set(IGNORE)
            if op.jvp is not None:
                found = op.jvp.of_list(_named(op, op.jvp, None, [array], [tangent], out))
            else:
                assert rule is not None
                found = _term(op, rule, tangent, array, None, out)
        finally:
            STATE.set(before)
    if found is not tangent and _is_own(found, out):
        return found
    return _in_own_memory(found, out)


def brief_tangent_of_pair(op: Op, x: Any, y: Any, s: Any, t: Any, out: Any, aligned: bool) -> Any:
    """The array of the tangent of a call of two arguments, of which s and t are the tangents.

    They are aligned if none has to be broadcast.
    """
    if op.diagonal:
        rule = op.second_rule if s is None else op.first_rule
        if op.jvp is not None or (s is not None and t is not None) or rule is None:
            return on_arrays(op, [x, y], [s, t], out) if op.inputs else None
        if rule.form == OF_MORE or rule.form == OF_LATER:
            return on_arrays(op, [x, y], [s, t], out)
        tangent = t if s is None else s
        if not aligned and tangent.shape != out.shape:
            tangent = NUMPY_BACKEND.xp.broadcast_to(tangent, out.shape)
        return _brief_part(op, rule, tangent, x, y, out)
    found: Any = None
    if s is not None:
        found = op.direct(s, y)
    if t is not None:
        other = op.direct(x, t)
        found = other if found is None else found + other
    return found if _is_own(found, out) else _in_own_memory(found, out)


def _brief_part(op: Op, rule: Rule, tangent: Any, x: Any, y: Any, out: Any) -> Any:
    """The same where but one of two arguments has a tangent."""
    before = STATE.get()
    try:
        STATE.set(IGNORE)
        found = _term(op, rule, tangent, x, y, out)
    finally:
        STATE.set(before)
    if found is not tangent and _is_own(found, out):
        return found
    return _in_own_memory(found, out)


def on_arrays(op: Op, args: list[Any], tangents: list[Any], out: Any) -> Any:
    """The array of a result's tangent, by rules that work on arrays; None if there is none.

    Arguments after those given have their defaults.
    """
    before = STATE.get()
    try:
        STATE.set(IGNORE)
        if op.jvp is not None:
            total = op.jvp.of_list(_named(op, op.jvp, None, args, tangents, out))
        else:
            total = None
            if op.push is not None and op.push.fused is not None:
                total = op.push.fused.answer(_named(op, op.push, None, args, tangents, out))
            if total is None:
                total = _sum_of_terms(op, args, tangents, out)
        if total is not None and total.shape != out.shape:  # of tangents that were smaller
            total = NUMPY_BACKEND.xp.broadcast_to(total, out.shape)
    finally:
        STATE.set(before)
    if total is None:
        return None
    for tangent in tangents:
        if total is tangent:
            return total.copy()
    return total if _is_own(total, out) else _in_own_memory(total, out)


def _sum_of_terms(op: Op, args: list[Any], tangents: list[Any], out: Any) -> Any:
    """What the rules of all arguments with tangents make of them."""
    total: Any = None
    fresh = False  # whether total is memory that nobody else has
    for place, parameter in enumerate(op.inputs):
        rule = op.rules[place]
        if parameter >= len(tangents) or tangents[parameter] is None or rule is None:
            continue
        tangent = tangents[parameter]
        if tangent.shape != out.shape:
            tangent = NUMPY_BACKEND.xp.broadcast_to(tangent, out.shape)
        second = args[1] if len(args) > 1 else None
        if rule.form == OF_MORE or rule.form == OF_LATER:
            term = rule.of_list(_named(op, rule, tangent, args, [], out))
        else:
            term = _term(op, rule, tangent, args[0], second, out)
        if total is None:
            total = term
            fresh = term is not tangent and _is_own(term, out)
        elif fresh:
            total += term
        else:
            total, fresh = total + term, True
    return total


def _in_own_memory(array: Any, out: Any) -> Any:
    """A copy of what a rule answered, in the form of a result."""
    if type(array) is NDARRAY and array.dtype is out.dtype:
        return array.copy()
    array = NUMPY_BACKEND.asarray(array, out.dtype)  # a number, for all elements
    return NUMPY_BACKEND.xp.broadcast_to(array, out.shape).copy()


def _is_own(array: Any, out: Any) -> bool:
    """Whether what a rule answered has memory of its own, and the type of a result."""
    if type(array) is not NDARRAY or array.base is not None or array is out:
        return False
    return array.dtype is out.dtype


def _term(op: Op, rule: Rule, tangent: Any, first: Any, second: Any, out: Any) -> Any:
    """What a rule makes of the array of a tangent; the common forms are called straight."""
    form = rule.form
    if form == OF_RESULT:
        return rule.of_two(tangent, out)
    if form == OF_FIRST:
        return rule.of_two(tangent, first)
    if form == OF_SECOND:
        return rule.of_two(tangent, second)
    if form == OF_GRAD:
        return rule.function(tangent)
    if form == OF_BOTH:
        return rule.of_list([tangent, first, second])
    return rule.of_list(_named(op, rule, tangent, [first], [], out))


def _named(
    op: Op, rule: Rule, tangent: Any, args: list[Any], tangents: list[Any], out: Any
) -> list[Any]:
    """What the parameters of an elementwise rule name, as arrays: `OpNode.run` without a node."""
    found: list[Any] = []
    for kind, index in rule.sources:
        if kind == GRAD:
            found.append(tangent)
        elif kind == RESULT:
            found.append(out)
        elif kind == TANGENT:
            found.append(tangents[index])
        elif kind == SHAPE:
            found.append(args[index].shape)
        else:
            found.append(args[index] if index < len(args) else op.defaults[index])
    return found


class _Call(OpNode):
    """A call whose arguments and result are at hand: the rules find them as in a node."""

    def __init__(
        self,
        op: Op,
        args: list[Any],
        tangents: list[Any],
        result: Any = None,
        hidden: Any = None,
    ) -> None:
        super().__init__(op)
        self.args = args
        self.tangents = tangents
        self.answer = result
        self.unseen = hidden

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

    def hidden(self) -> Any:
        """See OpNode; as tensors, and None where they are not at hand in the type of the result."""
        first = self.answer[0] if isinstance(self.answer, tuple) else self.answer
        several = isinstance(self.unseen, tuple)
        arrays = list(self.unseen) if several else [self.unseen]
        if any(array is None or array.dtype != first.array.dtype for array in arrays):
            return None
        found = [Tensor(array, AS_IS) for array in arrays]
        return tuple(found) if several else found[0]

    def tangent(self, parameter: int) -> Any:
        """See OpNode."""
        return self.tangents[parameter]


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
    tensors = tensors_in([*args, *tangents])
    lasting = is_recording() and any(needs_below(tensor) for tensor in tensors)
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

    with recording():
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
    if own is level and value.needs_grad and is_recording():
        shown: Tensor = expand(value, value.shape)
        return shown
    tracing = current().tracing
    if tracing is not None:  # so that a layer is put around what the program works on
        tracing.lift_all([value])
    leaf = value.shared() if own is level or level is None else level.lift(value)
    leaf.needs_grad = True
    return leaf
