"""Helpers of torch._utils that programs call, and facts of torch._C that they ask for."""

from adjoint.dtypes import dtype

has_lapack = True  # NumPy's linear algebra is LAPACK's


def _element_size(dtype: dtype) -> int:
    """The bytes of one element of a data type."""
    return dtype.itemsize
