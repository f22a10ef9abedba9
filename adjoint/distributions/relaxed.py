"""Relaxed choices: numbers that approach 0 and 1 as the temperature falls, with gradients."""

import math
from typing import Any

from adjoint.distributions import constraints
from adjoint.distributions.categorical import OfCategories
from adjoint.distributions.composite import TransformedDistribution
from adjoint.distributions.counts import CHANCE
from adjoint.distributions.distribution import Distribution
from adjoint.distributions.parameters import (
    EitherParameter,
    broadcast_all,
    clamp_probs,
    probs_to_logits,
    standard_uniform,
)
from adjoint.distributions.transformed import of_base
from adjoint.distributions.transforms import ExpTransform, SigmoidTransform
from adjoint.ops.elementwise.activation import softplus
from adjoint.tensors.size import Size

__all__ = [
    "ExpRelaxedCategorical",
    "LogitRelaxedBernoulli",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]

_NONE = Size()


class LogitRelaxedBernoulli(EitherParameter, Distribution):
    """The log odds of relaxed choices between 0 and 1."""

    arg_constraints: Any = CHANCE
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._adopt(validate_args, **self._choose(probs, logits))

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        uniform = standard_uniform(self._extended_shape(sample_shape), self._param)
        noise = probs_to_logits(uniform, is_binary=True)
        return (noise + probs_to_logits(self.probs, is_binary=True)) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        logits, value = broadcast_all(self.logits, self._checked(value))
        distance = logits - value * self.temperature
        return self.temperature.log() + distance - 2 * softplus(distance, threshold=100.0)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that approach coin flips as the temperature falls."""

    arg_constraints: Any = CHANCE
    support = constraints.unit_interval
    has_rsample = True
    temperature = of_base("temperature")
    logits = of_base("logits")
    probs = of_base("probs")

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(OfCategories):
    """The logarithms of relaxed choices between categories."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._begin(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        uniform = clamp_probs(standard_uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-uniform.log()).log()) / self.temperature
        return scores.log_softmax(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        count = self._event_shape[0]
        logits, value = broadcast_all(self.logits, self._checked(value))
        scores = (logits - value * self.temperature).log_softmax(-1).sum(-1)
        return scores + (math.lgamma(count) + (count - 1) * self.temperature.log())


class RelaxedOneHotCategorical(TransformedDistribution):
    """Parts of 1 that approach a choice of one category as the temperature falls."""

    arg_constraints: Any = OfCategories.arg_constraints
    support = constraints.simplex
    has_rsample = True
    temperature = of_base("temperature")
    logits = of_base("logits")
    probs = of_base("probs")

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
