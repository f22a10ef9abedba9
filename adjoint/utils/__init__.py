"""Around training: checkpointing."""

from adjoint.utils import checkpoint as checkpoint
