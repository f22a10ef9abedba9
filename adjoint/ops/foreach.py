"""An operation on each tensor of a list: PyTorch's _foreach_add and its like, by name."""

from collections.abc import Callable
from typing import Any

from adjoint.ops.matrices.matrix_norms import linalg_vector_norm
from adjoint.tensors.tensor import Tensor

_UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
    "log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_BINARY = "add sub mul div pow maximum minimum clamp_max clamp_min lerp addcdiv addcmul"
_PAIRED = {"maximum": "clamp_min", "minimum": "clamp_max"}  # with a number these stand in


def _each(values: Any, count: int) -> list[Any]:
    """One value for each tensor: those of a list, or the same for all."""
    return list(values) if isinstance(values, (list, tuple)) else [values] * count


def _foreach(name: str) -> Callable[..., Any]:
    """The function that calls a method of each tensor, with its own of each list of arguments."""

    def call(tensors: Any, *others: Any, **options: Any) -> Any:
        count = len(tensors)
        for other in others:
            if isinstance(other, (list, tuple)) and len(other) != count:
                raise RuntimeError(
                    f"_foreach_{name}: {count} tensors, but a list of {len(other)} beside them"
                )
        rows = zip(tensors, *[_each(other, count) for other in others], strict=True)
        results = [_method(row, name)(*row[1:], **options) for row in rows]
        return None if name.endswith("_") else tuple(results)

    call.__name__ = call.__qualname__ = f"_foreach_{name}"
    call.__doc__ = f"{name} of each tensor; other lists give one argument to each."
    return call


def _method(row: tuple[Any, ...], name: str) -> Any:
    stem = name.rstrip("_")
    if stem in _PAIRED and not isinstance(row[1], Tensor):
        name = name.replace(stem, _PAIRED[stem])
    if hasattr(Tensor, name):
        return getattr(row[0], name)
    return lambda *others: row[0].copy_(getattr(row[0], stem)(*others))


def _foreach_norm(tensors: Any, ord: float = 2, dtype: Any = None) -> tuple[Any, ...]:
    """The norm of each tensor."""
    return tuple(linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in tensors)


FOREACH = {
    "_foreach_norm": _foreach_norm,
}
FOREACH |= {
    f"_foreach_{name}": _foreach(name)
    for stem in (*_UNARY.split(), *_BINARY.split(), "zero", "copy")
    for name in (stem, f"{stem}_")
    if name not in ("zero", "copy", "clone_")
}
