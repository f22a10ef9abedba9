"""Parameters whose class answers calls, and has no memory of its own: steps are made by calls."""

from typing import Any

from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.creation.factories import full_like, zeros_like
from adjoint.ops.arranging.conversion import clone
from adjoint.tensors.concrete import has_values
from adjoint.tensors.tensor import Tensor


def answers_calls(tensor: Any) -> bool:
    """Whether the class of a tensor alone knows its values."""
    layer = tensor.layer
    if layer is None:
        return tensor.special and tensor.grad is not tensor.gradient
    return layer.wraps and not layer.sparse and not has_values(tensor)


def with_gradients(params: list[Any]) -> list[Any]:
    """The parameters that have a gradient; a class that answers calls is asked for it."""
    return [p for p in params if (p.grad if p.special else p.gradient) is not None]


def steps_by_calls(param: Any) -> bool:
    """Whether a class answers for the values of a parameter, or of its gradient alone."""
    return answers_calls(param) or _is_wrapped(param.gradient)


def _is_wrapped(grad: Any) -> bool:
    return grad is not None and grad.layer is not None and not has_values(grad)


def refuse_recorded(param: Any, group: dict[str, Any]) -> None:
    """A step by calls is neither part of a graph nor of a program."""
    if group["differentiable"] or group.get("capturable"):
        raise RuntimeError(
            f"a step that is differentiable or capturable takes no {type(param).__name__}, whose "
            "class answers calls"
        )


def state_like(param: Any, value: Any) -> Tensor:
    """A new state in the shape of such a parameter, by its class."""
    with set_grad_enabled(False):
        made: Tensor = zeros_like(param) if value == 0 else full_like(param, value)
        return made


def restoring(param: Any) -> tuple[Any, ...]:
    """The call that puts the values of such a parameter back."""
    with set_grad_enabled(False):
        return _restored, param, clone(param)


def _restored(param: Any, values: Any) -> None:
    with set_grad_enabled(False):
        param.copy_(values)
