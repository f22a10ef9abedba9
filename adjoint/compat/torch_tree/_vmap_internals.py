"""torch._vmap_internals: vmap under its older, private name."""

from collections.abc import Callable
from typing import Any

from adjoint.func import vmap as vmap


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """See adjoint.func.vmap; results that are None always pass."""
    return vmap(func, in_dims, out_dims)
