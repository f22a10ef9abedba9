"""For each distribution the ranges of its parameters, as the tests of distributions need them."""

import numpy as np

POSITIVE = ("positive", ())
REAL = ("real", ())
CHANCE = ("chance", ())
VECTOR = ("real", (3,))
WEIGHTS = ("weights", (3,))
COVARIANCE = ("covariance", (3, 3))

# Each parameter's name with its range, and the shape of one value of it.
CASES = {
    "Bernoulli": [{"probs": CHANCE}, {"logits": REAL}],
    "Beta": [{"concentration1": POSITIVE, "concentration0": POSITIVE}],
    "Binomial": [{"total_count": ("count", ()), "probs": CHANCE}],
    "Categorical": [{"probs": WEIGHTS}, {"logits": VECTOR}],
    "Cauchy": [{"loc": REAL, "scale": POSITIVE}],
    "Chi2": [{"df": POSITIVE}],
    "ContinuousBernoulli": [{"probs": CHANCE}, {"logits": REAL}],
    "Dirichlet": [{"concentration": ("positive", (3,))}],
    "Exponential": [{"rate": POSITIVE}],
    "FisherSnedecor": [{"df1": POSITIVE, "df2": POSITIVE}],
    "Gamma": [{"concentration": POSITIVE, "rate": POSITIVE}],
    "GeneralizedPareto": [{"loc": REAL, "scale": POSITIVE, "concentration": REAL}],
    "Geometric": [{"probs": CHANCE}, {"logits": REAL}],
    "Gumbel": [{"loc": REAL, "scale": POSITIVE}],
    "HalfCauchy": [{"scale": POSITIVE}],
    "HalfNormal": [{"scale": POSITIVE}],
    "InverseGamma": [{"concentration": POSITIVE, "rate": POSITIVE}],
    "Kumaraswamy": [{"concentration1": POSITIVE, "concentration0": POSITIVE}],
    "LKJCholesky": [{"dim": 3, "concentration": POSITIVE}],
    "Laplace": [{"loc": REAL, "scale": POSITIVE}],
    "LogNormal": [{"loc": REAL, "scale": POSITIVE}],
    "LogisticNormal": [{"loc": VECTOR, "scale": ("positive", (3,))}],
    "LowRankMultivariateNormal": [
        {"loc": VECTOR, "cov_factor": ("real", (3, 2)), "cov_diag": ("positive", (3,))}
    ],
    "Multinomial": [{"total_count": 4, "probs": WEIGHTS}, {"total_count": 4, "logits": VECTOR}],
    "MultivariateNormal": [
        {"loc": VECTOR, "covariance_matrix": COVARIANCE},
        {"loc": VECTOR, "precision_matrix": COVARIANCE},
        {"loc": VECTOR, "scale_tril": ("factor", (3, 3))},
    ],
    "NegativeBinomial": [{"total_count": ("count", ()), "probs": CHANCE}],
    "Normal": [{"loc": REAL, "scale": POSITIVE}],
    "OneHotCategorical": [{"probs": WEIGHTS}, {"logits": VECTOR}],
    "OneHotCategoricalStraightThrough": [{"probs": WEIGHTS}],
    "Pareto": [{"scale": POSITIVE, "alpha": POSITIVE}],
    "Poisson": [{"rate": POSITIVE}],
    "RelaxedBernoulli": [{"temperature": POSITIVE, "probs": CHANCE}],
    "RelaxedOneHotCategorical": [{"temperature": ("temperature", ()), "logits": VECTOR}],
    "StudentT": [{"df": POSITIVE, "loc": REAL, "scale": POSITIVE}],
    "Uniform": [{"low": ("low", ()), "high": ("high", ())}],
    "VonMises": [{"loc": REAL, "concentration": POSITIVE}],
    "Weibull": [{"scale": POSITIVE, "concentration": POSITIVE}],
    "Wishart": [{"df": ("freedom", ()), "covariance_matrix": COVARIANCE}],
}
EVERY = [(name, kind) for name, kinds in CASES.items() for kind in range(len(kinds))]


def _covariance(rng, shape):
    factor = rng.normal(size=shape)
    return factor @ np.swapaxes(factor, -1, -2) + np.eye(shape[-1])


DRAWS = {
    "positive": lambda rng, shape: rng.uniform(0.3, 4, shape),
    "real": lambda rng, shape: rng.normal(size=shape),
    "chance": lambda rng, shape: rng.uniform(0.05, 0.95, shape),
    "count": lambda rng, shape: rng.integers(3, 4, shape).astype("float64"),
    "low": lambda rng, shape: rng.uniform(-2, 0, shape),
    "high": lambda rng, shape: rng.uniform(1, 3, shape),
    "freedom": lambda rng, shape: rng.uniform(4, 9, shape),
    "weights": lambda rng, shape: rng.dirichlet(np.ones(shape[-1]), shape[:-1]),
    "temperature": lambda rng, shape: rng.uniform(0.5, 2, ()),  # one for all of a batch
    "covariance": _covariance,
    "factor": lambda rng, shape: np.linalg.cholesky(_covariance(rng, shape)),
}


def arguments(name, kind, rng, batch=()):
    """Parameters of a distribution as arrays, with the dimensions of a batch in front."""
    case = CASES[name][kind]
    return {
        key: np.asarray(DRAWS[spec[0]](rng, (*batch, *spec[1])))
        if isinstance(spec, tuple)
        else spec
        for key, spec in case.items()
    }


def made(library, name, arrays, requires_grad=False, **options):
    """A distribution of a library, and the tensors it was made of."""
    tensors = {
        key: library.tensor(value).requires_grad_(requires_grad)
        if isinstance(value, np.ndarray)
        else value
        for key, value in arrays.items()
    }
    distribution = getattr(library.distributions, name)(**tensors, **options)
    return distribution, [t for t in tensors.values() if isinstance(t, library.Tensor)]
