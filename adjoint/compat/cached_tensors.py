"""torch._C's list of tensors whose memory a captured graph owns; nothing here puts any on it."""

from adjoint.compat.weak_tensors import WeakTensorKeyDictionary
from adjoint.tensors.tensor import Tensor

_cached = WeakTensorKeyDictionary()


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Start or stop to keep the list; it costs nothing, so that it is always kept."""


def _add_cached_tensor(tensor: Tensor) -> None:
    """Put a tensor on the list."""
    _cached[tensor] = True


def _remove_cached_tensor(tensor: Tensor) -> None:
    """Take a tensor off the list, if it is there."""
    _cached.pop(tensor, None)


def _is_cached_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is on the list."""
    return tensor in _cached
