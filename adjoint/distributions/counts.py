"""Distributions of yes and no, of counts, and of numbers between the two."""

import math
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import arange
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily
from adjoint.distributions.gammas import Gamma
from adjoint.distributions.parameters import (
    EitherParameter,
    broadcast_all,
    clamp_probs,
    lazy_property,
    standard_uniform,
)
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.elementwise.activation import logsigmoid
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.special import xlogy
from adjoint.ops.neural.losses import binary_cross_entropy_with_logits
from adjoint.ops.sampling.random import bernoulli, binomial, poisson
from adjoint.tensors.size import Size

__all__ = [
    "Bernoulli",
    "Binomial",
    "ContinuousBernoulli",
    "Geometric",
    "NegativeBinomial",
    "Poisson",
]

_NONE = Size()
CHANCE: Any = {"probs": constraints.unit_interval, "logits": constraints.real}


def _log_odds_score(logits: Any, value: Any) -> Any:
    """value log p + (1 - value) log(1 - p), where logits are the log odds of p."""
    return -binary_cross_entropy_with_logits(logits, value, reduction="none")


class _OneChance(EitherParameter, Distribution):
    """Given one probability, or its log odds, for each distribution of the batch."""

    arg_constraints: Any = CHANCE

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._adopt(validate_args, **self._choose(probs, logits))


class Bernoulli(_OneChance, ExponentialFamily):
    """1 with a probability, else 0."""

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    @property
    def mean(self) -> Any:
        """The probability."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The likelier of the two; undefined where neither is."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Samples of 0 and 1."""
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self._checked(value)
        return _log_odds_score(*broadcast_all(self.logits, value))

    def entropy(self) -> Any:
        """The entropy."""
        return -_log_odds_score(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1."""
        both = arange(2, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(both, expand)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Any) -> Any:
        return x.exp().log1p()


class ContinuousBernoulli(EitherParameter, ExponentialFamily):
    """Numbers x of [0, 1] with density in proportion to p^x (1 - p)^(1 - x).

    Near p = 1/2, within `lims`, series take the place of formulas that divide 0 by 0 there.
    """

    arg_constraints: Any = CHANCE
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        given = self._choose(probs, logits)
        self._lims = lims
        self._adopt(validate_args, **given)
        if logits is None:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """The parameter p."""
        return clamp_probs(self.logits.sigmoid())

    def _apart(self, formula: Any, series: Any) -> Any:
        """formula(p) away from 1/2, and series(p - 1/2) near it."""
        away = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return where(away, formula(where(away, self.probs, self._lims[0])), series)

    def _cont_bern_log_norm(self) -> Any:
        """The logarithm of the constant of the density."""
        square = (self.probs - 0.5).square()
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return self._apart(
            lambda p: ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log(), series
        )

    @property
    def mean(self) -> Any:
        """The mean."""
        offset = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * offset.square()) * offset
        return self._apart(lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), series)

    @property
    def variance(self) -> Any:
        """The variance."""
        square = (self.probs - 0.5).square()
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return self._apart(
            lambda p: p * (p - 1) / (1 - 2 * p).square() + 1 / ((-p).log1p() - p.log()).square(),
            series,
        )

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        score = _log_odds_score(*broadcast_all(self.logits, value))
        return score + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        value = self._checked(value)
        inside = self._apart(
            lambda p: (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1), value
        )
        return where(value <= 0, 0.0, where(value >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        return self._apart(
            lambda p: (
                ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
            ),
            value,
        )

    def entropy(self) -> Any:
        """The entropy."""
        zero, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = (limit - 0.5 for limit in self._lims)
        away = (x <= low) | (x > high)
        far = where(away, x, low)
        series = 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0
        return where(away, far.expm1().abs().log() - far.abs().log(), series)


class Geometric(_OneChance):
    """How often it fails before the first success."""

    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs of distribution {self!r} to be positive "
                f"but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Any:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Any:
        """0."""
        return self.probs * 0

    @property
    def variance(self) -> Any:
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Counts of failures."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            uniform = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (uniform.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, probs = broadcast_all(self._checked(value), self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """The entropy."""
        return -_log_odds_score(self.logits, self.probs) / self.probs


class _Trials(EitherParameter, Distribution):
    """Given a number of trials, and a probability for each."""

    total_count: Any

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._choose(probs, logits)
        count, chance = broadcast_all(total_count, *given.values())
        self.__dict__.update({"total_count": count.type_as(chance), self._given: chance})
        Distribution.__init__(self, chance.shape, validate_args=validate_args)


class Binomial(_Trials):
    """How many of total_count trials succeed."""

    arg_constraints: Any = {"total_count": constraints.nonnegative_integer, **CHANCE}
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Counts up to all."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The likeliest count."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Counts of successes."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, total, logits = self._checked(value), self.total_count, self.logits
        orders = (total + 1).lgamma() - (value + 1).lgamma() - (total - value + 1).lgamma()
        return orders + value * logits + total * logsigmoid(-logits)

    def _same_count(self, what: str) -> int:
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"{what} needs one total_count for all of the batch")
        return count

    def entropy(self) -> Any:
        """The entropy, as the sum over all counts."""
        self._same_count("entropy")
        score = self.log_prob(self.enumerate_support(False))
        return -(score.exp() * score).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All counts."""
        count = self._same_count("enumerate_support")
        every = arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(every, expand)


class NegativeBinomial(_Trials):
    """How many successes come before total_count failures."""

    arg_constraints: Any = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        """The likeliest count."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Any:
        """The distribution of the rate of which samples are Poisson distributed."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Counts of successes."""
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value, total = self._checked(value), self.total_count
        chances = total * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        orders = (total + value).lgamma() - (value + 1).lgamma() - total.lgamma()
        return chances + orders.masked_fill(total + value == 0, 0)


class Poisson(ExponentialFamily):
    """How many events there are where `rate` are expected."""

    arg_constraints: Any = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._adopt(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        """The rate."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The likeliest count."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """The rate."""
        return self.rate

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Counts."""
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        rate, value = broadcast_all(self.rate, self._checked(value))
        return xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:
        return x.exp()
