"""How the autograd formula of a custom op becomes a Function.

Lists of tensors among the arguments and results are spread out for the Function, which knows
tensors only, and gathered again for the formula.
"""

import sys
from typing import Any, Protocol

from adjoint.autograd.function import Function, FunctionOp
from adjoint.ops.op import MISSING
from adjoint.pytree import TreeSpec, tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor


class Formula(Protocol):
    """What a custom op needs to be differentiated."""

    where: str  # file and line of its registration

    def save(self, ctx: Any, op: Any, call: "Call", output: Any) -> None:
        """Keep what backward will need."""

    def gradients(self, ctx: Any, op: Any, call: "Call", grads: tuple[Any, ...]) -> Any:
        """The gradients of the positional arguments."""


class Call:
    """One differentiated call of a custom op; once it was made, it holds no tensors."""

    def __init__(self, op: Any, formula: Any, values: list[Any], known: Any = MISSING) -> None:
        self.op = op
        self.formula = formula
        self.keywords: dict[str, Any]
        arguments, self.keywords = op.parted(values)
        self.known = known  # the results, if they need not be computed
        self.flat, self.spec = tree_flatten(tuple(arguments), is_leaf=holds_no_tensors)
        self.least = least_gradients(op.schema.positional, arguments)
        self.result_spec: TreeSpec | None = None
        self.single = True

    def run(self) -> Any:
        """The results, recorded."""
        flat, self.flat = self.flat, []
        function = self.op.function
        if self.known is MISSING:
            results = function.apply(*flat, self)
        else:  # at whatever level: there is nothing to compute
            results = FunctionOp(function, ()).evaluated([*flat, self])
        assert self.result_spec is not None
        whole = tree_unflatten(results, self.result_spec)
        return whole[0] if self.single else whole

    def output(self, arguments: Any) -> Any:
        """What the op answers, or what is known that it does."""
        known, self.known = self.known, MISSING
        if known is not MISSING:
            return known
        return self.op.compute([*arguments, *self.keywords.values()])

    def arguments(self, flat: Any) -> Any:
        """Values for the tensors in their places among the arguments."""
        return tree_unflatten(flat, self.spec)


def least_gradients(parameters: list[Any], values: list[Any]) -> int:
    """How many gradients a formula must answer: none for defaults at the end, as in PyTorch."""
    count = len(values)
    while count and not isinstance(values[count - 1], (Tensor, list)):
        if values[count - 1] != parameters[count - 1].default:
            break
        count -= 1
    return count


def holds_no_tensors(tree: Any) -> bool:
    """Whether a value is to be taken as it is: anything but a tuple, or a list of tensors."""
    if isinstance(tree, list):
        return not any(isinstance(element, Tensor) for element in tree)
    return not isinstance(tree, tuple)


class OpFunction(Function):
    """The Function of a custom op; each op has a subclass of its own."""

    @staticmethod
    def forward(ctx: Any, *flat: Any) -> Any:
        call: Call = flat[-1]
        ctx.call = call
        arguments = call.arguments(flat[:-1])
        ctx.view_step = (call.op, (*arguments[1:], *call.keywords.values()), -1)
        output = call.output(arguments)
        call.single = not isinstance(output, tuple)
        results, call.result_spec = tree_flatten(
            (output,) if call.single else output, is_leaf=holds_no_tensors
        )
        if call.formula is not None:
            call.formula.save(ctx, call.op, arguments, output)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *flat: Any) -> Any:
        call: Call = ctx.call
        op, formula = call.op, call.formula
        if formula is None:
            raise RuntimeError(
                f"{op.name}, defined at {op.where}, can't be differentiated: no autograd "
                "formula was registered when it was called. Give it one with register_autograd, "
                "or call it on detached tensors."
            )
        assert call.result_spec is not None
        grads = tree_unflatten(flat, call.result_spec)
        needs = ctx.needs_input_grad
        ctx.needs_input_grad = call.arguments(needs[:-1])
        try:
            answer = formula.gradients(ctx, op, call, grads)
        finally:
            ctx.needs_input_grad = needs
        return (*spread(call, answer), None)


def spread(call: Call, answer: tuple[Any, ...]) -> list[Any]:
    """Gradients in the order of the Function's arguments; None for a list counts for each."""
    flat: list[Any] = []
    for i, (spec, grad) in enumerate(zip(call.spec.children_specs, answer)):
        if spec.is_leaf():
            flat.append(grad)
        elif grad is None:
            flat.extend([None] * spec.num_leaves)
        elif not isinstance(grad, (list, tuple)) or len(grad) != spec.num_leaves:
            name = call.op.schema.arguments[i].name
            came = f"{len(grad)}" if isinstance(grad, (list, tuple)) else type(grad).__name__
            raise wrong(
                call,
                f"for the list '{name}' it must return {spec.num_leaves} gradients, got {came}",
            )
        else:
            flat.extend(grad)
    return flat


def wrong(call: Call, what: str) -> RuntimeError:
    """The error for a formula that broke the rules."""
    return RuntimeError(
        f"{call.op.name}: in the backward function registered at {call.formula.where}, {what}"
    )


class Registered:
    """A formula given by register_autograd."""

    def __init__(self, backward: Any, setup_context: Any, where: str) -> None:
        self.backward = backward
        self.setup_context = setup_context
        self.where = where

    def save(self, ctx: Any, op: Any, arguments: Any, output: Any) -> None:
        """Let the user's setup_context keep what it wants."""
        if self.setup_context is None:
            return
        values = {"ctx": ctx, "inputs": arguments, "output": output}
        if any(a.keyword_only for a in op.schema.arguments):
            values["keyword_only_inputs"] = ctx.call.keywords
        self.setup_context(**values)

    def gradients(self, ctx: Any, op: Any, call: Call, grads: tuple[Any, ...]) -> Any:
        """What the user's backward answers, one gradient for each positional argument."""
        answer = self.backward(ctx, *grads)
        answer = answer if isinstance(answer, tuple) else (answer,)
        count = len(call.spec.children_specs)
        spare = any(grad is not None for grad in answer[count:])
        if len(answer) < call.least or spare:
            raise wrong(call, f"{count} gradients must be returned, got {len(answer)}")
        return (*answer[:count], *[None] * (count - len(answer)))


def registration_site() -> str:
    """File and line of the program that is registering something."""
    frame = sys._getframe(1)  # noqa: SLF001  # there is no public way without the whole stack
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
