"""Images in other sizes, with borders and at other places, composed as PyTorch does."""

from collections.abc import Callable
from typing import Any, Final

from adjoint.compat.aten_steps.recorded import Operation
from adjoint.ops.neural.resampling import wanted_sizes
from adjoint.ops.reducing.reduction import mean

_RANKS: Final = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}


def _named(mode: str) -> str:
    return "_upsample_nearest_exact" if mode == "nearest-exact" else f"upsample_{mode}"


def _operation(name: str, given: Callable[[Any, Any], Any], inputs: Any = (0,)) -> Operation:
    """One whose gradients are one operation too, of what is found in arguments and wishes."""

    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        answer = ask(f"{name}_backward", grad, *given(args, wanted))
        return answer if isinstance(answer, (tuple, list)) else (answer,)

    return Operation(name, inputs, steps)


_UPSAMPLING: Final = {
    (mode, rank): _operation(
        f"{_named(mode)}{rank}d",
        lambda args, wanted: (args[1], list(args[0].shape), *args[2:]),
    )
    for mode, ranks in _RANKS.items()
    for rank in ranks
}
_BORDERS: Final = {
    (mode, rank): _operation(f"{name}{rank}d", lambda args, wanted: args)
    for mode, name in (("reflect", "reflection_pad"), ("replicate", "replication_pad"))
    for rank in (1, 2, 3)
}
_AVERAGES: Final = {
    rank: _operation(f"_adaptive_avg_pool{rank}d", lambda args, wanted: args[:1]) for rank in (2, 3)
}
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
    fits = input.dtype.is_floating_point and input.numel() and not antialias
    aligns = not mode.startswith("nearest")
    if mode == "area" and fits and rank in _AVERAGES and align_corners is None:
        sizes, _ = wanted_sizes(input, size, scale_factor, recompute_scale_factor)
        return _adaptive_average(rank)(input, sizes)
    if not fits or (mode, rank) not in _UPSAMPLING or (not aligns and align_corners is not None):
        return NotImplemented
    sizes, scales = wanted_sizes(input, size, scale_factor, recompute_scale_factor)
    if min(sizes) < 1:
        return NotImplemented
    options = (bool(align_corners),) if aligns else ()
    return _UPSAMPLING[mode, rank](input, list(sizes), *options, *scales)


def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    rank = len(pad) // 2
    fits = len(pad) % 2 == 0 and input.ndim - rank in (1, 2) and value in (None, 0)
    sides = list(zip(pad[::2], pad[1::2], tuple(input.shape)[::-1], strict=False))
    inside = all(0 <= left < size and 0 <= right < size for left, right, size in sides)
    if (mode, rank) not in _BORDERS or not fits or not inside or not input.numel():
        return NotImplemented
    return _BORDERS[mode, rank](input, list(pad))


def _adaptive_average(rank: int) -> Any:
    def function(input: Any, output_size: Any) -> Any:
        listed = isinstance(output_size, (tuple, list))
        given = list(output_size) if listed else [output_size] * rank
        if len(given) != rank or input.ndim not in (rank + 1, rank + 2) or not input.numel():
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


# ---- pixels in another order ----


def _turned(back: str) -> Any:
    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        return (ask(back, grad, args[1]),)

    return steps


_SHUFFLED: Final = Operation("pixel_shuffle", (0,), _turned("pixel_unshuffle"))
_UNSHUFFLED: Final = Operation("pixel_unshuffle", (0,), _turned("pixel_shuffle"))


def _pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    return _SHUFFLED(input, upscale_factor)


def _pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    return _UNSHUFFLED(input, downscale_factor)


FUNCTIONS: Final[dict[str, Any]] = {
    "interpolate": _interpolate,
    "pad": _pad,
    "adaptive_avg_pool2d": _adaptive_average(2),
    "adaptive_avg_pool3d": _adaptive_average(3),
    "grid_sample": _grid_sample,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
}
