"""Weight normalisation by a hook: a weight as a length times a direction.

The newer form is `parametrizations.weight_norm`; this one keeps `weight_g` and `weight_v`.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are where parameters are

import warnings
from typing import Any, TypeVar

from adjoint.autograd.hooks import traceable
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter, is_lazy
from adjoint.ops.dims import normal_dim
from adjoint.ops.reducing.norms import norm

T_module = TypeVar("T_module", bound=Module)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norm over all dimensions but one, which are kept; of everything if dim is -1."""
    if dim == -1:
        return norm(v, pow)
    kept = normal_dim(dim, v.ndim)
    others = [other for other in range(v.ndim) if other != kept]
    return norm(v, pow, others, keepdim=True) if others else v.abs()


def weight_of(v: Any, g: Any, dim: int = 0) -> Any:
    """The weight with the direction of v and the lengths g."""
    return v * (g / norm_except_dim(v, 2, dim))


def hook_key(module: Module, kind: type, name: str) -> Any:
    """The key of the hook of a module that computes a weight; None if there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]  # all have it
            return key
    return None


def take_off(module: Module, kind: type, name: str) -> None:
    """Remove the hook that computes a weight, and what it needs."""
    key = hook_key(module, kind, name)
    if key is None:
        raise ValueError(f"no {kind.__name__} of '{name}' is found in {module}")
    hook: Any = module._forward_pre_hooks[key]
    hook.remove(module)
    del module._forward_pre_hooks[key]


@traceable
class WeightNorm:
    """The hook that computes a weight before each call of its module."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight, from the parameters that stand for it."""
        v, g = getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g")
        return weight_of(v, g, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> "WeightNorm":
        """Replace a parameter by its length and direction."""
        warnings.warn(
            "nn.utils.weight_norm is deprecated: use nn.utils.parametrizations.weight_norm",
            FutureWarning,
            stacklevel=3,
        )
        if hook_key(module, WeightNorm, name) is not None:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                f"weight_norm: '{name}' is uninitialized; run the module's forward once before"
            )
        length = Parameter(norm_except_dim(weight, 2, made.dim).data)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", length)
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again, with the value it has now."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for suffix in ("g", "v"):
            del module._parameters[f"{self.name}_{suffix}"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: T_module, name: str = "weight", dim: int | None = 0) -> T_module:
    """Replace a parameter by `weight_g`, a length for each index of dim, and `weight_v`."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: T_module, name: str = "weight") -> T_module:
    """Undo weight_norm."""
    take_off(module, WeightNorm, name)
    return module
