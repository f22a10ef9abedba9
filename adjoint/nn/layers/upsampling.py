"""Images in other sizes and orders, as layers."""

from typing import Any

from adjoint.nn import functional
from adjoint.nn.layers.base import REQUIRED, Stateless, taking


class Upsample(Stateless):
    """Images of (batch, channels, *sizes) in other sizes."""

    fields = taking(
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=None,
        recompute_scale_factor=None,
    )
    function = functional.interpolate

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """Scales as floats."""
        scale = given["scale_factor"]
        if isinstance(scale, tuple):
            given["scale_factor"] = tuple(float(factor) for factor in scale)
        elif scale:
            given["scale_factor"] = float(scale)
        return {**given, "name": type(self).__name__}

    def extra_repr(self) -> str:
        """The scale or the size, and the mode."""
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images in other sizes, each pixel that of its nearest neighbour."""

    fields = taking(size=None, scale_factor=None)
    mode = "nearest"


class UpsamplingBilinear2d(Upsample):
    """Images in other sizes, between pixels linear; corners stay corners."""

    fields = taking(size=None, scale_factor=None)
    mode = "bilinear"

    def forward(self, input: Any) -> Any:
        """input in its new size."""
        return functional.interpolate(
            input, self.size, self.scale_factor, mode=self.mode, align_corners=True
        )


class PixelShuffle(Stateless):
    """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""

    fields = taking(upscale_factor=REQUIRED)
    function = functional.pixel_shuffle


class PixelUnshuffle(Stateless):
    """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""

    fields = taking(downscale_factor=REQUIRED)
    function = functional.pixel_unshuffle


class ChannelShuffle(Stateless):
    """Channels of all groups by turns."""

    fields = taking(groups=REQUIRED)
    function = functional.channel_shuffle


class Fold(Stateless):
    """Columns of windows added up to images."""

    fields = taking(output_size=REQUIRED, kernel_size=REQUIRED, dilation=1, padding=0, stride=1)
    function = functional.fold


class Unfold(Stateless):
    """The windows of images, a column each."""

    fields = taking(kernel_size=REQUIRED, dilation=1, padding=0, stride=1)
    function = functional.unfold
