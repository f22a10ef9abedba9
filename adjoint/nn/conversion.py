"""How a module's parameters become other ones: by new values, in place of them, or by a swap.

By default a parameter stays the object it is and shows other memory, and views of it keep the old.
The two settings are those of `torch.__future__`.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import sys
from collections.abc import Callable
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.call.context import current
from adjoint.nn.parameter import Parameter
from adjoint.ops import attach_all
from adjoint.tensors.tensor import Tensor, can_become, wants_calls
from adjoint.utils.swapping import swap_tensors


class _Settings:
    """What conversions of all modules do."""

    overwrite = False
    swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions such as Module.double put new parameters in the place of the old."""
    _Settings.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new parameters in the place of the old."""
    return _Settings.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and load_state_dict swap parameters with new ones: see swap_tensors."""
    _Settings.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions and load_state_dict swap parameters with new ones."""
    return _Settings.swap


def convert_parameter(module: Any, name: str, fn: Callable[[Any], Any]) -> None:
    """Let a parameter, and its gradient, be what fn makes of them."""
    parameter = module._parameters[name]
    grad = parameter.grad
    with no_grad():
        converted = fn(parameter)
        if _swaps(converted):
            _swap(parameter, converted, f"{module._get_name()}.{name}")
        elif _Settings.overwrite or not can_become(parameter, converted):
            parameter = Parameter(converted, parameter.requires_grad)
            module._parameters[name] = parameter
        else:
            parameter.data = converted
        if grad is not None:
            parameter.grad = _convert_gradient(grad, fn(grad))


def _convert_gradient(grad: Any, converted: Any) -> Any:
    swaps = _swaps(converted)
    if not swaps and (_Settings.overwrite or not can_become(grad, converted)):
        return converted.requires_grad_(grad.requires_grad)
    if not swaps:
        grad.data = converted
    elif converted is not grad:
        swap_tensors(grad, converted.requires_grad_(grad.requires_grad))
    return grad


def _swaps(converted: Any) -> bool:
    """Whether a swap is asked for, or a class alone knows what was converted."""
    layer = converted.layer
    return _Settings.swap or (layer is not None and layer.wraps and not layer.sparse)


def _swap(parameter: Any, converted: Any, path: str) -> None:
    parameter.grad = None
    try:
        swap_tensors(parameter, Parameter(converted, parameter.requires_grad))
    except Exception as error:
        raise RuntimeError(f"_apply(): Couldn't swap {path}: {error}") from error


def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What a parameter or buffer is swapped with when `other` is loaded into it.

    A subclass of Tensor, of either, may answer for itself in `__torch_function__`.
    """
    kinds = [type(self), type(other)]
    if issubclass(kinds[1], kinds[0]):
        kinds.reverse()
    kinds = [kind for kind in dict.fromkeys(kinds) if kind is not Tensor and wants_calls(kind)]
    if not kinds or not current().overrides:
        return other.detach() if assign else self.copy_(other).detach()
    for kind in kinds:
        handler: Any = kind.__torch_function__
        answer = handler(Tensor.module_load, tuple(kinds), (self, other), {"assign": assign})  # type: ignore[attr-defined]  # attached below
        if answer is not NotImplemented:
            return answer
    raise TypeError(f"no implementation of module_load for {[kind.__name__ for kind in kinds]}")


def load_by_swap(tensor: Any, value: Any, assign: bool) -> None:
    """Let a parameter or buffer be what its module_load makes of a loaded value."""
    loaded = tensor.module_load(value, assign=assign)
    if loaded is tensor or loaded is value:
        raise RuntimeError(
            "module_load returned one of self or other; let it answer a tensor of its own, such as "
            "their detach()"
        )
    if isinstance(tensor, Parameter):
        if isinstance(loaded, Parameter):
            loaded.requires_grad_(tensor.requires_grad)
        else:
            loaded = Parameter(loaded, requires_grad=tensor.requires_grad)
    swap_tensors(tensor, loaded)


METHODS: dict[str, Any] = {"module_load": module_load}
attach_all(sys.modules[__name__])
