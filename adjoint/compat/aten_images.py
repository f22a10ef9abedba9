"""Operations of PyTorch's on images, and those of their gradients.

torch.ops.aten has them by name, and modes and classes below autograd see them (aten_steps).
"""

from typing import Any, Final

from adjoint.compat.aten_networks import slopes
from adjoint.ops.arranging.arrange import pad
from adjoint.ops.neural.adaptive_pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from adjoint.ops.neural.native_functions import grid_sampler_2d, grid_sampler_3d
from adjoint.ops.neural.resampling import columns_of, images_of, resized

_MODES: Final = {
    "upsample_nearest": ("nearest", (1, 2, 3)),
    "_upsample_nearest_exact": ("nearest-exact", (1, 2, 3)),
    "upsample_linear": ("linear", (1,)),
    "upsample_bilinear": ("bilinear", (2,)),
    "upsample_bicubic": ("bicubic", (2,)),
    "upsample_trilinear": ("trilinear", (3,)),
    "_upsample_bilinear_aa": ("bilinear", (2,)),
    "_upsample_bicubic_aa": ("bicubic", (2,)),
}


def _named(function: Any, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _upsampling(name: str, mode: str, rank: int) -> tuple[Any, Any]:
    """An operation that gives images other sizes, and that of its gradient."""
    aligns, smooth = not mode.startswith("nearest"), name.endswith("_aa")
    name = f"{name.removesuffix('_aa')}{rank}d{'_aa' if smooth else ''}"

    def resize(input: Any, output_size: Any, options: tuple[Any, ...]) -> Any:
        align = options[0] if aligns else None
        scales = options[aligns:] or (None,) * rank
        return resized(input, tuple(output_size), tuple(scales), mode, align, smooth)

    def forward(input: Any, output_size: Any, *options: Any) -> Any:
        return resize(input, output_size, options)

    def backward(grad_output: Any, output_size: Any, input_size: Any, *options: Any) -> Any:
        images = grad_output.new_zeros(tuple(input_size))  # it is linear: only the sizes count
        return slopes(lambda each: resize(each, output_size, options), [images], [0], grad_output)[
            0
        ]

    return (
        _named(forward, name, "Images in other sizes."),
        _named(backward, f"{name}_backward", "The gradient of images in other sizes."),
    )


def _padding(name: str, mode: str, rank: int) -> tuple[Any, Any]:
    """An operation that puts a border around images, and that of its gradient."""

    def forward(input: Any, padding: Any) -> Any:
        return pad(input, tuple(padding), mode)

    def backward(grad_output: Any, input: Any, padding: Any) -> Any:
        return slopes(lambda each: pad(each, tuple(padding), mode), [input], [0], grad_output)[0]

    return (
        _named(forward, f"{name}{rank}d", f"Images with a border, as pad's {mode!r}."),
        _named(backward, f"{name}{rank}d_backward", f"The gradient of {name}{rank}d."),
    )


def _averaging(function: Any, rank: int) -> tuple[Any, Any]:
    def forward(input: Any, output_size: Any) -> Any:
        return function(input, tuple(output_size))

    def backward(grad_output: Any, input: Any) -> Any:
        sizes = tuple(grad_output.shape[-rank:])
        return slopes(lambda each: function(each, sizes), [input], [0], grad_output)[0]

    name = f"_adaptive_avg_pool{rank}d"
    return (
        _named(forward, name, "Means of windows that divide images into some sizes."),
        _named(backward, f"{name}_backward", f"The gradient of {name}."),
    )


def _sampling(function: Any, name: str) -> Any:
    def backward(
        grad_output: Any,
        input: Any,
        grid: Any,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        output_mask: Any,
    ) -> Any:
        rest = (interpolation_mode, padding_mode, align_corners)
        places = [place for place in (0, 1) if output_mask[place]]
        found = slopes(lambda *both: function(*both, *rest), [input, grid], places, grad_output)
        given = dict(zip(places, found, strict=True))
        return given.get(0), given.get(1)

    return _named(backward, f"{name}_backward", f"The gradients of {name} by images and grid.")


def im2col(input: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The windows of images, a column each."""
    sides = tuple((length, length) for length in padding)
    return columns_of(input, tuple(kernel_size), tuple(stride), sides, tuple(dilation))


def col2im(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    """Images, columns of windows added up at their places."""
    sides = tuple((length, length) for length in padding)
    window = (tuple(kernel_size), tuple(stride), sides, tuple(dilation))
    return images_of(input, tuple(output_size), *window)


IMAGES: Final = (
    *[
        each
        for name, (mode, ranks) in _MODES.items()
        for rank in ranks
        for each in _upsampling(name, mode, rank)
    ],
    *[
        each
        for name, mode in (("reflection_pad", "reflect"), ("replication_pad", "replicate"))
        for rank in (1, 2, 3)
        for each in _padding(name, mode, rank)
    ],
    *_averaging(adaptive_avg_pool2d, 2),
    *_averaging(adaptive_avg_pool3d, 3),
    _sampling(grid_sampler_2d, "grid_sampler_2d"),
    _sampling(grid_sampler_3d, "grid_sampler_3d"),
    im2col,
    col2im,
)
