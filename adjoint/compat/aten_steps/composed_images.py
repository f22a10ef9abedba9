"""Images in other sizes, with borders and at other places, composed as PyTorch does."""

from collections.abc import Callable
from typing import Any, Final

from adjoint.compat.aten_steps.composed_pools import put_back
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.recorded import Operation, recording, undone
from adjoint.dtypes import uint8
from adjoint.ops.arranging.shape import squeeze, unsqueeze
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.neural.resampling import wanted_sizes
from adjoint.ops.reducing.reduction import mean

_RANKS: Final = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
    "bilinear_aa": (2,),
    "bicubic_aa": (2,),
}


def _named(mode: str, rank: int) -> str:
    if mode.endswith("_aa"):
        return f"_upsample_{mode.removesuffix('_aa')}{rank}d_aa"
    kind = "_upsample_nearest_exact" if mode == "nearest-exact" else f"upsample_{mode}"
    return f"{kind}{rank}d"


def _operation(
    name: str, given: Callable[[Any, Any], Any], inputs: Any = (0,), back: Any = None
) -> Operation:
    """One whose gradients are one operation too, of what is found in arguments and wishes.

    `back` are the arguments, but for the first, of the operation again as the gradient's gradient.
    """

    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        answer = ask(f"{name}_backward", grad, *given(args, wanted))
        return answer if isinstance(answer, (tuple, list)) else (answer,)

    def again(ask: Any, args: Any, grad: Any) -> Any:
        return ask(name, grad, *back(args))

    constant = None if "upsample" in name else 1
    found = None if back is None else undone(f"{name}_backward", again, constant)
    return Operation(name, inputs, steps, back=found)


_UPSAMPLING: Final = {
    (mode, rank): _operation(
        _named(mode, rank),
        lambda args, wanted: (args[1], list(args[0].shape), *args[2:]),
        back=lambda args: (args[1], *args[3:]),
    )
    for mode, ranks in _RANKS.items()
    for rank in ranks
}
_BORDERS: Final = {
    (mode, rank): _operation(
        f"{name}{rank}d", lambda args, wanted: args, back=lambda args: args[2:]
    )
    for mode, name in (("reflect", "reflection_pad"), ("replicate", "replication_pad"))
    for rank in (1, 2, 3)
}


def _averaging(rank: int) -> Operation:
    return _operation(
        f"_adaptive_avg_pool{rank}d",
        lambda args, wanted: args[:1],
        back=lambda args: (list(args[0].shape[-rank:]),),
    )


_AVERAGES: Final = {rank: _averaging(rank) for rank in (2, 3)}
_SAMPLES: Final = {
    rank: _operation(f"grid_sampler_{rank}d", lambda args, wanted: (*args, wanted), (0, 1))
    for rank in (2, 3)
}


def _interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    rank = input.ndim - 2
    fits = input.dtype.is_floating_point or (input.dtype is uint8 and rank == 2)
    fits = fits and input.numel()
    aligns = not mode.startswith("nearest")
    if mode == "area" and fits and not antialias and rank in (1, 2, 3) and align_corners is None:
        sizes, _ = wanted_sizes(input, size, scale_factor, recompute_scale_factor)
        return FUNCTIONS[f"adaptive_avg_pool{rank}d"](input, sizes)
    if antialias:
        mode = f"{mode}_aa"
    if not fits or (mode, rank) not in _UPSAMPLING or (not aligns and align_corners is not None):
        return NotImplemented
    sizes, scales = wanted_sizes(input, size, scale_factor, recompute_scale_factor)
    if min(sizes) < 1:
        return NotImplemented
    options = (bool(align_corners),) if aligns else ()
    return _UPSAMPLING[mode, rank](input, list(sizes), *options, *scales)


