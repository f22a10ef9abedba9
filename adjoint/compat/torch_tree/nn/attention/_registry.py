"""torch.nn.attention: kernels that take the place of PyTorch's own; adjoint has one way for all."""

from collections.abc import Callable
from typing import Any, NoReturn

WARN_FOR_UNFUSED_KERNELS = False

_registered: dict[str, Callable[..., Any]] = {}


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Remember what would put kernels in the place of others."""
    _registered[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """The names of those that are remembered; adjoint has none of its own."""
    return sorted(_registered)


def current_flash_attention_impl() -> None:
    """None is in use."""


def restore_flash_attention_impl() -> None:
    """None was taken into use."""


def activate_flash_attention_impl(impl: str) -> NoReturn:
    """Refuse to take one into use: attention is computed in one way."""
    if impl not in _registered:
        known = list_flash_attention_impls()
        raise ValueError(f"there is no flash attention {impl!r}; there are {known}")
    raise RuntimeError(f"flash attention {impl!r} has no kernels of PyTorch's to take the place of")
