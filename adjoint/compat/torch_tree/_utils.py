"""torch._utils: many tensors as one and apart again, and the size of an element."""

from collections.abc import Sequence
from typing import Any

from adjoint.device import device as as_device
from adjoint.dtypes import dtype
from adjoint.ops.arranging.shape import cat

__all__ = [
    "_element_size",
    "_flatten_dense_tensors",
    "_get_device_index",
    "_unflatten_dense_tensors",
]


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """The elements of all tensors, one after another."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Parts of such a tensor, in the shapes of others."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True))


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device, given as a number, a device or its name; -1 for the CPU."""
    if isinstance(device, int) or (device is None and optional):
        return device
    named = None if device is None else as_device(device)
    if named is not None and named.type == "cpu":
        if not allow_cpu:
            raise ValueError(f"expected a device other than the CPU, got {device!r}")
        return -1
    if named is None or (named.index is None and not optional):
        raise ValueError(f"expected a device with a number, or a number, got {device!r}")
    return named.index or 0


def _element_size(dtype: dtype) -> int:
    """The bytes of one element of a data type."""
    return dtype.itemsize
