"""Helpers of torch._utils that programs call."""

from adjoint.dtypes import dtype


def _element_size(dtype: dtype) -> int:
    """The bytes of one element of a data type."""
    return dtype.itemsize
