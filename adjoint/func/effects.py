"""Functions without effects: mutations, running statistics, layers to look through."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.tensors.tensor import Tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """func, which may change tensors in place, as a function for those who allow no mutation.

    Calls are made at once here, and nothing is traced in which a mutation could be seen; so the
    result is func's own, and what func does to its arguments is done to them.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize: remove must be 'mutations' or 'mutations_and_views', got {remove!r}"
        )

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapper


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms in a module use the batch alone, with no running statistics to change."""
    for module in root.modules():
        if hasattr(module, "running_mean") and hasattr(module, "track_running_stats"):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The tensor below a transform, or below all of them: for looking at, not for computing with.

    Work on it is no part of the transform.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"debug_unwrap: expected a Tensor, got {type(tensor).__name__}")
    if tensor.layer is None:
        raise RuntimeError(
            "debug_unwrap: expected a tensor inside a transform; this one takes part in none"
        )
    below: Tensor = tensor.layer.below()[0]
    return debug_unwrap(below) if recurse and below.layer is not None else below
