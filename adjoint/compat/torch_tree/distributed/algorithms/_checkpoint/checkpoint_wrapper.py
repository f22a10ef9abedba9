"""torch.distributed.algorithms._checkpoint.checkpoint_wrapper: parts of a model, checkpointed.

A wrapped module computes its forward again in the backward pass instead of keeping what is saved.
Its state dict is that of the module itself.
"""

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from adjoint.autograd.graph import save_on_cpu
from adjoint.nn import Module, Parameter
from adjoint.utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(enum.Enum):
    """How a forward is computed again: see utils.checkpoint."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


def _renamed(state: dict[str, Any], old: str, new: str) -> None:
    """Change what keys begin with, in place."""
    for key in [key for key in state if key.startswith(old) and old != new]:
        state[new + key[len(old) :]] = state.pop(key)


class ActivationWrapper(Module):
    """Holds a module, whose names and elements are its own."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = module
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        inner: Any = self._checkpoint_wrapped_module
        return inner[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """The parameters under the names that they have in the module itself."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(
        module: Module, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> dict[str, Any]:
        _renamed(state_dict, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(
        module: Module, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        _renamed(state_dict, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


class CheckpointWrapper(ActivationWrapper):
    """A module whose forward is computed again in the backward pass."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        if checkpoint_fn is None:
            checkpoint_fn = functools.partial(checkpoint, use_reentrant=reentrant)
        self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module answers."""
        if self.checkpoint_impl is CheckpointImpl.NO_REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        names, count = list(kwargs), len(args)

        def positional(*values: Any) -> Any:
            named = dict(zip(names, values[count:], strict=True))
            return self._checkpoint_wrapped_module(*values[:count], **named)

        return self.checkpoint_fn(positional, *args, *kwargs.values())


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors wait in the CPU's memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module answers."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


offload_wrapper = OffloadWrapper
checkpoint_wrapper = CheckpointWrapper


def _each(module: Module) -> bool:
    """The choice of all modules."""
    return True


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = _each,
    auto_wrap_policy: Callable[[Module, bool, int], bool] | None = None,
) -> None:
    """Wrap the chosen modules within a model, the innermost first."""
    if auto_wrap_policy is not None:
        policy = auto_wrap_policy
        check_fn = lambda module: policy(module, False, 0)
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))
