"""Samples are distributed as the densities say, and move with parameters as quantiles do."""

import math

import numpy as np
import pytest

import adjoint
from adjoint import distributions as dist
from adjoint.ops.sampling.implicit import dirichlet_slope, gamma_slope
from tests.distribution_cases import EVERY, arguments, made

scipy_special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

COUNT = 4000


def frozen(name, values):
    """SciPy's distribution of the same name and parameters."""
    return {
        "Beta": lambda a, b: stats.beta(a, b),
        "Cauchy": lambda loc, scale: stats.cauchy(loc, scale),
        "Chi2": lambda df: stats.chi2(df),
        "Exponential": lambda rate: stats.expon(scale=1 / rate),
        "FisherSnedecor": lambda one, other: stats.f(one, other),
        "Gamma": lambda shape, rate: stats.gamma(shape, scale=1 / rate),
        "GeneralizedPareto": lambda loc, scale, shape: stats.genpareto(shape, loc, scale),
        "Gumbel": lambda loc, scale: stats.gumbel_r(loc, scale),
        "HalfCauchy": lambda scale: stats.halfcauchy(scale=scale),
        "HalfNormal": lambda scale: stats.halfnorm(scale=scale),
        "InverseGamma": lambda shape, rate: stats.invgamma(shape, scale=rate),
        "Laplace": lambda loc, scale: stats.laplace(loc, scale),
        "LogNormal": lambda loc, scale: stats.lognorm(scale, scale=math.exp(loc)),
        "Normal": lambda loc, scale: stats.norm(loc, scale),
        "Pareto": lambda scale, alpha: stats.pareto(alpha, scale=scale),
        "StudentT": lambda df, loc, scale: stats.t(df, loc, scale),
        "Uniform": lambda low, high: stats.uniform(low, high - low),
        "VonMises": lambda loc, concentration: stats.vonmises(concentration, loc),
        "Weibull": lambda scale, shape: stats.weibull_min(shape, scale=scale),
    }[name](*values)


LINE = {
    "Beta": (2.0, 0.7),
    "Cauchy": (0.5, 2.0),
    "Chi2": (3.0,),
    "Exponential": (1.7,),
    "FisherSnedecor": (3.0, 6.0),
    "Gamma": (0.6, 2.0),
    "GeneralizedPareto": (0.3, 1.2, 0.2),
    "Gumbel": (1.0, 0.5),
    "HalfCauchy": (1.4,),
    "HalfNormal": (0.8,),
    "InverseGamma": (2.5, 1.5),
    "Laplace": (0.3, 1.1),
    "LogNormal": (0.2, 0.6),
    "Normal": (-0.5, 1.8),
    "Pareto": (1.5, 2.5),
    "StudentT": (4.0, 0.5, 1.5),
    "Uniform": (-1.0, 2.5),
    "VonMises": (0.4, 2.0),
    "Weibull": (1.3, 1.8),
}


@pytest.mark.parametrize("name", LINE)
def test_samples_of_numbers(name):
    adjoint.manual_seed(11)
    values = LINE[name]
    tensors = [adjoint.tensor(v, dtype=adjoint.float64) for v in values]
    sample = getattr(dist, name)(*tensors).sample((COUNT,)).numpy()
    assert stats.kstest(sample, frozen(name, values).cdf).pvalue > 0.01


COUNTS = {
    "Bernoulli": (0.3,),
    "Binomial": (5.0, 0.4),
    "Geometric": (0.35,),
    "NegativeBinomial": (3.0, 0.4),
    "Poisson": (2.3,),
}


@pytest.mark.parametrize("name", COUNTS)
def test_samples_of_counts(name):
    adjoint.manual_seed(3)
    d = getattr(dist, name)(*(adjoint.tensor(v) for v in COUNTS[name]))
    sample = d.sample((COUNT,))
    seen = np.bincount(sample.numpy().astype(int))
    chances = d.log_prob(adjoint.arange(len(seen)).float().clamp(max=int(sample.max()))).exp()
    expected = chances.numpy() * COUNT
    enough = expected > 5
    assert (np.abs(seen - expected)[enough] < 4 * np.sqrt(expected[enough])).all()


def test_samples_of_categories():
    adjoint.manual_seed(3)
    probs = adjoint.tensor([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]])
    index = dist.Categorical(probs).sample((COUNT,))
    vectors = dist.OneHotCategorical(probs).sample((COUNT,))
    counts = dist.Multinomial(4, probs).sample((COUNT,))
    assert index.shape == (COUNT, 2)
    assert counts.shape == vectors.shape == (COUNT, 2, 3)
    assert (counts.sum(-1) == 4).all() and (vectors.sum(-1) == 1).all()
    for mean in (vectors.mean(0), counts.mean(0) / 4):
        assert (mean - probs).abs().max() < 0.03
    for k in range(3):
        assert ((index == k).float().mean(0) - probs[:, k]).abs().max() < 0.03


