"""Linear algebra under the names of torch.linalg: what the tables declare with this home."""

from adjoint.ops import PUBLIC
from adjoint.ops.matrices.linalg import LinAlgError as LinAlgError

__all__ = ["LinAlgError"] + list(PUBLIC["linalg"])
globals().update(PUBLIC["linalg"])
