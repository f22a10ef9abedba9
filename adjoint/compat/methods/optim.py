"""Private members of Optimizer, for classes that wrap another optimizer."""

from typing import Any

from adjoint.compat.torch_tree.utils import _foreach_utils
from adjoint.optim.optimizer import Optimizer, hooked, loaded


def _patch_step_function(self: Optimizer) -> None:
    """Nothing is left to do: a class statement puts its step between the hooks."""
    self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"  # type: ignore[attr-defined]  # PyTorch's


def _process_value_according_to_param_policy(
    param: Any, value: Any, param_id: int, param_groups: list[dict[str, Any]], key: Any = None
) -> Any:
    """A loaded value as it belongs to a parameter: of its type, unless it counts steps."""
    group = next((each for each in param_groups if param_id in each["params"]), {})
    return loaded({key: value}, param, group)[key]


OPTIMIZER: dict[str, Any] = {
    "_patch_step_function": _patch_step_function,
    "_group_tensors_by_device_and_dtype": staticmethod(
        _foreach_utils._group_tensors_by_device_and_dtype  # noqa: SLF001  # PyTorch's name
    ),
    "_process_value_according_to_param_policy": staticmethod(
        _process_value_according_to_param_policy
    ),
    "profile_hook_step": staticmethod(hooked),
}
