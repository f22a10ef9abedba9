"""Dropout as layers: at work in training, nothing in evaluation."""

from typing import Any, ClassVar

from adjoint.nn import functional
from adjoint.nn.layers.base import Stateless, taking


class AnyDropout(Stateless):
    """Elements or channels that are dropped with probability p."""

    fields = taking(p=0.5, inplace=False)
    function: ClassVar[Any]

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """A probability."""
        if not 0 <= given["p"] <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {given['p']}")
        return given

    def forward(self, input: Any) -> Any:
        """input, in training with some of it dropped."""
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Both fields."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(AnyDropout):
    """Zeros some elements and scales the others so that the mean stays."""

    function = functional.dropout


class Dropout1d(AnyDropout):
    """Zeros some channels of sequences."""

    function = functional.dropout1d


class Dropout2d(AnyDropout):
    """Zeros some channels of images."""

    function = functional.dropout2d


class Dropout3d(AnyDropout):
    """Zeros some channels of volumes."""

    function = functional.dropout3d


class AlphaDropout(AnyDropout):
    """Dropout for SELU: mean 0 and variance 1 stay."""

    function = functional.alpha_dropout


class FeatureAlphaDropout(AnyDropout):
    """Dropout of channels for SELU: mean 0 and variance 1 stay."""

    function = functional.feature_alpha_dropout
