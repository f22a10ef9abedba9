"""Gamma distributions and their kin: exponential, chi squared, beta, Dirichlet, Fisher-Snedecor."""

import math
from numbers import Number
from typing import Any

from adjoint.creation.factories import tensor
from adjoint.creation.from_memory import as_tensor
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily
from adjoint.distributions.parameters import broadcast_all
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.positions import one_hot
from adjoint.ops.arranging.shape import stack
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.special import igamma, xlogy
from adjoint.ops.sampling.implicit import standard_dirichlet, standard_gamma
from adjoint.tensors.size import Size

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma"]

_NONE = Size()


class Gamma(ExponentialFamily):
    """The gamma distribution: waiting times for `concentration` events that come with `rate`."""

    arg_constraints: Any = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Any
    rate: Any

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients, none of them 0."""
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # not a change that is recorded
        return value

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        return (
            xlogy(self.concentration, self.rate)
            + xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def entropy(self) -> Any:
        """The entropy."""
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1 - shape) * shape.digamma()

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return igamma(self.concentration, self.rate * self._checked(value))

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()


class Chi2(Gamma):
    """The distribution of the sum of df squared standard normal numbers."""

    arg_constraints: Any = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class Exponential(ExponentialFamily):
    """The exponential distribution: waiting times for an event that comes with `rate`."""

    arg_constraints: Any = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """0."""
        return self.rate * 0

    @property
    def stddev(self) -> Any:
        """The same as the mean."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        return 1 - (-self.rate * self._checked(value)).exp()

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        """The entropy."""
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -(-x).log()


class Dirichlet(ExponentialFamily):
    """Parts of 1, whose expected sizes are as the concentrations."""

    arg_constraints: Any = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return standard_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        powers = xlogy(self.concentration - 1, self._checked(value)).sum(-1)
        return powers - self._log_normalizer(self.concentration)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """The likeliest parts; where all concentrations are below 1, all to one part."""
        above = (self.concentration - 1).clamp(min=0)
        shares = above / above.sum(-1, True)
        corner = one_hot(shares.argmax(-1), above.shape[-1]).to(shares)
        return where((self.concentration < 1).all(-1, True), corner, shares)

    @property
    def variance(self) -> Any:
        """The variance."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def entropy(self) -> Any:
        """The entropy."""
        shape = self.concentration
        total = shape.sum(-1)
        return (
            self._log_normalizer(shape)
            - (shape.shape[-1] - total) * total.digamma()
            - ((shape - 1) * shape.digamma()).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The first of two parts of 1, with the concentrations of both."""

    arg_constraints: Any = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        if isinstance(concentration1, Number) and isinstance(concentration0, Number):
            both = tensor([float(concentration1), float(concentration0)])  # type: ignore[arg-type]
        else:
            both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Any:
        """The concentration of the first part."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """The concentration of the second part."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Any:
        """The variance."""
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        """The entropy."""
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class FisherSnedecor(Distribution):
    """The quotient of the means of df1 and of df2 squared standard normal numbers."""

    arg_constraints: Any = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Any
    df2: Any

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)

    @property
    def mean(self) -> Any:
        """The mean, where there is one."""
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        """The likeliest value, where it is not 0."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        """The variance, where there is one."""
        df1, df2 = self.df1, self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.square() * (df1 + df2 - 2) / (df1 * (df2 - 2).square() * (df2 - 4))

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        above, below = (g.rsample(sample_shape) for g in (self._gamma1, self._gamma2))
        tiny = finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        one, other = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        constant = (one + other).lgamma() - one.lgamma() - other.lgamma() + one * ratio.log()
        return constant + (one - 1) * value.log() - (one + other) * (ratio * value).log1p()
