"""Distributions answer as PyTorch's for parameters that hypothesis chooses."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import adjoint
import adjoint.distributions as ours
from tests.distribution_cases import CASES, EVERY, arguments, made

torch = pytest.importorskip("torch")
theirs = torch.distributions

CHOSEN = settings(max_examples=8, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
batches = st.sampled_from([(), (2,), (2, 1)])
every_distribution = pytest.mark.parametrize(("name", "kind"), EVERY)

# Bessel functions: PyTorch has polynomials of six digits, whose slopes are less exact still.
COARSE = {"VonMises"}


@pytest.fixture(autouse=True)
def double_by_default():
    """PyTorch's GeneralizedPareto compares its parameters with a tensor of the default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def both(name, kind, seed, batch=(), requires_grad=False):
    """A distribution in both libraries, with the tensors it was made of."""
    arrays = arguments(name, kind, np.random.default_rng(seed), batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [made(lib, name, arrays, requires_grad) for lib in (torch, adjoint)]


def agree(expected, found, name=""):
    """Tensors of both libraries are the same."""
    assert tuple(found.shape) == tuple(expected.shape)
    assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    rtol, atol = (1e-5, 1e-5) if name in COARSE else (1e-7, 1e-9)
    found, expected = (t.detach().numpy() for t in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def answers(action):
    """What both libraries answer, or None where neither does."""
    outcomes = []
    for library in (torch, adjoint):
        try:
            outcomes.append(action(library))
        except (NotImplementedError, AttributeError) as error:
            outcomes.append(type(error))
    if isinstance(outcomes[0], type):
        assert isinstance(outcomes[1], type), f"PyTorch: {outcomes[0]}"
        return None
    return outcomes


@every_distribution
@CHOSEN
@given(seed=seeds, batch=batches)
def test_facts(name, kind, seed, batch):
    (expected, _), (found, _) = both(name, kind, seed, batch)
    pair = {torch: expected, adjoint: found}
    assert tuple(found.batch_shape) == tuple(expected.batch_shape)
    assert tuple(found.event_shape) == tuple(expected.event_shape)
    for fact in ("mean", "mode", "variance", "stddev"):
        outcome = answers(lambda lib, fact=fact: getattr(pair[lib], fact))
        if outcome is not None:
            agree(*outcome, name)
    for action in ("entropy", "perplexity", "enumerate_support"):
        outcome = answers(lambda lib, action=action: getattr(pair[lib], action)())
        if outcome is not None:
            agree(*outcome, name)
    for flag in ("has_rsample", "has_enumerate_support"):
        assert getattr(found, flag) == getattr(expected, flag) or name == "RelaxedBernoulli"


@every_distribution
@CHOSEN
@given(seed=seeds, batch=batches)
def test_scores_and_their_gradients(name, kind, seed, batch):
    (expected, parameters), (found, own) = both(name, kind, seed, batch, requires_grad=True)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = expected.sample((3,))
    scores = [expected.log_prob(value), found.log_prob(adjoint.tensor(value.numpy()))]
    agree(*scores, name)
    grads = [
        lib.autograd.grad(score.sum(), given, allow_unused=True)
        for lib, score, given in zip((torch, adjoint), scores, (parameters, own))
    ]
    for theirs_, ours_ in zip(*grads):
        assert (theirs_ is None) == (ours_ is None)
        if ours_ is not None:
            agree(theirs_, ours_, name)


@every_distribution
@CHOSEN
@given(seed=seeds)
def test_cumulative_distributions(name, kind, seed):
    (expected, _), (found, _) = both(name, kind, seed, (2,))
    pair = {torch: expected, adjoint: found}
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = expected.sample((4,)).numpy()
    below = answers(lambda lib: pair[lib].cdf(lib.tensor(value)))
    if below is not None:
        agree(*below, name)
    chance = np.random.default_rng(seed).uniform(0.05, 0.95, (4, 2))
    quantile = answers(lambda lib: pair[lib].icdf(lib.tensor(chance)))
    if quantile is not None and name != "HalfNormal":
        agree(*quantile, name)


@every_distribution
def test_expanded(name, kind):
    (expected, _), (found, _) = both(name, kind, 3, (2,))
    wide, own = expected.expand((5, 2)), found.expand((5, 2))
    assert tuple(own.batch_shape) == (5, 2) == tuple(wide.batch_shape)
    assert type(own) is type(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = wide.sample((3,))
    assert tuple(own.sample((3,)).shape) == tuple(value.shape)
    agree(wide.log_prob(value), own.log_prob(adjoint.tensor(value.numpy())), name)


@every_distribution
def test_representations(name, kind):
    for batch in ((), (2,)):
        (expected, _), (found, _) = both(name, kind, 3, batch)
        assert repr(found).replace("adjoint.", "torch.") == repr(expected)


PAIRS = [
    (p, q)
    for p in CASES
    for q in CASES
    if p == q or (getattr(theirs, p), getattr(theirs, q)) in theirs.kl._KL_REGISTRY
]
# PyTorch calls it infinite wherever one of the ends of one interval lies in the other.
# It adds up the whole batch of a Wishart's df. tests/distributions has these three by sampling.
WRONG_THERE = {
    ("ContinuousBernoulli", "Uniform"),
    ("Uniform", "ContinuousBernoulli"),
    ("Wishart", "Wishart"),
}


@pytest.mark.parametrize(("p", "q"), PAIRS)
@CHOSEN
@given(seed=seeds)
def test_divergences(p, q, seed):
    ps, qs = both(p, 0, seed, (2,), requires_grad=True), both(q, 0, seed + 1, (2,))
    pair = dict(zip((torch, adjoint), zip(ps, qs)))
    outcome = answers(lambda lib: lib.distributions.kl_divergence(*(d for d, _ in pair[lib])))
    if outcome is None or (p, q) in WRONG_THERE:
        return
    agree(*outcome, p)
    if not outcome[0].requires_grad or not torch.isfinite(outcome[0]).all():
        return
    grads = [
        lib.autograd.grad(o.sum(), made_of[1], allow_unused=True)
        for lib, o, made_of in zip((torch, adjoint), outcome, ps)
    ]
    for theirs_, ours_ in zip(*grads):
        if theirs_ is not None:
            agree(theirs_, ours_, p)


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("Normal", {"loc": 0.0, "scale": -1.0}),
        ("Normal", {"loc": math.nan, "scale": 1.0}),
        ("Uniform", {"low": 2.0, "high": 1.0}),
        ("Bernoulli", {"probs": 1.5}),
        ("Bernoulli", {}),
        ("Bernoulli", {"probs": 0.5, "logits": 0.0}),
        ("Categorical", {"probs": 0.5}),
        ("Geometric", {"probs": 0.0}),
        ("Gamma", {"concentration": 0.0, "rate": 1.0}),
        ("Dirichlet", {"concentration": np.array(1.0)}),
        ("MultivariateNormal", {"loc": np.zeros(2), "covariance_matrix": -np.eye(2)}),
        ("MultivariateNormal", {"loc": np.zeros(2)}),
        ("MultivariateNormal", {"loc": np.zeros(2), "scale_tril": np.ones((2, 2))}),
        ("Wishart", {"df": np.array(0.5), "covariance_matrix": np.eye(2)}),
        ("Wishart", {"df": np.array(3.0)}),
        ("LKJCholesky", {"dim": 1}),
        ("Multinomial", {"total_count": 1.5, "probs": np.ones(2)}),
        ("Poisson", {"rate": -1.0}),
        ("StudentT", {"df": "3"}),
    ],
)
def test_refused_parameters(name, arrays):
    kinds = []
    for library in (torch, adjoint):
        with pytest.raises(Exception) as caught:
            tensors = {
                k: library.tensor(v)
                if isinstance(v, np.ndarray) or (isinstance(v, float) and k == "probs")
                else v
                for k, v in arrays.items()
            }
            getattr(library.distributions, name)(**tensors)
        kinds.append(type(caught.value).__name__)
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    ("name", "arrays", "value"),
    [
        ("Normal", (0.0, 1.0), [math.nan]),
        ("Uniform", (0.0, 1.0), [2.0]),
        ("Exponential", (1.0,), [-1.0]),
        ("Bernoulli", (0.5,), [0.5]),
        ("Poisson", (2.0,), [1.5]),
        ("Beta", (1.0, 2.0), [-0.1]),
    ],
)
def test_refused_values(name, arrays, value):
    for library in (torch, adjoint):
        d = getattr(library.distributions, name)(*arrays)
        with pytest.raises(ValueError, match="within the support"):
            d.log_prob(library.tensor(value))
        unchecked = getattr(library.distributions, name)(*arrays, validate_args=False)
        unchecked.log_prob(library.tensor(value))


