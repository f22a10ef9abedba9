"""The private part of torch.nn.utils.stateless: a module with other tensors for a while."""

from typing import Any

from adjoint.func.stateless import replaced


def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> replaced:
    """Inside, the module has the given tensors; those go back in either order."""
    return replaced(module, parameters_and_buffers, tie_weights, strict)
