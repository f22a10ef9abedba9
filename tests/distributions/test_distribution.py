"""What distributions share: checks, expansion, laziness, classes of one's own."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import adjoint
from adjoint import distributions as dist
from adjoint.distributions import constraints
from tests.distribution_cases import EVERY, arguments, made


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_samples_can_be_scored_in_float32(name, kind):
    arrays = arguments(name, kind, np.random.default_rng(1), (3,))
    arrays = {k: v.astype("float32") if isinstance(v, np.ndarray) else v for k, v in arrays.items()}
    d, _ = made(adjoint, name, arrays)
    adjoint.manual_seed(0)
    value = d.sample((4,))
    score = d.log_prob(value)
    assert score.dtype is adjoint.float32
    assert tuple(score.shape) == (4, *d.batch_shape)
    assert score.isfinite().all()
    assert d.support.check(value).all()


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_copies(name, kind):
    arrays = arguments(name, kind, np.random.default_rng(1), (3,))
    d, _ = made(adjoint, name, arrays)
    value = d.sample()
    for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert adjoint.equal(other.log_prob(value), d.log_prob(value))


@pytest.mark.parametrize(
    ("name", "kind"), [(n, k) for n, k in EVERY if getattr(dist, n).has_rsample is True]
)
def test_samples_carry_gradients_to_all_parameters(name, kind):
    arrays = arguments(name, kind, np.random.default_rng(1), (3,))
    d, tensors = made(adjoint, name, arrays, requires_grad=True)
    assert not d.sample((2,)).requires_grad
    grads = adjoint.autograd.grad(d.rsample((2,)).square().sum(), tensors, retain_graph=True)
    assert all(g.isfinite().all() for g in grads)
    wide = d.expand((2, 3)).rsample()
    assert adjoint.autograd.grad(wide.square().sum(), tensors)[0].shape == tensors[0].shape


def test_a_distribution_of_ones_own():
    class Triangle(dist.Distribution):
        arg_constraints = {"width": constraints.positive}  # noqa: RUF012  as in PyTorch
        has_rsample = True

        def __init__(self, width, validate_args=None):
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(0.0, self.width)

        def log_prob(self, value):
            self._validate_sample(value)
            return (2 * value / self.width**2).log()

    d = Triangle(adjoint.tensor([1.0, 2.0]))
    assert repr(d) == "Triangle(width: adjoint.Size([2]))"
    wide = d.expand((3, 2))
    assert wide.width.shape == (3, 2) and type(wide) is Triangle
    assert wide.log_prob(adjoint.ones(3, 2)).shape == (3, 2)
    with pytest.raises(
        ValueError, match="parameter width .* to satisfy the constraint GreaterThan"
    ):
        Triangle(adjoint.tensor([-1.0]))
    with pytest.raises(NotImplementedError, match="Triangle does not implement entropy"):
        d.entropy()
    assert Triangle.support.event_dim == 0
    assert Triangle.support.is_discrete is False


def test_checks_can_be_switched_off():
    with pytest.raises(ValueError, match="scale"):
        dist.Normal(0.0, -1.0)
    dist.Normal(0.0, -1.0, validate_args=False)
    dist.Distribution.set_default_validate_args(False)
    try:
        dist.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="scale"):
            dist.Normal(0.0, -1.0, validate_args=True)
    finally:
        dist.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="True or False"):
        dist.Distribution.set_default_validate_args("yes")


def test_shapes_of_values_are_checked():
    d = dist.Independent(dist.Normal(adjoint.zeros(2, 3), 1.0), 1)
    with pytest.raises(ValueError, match="right-most size"):
        dist.MultivariateNormal(adjoint.zeros(3), adjoint.eye(3)).log_prob(adjoint.zeros(4))
    with pytest.raises(ValueError, match="not broadcastable"):
        d.log_prob(adjoint.zeros(4, 3))
    with pytest.raises(ValueError, match="must be a Tensor, not float"):
        dist.Normal(0.0, 1.0).log_prob(0.5)
    with pytest.raises(ValueError, match="reinterpreted_batch_ndims <= len"):
        dist.Independent(dist.Normal(0.0, 1.0), 1)


def test_what_is_not_defined_is_said():
    class Bare(dist.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        d = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        d._validate_sample(adjoint.tensor(1.0))
    with pytest.raises(NotImplementedError, match="No KL"):
        dist.kl_divergence(d, d)
    with pytest.warns(FutureWarning):
        assert dist.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_divergences_of_ones_own():
    class Special(dist.Normal):
        pass

    p, q = Special(0.0, 1.0), dist.Normal(1.0, 2.0)
    assert dist.kl_divergence(p, q) == dist.kl_divergence(dist.Normal(0.0, 1.0), q)

    @dist.register_kl(Special, dist.Normal)
    def first(p, q):
        return 7

    @dist.register_kl(dist.Normal, Special)
    def second(p, q):
        return 8

    assert dist.kl_divergence(p, q) == 7
    with pytest.warns(RuntimeWarning, match="Ambiguous"):
        assert dist.kl_divergence(p, p) == 7
    with pytest.raises(TypeError, match="expects classes of distributions"):
        dist.register_kl(p, Special)


def test_lazy_parameters_keep_their_gradients():
    logits = adjoint.zeros(3, requires_grad=True)
    d = dist.Categorical(logits=logits)
    with adjoint.no_grad():
        assert "probs" not in d.__dict__
        assert d.probs.requires_grad
    assert d.probs is d.probs


def test_caches_keep_arguments():
    transform = dist.TanhTransform(cache_size=1)
    x = adjoint.tensor([30.0], requires_grad=True)
    y = transform(x)
    assert transform.inv(y) is x
    assert dist.TanhTransform().inv(y).isinf().all()
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        dist.ExpTransform(cache_size=2)
    squashed = dist.TransformedDistribution(dist.Normal(0.0, 50.0), [transform])
    adjoint.manual_seed(0)
    action = squashed.rsample((100,))
    assert squashed.log_prob(action).isfinite().all()


def test_empty_batches_and_scalars():
    assert dist.Normal(adjoint.zeros(0), 1.0).sample((2,)).shape == (2, 0)
    assert dist.Bernoulli(0.5).sample().shape == ()
    assert dist.Beta(1.0, 2.0).rsample().shape == ()
    assert dist.Gamma(adjoint.ones(0), 1.0).rsample().shape == (0,)


def test_no_warning_in_plain_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d = dist.Normal(adjoint.zeros(2), adjoint.ones(2))
        d.log_prob(d.rsample((3,)))
        dist.Categorical(logits=adjoint.zeros(2)).entropy()


def test_distributions_are_loaded_when_first_used():
    unloaded = "assert 'adjoint.distributions' not in sys.modules"
    program = f"import sys, adjoint; {unloaded}; adjoint.distributions.Normal(0.0, 1.0)"
    subprocess.run([sys.executable, "-c", program], check=True)
