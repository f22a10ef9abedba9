"""Kullback-Leibler divergences, found by the kinds of both distributions.

KL(p‖q) is -H(p) - E log q(x). Densities on the line have logarithms made of few functions of x (x,
x², log x, exp(tx), …), so a divergence follows from what p expects of them: `_EXPECTED` has that,
and `_SCORES` the mean of log q(x) in those terms.
"""

# ruff: noqa: SLF001  the parts of a distribution that have no public name are this package's own

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from adjoint.creation.factories import zeros
from adjoint.distributions.categorical import Categorical, OneHotCategorical
from adjoint.distributions.composite import Independent, TransformedDistribution
from adjoint.distributions.continuous import Cauchy, Laplace, Normal, Uniform
from adjoint.distributions.counts import (
    Bernoulli,
    Binomial,
    ContinuousBernoulli,
    Geometric,
    Poisson,
)
from adjoint.distributions.distribution import Distribution, ExponentialFamily
from adjoint.distributions.gammas import Beta, Dirichlet, Exponential, Gamma
from adjoint.distributions.multivariate import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    half_log_det,
    solved,
)
from adjoint.distributions.parameters import euler_constant, half_log_2_pi, sum_rightmost
from adjoint.distributions.transformed import Gumbel, HalfNormal, Pareto
from adjoint.ops.arranging.questions import broadcast_shapes
from adjoint.ops.arranging.shape import cat
from adjoint.ops.elementwise.activation import softplus
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.special import xlogy

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Any]
REGISTRY: dict[tuple[type, type], Divergence] = {}
_found: dict[tuple[type, type], Divergence | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Divergence], Divergence]:
    """Decorate the function that answers for two kinds of distributions and those derived."""
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl expects classes of distributions, but got {kind}")

    def decorate(function: Divergence) -> Divergence:
        REGISTRY[type_p, type_q] = function
        _found.clear()
        return function

    return decorate


