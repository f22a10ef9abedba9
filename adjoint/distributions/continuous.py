"""Distributions of real numbers around a place: normal, Laplace, Cauchy, Student's t, angles."""

import math
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import full_like, normal
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily
from adjoint.distributions.gammas import Chi2
from adjoint.distributions.parameters import (
    half_log_2_pi,
    lazy_property,
    standard_normal,
    standard_uniform,
    unfilled,
)
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.special import i0e, i1e
from adjoint.ops.sampling.implicit import angles
from adjoint.tensors.size import Size

__all__ = ["Cauchy", "Laplace", "Normal", "StudentT", "Uniform", "VonMises"]

_NONE = Size()
_PLACE_AND_SCALE: Any = {"loc": constraints.real, "scale": constraints.positive}


class _Centred(Distribution):
    """Real numbers whose likeliest value is `loc`, and their unit `scale`."""

    arg_constraints: Any = _PLACE_AND_SCALE
    support = constraints.real
    has_rsample = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Any:
        """The place."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The place."""
        return self.loc

    def _standard(self, value: Any) -> Any:
        """A value in units of scale from loc."""
        return (self._checked(value) - self.loc) / self.scale


class Normal(_Centred, ExponentialFamily):
    """The normal distribution with mean loc and standard deviation scale."""

    _mean_carrier_measure = 0

    @property
    def stddev(self) -> Any:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The square of the scale."""
        return self.scale.square()

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Samples, of shape sample_shape + batch_shape."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return self._standard(value).square() * -0.5 - self.scale.log() - half_log_2_pi

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return 0.5 * (1 + (self._standard(value) / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        """The entropy."""
        return 0.5 + half_log_2_pi + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.loc / self.scale.square(), -0.5 * self.scale.square().reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()


class Laplace(_Centred):
    """The Laplace distribution: exponential on both sides of loc."""

    @property
    def variance(self) -> Any:
        """Twice the square of the scale."""
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Any:
        """√2 of the scale."""
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        eps = finfo(self.loc.dtype).eps
        shape = self._extended_shape(sample_shape)
        side = unfilled(shape, self.loc).uniform_(eps - 1, 1)
        return self.loc - self.scale * side.sign() * (-side.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        distance = self._standard(value)
        return 0.5 - 0.5 * distance.sign() * (-distance.abs()).expm1()

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Any:
        """The entropy."""
        return 1 + (2 * self.scale).log()


class Cauchy(_Centred):
    """The Cauchy distribution, which has no mean."""

    @property
    def mean(self) -> Any:
        """Undefined."""
        return full_like(self.loc, math.nan)

    @property
    def variance(self) -> Any:
        """Infinite."""
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -math.log(math.pi) - self.scale.log() - self._standard(value).square().log1p()

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return self._standard(value).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        """The entropy."""
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(_Centred):
    """Student's t-distribution with df degrees of freedom."""

    arg_constraints: Any = {"df": constraints.positive, **_PLACE_AND_SCALE}
    df: Any

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._adopt(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def mean(self) -> Any:
        """The place, where there is a mean."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self) -> Any:
        """The variance, where there is one."""
        tame = self.df > 2
        df = where(tame, self.df, 3.0)
        result = where(tame, self.scale.square() * df / (df - 2), math.inf)
        return result.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        width = (self._chi2.rsample(sample_shape) / self.df).rsqrt()
        return self.loc + self.scale * normal * width

    def _log_beta(self) -> Any:
        """The logarithm of the beta function at df / 2 and 1 / 2."""
        half = 0.5 * self.df
        return half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        distance = self._standard(value).square()
        unit = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1) * (distance / self.df).log1p() - unit

    def entropy(self) -> Any:
        """The entropy."""
        half = 0.5 * self.df
        growth = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + growth + 0.5 * self.df.log() + self._log_beta()


class Uniform(Distribution):
    """The uniform distribution over [low, high)."""

    has_rsample = True
    low: Any
    high: Any

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        """low lies below high."""
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def _width(self) -> Any:
        return self.high - self.low

    @property
    def mean(self) -> Any:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """Undefined."""
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self._width / math.sqrt(12)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self._width.square() / 12

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.low))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density; without checks, -inf outside."""
        value = self._checked(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - self._width.log()

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return ((self._checked(value) - self.low) / self._width).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self.low + value * self._width

    def entropy(self) -> Any:
        """The entropy."""
        return self._width.log()


class VonMises(Distribution):
    """Angles around loc, more closely the greater the concentration."""

    arg_constraints: Any = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Any
    concentration: Any

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, loc=loc, concentration=concentration)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Samples in [-π, π)."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return angles(self.loc.expand(shape), self.concentration.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        turn = (self._checked(value) - self.loc).cos() - 1
        return self.concentration * turn - math.log(2 * math.pi) - i0e(self.concentration).log()

    @property
    def mean(self) -> Any:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The likeliest angle."""
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)
