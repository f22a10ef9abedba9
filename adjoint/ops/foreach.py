"""An operation on each tensor of a list: PyTorch's _foreach_add and its like, by name."""

from collections.abc import Callable
from typing import Any

from adjoint.call.arguments import tensors_in
from adjoint.call.context import current
from adjoint.ops.matrices.matrix_norms import linalg_vector_norm
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

_UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
    "log2 max neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
)
_BINARY = "add sub mul div pow maximum minimum clamp_max clamp_min lerp addcdiv addcmul copy mm"
_ABSENT = ("zero", "copy", "clone_", "max_", "mm_")
_PAIRED = {"maximum": "clamp_min", "minimum": "clamp_max"}  # with a number these stand in

# What stands beside the tensors, place by place, under each name it may be given by.
_OTHER = (("other", "scalar", "scalars"),)
_PRODUCT = (("tensor1",), ("tensor2",), ("value", "scalars"))
_PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    "pow": (("exponent",),),
    "lerp": (("tensors1",), ("weights", "weight")),
    "addcdiv": _PRODUCT,
    "addcmul": _PRODUCT,
    "copy": (("src",), ("non_blocking",)),
    "mm": (("mat2",),),
}


def _each(values: Any, count: int) -> list[Any]:
    """One value for each tensor: those of a list, or the same for all."""
    return list(values) if isinstance(values, (list, tuple)) else [values] * count


def _foreach(name: str) -> Callable[..., Any]:
    """The function that calls a method of each tensor, with its own of each list of arguments."""
    stem = name.rstrip("_")
    places = () if stem in _UNARY.split() else _PLACES.get(stem, _OTHER)

    def call(tensors: Any, *others: Any, **options: Any) -> Any:
        for names in places[len(others) :]:
            given = next((each for each in names if each in options), None)
            if given is None:
                break
            value = options.pop(given)
            alone = given == "value" and isinstance(value, Tensor) and not value.ndim
            others = (*others, value.item() if alone else value)
        found = _seen(f"_foreach_{name}", tensors, *others, **options)
        if found is not NotImplemented:
            return tensors if name.endswith("_") else tuple(found)
        if len(others) == len(places) and others and isinstance(others[-1], Tensor):
            last, rank = others[-1], int(places is _PRODUCT)
            if places in (_PRODUCT, _OTHER) and last.ndim != rank:
                raise RuntimeError(
                    f"_foreach_{name}: the numbers must be a {rank}-d tensor, not {last.ndim}-d"
                )
            others = (*others[:-1], last.tolist()) if rank else others
        lists = [each for each in (tensors, *others) if isinstance(each, (list, tuple))]
        lengths = {len(each) for each in lists}
        if len(lengths) != 1 or 0 in lengths:
            raise RuntimeError(
                f"_foreach_{name}: lists of one length, of a tensor or more, are needed; got "
                f"{' and '.join(str(len(each)) for each in lists) or 'none'}"
            )
        rows = zip(*[_each(each, len(lists[0])) for each in (tensors, *others)], strict=True)
        results = [_applied(row, name, options) for row in rows]
        return tensors if name.endswith("_") else tuple(results)

    call.__name__ = call.__qualname__ = f"_foreach_{name}"
    call.__doc__ = f"{name} of each tensor; other lists give one argument to each."
    return call


def _seen(name: str, *args: Any, **options: Any) -> Any:
    """What modes and classes answer to the whole list; NotImplemented if it is taken apart.

    So it is where results are recorded.
    """
    settings = current()
    if upper.seen_below is None:
        return NotImplemented
    tensors = tensors_in([*args])
    if not settings.modes and not any(tensor.special for tensor in tensors):
        return NotImplemented
    if settings.recording and any(tensor.requires_grad for tensor in tensors):
        return NotImplemented
    return upper.seen_below(name, *args, **options)


def _applied(row: tuple[Any, ...], name: str, options: dict[str, Any]) -> Any:
    """The method of a row's first, with the others."""
    stem = name.rstrip("_")
    first: Any = row[0]
    others = list(row[1:])
    if _PLACES.get(stem) is _PRODUCT and len(others) == len(_PRODUCT):
        options = {**options, "value": others.pop()}
    if isinstance(first, (int, float, complex)):  # to the power of each
        return others[0].__rpow__(first)
    if stem in _PAIRED and not isinstance(others[0], Tensor):
        name = name.replace(stem, _PAIRED[stem])
    if hasattr(Tensor, name):
        return getattr(first, name)(*others, **options)
    return first.copy_(getattr(first, stem)(*others))


def _foreach_norm(tensors: Any, ord: float = 2, dtype: Any = None) -> tuple[Any, ...]:
    """The norm of each tensor."""
    found = _seen("_foreach_norm", tensors, ord, dtype=dtype)
    if found is not NotImplemented:
        return tuple(found)
    return tuple(linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in tensors)


def _foreach_powsum(tensors: Any, ord: float = 2, dtype: Any = None) -> tuple[Any, ...]:
    """The sum of the powers of the absolute values of each tensor."""
    return tuple(tensor.abs().pow(ord).sum(dtype=dtype) for tensor in tensors)


FOREACH = {
    "_foreach_norm": _foreach_norm,
    "_foreach_powsum": _foreach_powsum,
}
FOREACH |= {
    f"_foreach_{name}": _foreach(name)
    for stem in (*_UNARY.split(), *_BINARY.split())
    for name in (stem, f"{stem}_")
    if name not in _ABSENT
}