def _find(type_p: type, type_q: type) -> Divergence | None:
    """The function for the nearest base classes; a warning where p and q do not agree on them."""
    bases_p, bases_q = type_p.__mro__, type_q.__mro__
    matches = [
        (bases_p.index(p), bases_q.index(q), p, q)
        for p, q in REGISTRY
        if p in bases_p and q in bases_q
    ]
    if not matches:
        return None
    by_p = min(matches, key=lambda match: match[:2])
    by_q = min(matches, key=lambda match: match[1::-1])
    function = REGISTRY[by_p[2:]]
    if function is not REGISTRY[by_q[2:]]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[2].__name__}, {by_q[3].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return function


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The expected logarithm of p's density over q's, for samples of p."""
    kinds = type(p), type(q)
    if kinds not in _found:
        _found[kinds] = _find(*kinds)
    function = _found[kinds]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {kinds[0].__name__} and q type "
            f"{kinds[1].__name__}; register_kl can give one"
        )
    return function(p, q)


# ---- densities on the line ----


class _Expected:
    """What a distribution expects of functions of its samples."""

    def __init__(self, p: Any) -> None:
        self.p = p

    def log(self) -> Any:
        """The mean of log x."""
        raise self._lack("log x")

    def log_of_rest(self) -> Any:
        """The mean of log(1 - x)."""
        raise self._lack("log(1 - x)")

    def exp(self, factor: Any) -> Any:
        """The mean of e to the power of factor times x."""
        raise self._lack("exp(x)")

    def distance(self, place: Any) -> Any:
        """The mean of |x - place|."""
        raise self._lack("|x|")

    def _lack(self, what: str) -> NotImplementedError:
        kind = type(self.p).__name__
        return NotImplementedError(f"there is no closed form of what a {kind} expects of {what}")


class _OfBeta(_Expected):
    def log(self) -> Any:
        p = self.p
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()

    def log_of_rest(self) -> Any:
        p = self.p
        return p.concentration0.digamma() - (p.concentration1 + p.concentration0).digamma()


class _OfExponential(_Expected):
    def log(self) -> Any:
        return -self.p.rate.log() - euler_constant

    def exp(self, factor: Any) -> Any:
        return self.p.rate / (self.p.rate - factor)


class _OfGamma(_Expected):
    def log(self) -> Any:
        return self.p.concentration.digamma() - self.p.rate.log()

    def exp(self, factor: Any) -> Any:
        return (1 - factor / self.p.rate).pow(-self.p.concentration)


class _OfGumbel(_Expected):
    def exp(self, factor: Any) -> Any:
        return (factor * self.p.loc + (1 - factor * self.p.scale).lgamma()).exp()


class _OfLaplace(_Expected):
    def distance(self, place: Any) -> Any:
        apart = (self.p.loc - place).abs()
        return apart + self.p.scale * (-apart / self.p.scale).exp()


class _OfNormal(_Expected):
    def exp(self, factor: Any) -> Any:
        return (factor * self.p.loc + 0.5 * (factor * self.p.scale).square()).exp()

    def distance(self, place: Any) -> Any:
        apart = self.p.loc - place
        units = apart / self.p.scale
        width = math.sqrt(2 / math.pi) * self.p.scale
        return width * (-0.5 * units.square()).exp() + apart * (units / math.sqrt(2)).erf()


class _OfPareto(_Expected):
    def log(self) -> Any:
        return self.p.scale.log() + self.p.alpha.reciprocal()


class _OfUniform(_Expected):
    def log(self) -> Any:
        return self._mean_log(self.p.low, self.p.high)

    def log_of_rest(self) -> Any:
        return self._mean_log(1 - self.p.high, 1 - self.p.low)

    def exp(self, factor: Any) -> Any:
        low, high = self.p.low, self.p.high
        return ((factor * high).exp() - (factor * low).exp()) / (factor * (high - low))

    @staticmethod
    def _mean_log(low: Any, high: Any) -> Any:
        return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


def _normal_score(q: Any, p: Any, expected: Any) -> Any:
    distance = p.variance + (p.mean - q.loc).square()
    return -q.scale.log() - half_log_2_pi - distance / (2 * q.scale.square())


def _gamma_score(q: Any, p: Any, expected: Any) -> Any:
    shape = q.concentration
    return shape * q.rate.log() - shape.lgamma() + (shape - 1) * expected.log() - q.rate * p.mean


def _beta_score(q: Any, p: Any, expected: Any) -> Any:
    one, other = q.concentration1, q.concentration0
    powers = (one - 1) * expected.log() + (other - 1) * expected.log_of_rest()
    return powers - q._log_normalizer(one, other)


def _gumbel_score(q: Any, p: Any, expected: Any) -> Any:
    place = q.loc / q.scale
    grown = place.exp() * expected.exp(-1 / q.scale)
    return place - q.scale.log() - p.mean / q.scale - grown


_EXPECTED: dict[type, type[_Expected]] = {
    Beta: _OfBeta,
    ContinuousBernoulli: _Expected,
    Exponential: _OfExponential,
    Gamma: _OfGamma,
    Gumbel: _OfGumbel,
    Laplace: _OfLaplace,
    Normal: _OfNormal,
    Pareto: _OfPareto,
    Uniform: _OfUniform,
}
_SCORES: dict[type, Callable[[Any, Any, Any], Any]] = {
    Beta: _beta_score,
    ContinuousBernoulli: lambda q, p, expected: (
        p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()
    ),
    Exponential: lambda q, p, expected: q.rate.log() - q.rate * p.mean,
    Gamma: _gamma_score,
    Gumbel: _gumbel_score,
    Laplace: lambda q, p, expected: -(2 * q.scale).log() - expected.distance(q.loc) / q.scale,
    Normal: _normal_score,
    Pareto: lambda q, p, expected: (
        q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * expected.log()
    ),
    Uniform: lambda q, p, expected: -(q.high - q.low).log(),
}


def _bounds(distribution: Any) -> tuple[Any, Any]:
    """The ends of what a distribution can draw."""
    support = distribution.support
    return getattr(support, "lower_bound", -math.inf), getattr(support, "upper_bound", math.inf)


def _on_the_line(expectations: type[_Expected], score: Any, p: Any, q: Any) -> Any:
    """The divergence of densities on the line; infinite where p draws what q cannot."""
    (low_p, high_p), (low_q, high_q) = _bounds(p), _bounds(q)
    outside = (low_p < low_q) | (high_p > high_q)
    if outside is True or (outside is not False and outside.all()):
        shape = broadcast_shapes(p.batch_shape, q.batch_shape)
        return zeros(shape, dtype=p.mean.dtype, device=p.mean.device) + math.inf
    divergence = -p.entropy() - score(q, p, expectations(p))
    return divergence if outside is False else where(outside, math.inf, divergence)


for _p, _expectations in _EXPECTED.items():
    for _q, _score in _SCORES.items():
        register_kl(_p, _q)(functools.partial(_on_the_line, _expectations, _score))


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    """The same as by expectations, in fewer steps: the one that is most often asked for."""
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    spread = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return spread.log() - (4 * p.scale * q.scale).log()


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


# ---- choices and counts ----


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    total: Any = 0
    for sign, chance, other in ((1, p.probs, q.probs), (-1, 1 - p.probs, 1 - q.probs)):
        part = chance * (softplus(-sign * q.logits) - softplus(-sign * p.logits))
        part = where(other == 0, math.inf, part)
        total = total + where(chance == 0, 0.0, part)
    return total


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("of two Binomials, p must not have fewer trials than q")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    parts = p.probs * (p.logits - q.logits)
    parts = where(q.probs == 0, math.inf, parts)
    return where(p.probs == 0, 0.0, parts).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _unbounded_counts(p: Any, q: Any) -> Any:
    return p.rate * 0 + math.inf


# ---- vectors ----


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    one, other = p.concentration, q.concentration
    expected = one.digamma() - one.sum(-1, True).digamma()
    constants = q._log_normalizer(other) - p._log_normalizer(one)
    return constants + ((one - other) * expected).sum(-1)


def _root(p: Any) -> Any:
    """A matrix whose product with its transpose is p's covariance."""
    if isinstance(p, MultivariateNormal):
        return p._unbroadcasted_scale_tril
    factor, own = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()
    shape = broadcast_shapes(factor.shape[:-2], own.shape[:-2])
    return cat([part.expand((*shape, *part.shape[-2:])) for part in (factor, own)], -1)


def _log_det(p: Any) -> Any:
    if isinstance(p, MultivariateNormal):
        return 2 * half_log_det(p._unbroadcasted_scale_tril)
    return p._log_det()


def _squared_lengths(q: Any, columns: Any) -> Any:
    """The sum of the squared lengths of columns, in units of q's covariance."""
    if isinstance(q, MultivariateNormal):
        return solved(q._unbroadcasted_scale_tril, columns).square().sum((-2, -1))
    plain = (columns.square() / q._unbroadcasted_cov_diag.unsqueeze(-1)).sum((-2, -1))
    return plain - (q._root_of_correction() @ columns).square().sum((-2, -1))


def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between normal distributions of vectors of different event shapes, "
            f"{p.event_shape} and {q.event_shape}, cannot be computed"
        )
    apart = (q.loc - p.loc).unsqueeze(-1)
    lengths = _squared_lengths(q, _root(p)) + _squared_lengths(q, apart)
    return 0.5 * (_log_det(q) - _log_det(p) + lengths - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_multivariate_normal)


# ---- whole families ----


@register_kl(ExponentialFamily, ExponentialFamily)
def exponential_family(p: Any, q: Any) -> Any:
    """From log normalisers, as a Bregman divergence."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"KL of a {type(p).__name__} and a {type(q).__name__}: they are of different families"
        )
    parameters, normalizer, slopes = p._bregman()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for own, other, slope in zip(parameters, others, slopes):
        result = result - sum_rightmost((other - own) * slope, own.ndim - normalizer.ndim)
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("both distributions must be transformed in the same way")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("both must count equally many dimensions as an event's")
    divergence = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(divergence, p.reinterpreted_batch_ndims)
