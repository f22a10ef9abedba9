"""Distributions made of others: of independent parts, of transformed samples, of mixtures."""

from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.distributions import constraints
from adjoint.distributions.categorical import Categorical
from adjoint.distributions.distribution import Distribution
from adjoint.distributions.parameters import sum_rightmost
from adjoint.distributions.transforms import ComposeTransform, Transform
from adjoint.tensors.size import Size

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]

_NONE = Size()


class Independent(Distribution):
    """A distribution whose last batch dimensions count as dimensions of an event."""

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"but got {reinterpreted_batch_ndims} for {batch}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        event = batch[cut:] + base_distribution.event_shape
        super().__init__(batch[:cut], event, validate_args=validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name == "base_dist":
            return value.expand(batch_shape + self._event_shape[: self.reinterpreted_batch_ndims])
        return super()._expanded(name, value, batch_shape)

    @property
    def has_rsample(self) -> Any:
        """As the parts."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> Any:
        """As the parts, where there is one."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """The parts', for all of an event."""
        inner = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(inner, dims) if dims else inner

    @property
    def mean(self) -> Any:
        """The means of the parts."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """The modes of the parts."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """The variances of the parts."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Samples of the parts."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples of the parts, with gradients."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The sum of the parts'."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The sum of the parts'."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The part's, where there is one."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("the Cartesian product of the parts is not enumerated")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of transformed samples of another."""

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(
            isinstance(t, Transform) for t in self.transforms
        ):
            raise ValueError(f"transforms must be a Transform or a list of them, not {transforms}")
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        begin, end = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < begin:
            raise ValueError(
                f"base_distribution needs a shape of at least {begin} dimensions, but has {shape}"
            )
        own_dims = len(base_distribution.event_shape)
        result = Size(whole.forward_shape(shape))
        needed = Size(whole.inverse_shape(result))
        if shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - own_dims])
        if begin > own_dims:
            base_distribution = Independent(base_distribution, begin - own_dims)
        self.base_dist = base_distribution
        cut = len(result) - max(end, own_dims + end - begin)
        super().__init__(result[:cut], result[cut:], validate_args=validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name != "base_dist":
            return super()._expanded(name, value, batch_shape)
        shape = batch_shape + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return value.expand(shape[: len(shape) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """Where the last transform ends."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> Any:
        """As the base."""
        return self.base_dist.has_rsample

    def _transformed(self, value: Any) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Transformed samples of the base."""
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Transformed samples of the base, with gradients."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The base's, less the logarithms of how much volumes grow."""
        value = self._checked(value)
        dims = len(self._event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            stretch = transform.log_abs_det_jacobian(before, value)
            total = total - sum_rightmost(stretch, dims - transform.domain.event_dim)
            value = before
        base = self.base_dist.log_prob(value)
        return total + sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _turned(self, value: Any) -> Any:
        """1 - value where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The base's, at the argument of a value."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(self.base_dist._checked(value)))  # noqa: SLF001

    def icdf(self, value: Any) -> Any:
        """The base's, transformed."""
        return self._transformed(self.base_dist.icdf(self._turned(value)))


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of another."""

    arg_constraints: Any = {}

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("the mixture distribution must be a Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("the component distribution must be a Distribution")
        weights, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for one, other in zip(reversed(weights), reversed(batch[:-1])):
            if 1 not in (one, other) and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                    f"`component_distribution.batch_shape` ({batch[:-1]})"
                )
        self._num_component = mixture_distribution.logits.shape[-1]
        if self._num_component != batch[-1]:
            raise ValueError(
                f"the mixture has {self._num_component} components, which does not equal "
                f"`component_distribution.batch_shape[-1]` ({batch[-1]})"
            )
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch[:-1], event, validate_args=validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name == "_component_distribution":
            return value.expand((*batch_shape, self._num_component))
        return super()._expanded(name, value, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        """What the components can draw."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """Of the components' indices."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """Of the components, along its last batch dimension."""
        return self._component_distribution

    def _mixed(self, value: Any) -> Any:
        """The mean of what the components answer."""
        probs = self.mixture_distribution.probs
        ones = (1,) * self._event_ndims
        return (probs.reshape((*probs.shape, *ones)) * value).sum(-1 - self._event_ndims)

    def _for_each(self, value: Any) -> Any:
        return value.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        """The mean of the components' means."""
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The components' mean variance, and the variance of their means."""
        parts = self.component_distribution
        spread = (parts.mean - self._for_each(self.mean)).square()
        return self._mixed(parts.variance) + self._mixed(spread)

    def cdf(self, x: Any) -> Any:
        """The mean of the components'."""
        return (
            self.component_distribution.cdf(self._for_each(x)) * self.mixture_distribution.probs
        ).sum(-1)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the mean density."""
        each = self.component_distribution.log_prob(self._for_each(self._checked(x)))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Of each component a sample, of which one is chosen."""
        with no_grad():
            index = self.mixture_distribution.sample(sample_shape)
            each = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            ones = (1,) * (self._event_ndims + 1)
            index = index.reshape((*index.shape, *ones))
            index = index.expand((*each.shape[:dim], 1, *self._event_shape))
            return each.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        inner = f"\n  {self.mixture_distribution},\n  {self.component_distribution}"
        return f"{type(self).__name__}({inner})"
