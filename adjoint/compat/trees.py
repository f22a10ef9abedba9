"""torch.utils._pytree's maps over the leaves of some types."""

from collections.abc import Callable
from typing import Any

from adjoint.pytree import tree_map


def tree_map_only(kinds: Any, function: Callable[[Any], Any], tree: Any) -> Any:
    """A nest with the leaves of a type, or of several, replaced."""
    return tree_map(lambda leaf: function(leaf) if isinstance(leaf, kinds) else leaf, tree)
