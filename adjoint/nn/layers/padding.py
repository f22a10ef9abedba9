"""Borders around sequences, images and volumes, as layers."""

from numbers import Integral
from typing import Any, ClassVar

from adjoint.nn import functional
from adjoint.nn.layers.base import REQUIRED, Stateless, taking


class _Pad(Stateless):
    """A border, as wide on each side as `padding` says, the last dimension first."""

    fields = taking(padding=REQUIRED)
    mode: ClassVar[str]
    count: ClassVar[int]

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """A width for each side."""
        width = given["padding"]
        sides = (int(width),) * 2 * self.count if isinstance(width, Integral) else tuple(width)
        return {**given, "padding": sides}

    def forward(self, input: Any) -> Any:
        """input with its border."""
        return functional.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class ConstantPad(_Pad):
    """A border of one value."""

    fields = taking(padding=REQUIRED, value=REQUIRED)

    def forward(self, input: Any) -> Any:
        """input with its border."""
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The widths and the value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(ConstantPad):
    fields = taking(padding=REQUIRED)
    value = 0.0

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class ReflectionPad(_Pad):
    """A border that mirrors what lies within."""

    mode = "reflect"


class ReplicationPad(_Pad):
    """A border that repeats what lies at the edge."""

    mode = "replicate"


class CircularPad(_Pad):
    """A border that goes on with the other side."""

    mode = "circular"

    def forward(self, input: Any) -> Any:
        """input with its border."""
        if input.ndim not in (self.count + 1, self.count + 2):
            raise ValueError(
                f"{type(self).__name__}: expected {self.count + 1}D or {self.count + 2}D input, "
                f"got {input.ndim}D input"
            )
        return super().forward(input)


class ConstantPad1d(ConstantPad):
    """A border of one value around sequences."""

    count = 1


class ConstantPad2d(ConstantPad):
    """A border of one value around images."""

    count = 2


class ConstantPad3d(ConstantPad):
    """A border of one value around volumes."""

    count = 3


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """A border of zeros around sequences."""

    count = 1


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """A border of zeros around images."""

    count = 2


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """A border of zeros around volumes."""

    count = 3


class ReflectionPad1d(ReflectionPad):
    """A border that mirrors sequences."""

    count = 1


class ReflectionPad2d(ReflectionPad):
    """A border that mirrors images."""

    count = 2


class ReflectionPad3d(ReflectionPad):
    """A border that mirrors volumes."""

    count = 3


class ReplicationPad1d(ReplicationPad):
    """A border that repeats the ends of sequences."""

    count = 1


class ReplicationPad2d(ReplicationPad):
    """A border that repeats the edges of images."""

    count = 2


class ReplicationPad3d(ReplicationPad):
    """A border that repeats the faces of volumes."""

    count = 3


class CircularPad1d(CircularPad):
    """A border from the other end of sequences."""

    count = 1


class CircularPad2d(CircularPad):
    """A border from the other side of images."""

    count = 2


class CircularPad3d(CircularPad):
    """A border from the other side of volumes."""

    count = 3
