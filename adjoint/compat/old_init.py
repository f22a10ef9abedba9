"""Names of torch.nn.init from before they ended in an underscore, and private ones."""

import warnings
from typing import Any

from adjoint.nn import init
from adjoint.nn.init import _fan as _calculate_correct_fan, fans as _calculate_fan_in_and_fan_out

__all__ = ["_calculate_correct_fan", "_calculate_fan_in_and_fan_out"]

_RENAMED = (
    "constant",
    "dirac",
    "eye",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "orthogonal",
    "sparse",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
)


def _renamed(name: str) -> Any:
    """The function under its old name, which warns."""
    function = getattr(init, f"{name}_")

    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"nn.init.{name} is deprecated; use nn.init.{name}_", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"{name}_ under its old name."
    return old


globals().update({name: _renamed(name) for name in _RENAMED})
