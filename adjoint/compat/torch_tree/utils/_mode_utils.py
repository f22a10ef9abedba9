"""torch.utils._mode_utils: calls that neither modes nor classes see, and modes compared."""

from collections.abc import Sequence
from typing import Any

from adjoint.compat.torch_tree.utils._python_dispatch import dispatch_disabled

no_dispatch = dispatch_disabled


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether all of them are one mode."""
    return all(mode is modes[0] for mode in modes)
