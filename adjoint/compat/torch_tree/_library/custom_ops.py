"""torch._library.custom_ops: operators made of functions."""

from adjoint.library import CustomOpDef, custom_op, lookup

__all__ = ["CustomOpDef", "custom_op", "get_op"]

get_op = lookup
