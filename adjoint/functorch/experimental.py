"""functorch.experimental: what of it came to stay, under its first name."""

from typing import Any

from adjoint.func import (
    functionalize as functionalize,
    hessian as hessian,
    jacfwd as jacfwd,
    jvp as jvp,
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
    vmap,
)


def chunk_vmap(
    function: Any, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Any:
    """vmap over a batch in so many parts, one after the other."""

    def call(*args: Any, **kwargs: Any) -> Any:
        part = None if chunks <= 1 else max(1, -(-batch_size(in_dims, args) // chunks))
        return vmap(function, in_dims, out_dims, randomness, chunk_size=part)(*args, **kwargs)

    return call


def batch_size(in_dims: Any, args: tuple[Any, ...]) -> int:
    """How many elements the batch of a call has."""
    dims = in_dims if isinstance(in_dims, (tuple, list)) else [in_dims] * len(args)
    for arg, dim in zip(args, dims):
        if dim is not None and hasattr(arg, "shape"):
            return int(arg.shape[dim])
    raise ValueError(f"chunk_vmap: no argument is mapped: in_dims={in_dims}")
