"""Convolutions as layers."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from adjoint.creation.factories import empty
from adjoint.nn import functional, init
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.neural.convolution import each

_MODES = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    """Filters, and how they are moved over sequences, images or volumes."""

    count: int = 0  # of the dimensions they move along; 0 where the sizes given say it
    transposed: bool = False
    function: ClassVar[Any]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if not self.count:
            self.count = len(kernel_size)
        self.transposed = transposed
        if groups <= 0:
            raise ValueError(f"{name}: groups must be a positive integer, got {groups}")
        for what, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(
                    f"{name}: {what}, {channels}, must be divisible by groups, {groups}"
                )
        if padding_mode not in (_MODES[:1] if self.transposed else _MODES):
            raise ValueError(f"{name}: padding_mode must be one of {_MODES}, got {padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = self._each(kernel_size)
        self.stride = self._each(stride)
        self.padding = self._checked(padding)
        self.dilation = self._each(dilation)
        self.output_padding = self._each(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._border()
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        made = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        ends = (self.out_channels, self.in_channels)
        first, second = reversed(ends) if self.transposed else ends
        return (first, second // self.groups, *self.kernel_size)

    def _each(self, value: Any) -> tuple[int, ...]:
        return each(value, self.count, f"{type(self).__name__}(): a size")

    def _checked(self, padding: Any) -> Any:
        if not isinstance(padding, str):
            return self._each(padding)
        name = type(self).__name__
        if padding not in ("same", "valid"):
            raise ValueError(
                f"{name}: Invalid padding string {padding!r}, should be one of 'same' and 'valid'"
            )
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(f"{name}: padding='same' is not supported for strided convolutions")
        return padding

    def _border(self) -> Sequence[int]:
        """How much to add before and after each dimension, the last first."""
        if self.padding == "valid":
            return [0] * 2 * self.count
        if self.padding == "same":
            spare = [n * (k - 1) for n, k in zip(self.dilation, self.kernel_size)]
            return [side for n in reversed(spare) for side in (n // 2, n - n // 2)]
        return tuple(side for n in reversed(self.padding) for side in (n, n))

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly, within 1 / sqrt(inputs of a filter)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = init.fans(self.weight)[0]
            if inputs:
                bound = 1 / math.sqrt(inputs)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Channels, kernel and stride, and what is not as usual."""
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        zeros, ones = (0,) * self.count, (1,) * self.count
        for name, usual in (("padding", zeros), ("dilation", ones), ("output_padding", zeros)):
            value = getattr(self, name)
            if value != usual:
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Straight(Convolution):
    """Convolutions from many places to one."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = (in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0)
        super().__init__(*shape, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Any) -> Any:
        """The convolution of input with the filters."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            border = self._reversed_padding_repeated_twice
            input, padding = functional.pad(input, border, self.padding_mode), 0
        return type(self).function(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Straight):
    """The cross-correlation of sequences with filters."""

    count = 1
    function = functional.conv1d


class Conv2d(_Straight):
    """The cross-correlation of images with filters."""

    count = 2
    function = functional.conv2d


class Conv3d(_Straight):
    """The cross-correlation of volumes with filters."""

    count = 3
    function = functional.conv3d


class TransposedConvolution(Convolution):
    """Filters that are moved over results, and the size of those."""

    transposed = True

    def _output_padding(
        self,
        input: Any,
        output_size: Any,
        stride: Any,
        padding: Any,
        kernel_size: Any,
        num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:
        """What to add to one side of the result, so that it has this size."""
        if output_size is None:
            return self.output_padding
        count, sizes = num_spatial_dims, tuple(output_size)
        if len(sizes) == input.ndim:
            sizes = sizes[-count:]
        if len(sizes) != count:
            raise ValueError(
                f"{type(self).__name__}: output_size must have {count} or {input.ndim} "
                f"elements, got {len(sizes)}"
            )
        extra = []
        reaches = (1,) * count if dilation is None else dilation
        for n, step, side, reach, width, size in zip(
            input.shape[-count:], stride, padding, reaches, kernel_size, sizes
        ):
            least = (n - 1) * step - 2 * side + reach * (width - 1) + 1
            if not least <= size < least + step:
                raise ValueError(
                    f"{type(self).__name__}: a size of {size} can't come of {n}: it must lie "
                    f"between {least} and {least + step - 1}"
                )
            extra.append(size - least)
        return extra


class _Transposed(TransposedConvolution):
    """Convolutions from one place to many."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = (in_channels, out_channels, kernel_size, stride, padding, dilation, True)
        super().__init__(*shape, output_padding, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """The transposed convolution of input; several sizes are possible where stride > 1."""
        sizes = (self.stride, self.padding, self.kernel_size, self.count, self.dilation)
        extra = self._output_padding(input, output_size, *sizes)
        return type(self).function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """The transposed convolution of sequences."""

    count = 1
    function = functional.conv_transpose1d


class ConvTranspose2d(_Transposed):
    """The transposed convolution of images."""

    count = 2
    function = functional.conv_transpose2d


class ConvTranspose3d(_Transposed):
    """The transposed convolution of volumes."""

    count = 3
    function = functional.conv_transpose3d
