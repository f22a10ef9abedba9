"""torch.ops.higher_order: branches and loops as operations, about which modes are asked."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint import control_flow
from adjoint.call.context import below_innermost_mode, current, set_current
from adjoint.tensors.tensor import Tensor


class HigherOrderOperator:
    """An operation on functions, under its name; called, it asks the innermost mode first."""

    namespace = "higher_order"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = self._name = function.__name__

    def name(self) -> str:
        """Its name."""
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        settings = current()
        mode = settings.modes[-1] if settings.modes else None
        if mode is None or mode.supports_higher_order_operators is None:
            return self.function(*args, **kwargs)
        if not mode.supports_higher_order_operators:
            raise NotImplementedError(
                f"{self._name} calls functions, and {type(mode).__name__} does not say that it "
                "knows such operations: let supports_higher_order_operators of its class be True, "
                "so that its __torch_dispatch__ is asked about them"
            )
        try:
            set_current(below_innermost_mode(settings))
            answer = mode.__torch_dispatch__(self, [], args, kwargs)
        finally:
            set_current(settings)
        if answer is NotImplemented:
            raise TypeError(f"{self._name}: mode {mode} returned NotImplemented for it")
        return answer

    def __str__(self) -> str:
        return self._name


def _while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any) -> Any:
    """while_loop, of which both functions are given other tensors, too."""
    test, body = (lambda *each, of=of: of(*each, *additional_inputs) for of in (cond_fn, body_fn))
    return control_flow.while_loop(test, body, carried_inputs)


_while_loop.__name__ = "while_loop"
OPERATORS = {
    "cond": HigherOrderOperator(control_flow.cond),
    "while_loop": HigherOrderOperator(_while_loop),
}


@functools.wraps(control_flow.cond)
def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """See control_flow; a choice that is known already is no operation."""
    if current().modes and isinstance(pred, Tensor):
        return OPERATORS["cond"](pred, true_fn, false_fn, operands)
    return control_flow.cond(pred, true_fn, false_fn, operands)


@functools.wraps(control_flow.while_loop)
def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    """See control_flow."""
    if current().modes:
        return OPERATORS["while_loop"](cond_fn, body_fn, carried_inputs, ())
    return control_flow.while_loop(cond_fn, body_fn, carried_inputs)
