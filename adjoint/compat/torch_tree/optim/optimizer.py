"""torch.optim.optimizer: what optimizers written after PyTorch's take from it."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.call.context import is_grad_enabled
from adjoint.compat.no_compiler import unchanged
from adjoint.dtypes import float32, float64, get_default_dtype
from adjoint.ops.arranging.shape import squeeze
from adjoint.ops.elementwise.complex_numbers import view_as_real
from adjoint.tensors.tensor import Tensor

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

# Parts of the help of PyTorch's optimizers, which others put into their own.
_params_doc = "params (iterable): parameters, pairs of names and parameters, or groups of them"
_foreach_doc = "foreach (bool, optional): whether to update all parameters of a group at once"
_fused_doc = "fused (bool, optional): whether to update each parameter in one loop"
_maximize_doc = "maximize (bool, optional): whether to go up instead of down"
_capturable_doc = "capturable (bool, optional): whether steps can be part of a CUDA graph"
_differentiable_doc = "differentiable (bool, optional): whether gradients pass through steps"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A step during which gradients are recorded only if the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = is_grad_enabled()
        try:
            set_grad_enabled(self.defaults["differentiable"])
            return func(self, *args, **kwargs)
        finally:
            set_grad_enabled(before)

    return step


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether to update in one loop, or all at once, where nothing is said: neither."""
    return False, False


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Nothing is compiled from byte code: decorates a function and leaves it as it is."""
    return unchanged


def _get_value(x: Any) -> Any:
    """A number, or that of a tensor."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; a number as it is."""
    return x if not isinstance(x, Tensor) or x.ndim == 0 else squeeze(x)


def _stack_if_compiling(x: Any) -> Any:
    """A list of numbers as it is."""
    return x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The type in which steps are counted."""
    return float64 if not is_fused and get_default_dtype() is float64 else float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices whose steps PyTorch can make part of a graph."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Put real views of complex parameters, and of what belongs to them, in their places."""
    for i, parameter in enumerate(params):
        if parameter.is_complex():
            params[i] = view_as_real(parameter)
            for others in state_and_grads:
                others[i] = view_as_real(others[i])
