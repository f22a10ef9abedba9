"""Handles and marks of hooks, where PyTorch documents them."""

from adjoint.autograd.hooks import (
    RemovableHandle as RemovableHandle,
    unserializable_hook as unserializable_hook,
    warn_if_has_hooks as warn_if_has_hooks,
)

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
