"""Trade computing for memory: what a region saves for backward is dropped and computed again.

`checkpoint` takes a function, `checkpoint_scope` a `with` block; docs/notes/checkpointing.md says
when to use which.
"""

from adjoint.utils.checkpoint.passes import GraphExecGroup as GraphExecGroup
from adjoint.utils.checkpoint.policies import (
    SAC_IGNORED_OPS as SAC_IGNORED_OPS,
    CheckpointPolicy as CheckpointPolicy,
    SelectiveCheckpointContext as SelectiveCheckpointContext,
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)
from adjoint.utils.checkpoint.public import (
    checkpoint as checkpoint,
    checkpoint_sequential as checkpoint_sequential,
)
from adjoint.utils.checkpoint.recompute import (
    CheckpointError as CheckpointError,
    noop_context_fn as noop_context_fn,
    set_checkpoint_debug_enabled as set_checkpoint_debug_enabled,
    set_checkpoint_early_stop as set_checkpoint_early_stop,
)
from adjoint.utils.checkpoint.reentrant import (
    check_backward_validity as check_backward_validity,
    detach_variable as detach_variable,
)
from adjoint.utils.checkpoint.scope import checkpoint_scope as checkpoint_scope
from adjoint.utils.checkpoint.surroundings import (
    get_device_states as get_device_states,
    set_device_states as set_device_states,
)
