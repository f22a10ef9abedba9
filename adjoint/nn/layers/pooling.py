"""Pooling as layers."""

from typing import Any, ClassVar

from adjoint.nn import functional
from adjoint.nn.layers.base import REQUIRED, Stateless, taking
from adjoint.ops.neural.convolution import each


class _Pool(Stateless):
    """Windows whose stride is their size unless another is given."""

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The stride."""
        given["stride"] = given["kernel_size"] if given["stride"] is None else given["stride"]
        return given

    def extra_repr(self) -> str:
        """The fields and their values."""
        shown = [name for name in self.fields if name not in self.unshown]
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)


class MaxPool(_Pool):
    """The greatest element of each window."""

    fields = taking(
        kernel_size=REQUIRED,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    )
    unshown = frozenset({"return_indices"})


class MaxPool1d(MaxPool):
    """The greatest element of each window of sequences."""

    function = functional.max_pool1d


class MaxPool2d(MaxPool):
    """The greatest element of each window of images."""

    function = functional.max_pool2d


class MaxPool3d(MaxPool):
    """The greatest element of each window of volumes."""

    function = functional.max_pool3d


class AvgPool(_Pool):
    """The mean of each window."""

    fields = taking(
        kernel_size=REQUIRED,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    )
    unshown = frozenset({"ceil_mode", "count_include_pad", "divisor_override"})


class AvgPool1d(AvgPool):
    """The mean of each window of sequences."""

    function = functional.avg_pool1d
    count: ClassVar[int] = 1
    fields = taking(**{k: v for k, v in AvgPool.fields.items() if k != "divisor_override"})

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """Sizes as tuples of one number."""
        given = super().adjusted(given)
        for name in ("kernel_size", "stride", "padding"):
            given[name] = each(given[name], 1, f"AvgPool1d: {name}")
        return given


class AvgPool2d(AvgPool):
    """The mean of each window of images."""

    function = functional.avg_pool2d


class AvgPool3d(AvgPool):
    """The mean of each window of volumes."""

    function = functional.avg_pool3d


class LPPool(Stateless):
    """The norm of each window."""

    fields = taking(norm_type=REQUIRED, kernel_size=REQUIRED, stride=None, ceil_mode=False)


class LPPool1d(LPPool):
    """The norm of each window of sequences."""

    function = functional.lp_pool1d


class LPPool2d(LPPool):
    """The norm of each window of images."""

    function = functional.lp_pool2d


class LPPool3d(LPPool):
    """The norm of each window of volumes."""

    function = functional.lp_pool3d


class MaxUnpool(_Pool):
    """Elements put back where a max pooling found them."""

    fields = taking(kernel_size=REQUIRED, stride=None, padding=0)
    count: ClassVar[int]

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """Sizes as tuples."""
        name = type(self).__name__
        given = super().adjusted(given)
        return {k: each(v, self.count, f"{name}: {k}") for k, v in given.items()}

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """Zeros with the elements of input at the places of indices."""
        return type(self).function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(MaxUnpool):
    """Elements of sequences put back where a max pooling found them."""

    count = 1
    function = functional.max_unpool1d


class MaxUnpool2d(MaxUnpool):
    """Elements of images put back where a max pooling found them."""

    count = 2
    function = functional.max_unpool2d


class MaxUnpool3d(MaxUnpool):
    """Elements of volumes put back where a max pooling found them."""

    count = 3
    function = functional.max_unpool3d


class _FractionalMaxPool(Stateless):
    """Maxima of windows at distances drawn by chance."""

    fields = taking(
        kernel_size=REQUIRED,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    )
    unshown = frozenset(fields)
    count: ClassVar[int]

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """Sizes as tuples; refuses a size and a ratio at once, or none of them."""
        name, size, ratio = type(self).__name__, given["output_size"], given["output_ratio"]
        if (size is None) == (ratio is None):
            raise ValueError(f"{name}: give output_size or output_ratio, and only one of them")
        if ratio is not None:
            ratios = ratio if isinstance(ratio, (tuple, list)) else (ratio,) * self.count
            if not all(0 < r < 1 for r in ratios):
                raise ValueError(f"{name}: output_ratio must be between 0 and 1 (got {ratio})")
            given["output_ratio"] = tuple(ratios)
        else:
            given["output_size"] = each(size, self.count, f"{name}: output_size")
        kernel = each(given["kernel_size"], self.count, f"{name}: kernel_size")
        if min(kernel) < 1:
            raise ValueError(f"{name}: kernel_size must be greater than 0, got {list(kernel)}")
        given["kernel_size"] = kernel
        self.register_buffer("_random_samples", given.pop("_random_samples"))
        return given


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows of images at distances drawn by chance."""

    count = 2
    function = functional.fractional_max_pool2d


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows of volumes at distances drawn by chance."""

    count = 3
    function = functional.fractional_max_pool3d


class AdaptivePool(Stateless):
    """Windows that are chosen so that the result has a certain size."""

    fields = taking(output_size=REQUIRED)

    def extra_repr(self) -> str:
        """The size of the result."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool(AdaptivePool):
    """Means of such windows."""


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """Means of windows of sequences, so many that the result has output_size."""

    function = functional.adaptive_avg_pool1d


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """Means of windows of images, so many that the result has output_size."""

    function = functional.adaptive_avg_pool2d


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """Means of windows of volumes, so many that the result has output_size."""

    function = functional.adaptive_avg_pool3d


class AdaptiveMaxPool(AdaptivePool):
    """Maxima of such windows, and if asked their places."""

    fields = taking(output_size=REQUIRED, return_indices=False)


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """Maxima of windows of sequences, so many that the result has output_size."""

    function = functional.adaptive_max_pool1d


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """Maxima of windows of images, so many that the result has output_size."""

    function = functional.adaptive_max_pool2d


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """Maxima of windows of volumes, so many that the result has output_size."""

    function = functional.adaptive_max_pool3d
