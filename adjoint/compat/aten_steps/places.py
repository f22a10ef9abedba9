"""The steps of views, indices and writing."""

from collections.abc import Iterator
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, renamed, unseen
from adjoint.creation.factories import empty, tensor
from adjoint.creation.from_memory import as_tensor
from adjoint.ops.arranging.conversion import contiguous_format, strided
from adjoint.ops.reducing.sorting import as_index
from adjoint.tensors.tensor import AS_IS, Tensor

LAST: Final = 2**63 - 1  # how PyTorch writes the end of a slice that has none


def reshaped(ask: Steps, input: Any, shape: Any) -> Any:
    """The steps of reshape: a view if it can be one."""
    looks: Any = Tensor(input.array, AS_IS)
    with unseen():
        wanted = list(looks.reshape(shape).shape)
        try:
            looks.view(wanted)
        except RuntimeError:
            is_view = False
        else:
            is_view = True
    if is_view:
        return ask("view", input, list(shape))
    return ask("_unsafe_view", ask("clone", input, memory_format=contiguous_format), wanted)


def _basic_index(ask: Steps, input: Any, index: Any) -> Any:
    shown = input
    for name, _, rest in _parts(input.shape, index):
        shown = ask(name, shown, *rest)
    return ask("alias", shown) if shown is input else shown


def _parts(sizes: Any, index: Any) -> Iterator[tuple[str, list[int], tuple[int, ...]]]:
    """The views that a plain index is made of: of tensors of which sizes, by which arguments."""
    left = list(sizes)
    dim = 0
    # A slice that is the whole index is seen even where it leaves nothing out.
    alone = isinstance(index, slice) or (isinstance(index, tuple) and len(index) == 1)
    for part in _without_ellipsis(index, len(left)):
        if part is None:
            yield "unsqueeze", list(left), (dim,)
            left.insert(dim, 1)
        elif isinstance(part, slice):
            start, stop, step = part.indices(left[dim])
            whole = (start, stop, step) == (0, left[dim], 1)
            if alone or not whole:
                end = stop if part.stop is not None else LAST
                yield "slice", list(left), (dim, start, end, step)
                left[dim] = len(range(start, stop, step))
        else:
            yield "select", list(left), (dim, part)
            del left[dim]
            continue
        dim += 1


def _without_ellipsis(index: Any, ndim: int) -> list[Any]:
    """The parts of an index, with full slices where it has an ellipsis."""
    parts = list(index) if isinstance(index, tuple) else [index]
    count = sum(part is not None and part is not Ellipsis for part in parts)
    for place, part in enumerate(parts):
        if part is Ellipsis:
            return [*parts[:place], *[slice(None)] * (ndim - count), *parts[place + 1 :]]
    return parts


