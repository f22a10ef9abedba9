"""torch._C._nn: what nn.Module.to asks of its arguments, and tensors joined and parted."""

from typing import Any

from adjoint.compat.torch_tree._utils import flatten_dense_tensors, unflatten_dense_tensors
from adjoint.device import device
from adjoint.ops.arranging.conversion import requested
from adjoint.ops.composites import overridable_by_modes

__all__ = ["_parse_to", "flatten_dense_tensors", "unflatten_dense_tensors"]


@overridable_by_modes
def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, data type, haste and memory format that arguments of `to` ask for."""
    asked = requested(args, kwargs)
    haste = bool(asked.get("non_blocking", False))
    where = None if asked.get("device") is None else device(asked["device"])
    return where, asked.get("dtype"), haste, asked.get("memory_format")
