"""Distributions that are others transformed: logarithms, absolute values, powers."""

import math
from typing import Any

from adjoint.creation.factories import full_like, ones_like
from adjoint.distributions import constraints
from adjoint.distributions.composite import TransformedDistribution
from adjoint.distributions.continuous import Cauchy, Normal, Uniform
from adjoint.distributions.distribution import Distribution
from adjoint.distributions.gammas import Exponential, Gamma
from adjoint.distributions.parameters import (
    broadcast_all,
    euler_constant,
    standard_uniform,
)
from adjoint.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
)
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.elementwise.comparison import isclose
from adjoint.ops.elementwise.selection import where
from adjoint.tensors.size import Size

__all__ = [
    "GeneralizedPareto",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "InverseGamma",
    "Kumaraswamy",
    "LogNormal",
    "LogisticNormal",
    "Pareto",
    "Weibull",
]

_NONE = Size()
_PLACE_AND_SCALE: Any = {"loc": constraints.real, "scale": constraints.positive}


def of_base(name: str, depth: int = 1) -> Any:
    """A parameter that is kept by the distribution that is transformed."""

    def parameter(self: Any) -> Any:
        for _ in range(depth):
            self = self.base_dist
        return getattr(self, name)

    parameter.__doc__ = f"The parameter {name} of the distribution that is transformed."
    return property(parameter)


# ---- of the normal and the Cauchy distribution ----


class LogNormal(TransformedDistribution):
    """Positive numbers whose logarithms are normally distributed."""

    arg_constraints: Any = _PLACE_AND_SCALE
    support = constraints.positive
    has_rsample = True
    loc = of_base("loc")
    scale = of_base("scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """The variance."""
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        """The entropy."""
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Parts of 1, from normally distributed log odds of breaking them off one by one."""

    arg_constraints: Any = _PLACE_AND_SCALE
    support = constraints.simplex
    has_rsample = True
    loc = of_base("loc", 2)
    scale = of_base("scale", 2)

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)


class _Folded(TransformedDistribution):
    """The absolute value of what is symmetric around 0."""

    arg_constraints: Any = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale = of_base("scale")
    _whole: Any

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = self._whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def mode(self) -> Any:
        """0."""
        return self.scale * 0

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density; without checks, -inf below 0."""
        inside = self.base_dist.log_prob(self._checked(value)) + math.log(2)
        return where(value >= 0, inside, -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Any) -> Any:
        """The quantile of a probability."""
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        """The entropy."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Folded):
    """The absolute value of normally distributed numbers with mean 0."""

    _whole = Normal

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale.square() * (1 - 2 / math.pi)


class HalfCauchy(_Folded):
    """The absolute value of numbers of the Cauchy distribution around 0."""

    _whole = Cauchy

    @property
    def mean(self) -> Any:
        """Infinite."""
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        """Infinite."""
        return self.base_dist.variance


# ---- of the gamma and the exponential distribution ----


