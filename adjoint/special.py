"""Special functions under the names of torch.special: what the tables declare with this home."""

from adjoint.ops import PUBLIC

__all__ = list(PUBLIC["special"])
globals().update(PUBLIC["special"])