def _by_slice(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return (ask("slice_backward", grad, list(args[0].shape), *args[1:], 1),)


_SLICED: Final = Operation("slice.Tensor", (0,), _by_slice, changing=(0,))  # even of all


def _circular(input: Any, pad: Any) -> Any:
    """The inside written first, and then what goes round, dimension by dimension."""
    step = recording()
    sides = [(input.ndim - 1 - i, *pad[2 * i : 2 * i + 2]) for i in range(len(pad) // 2)]
    shape = list(input.shape)
    for dim, left, right in sides:
        shape[dim] += left + right
    whole = step("new_empty", input, shape, **beside(input))
    inner, source = whole, input
    for dim, left, right in sides:
        inner = step("slice", inner, dim, max(left, 0), shape[dim] - max(right, 0))
        source = _SLICED(source, dim, max(-left, 0), input.shape[dim] - max(-right, 0))
    step("copy_", inner, source)
    for dim, left, right in sides:
        size, first, last = shape[dim], max(left, 0), shape[dim] - max(right, 0)
        for places in (((0, left), (last - left, last)), ((last, size), (first, first + right))):
            if places[0][0] < places[0][1]:
                step("copy_", *(step("slice", whole, dim, *ends) for ends in places))
    return whole


def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    rank = len(pad) // 2
    fits = len(pad) % 2 == 0 and input.ndim - rank in (1, 2) and value in (None, 0)
    sides = list(zip(pad[::2], pad[1::2], tuple(input.shape)[::-1], strict=False))
    inside = all(
        left + right + size > 0 and (mode == "replicate" or max(left, right) < size)
        for left, right, size in sides
    )
    if mode == "circular" and fits and all(max(side[:2]) <= side[2] for side in sides):
        return _circular(input, pad)
    if (mode, rank) not in _BORDERS or not fits or not inside or 0 in input.shape[1:]:
        return NotImplemented
    return _BORDERS[mode, rank](input, list(pad))


def _adaptive_average(rank: int) -> Any:
    def function(input: Any, output_size: Any) -> Any:
        listed = isinstance(output_size, (tuple, list))
        given = list(output_size) if listed else [output_size] * rank
        if len(given) != rank or input.ndim not in (rank + 1, rank + 2) or 0 in input.shape[1:]:
            return NotImplemented
        own = input.shape[-rank:]
        sizes = [size if n is None else int(n) for n, size in zip(given, own, strict=True)]
        if min(sizes) < 1:
            return NotImplemented
        if all(n == 1 for n in sizes):
            return mean(input, list(range(-1, -rank - 1, -1)), True)
        return _AVERAGES[rank](input, sizes)

    return function


def _grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    rank = input.ndim - 2
    modes, borders = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    fits = rank in _SAMPLES and grid.ndim == input.ndim and input.dtype is grid.dtype
    known = mode in modes and padding_mode in borders and (mode != "bicubic" or rank == 2)
    if not fits or not known or not input.numel() or grid.shape[-1] != rank:
        return NotImplemented
    if grid.shape[0] != input.shape[0]:
        return NotImplemented
    numbers = (modes.index(mode), borders.index(padding_mode), bool(align_corners))
    return _SAMPLES[rank](input, grid, *numbers)


# ---- windows ----


def _by_greatest(rank: int) -> Any:
    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any, by_places: Any) -> Any:
        name = f"max_pool{rank}d_with_indices_backward"
        return (ask(name, grad, *args, results[1]),)

    return steps


def _greatest(rank: int) -> Operation:
    name = f"max_pool{rank}d_with_indices"
    back = put_back(name, rank)
    return Operation(name, (0,), _by_greatest(rank), outputs=(0, 1), back=back)


_GREATEST: Final = {rank: _greatest(rank) for rank in (2, 3)}


def _several(value: Any, count: int) -> list[int]:
    """A length for each dimension."""
    return (
        [value] * count if isinstance(value, int) else [*value] * (count if len(value) == 1 else 1)
    )


def _max_pool(rank: int) -> Any:
    def function(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        if input.ndim not in (rank + 1, rank + 2) or not input.numel():
            return NotImplemented
        own = () if rank > 1 else kernel_size  # which PyTorch does not write
        given = (kernel_size, stride or own, padding, dilation)
        lengths = [_several(each, rank) for each in given]
        if rank > 1:
            found = _GREATEST[rank](input, *lengths, ceil_mode)
        else:
            spread = [[first, *each] for first, each in zip((1, 1, 0, 1), lengths, strict=True)]
            found = _GREATEST[2](unsqueeze(input, -2), *spread, ceil_mode)
            found = tuple(squeeze(each, -2) for each in found)
        return found if return_indices else found[0]

    return function


_MEANS: Final = {rank: _operation(f"avg_pool{rank}d", lambda args, wanted: args) for rank in (2, 3)}


def _avg_pool(rank: int) -> Any:
    """Of a single image, which PyTorch does not make a batch of."""

    def function(input: Any, kernel_size: Any, stride: Any = None, *rest: Any, **named: Any) -> Any:
        if input.ndim != rank + 1 or not input.numel():
            return NotImplemented
        options = {"padding": 0, "ceil_mode": False, "count_include_pad": True}
        options |= {"divisor_override": None} | dict(zip(options, rest, strict=False)) | named
        padding, *flags = options.values()
        lengths = [_several(e, rank) for e in (kernel_size, stride or kernel_size, padding)]
        return _MEANS[rank](input, *lengths, *flags)

    return function


def _avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    if input.ndim not in (2, 3):
        return NotImplemented
    kernel, step, border = (_several(e, 1) for e in (kernel_size, stride or kernel_size, padding))
    spread = ([1, *kernel], [1, *step], [0, *border])
    images = unsqueeze(input, -2)
    return squeeze(COMPOSITES["avg_pool2d"](images, *spread, ceil_mode, count_include_pad), -2)


def _adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    sizes = [1, *_several(output_size, 1)]
    if input.ndim not in (2, 3) or 0 in input.shape[1:] or len(sizes) != 2 or sizes[1] < 1:
        return NotImplemented
    return squeeze(_adaptive_average(2)(unsqueeze(input, -2), sizes), -2)


DERIVED: Final = {
    "_upsample_bilinear2d_aa": _UPSAMPLING["bilinear_aa", 2],
    **{f"{each.name}_backward": each.back for each in _GREATEST.values()},
}
FUNCTIONS: Final[dict[str, Any]] = {
    "max_pool1d": _max_pool(1),
    "max_pool2d": _max_pool(2),
    "max_pool3d": _max_pool(3),
    "avg_pool1d": _avg_pool1d,
    "avg_pool2d": _avg_pool(2),
    "avg_pool3d": _avg_pool(3),
    "adaptive_avg_pool1d": _adaptive_avg_pool1d,
    "interpolate": _interpolate,
    "pad": _pad,
    "adaptive_avg_pool2d": _adaptive_average(2),
    "adaptive_avg_pool3d": _adaptive_average(3),
    "grid_sample": _grid_sample,
}
