"""Forward derivatives of the table's ops: what each family's declaration already says.

Arguments and tangents are lists in the order of an op's parameters, as `dispatch.apply` takes them;
an argument without a tangent has None in its place.
"""

from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.grad_mode import enable_grad
from adjoint.backends import backend_of
from adjoint.call import dispatch
from adjoint.call.context import is_grad_enabled
from adjoint.call.dispatch import conj
from adjoint.call.op_node import OpNode
from adjoint.ops.arranging.shape import expand
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.op import Op
from adjoint.tensors.tensor import Tensor


def jvp(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The tangent of op's result; None where no tangent reaches it."""
    if op.jvp is not None:
        return _Call(op, args, tangents).run(op.jvp, [], True, None)
    if op.family == "linear":
        return _linear(op, args, tangents)
    if op.family == "multilinear":
        return _multilinear(op, args, tangents)
    if op.family == "elementwise" and op.outputs is None:
        return _elementwise(op, args, tangents)
    return _through_vjp(op, args, tangents)


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


def _elementwise(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The rules themselves: a diagonal Jacobian is its own transpose, but for the conjugate."""
    result = dispatch.apply(op, args)
    call = _Call(op, args, tangents, result)
    total: Any = None
    for place, parameter in enumerate(op.inputs):
        if tangents[parameter] is None:
            continue
        pushed = _rule(op, place, expand(conj(tangents[parameter]), result.shape), call)
        if pushed is not None:
            total = conj(pushed) if total is None else total + conj(pushed)
    if total is None or total.dtype is result.dtype:
        return total
    if total.dtype.is_complex and not result.dtype.is_complex:
        total = real(total)
    return total.to(result.dtype)


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


def _rule(op: Op, place: int, grad: Any, call: _Call) -> Any:
    """The derivative by one input, called with what its parameters name."""
    rule = op.rules[place] if op.joint is None else op.joint
    if rule is None:
        return None
    needs = [i == place for i in range(len(op.inputs))]
    answer = call.run(rule, [grad], True, needs)
    return answer if op.joint is None else answer[place]


def _through_vjp(op: Op, args: list[Any], tangents: list[Any]) -> Any:
    """The vjp is linear in its cotangent, and its transpose is the jvp: differentiate twice."""
    inputs: list[Tensor] = []
    given: list[Tensor] = []
    lasting = is_grad_enabled() and any(
        tensor.needs_grad for tensor in dispatch.tensors_in([*args, *tangents])
    )

    def watched(value: Any, tangent: Any) -> Any:
        """An alias of its own for each input, since one tensor may be given twice."""
        if tangent is None:
            return value
        if isinstance(tangent, (list, tuple)):
            return [watched(v, t) for v, t in zip(value, tangent)]
        alias = expand(value, value.shape) if value.needs_grad else value.detach().requires_grad_()
        inputs.append(alias)
        given.append(tangent)
        return alias

    with enable_grad():
        results = dispatch.apply(op, [watched(v, t) for v, t in zip(args, tangents)])
        several = isinstance(results, (tuple, list))
        outputs: list[Tensor] = list(results) if several else [results]
        live = [i for i, output in enumerate(outputs) if output.needs_grad]
        cotangents = [_zeros_like(outputs[i]).requires_grad_() for i in live]
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
    return tuple(answers) if several else answers[0]
