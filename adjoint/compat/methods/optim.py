"""Private members of Optimizer, for classes that wrap another optimizer."""

from typing import Any

from adjoint.optim.optimizer import Optimizer, hooked


def _patch_step_function(self: Optimizer) -> None:
    """Nothing is left to do: a class statement puts its step between the hooks."""
    self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"  # type: ignore[attr-defined]  # PyTorch's


OPTIMIZER: dict[str, Any] = {
    "_patch_step_function": _patch_step_function,
    "profile_hook_step": staticmethod(hooked),
}
