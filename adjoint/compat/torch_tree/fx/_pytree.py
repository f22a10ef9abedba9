"""torch.fx._pytree: nests taken apart as a spec says."""

from typing import Any

from adjoint.pytree import tree_flatten


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of a nest, which must be of the form that spec says."""
    leaves, found = tree_flatten(pytree)
    if len(leaves) != spec.num_leaves or found != spec:
        raise ValueError(
            f"the arguments are another nest than those that were traced: {found}, not {spec}"
        )
    return leaves
