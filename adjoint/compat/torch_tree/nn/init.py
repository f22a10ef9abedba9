"""torch.nn.init: old names, without an underscore; what replaces a function, layers call."""

import functools
import warnings
from typing import Any

from adjoint.nn import init

_OLD = (
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
)


def _under_old_name(name: str) -> Any:
    function = getattr(init, f"{name}_")

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        message = f"nn.init.{name} is deprecated; use nn.init.{name}_"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    renamed.__name__ = name
    return renamed


globals().update({name: _under_old_name(name) for name in _OLD})
_calculate_fan_in_and_fan_out = init.fans
_calculate_correct_fan = init.fan
_no_grad_fill_, _no_grad_zero_ = init.constant_, init.zeros_
_no_grad_uniform_, _no_grad_normal_ = init.uniform_, init.normal_
_no_grad_trunc_normal_ = init.trunc_normal_

_ORIGINALS = {name: value for name, value in vars(init).items() if name.endswith("_")}
ASSIGNABLE = {name for name in _ORIGINALS if not name.startswith("_")}


def assign(name: str, value: Any) -> None:
    """Have another function under a name: layers that are made from now on begin by it."""
    setattr(init, name, value)


def restore(name: str) -> None:
    """Have the function that was there at first."""
    assign(name, _ORIGINALS[name])
