"""What packages tell PyTorch's exporter when they are imported; nothing is exported."""

from typing import Any

from adjoint.compat.uncompiled import nothing as register_custom_op_symbolic, unchanged

__all__ = ["is_in_onnx_export", "parse_args", "register_custom_op_symbolic"]


def parse_args(*kinds: str) -> Any:
    """Decorates a function that exports an operation, and changes nothing."""
    return unchanged


def is_in_onnx_export() -> bool:
    """Nothing is ever exported."""
    return False