class InverseGamma(TransformedDistribution):
    """The reciprocals of gamma distributed numbers."""

    arg_constraints: Any = Gamma.arg_constraints
    support = constraints.positive
    has_rsample = True
    concentration = of_base("concentration")
    rate = of_base("rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        turn = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, turn, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, where it is finite."""
        result = self.rate / (self.concentration - 1)
        return where(self.concentration > 1, result, math.inf)

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The variance, where it is finite."""
        shape = self.concentration
        result = self.rate.square() / ((shape - 1).square() * (shape - 2))
        return where(shape > 2, result, math.inf)

    def entropy(self) -> Any:
        """The entropy."""
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()


class Weibull(TransformedDistribution):
    """Waiting times where the rate changes with a power of time."""

    arg_constraints: Any = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def concentration_reciprocal(self) -> Any:
        """1 / concentration."""
        return self.concentration.reciprocal()

    def _moment(self, order: int) -> Any:
        """The mean of a power, for scale 1."""
        return (1 + order * self.concentration_reciprocal).lgamma().exp()

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        inverse = self.concentration_reciprocal
        return self.scale * ((self.concentration - 1) * inverse).pow(inverse)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def entropy(self) -> Any:
        """The entropy."""
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class Pareto(TransformedDistribution):
    """Numbers above scale, fewer by a power: the greater alpha, the faster."""

    arg_constraints: Any = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        """The mean, where it is finite."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Any:
        """The least value."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance, where it is finite."""
        alpha = self.alpha.clamp(min=2)
        return self.scale.square() * alpha / ((alpha - 1).square() * (alpha - 2))

    def entropy(self) -> Any:
        """The entropy."""
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold loc; the tail is heavier the greater the concentration."""

    arg_constraints: Any = {**_PLACE_AND_SCALE, "concentration": constraints.real}
    has_rsample = True
    loc: Any
    scale: Any
    concentration: Any

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._adopt(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From loc on, up to an end where the concentration is negative."""
        shape = self.concentration
        end = where(shape < 0, self.loc - self.scale / shape, math.inf)
        return constraints.interval(self.loc, end)

    def _apart(self, exponential: Any, power: Any) -> Any:
        """One answer where the concentration is 0, and of it another, elsewhere."""
        shape = self.concentration
        flat = isclose(shape, shape * 0)
        return where(flat, exponential, power(where(flat, 1.0, shape)))

    def _standard(self, value: Any) -> Any:
        return (self._checked(value) - self.loc) / self.scale

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        excess = self._standard(value)

        def power(shape: Any) -> Any:
            factor = 1 / shape + 1
            return where(factor == 0, 0.0, factor * (shape * excess).log1p())

        return -self.scale.log() - self._apart(excess, power)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than a value."""
        excess = self._standard(value)
        return -self._apart(excess, lambda shape: (shape * excess).log1p() / shape)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of a sample up to a value."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        depth = -(-value).log1p()
        return self.loc + self.scale * self._apart(depth, lambda s: (s * depth).expm1() / s)

    def _where_below(self, limit: float, answer: Any) -> Any:
        """answer(concentration) below a limit, nan from it on."""
        inside = self.concentration < limit
        return where(inside, answer(where(inside, self.concentration, limit / 2)), math.nan)

    @property
    def mean(self) -> Any:
        """The mean, where there is one."""
        return self._where_below(1, lambda shape: self.loc + self.scale / (1 - shape))

    @property
    def variance(self) -> Any:
        """The variance, where there is one."""
        return self._where_below(
            0.5, lambda shape: self.scale.square() / ((1 - shape).square() * (1 - 2 * shape))
        )

    @property
    def mode(self) -> Any:
        """The threshold."""
        return self.loc

    def entropy(self) -> Any:
        """The entropy."""
        return self.scale.log() + self.concentration + 1


# ---- of the uniform distribution ----


class Gumbel(TransformedDistribution):
    """The greatest of many numbers."""

    arg_constraints: Any = _PLACE_AND_SCALE
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = (full_like(self.loc, end) for end in (limits.tiny, 1 - limits.eps))
        steps = [
            ExpTransform().inv,
            AffineTransform(0, -ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc, -self.scale),
        ]
        base = Uniform(low, high, validate_args=validate_args)
        super().__init__(base, steps, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        depth = (self.loc - self._checked(value)) / self.scale
        return depth - depth.exp() - self.scale.log()

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.stddev.square()

    def entropy(self) -> Any:
        """The entropy."""
        return self.scale.log() + (1 + euler_constant)


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1, like those of a beta distribution but with a plain quantile."""

    arg_constraints: Any = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        one, other = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = one, other
        base = Uniform(full_like(other, 0), full_like(other, 1), validate_args=validate_args)
        steps = [
            PowerTransform(other.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(one.reciprocal()),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, order: int) -> Any:
        """The mean of a power: b B(1 + order / a, b)."""
        other = self.concentration0
        first = 1 + order / self.concentration1
        return (other.log() + first.lgamma() + other.lgamma() - (first + other).lgamma()).exp()

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """The likeliest value, as PyTorch has it: undefined where a concentration is not 1."""
        one, other = self.concentration1, self.concentration0
        logarithm = other.reciprocal() * (-other).log1p() - (-other * one).log1p()
        return logarithm.masked_fill((other < 1) | (one < 1), math.nan).exp()

    @property
    def variance(self) -> Any:
        """The variance."""
        return self._moment(2) - self.mean.square()

    def entropy(self) -> Any:
        """The entropy."""
        one, other = self.concentration1, self.concentration0
        harmonic = (other + 1).digamma() + euler_constant
        rest = (1 - other.reciprocal()) - one.log() - other.log()
        return rest + (1 - one.reciprocal()) * harmonic