TRANSFORMS = {
    "AbsTransform": ((), "real", ()),
    "AffineTransform": ((1.5, -2.0), "real", ()),
    "CorrCholeskyTransform": ((), "real", (3,)),
    "ExpTransform": ((), "real", ()),
    "LowerCholeskyTransform": ((), "real", (3, 3)),
    "PositiveDefiniteTransform": ((), "real", (3, 3)),
    "PowerTransform": ((2.5,), "positive", ()),
    "ReshapeTransform": (((3,), (3, 1)), "real", (3,)),
    "SigmoidTransform": ((), "real", ()),
    "SoftmaxTransform": ((), "real", (3,)),
    "SoftplusTransform": ((), "real", ()),
    "StickBreakingTransform": ((), "real", (3,)),
    "TanhTransform": ((), "real", ()),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    given_, kind, event = TRANSFORMS[name]
    rng = np.random.default_rng(5)
    shape = (4, 2, *event)
    array = rng.uniform(0.2, 3, shape) if kind == "positive" else rng.normal(size=shape)
    outcomes = []
    for library in (torch, adjoint):
        transform = getattr(library.distributions, name)(*given_)
        x = library.tensor(array).requires_grad_()
        y = transform(x)
        back = transform.inv(y)
        results = [y, back]
        if transform.bijective:
            results.append(transform.log_abs_det_jacobian(x, y))
            (slope,) = library.autograd.grad(results[-1].sum() + y.square().sum(), x)
            results.append(slope)
        assert tuple(y.shape) == tuple(transform.forward_shape(x.shape))
        assert tuple(x.shape) == tuple(transform.inverse_shape(y.shape))
        assert transform.codomain.check(y).all()
        assert transform.inv.inv is transform
        assert transform.with_cache().inv(transform.with_cache()(x)) is not None
        outcomes.append(results)
    for expected, found in zip(*outcomes, strict=True):
        agree(expected, found)
    assert getattr(ours, name)(*given_) == getattr(ours, name)(*given_)


def test_transforms_of_transforms():
    array = np.random.default_rng(1).normal(size=(5, 4))
    outcomes = []
    for library in (torch, adjoint):
        d = library.distributions
        pair = [d.ExpTransform(), d.AffineTransform(library.ones(4).double() * 2, 3.0, event_dim=1)]
        made_of = [
            d.ComposeTransform(pair),
            d.IndependentTransform(d.SigmoidTransform(), 1),
            d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 3]),
            d.StackTransform([d.ExpTransform(), d.identity_transform] * 2, dim=1),
            d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)),
        ]
        results = []
        for transform in made_of:
            x = library.tensor(array)
            y = transform(x)
            results += [y, transform.inv(y), transform.log_abs_det_jacobian(x, y)]
            results.append(transform.inv.log_abs_det_jacobian(y, x))
        outcomes.append(results)
    for expected, found in zip(*outcomes, strict=True):
        agree(expected, found)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(registry):
    array = np.random.default_rng(2).normal(size=(2, 3, 3))
    cases = [
        "real",
        "positive",
        "nonnegative",
        "unit_interval",
        "simplex",
        "corr_cholesky",
        "lower_cholesky",
        "positive_definite",
        "real_vector",
        "boolean",
    ]
    sets = [lambda c, name=name: getattr(c, name) for name in cases]
    sets += [
        lambda c: c.greater_than(2.0),
        lambda c: c.less_than(-1.0),
        lambda c: c.interval(-1.0, 4.0),
        lambda c: c.independent(c.positive, 1),
        lambda c: c.stack([c.real, c.positive, c.unit_interval], -1),
        lambda c: c.cat([c.positive, c.unit_interval], -1, [1, 2]),
    ]
    for make in sets:
        outcome = []
        for library in (torch, adjoint):
            constraint = make(library.distributions.constraints)
            try:
                transform = getattr(library.distributions, registry)(constraint)
                y = transform(library.tensor(array))
            except NotImplementedError as error:
                outcome.append(str(error))
                continue
            assert constraint.check(y).all()
            outcome.append(y)
        if isinstance(outcome[0], str):
            assert outcome[0] == outcome[1]
        else:
            agree(*outcome)


