"""Transforms of numbers, one by one."""

import math
from numbers import Number
from typing import Any

from adjoint.creation.factories import full_like
from adjoint.distributions import constraints
from adjoint.distributions.parameters import broadcast_all, lazy_property
from adjoint.distributions.transform import Transform
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.questions import broadcast_shapes
from adjoint.ops.elementwise.activation import softplus


class _Increasing(Transform):
    """Of real numbers, one by one, and growing."""

    domain = constraints.real
    bijective = True
    sign = 1


class ExpTransform(_Increasing):
    """exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The argument itself."""
        return x


def clipped_sigmoid(x: Any) -> Any:
    """The sigmoid, kept off 0 and 1."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(_Increasing):
    """1 / (1 + exp(-x)), kept off 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(y) + log(1 - y), from x."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of sigmoid(x)."""
        return -softplus(-x)


class TanhTransform(_Increasing):
    """tanh(x); with a cache, values that round to 1 still have an inverse."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(1 - y²), from x."""
        return log_slope_of_tanh(x)


def log_slope_of_tanh(x: Any) -> Any:
    """The logarithm of the derivative of tanh, which does not round to that of 0."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|, whose inverse is taken to be positive."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """x ** exponent, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        """The exponent's."""
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |exponent y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """loc + scale * x."""

    bijective = True
    _arguments = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> Any:
        """The dimensions of an event, as they were given."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Real events."""
        if self._event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        """The scale's."""
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)  # type: ignore[operator]
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |scale|, summed over an event."""
        if isinstance(self.scale, Number):
            result: Any = full_like(x, math.log(abs(self.scale)))  # type: ignore[arg-type]
        else:
            result = self.scale.abs().log()
        if self._event_dim:
            shape = (*result.shape[: -self._event_dim], -1)
            result = result.reshape(shape).sum(-1)
        return result.expand(x.shape[: x.ndim - self._event_dim])

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the parameters."""
        return broadcast_shapes(shape, *(getattr(p, "shape", ()) for p in (self.loc, self.scale)))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution, to the unit interval."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """What the distribution can draw."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)
