"""The old import path of func.functional_call."""

import warnings
from typing import Any

from adjoint import func
from adjoint.func.stateless import replaced

# What programs called before there was func.functional_call.
_functional_call = func.functional_call


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """func.functional_call, with a warning that it is found there."""
    warnings.warn(
        "nn.utils.stateless.functional_call is deprecated: use func.functional_call",
        FutureWarning,
        stacklevel=2,
    )
    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _reparametrize_module(
    module: Any, parameters_and_buffers: dict[str, Any], *flags: bool, **options: bool
) -> replaced:
    """As a context: the module has the given tensors; `stack_weights` is of no account."""
    options.pop("stack_weights", None)
    return replaced(module, parameters_and_buffers, *flags[:2], **options)