def test_mixtures():
    rng = np.random.default_rng(4)
    weights, places = rng.dirichlet(np.ones(3), 2), rng.normal(size=(2, 3))
    outcomes = []
    for library in (torch, adjoint):
        d = library.distributions
        choice = d.Categorical(library.tensor(weights))
        mixture = d.MixtureSameFamily(choice, d.Normal(library.tensor(places), 0.5))
        vectors = d.MixtureSameFamily(
            choice, d.Independent(d.Normal(library.tensor(places[..., None]), 0.5), 1)
        )
        value = library.tensor(places[:, 0])
        outcomes.append(
            [
                mixture.mean,
                mixture.variance,
                mixture.log_prob(value),
                mixture.cdf(value),
                mixture.expand((4, 2)).log_prob(value),
                vectors.mean,
                vectors.variance,
                vectors.log_prob(value[:, None]),
                library.zeros(mixture.sample((5,)).shape).double(),
                library.zeros(vectors.expand((3, 2)).sample((5,)).shape).double(),
            ]
        )
        assert repr(mixture).startswith("MixtureSameFamily(\n  Categorical(probs: ")
    for expected, found in zip(*outcomes, strict=True):
        agree(expected, found)


def test_gradients_through_samples_of_one_seed_are_right_on_average():
    """d E[x²] / d parameter, by samples with gradients, is what PyTorch's samples say."""
    count = 20000
    cases = {
        "Normal": (0.5, 1.5),
        "Gamma": (2.5, 1.5),
        "Beta": (2.0, 3.0),
        "StudentT": (9.0, 0.5, 2.0),
        "Laplace": (0.5, 1.5),
        "Gumbel": (0.5, 0.7),
        "Weibull": (1.5, 2.0),
        "Kumaraswamy": (2.0, 3.0),
        "Uniform": (-1.0, 2.0),
        "LogNormal": (0.1, 0.3),
        "FisherSnedecor": (5.0, 14.0),
        "ContinuousBernoulli": (0.3,),
    }
    for name, values in cases.items():
        means = []
        for library in (torch, adjoint):
            library.manual_seed(0)
            tensors = [library.tensor(v, dtype=library.float64).requires_grad_() for v in values]
            x = getattr(library.distributions, name)(*tensors).rsample((count,))
            grads = library.autograd.grad(x.square().mean(), tensors)
            means.append([float(g) for g in grads])
        np.testing.assert_allclose(*means[::-1], rtol=0.15, atol=0.05, err_msg=name)
    assert ours.Gamma.has_rsample
