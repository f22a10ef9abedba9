"""Spectral normalisation by a hook: a weight divided by its largest singular value.

The value is estimated by the power method, a step for each call in training mode, on vectors that
are kept as buffers. The newer form is `parametrizations.spectral_norm`.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are where parameters are

from typing import Any, TypeVar

from adjoint.autograd.grad_mode import no_grad
from adjoint.autograd.hooks import traceable
from adjoint.nn.layers.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter, is_lazy
from adjoint.nn.utils.weight_norm import hook_key, take_off
from adjoint.ops.matrices.distances import normalize
from adjoint.ops.matrices.linalg import pinverse
from adjoint.ops.matrices.matmul import dot, mv
from adjoint.ops.matrices.other_products import linalg_multi_dot as multi_dot

T_module = TypeVar("T_module", bound=Module)

_VERSION = "{}.version"


def as_matrix(weight: Any, dim: int) -> Any:
    """A weight with dim as rows, and all other dimensions as columns."""
    if dim != 0:
        weight = weight.permute(dim, *(other for other in range(weight.ndim) if other != dim))
    return weight.reshape(weight.shape[0], -1)


def dim_of_outputs(module: Module) -> int:
    """Which dimension of a layer's weight counts its outputs."""
    return int(isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d))


def check_iterations(count: int) -> int:
    """How many steps of the power method to make; at least one."""
    if count <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={count}"
        )
    return count


def random_direction(weight: Any, size: int, eps: float) -> Any:
    """A vector of length 1, of the kind of a weight, to begin the power method with."""
    return normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)


@traceable
class SpectralNorm:
    """The hook that computes a weight before each call of its module."""

    _version: int = 1  # since then v is kept, and the weight itself is not

    def __init__(
        self,
        name: str = "weight",
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        self.name = name
        self.dim = dim
        self.n_power_iterations = check_iterations(n_power_iterations)
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """The weight as a matrix, a row for each output."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The weight, from the parameter and the buffers that stand for it."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = normalize(mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = normalize(mv(matrix, v), dim=0, eps=self.eps, out=u)
                # Copies, so that the next call may change the buffers before backward of this one.
                u, v = u.clone(), v.clone()
        return weight / dot(u, mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again, with the value it has now."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, weight_mat: Any, u: Any, target_sigma: Any) -> Any:
        """The v with which u is the normalised weight @ v, and u @ weight @ v a given sigma."""
        inverse = pinverse(weight_mat.t().mm(weight_mat))
        v = multi_dot([inverse, weight_mat.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(target_sigma / dot(u, mv(weight_mat, v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> "SpectralNorm":
        """Replace a parameter by itself under another name, and the vectors of the method."""
        if hook_key(module, SpectralNorm, name) is not None:
            raise RuntimeError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = module._parameters[name]
        if weight is None:
            raise ValueError(f"spectral_norm: there is no parameter '{name}' to apply it to: None")
        if is_lazy(weight):
            raise ValueError(
                f"spectral_norm: '{name}' is uninitialized; run the module's forward once before"
            )
        with no_grad():
            rows, columns = made.reshape_weight_to_matrix(weight).shape
            u, v = (random_direction(weight, size, eps) for size in (rows, columns))
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Computes v where a state dict was saved before it was kept."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + self.fn.name
        versions = local_metadata.get("spectral_norm", {})
        version = versions.get(_VERSION.format(self.fn.name))
        if version is not None and version >= 1:
            return
        new = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and new and key not in state_dict:
            return  # of this version; only the note of it was lost
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            if strict:
                missing_keys += missing
            return
        with no_grad():
            original, u = state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            state_dict[f"{key}_v"] = self.fn._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook:
    """Notes in the metadata of a state dict which version it was saved by."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = _VERSION.format(self.fn.name)
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: T_module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> T_module:
    """Divide a parameter by its largest singular value before each call of its module."""
    rows = dim_of_outputs(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, rows, eps)
    return module


def remove_spectral_norm(module: T_module, name: str = "weight") -> T_module:
    """Undo spectral_norm."""
    take_off(module, SpectralNorm, name)
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(table.items()):
            marked: Any = getattr(hook, "fn", None)
            if isinstance(marked, SpectralNorm) and marked.name == name:
                del table[key]
    return module
