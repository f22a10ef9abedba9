"""torch.nn.parallel: a batch spread over several GPUs, which adjoint does with processes alone.

What has no tensor to move is answered; the rest is refused, as PyTorch does it without GPUs.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.device import device as as_device
from adjoint.pytree import tree_leaves
from adjoint.tensors.tensor import Tensor


def _refused(name: str) -> NoReturn:
    raise RuntimeError(
        f"{name}: tensors are not spread over several devices; use one process for each, and "
        "torch.distributed"
    )


def _check_devices(name: str, devices: Any) -> None:
    for each in devices:
        if not isinstance(each, int) and as_device(each).type == "cpu":
            raise ValueError(f"{name}: expected a device other than the CPU, got {each!r}")


def _has_tensors(tree: Any) -> bool:
    return any(isinstance(leaf, Tensor) for leaf in tree_leaves(tree))


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """What has no tensors, once for each device."""
    if not _has_tensors(inputs):
        return [inputs for _ in target_gpus]
    _check_devices("scatter", target_gpus)
    _refused("scatter")


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The same of the arguments of a call."""
    given = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    given += [() for _ in named[len(given) :]]
    named += [{} for _ in given[len(named) :]]
    return tuple(given), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Nothing is spread, and so nothing gathered."""
    raise AssertionError("gather: the results lie on one device; use cat()")


def replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """No copies of a module for no devices."""
    _check_devices("replicate", devices)
    return [] if not devices else _refused("replicate")


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    """Modules on several devices are not called at once."""
    if len(modules) != len(inputs):
        raise AssertionError(f"parallel_apply: {len(modules)} modules, {len(inputs)} inputs")
    _check_devices("parallel_apply", devices or ())
    _refused("parallel_apply")


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor of a nest of lists and dicts; None if it has none."""
    return next((leaf for leaf in tree_leaves(obj) if isinstance(leaf, Tensor)), None)
