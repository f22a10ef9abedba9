"""Distributions of choices between categories."""

import math
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import arange, eye, full, ones_like, tensor
from adjoint.distributions import constraints
from adjoint.distributions.counts import Binomial
from adjoint.distributions.distribution import Distribution
from adjoint.distributions.parameters import EitherParameter, broadcast_all
from adjoint.dtypes import int64
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.positions import one_hot
from adjoint.ops.arranging.shape import broadcast_tensors
from adjoint.ops.sampling.random import multinomial
from adjoint.tensors.size import Size

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]

_NONE = Size()
_WEIGHTS: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}


class Categorical(EitherParameter, Distribution):
    """The index of a category, chosen with the probabilities along the last dimension."""

    arg_constraints: Any = _WEIGHTS
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        ((name, weights),) = self._choose(probs, logits).items()
        if weights.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = weights / weights.sum(-1, keepdim=True)
        else:
            self.logits = weights - weights.logsumexp(-1, keepdim=True)
        super().__init__(weights.shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return int(self._param.shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The indices of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        """Undefined."""
        kind = {"dtype": self.probs.dtype, "device": self.probs.device}
        return full(self._extended_shape(), math.nan, **kind)

    variance = mean

    @property
    def mode(self) -> Any:
        """The likeliest category."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Indices, of shape sample_shape + batch_shape."""
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        return multinomial(rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of a category."""
        index = self._checked(value).long().unsqueeze(-1)
        index, logits = broadcast_tensors(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """The entropy."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All indices."""
        every = arange(self._num_events, dtype=int64, device=self._param.device)
        return self._enumerated(every, expand)


class OfCategories(Distribution):
    """Events that are vectors over the categories of a Categorical."""

    arg_constraints: Any = _WEIGHTS
    _categorical: Categorical

    def _begin(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        event = self._categorical.param_shape[-1:]
        batch = self._categorical.batch_shape
        Distribution.__init__(self, batch, event, validate_args=validate_args)

    @property
    def probs(self) -> Any:
        """The probabilities of the categories."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def _param(self) -> Any:
        return self._categorical._param  # noqa: SLF001  its own part

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape


class OneHotCategorical(OfCategories):
    """A category as a vector with a 1 at its index."""

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._begin(probs, logits, validate_args)

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The likeliest category."""
        return self._as_vectors(self.probs.argmax(-1))

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        return self.probs * (1 - self.probs)

    def _as_vectors(self, index: Any) -> Any:
        return one_hot(index, self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Vectors of 0 and 1."""
        return self._as_vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of a category."""
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self) -> Any:
        """The entropy."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """The unit vectors."""
        count = self._event_shape[0]
        every: Any = eye(count, dtype=self._param.dtype, device=self._param.device)
        ones = (1,) * len(self._batch_shape)
        every = every.reshape((count, *ones, count))
        return every.expand((count, *self._batch_shape, count)) if expand else every


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradients that the probabilities would have in place of samples."""

    has_rsample = True

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfCategories):
    """How often each category is chosen in total_count choices."""

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("total_count must be one int for all of the batch")
        self.total_count = total_count
        self._begin(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts of at most total_count."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """The variance of each count."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Counts, of shape sample_shape + batch_shape + (categories,)."""
        shape = Size(sample_shape)
        with no_grad():
            choices = self._categorical.sample((self.total_count, *shape)).movedim(0, -1)
            counts = choices.new_zeros(self._extended_shape(shape))
            return counts.scatter_add(-1, choices, ones_like(choices)).type_as(self.probs)

    def entropy(self) -> Any:
        """The entropy, by the binomial distribution of each count."""
        total = tensor(float(self.total_count))
        counts = Binomial(self.total_count, probs=self.probs)
        several = counts.enumerate_support(expand=False)[1:]
        orders = (counts.log_prob(several).exp() * (several + 1).lgamma()).sum([0, -1])
        return total * self._categorical.entropy() - (total + 1).lgamma() + orders

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of counts."""
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return orders + (logits * value).sum(-1)