def _is_plain(index: Any) -> bool:
    """Whether an index has nothing but ints, slices, None and an ellipsis."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or type(part) is int or isinstance(part, slice)
        for part in parts
    )


def _divided(ask: Steps, input: Any, index: Any) -> tuple[Any, list[Any]]:
    """What an index with tensors reads from, after its plain parts, and the tensors."""
    plain, picks, made = _plain_and_picks(index, input.ndim)
    shown = _basic_index(ask, input, plain) if plain else input
    return shown, [ask("lift_fresh", each) if i in made else each for i, each in enumerate(picks)]


def _plain_and_picks(index: Any, ndim: int) -> tuple[Any, list[Any], set[int]]:
    """The plain parts of an index, none if they are all, tensors in the places of the others.

    And which of the tensors are made of lists.
    """
    plain: list[Any] = []
    picks: list[Any] = []
    lists: set[int] = set()
    for part in _without_ellipsis(index, ndim + _more_by_masks(index)):
        if part is None or type(part) is int or isinstance(part, slice):
            plain.append(part)
            if type(part) is not int:
                picks.append(None)
            continue
        if not isinstance(part, Tensor):
            lists.add(len(picks))
            with unseen():
                made: Any = as_tensor(part)
                part = made if made.numel() else made.long()  # a list of no places
        picks.append(part)
        plain += [slice(None)] * _consumed(part)
    while picks and picks[-1] is None:
        picks.pop()
    is_whole = all(isinstance(part, slice) and part == slice(None) for part in plain)
    return () if is_whole else tuple(plain), picks, lists


def _consumed(part: Any) -> int:
    return part.ndim if isinstance(part, Tensor) and part.array.dtype.kind == "b" else 1


def _more_by_masks(index: Any) -> int:
    """How many dimensions fewer an index has parts, since masks stand for several."""
    parts = index if isinstance(index, tuple) else (index,)
    return sum(1 - _consumed(part) for part in parts if isinstance(part, Tensor))


def _pick(ask: Steps, input: Any, index: Any) -> Any:
    shown, picks = _divided(ask, input, index)
    return ask("index", shown, picks)


def _split(ask: Steps, input: Any, split_sizes: Any, dim: int, prefix: str = "") -> Any:
    sizes = list(split_sizes)
    if sizes and all(size == sizes[0] for size in sizes[:-1]) and 0 < sizes[-1] <= sizes[0]:
        return ask(f"{prefix}split", input, sizes[0], dim)
    return ask(f"{prefix}split_with_sizes", input, sizes, dim)


def _split_apart(ask: Steps, input: Any, split_sizes: Any, dim: int) -> Any:
    return _split(ask, input, split_sizes, dim, "unsafe_")


def _strided_view(ask: Steps, input: Any, size: Any, stride: Any, offset: int, source: Any) -> Any:
    return ask("as_strided", input, size, stride, offset or None)


def _as_index(ask: Steps, input: Any) -> Any:
    if input.layer is not None:  # a class has to answer it itself
        return ask("as_index", input)
    with unseen():
        return as_index(input)


def _one_hot(ask: Steps, tensor: Any, num_classes: int) -> Any:
    if tensor.layer is not None or not tensor.numel():  # whose numbers a class alone knows
        return ask("one_hot", tensor, num_classes)
    least, most = (ask("_local_scalar_dense", each) for each in ask("aminmax", tensor))
    count = most + 1 if num_classes == -1 else num_classes
    if least < 0 or most >= count:
        return ask("one_hot", tensor, num_classes)  # which says so
    place = {"dtype": tensor.dtype, "layout": strided, "device": tensor.device}
    zeros = ask("zeros", [*tensor.shape, count], **place)
    return ask("scatter_", zeros, -1, ask("unsqueeze", tensor, -1), 1)


# ---- what rules call ----


def _basic_place(ask: Steps, input: Any, shape: Any, index: Any) -> Any:
    grad = input
    for name, sizes, rest in reversed(list(_parts(shape, index))):
        if name == "unsqueeze":
            grad = ask("squeeze", grad, rest[0])
        else:
            grad = ask(f"{name}_backward", grad, sizes, *rest)
    return grad


def _place(ask: Steps, input: Any, shape: Any, index: Any) -> Any:
    plain, picks, _ = _plain_and_picks(index, len(shape))
    with unseen():
        sizes = empty(tuple(shape), device="meta")[plain].shape if plain else shape
    kind = {"dtype": input.dtype, "layout": strided, "device": input.device}
    whole = ask("new_zeros", input, list(sizes), **kind)
    grad = ask("index_put", whole, picks, input, True)
    return _basic_place(ask, grad, shape, plain) if plain else grad


# ---- changes in place ----


def _setitem(ask: Steps, input: Any, index: Any, value: Any) -> Any:
    if not isinstance(value, Tensor):
        with unseen():
            made = tensor(value, dtype=input.dtype, device=input.device)
        value = ask("lift_fresh", made)
    if not _is_plain(index):
        shown, picks = _divided(ask, input, index)
        return ask("index_put_", shown, picks, value)
    parts = _without_ellipsis(index, input.ndim)
    whole = all(part == slice(None) for part in parts)
    shown = input if whole else _basic_index(ask, input, tuple(parts))
    if not value.ndim and shown.ndim:
        return ask("fill_", shown, value)
    return ask("copy_", shown, _fitting(ask, value, list(shown.shape)))


def _fitting(ask: Steps, value: Any, shape: list[int]) -> Any:
    """What is written into a shape: without ones in front, and repeated."""
    sizes = list(value.shape)
    if sizes == shape:
        return value
    while sizes and sizes[0] == 1:
        sizes = sizes[1:]
    value = ask("view", value, sizes)
    return value if sizes == shape else ask("expand", value, shape)


def _copy(ask: Steps, input: Any, src: Any, non_blocking: bool) -> Any:
    return ask("copy_", input, src, non_blocking)


SINGLE: Final[dict[str, Any]] = {
    "view_shape": renamed("view"),
    "view_dtype": lambda ask, *values: ask("detach", ask("view", *values)),
}
STEPS: Final[dict[str, Any]] = {
    "reshape": reshaped,
    "basic_index": _basic_index,
    "pick": _pick,
    "copied_pieces": _split_apart,
    "split_with_sizes": _split,
    "strided_view": _strided_view,
    "as_index": _as_index,
    "one_hot": _one_hot,
    "basic_place": _basic_place,
    "place": _place,
}
CHANGES: Final[dict[str, Any]] = {"setitem": _setitem, "copy": _copy}
