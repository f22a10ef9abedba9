"""torch._custom_ops: how an operator that was declared by a prototype is taken back."""

from adjoint.library import infer_schema, lookup as get_op
from adjoint.library.legacy import undefine

__all__ = ["_destroy", "get_op", "infer_schema"]

_destroy = undefine
