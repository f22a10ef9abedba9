"""Orders of elements in memory: accepted, and without effect on arrays of any backend."""

from typing import Any, TypeVar

from adjoint.nn.module import Module
from adjoint.ops.arranging.conversion import memory_format as format_type, typename

T_module = TypeVar("T_module", bound=Module)


def convert_conv2d_weight_memory_format(module: T_module, memory_format: Any) -> T_module:
    """The module as it is: the order of elements in memory is up to the array library."""
    return _checked(module, memory_format, "convert_conv2d_weight_memory_format")


def convert_conv3d_weight_memory_format(module: T_module, memory_format: Any) -> T_module:
    """The module as it is: the order of elements in memory is up to the array library."""
    return _checked(module, memory_format, "convert_conv3d_weight_memory_format")


def _checked(module: T_module, memory_format: Any, who: str) -> T_module:
    if not isinstance(memory_format, format_type):
        raise TypeError(f"{who}: expected a memory_format, got {typename(memory_format)}")
    return module
