"""What surrounds training: hooks' handles, checkpointing."""

from adjoint.utils import checkpoint as checkpoint, hooks as hooks
