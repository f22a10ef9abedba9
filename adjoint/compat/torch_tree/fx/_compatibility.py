"""torch.fx._compatibility: what PyTorch promises to keep; nothing is checked here."""

from typing import Any


def compatibility(is_backward_compatible: bool) -> Any:
    """Decorates what is promised, or not: it stays as it is."""
    return lambda decorated: decorated
