"""torch.utils.checkpoint's policies, which name operations as torch.ops does."""

from typing import Any

from adjoint.compat.aten_steps.shown import overload_for
from adjoint.compat.torch_tree import cuda
from adjoint.compat.torch_tree.ops import OpOverload, OpOverloadPacket, operation_of
from adjoint.utils import checkpoint
from adjoint.utils.checkpoint import SelectiveCheckpointContext


class DefaultDeviceType:
    """For which kind of devices generators are kept, where no tensor says it."""

    kind: str | None = None

    @staticmethod
    def get_device_type() -> str:
        """The kind: a GPU's, if there is one."""
        return DefaultDeviceType.kind or ("cuda" if cuda.is_available() else "cpu")

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Remember another."""
        DefaultDeviceType.kind = device


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts for checkpoint's context_fn; see adjoint.utils.checkpoint."""
    policy, keep = policy_fn_or_list, allow_cache_entry_mutation
    if isinstance(policy, list):
        for operation in policy:
            if isinstance(operation, OpOverloadPacket):
                raise ValueError(
                    f"{operation} stands for several operations: update the OpOverloadPacket to a "
                    f"specific OpOverload, as {operation}.default"
                )
        overloads = {each.name() for each in policy if isinstance(each, OpOverload)}
        if overloads and len(overloads) == len(set(policy)):
            return _contexts(lambda context, overload, *_, **__: overload.name() in overloads, keep)
        policy = [operation_of(operation) for operation in policy]
    elif callable(policy):
        return _contexts(policy, keep)
    return checkpoint.create_selective_checkpoint_contexts(policy, keep)


def _contexts(asked: Any, keep: bool) -> tuple[Any, Any]:
    """Those of a policy that is asked about overloads."""

    def policy(
        context: SelectiveCheckpointContext, operation: Any, *args: Any, **kwargs: Any
    ) -> Any:
        return asked(context, overload_for(operation, args, kwargs), *args, **kwargs)

    return checkpoint.create_selective_checkpoint_contexts(policy, keep)
