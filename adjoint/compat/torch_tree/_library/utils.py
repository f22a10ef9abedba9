"""torch._library.utils: operators by name."""

from adjoint.library import lookup as lookup_op

__all__ = ["lookup_op"]