# Without a mean or a variance, or with infinite ones, or with those of angles.
NO_MOMENTS = {
    "Categorical",
    "Cauchy",
    "FisherSnedecor",
    "GeneralizedPareto",
    "HalfCauchy",
    "LKJCholesky",
    "LogisticNormal",
    "Pareto",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "VonMises",
}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, kind in EVERY if name not in NO_MOMENTS]
)
def test_means_and_variances_of_samples(name, kind):
    arrays = arguments(name, kind, np.random.default_rng(1), (2,))
    d, _ = made(adjoint, name, arrays)
    adjoint.manual_seed(5)
    mean, variance = d.mean.numpy(), d.variance.numpy()
    sample = d.sample((COUNT,)).numpy()
    assert sample.shape == (COUNT, *d.batch_shape, *d.event_shape)
    error = np.sqrt(variance / COUNT)
    assert (np.abs(sample.mean(0) - mean) <= 6 * error + 1e-9).all()


@pytest.mark.parametrize("shape", [0.01, 0.1, 0.7, 1.0, 3.0, 40.0, 1000.0])
def test_gamma_samples_move_as_quantiles_do(shape):
    chance = np.linspace(0.02, 0.98, 25)
    step = 2e-5 * min(shape, 1)
    sample = scipy_special.gammaincinv(shape, chance)
    high, low = (scipy_special.gammaincinv(shape + s, chance) for s in (step, -step))
    kept = sample > 1e-120
    slope = gamma_slope(adjoint.full((25,), shape).double(), adjoint.tensor(sample)).numpy()
    expected = (high - low) / (2 * step)
    np.testing.assert_allclose(slope[kept], expected[kept], rtol=1e-4)


@pytest.mark.parametrize(("one", "other"), [(0.5, 0.5), (0.05, 2.0), (3.0, 7.0), (200.0, 90.0)])
def test_beta_samples_move_as_quantiles_do(one, other):
    chance = np.linspace(0.02, 0.98, 25)
    step = 1e-4 * min(one, 1)
    sample = scipy_special.betaincinv(one, other, chance)
    high, low = (scipy_special.betaincinv(one + s, other, chance) for s in (step, -step))
    kept = (sample > 1e-100) & (sample < 1 - 1e-9)
    parts, shape, total = (
        adjoint.tensor(np.broadcast_to(v, (25,)).copy()) for v in (sample, one, one + other)
    )
    slope = dirichlet_slope(parts, shape, total).numpy() * (1 - sample)
    np.testing.assert_allclose(slope[kept], ((high - low) / (2 * step))[kept], rtol=1e-4)


def test_single_precision_slopes():
    shape = adjoint.linspace(0.05, 20, 50)
    adjoint.manual_seed(0)
    sample = dist.Gamma(shape, 1.0).sample()
    slope = gamma_slope(shape, sample)
    assert slope.dtype is adjoint.float32
    exact = gamma_slope(shape.double(), sample.double())
    np.testing.assert_allclose(slope.numpy(), exact.numpy(), rtol=1e-5)


def test_the_second_derivative_of_a_sample_is_refused():
    shape = adjoint.tensor(2.0, requires_grad=True)
    sample = dist.Gamma(shape, 1.0).rsample()
    (slope,) = adjoint.autograd.grad(sample, shape, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative of gamma_slope is not implemented"):
        slope.backward()


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (dist.ContinuousBernoulli(0.3), dist.Uniform(-0.5, 1.5)),
        (dist.ContinuousBernoulli(0.3), dist.Uniform(0.0, 1.0)),
        (dist.Uniform(0.2, 0.7), dist.ContinuousBernoulli(0.4)),
        (dist.Normal(0.3, 0.8), dist.Gumbel(0.1, 1.5)),
        (dist.Pareto(1.5, 6.0), dist.Normal(1.0, 2.0)),
        (dist.Wishart(5.0, adjoint.eye(2)), dist.Wishart(6.0, 0.5 * adjoint.eye(2))),
    ],
)
def test_divergences_are_those_of_samples(p, q):
    adjoint.manual_seed(2)
    x = p.sample((20000,))
    ratio = p.log_prob(x) - q.log_prob(x)
    error = float(ratio.std()) / math.sqrt(20000)
    assert abs(float(ratio.mean() - dist.kl_divergence(p, q))) < 5 * error + 1e-6
