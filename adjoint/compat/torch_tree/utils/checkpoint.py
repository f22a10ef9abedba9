"""torch.utils.checkpoint's policies, which name operations as torch.ops does."""

from typing import Any

from adjoint.compat.aten_steps.shown import overload_for
from adjoint.compat.torch_tree.ops import Packet, operation_of
from adjoint.utils import checkpoint
from adjoint.utils.checkpoint import SelectiveCheckpointContext


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts for checkpoint's context_fn; see adjoint.utils.checkpoint."""
    policy = policy_fn_or_list
    if isinstance(policy, list):
        for operation in policy:
            if isinstance(operation, Packet):
                raise ValueError(
                    f"{operation} stands for several operations: update the OpOverloadPacket to a "
                    f"specific OpOverload, as {operation}.default"
                )
        policy = [operation_of(operation) for operation in policy]
    elif callable(policy):
        asked = policy

        def policy(
            context: SelectiveCheckpointContext, operation: Any, *args: Any, **kwargs: Any
        ) -> Any:
            return asked(context, overload_for(operation, args, kwargs), *args, **kwargs)

    return checkpoint.create_selective_checkpoint_contexts(policy, allow_cache_entry_mutation)
