"""What all distributions share: shapes, parameters and their checks, and expansion."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from adjoint.autograd.entry_points import grad
from adjoint.autograd.grad_mode import no_grad
from adjoint.call.context import current
from adjoint.distributions.constraints import is_dependent
from adjoint.distributions.parameters import broadcast_all, lazy_property, sum_rightmost
from adjoint.tensors.concrete import has_values
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

__all__ = ["Distribution", "ExponentialFamily"]

Kind = TypeVar("Kind", bound="Distribution")
_NONE = Size()


def _unfit(name: str, constraint: Any, kind: str, shape: Any, who: str) -> str:
    return (
        f"Expected parameter {name} ({kind} of shape {shape}) of distribution {who} to "
        f"satisfy the constraint {constraint!r}"
    )


class Distribution:
    """A distribution of events of `event_shape`, or a batch of them of `batch_shape`.

    `arg_constraints` names its parameters and the sets they lie in; from it follow their checks,
    how they are printed, and `expand`.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments when nothing else is said."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = _NONE,
        event_shape: Any = _NONE,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _adopt(self, validate_args: bool | None, **given: Any) -> None:
        """Begin, with parameters that are broadcast against one another; they are the batch."""
        tensors = broadcast_all(*given.values())
        self.__dict__.update(zip(given, tensors))
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    # ---- shapes and sets ----

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The set that each parameter must lie in, by name."""
        raise self._lack("arg_constraints")

    @property
    def support(self) -> Any:
        """The set that samples lie in."""
        raise self._lack("support")

    def _extended_shape(self, sample_shape: Any = _NONE) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _lack(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not implement {name}")

    # ---- checks ----

    def _validate_parameters(self) -> None:
        try:
            constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`, so that its arguments cannot be "
                "checked; say `arg_constraints = {}`, or validate_args=False",
                stacklevel=3,
            )
            return
        for name, constraint in constraints.items():
            later = isinstance(getattr(type(self), name, None), lazy_property)
            if is_dependent(constraint) or (later and name not in self.__dict__):
                continue
            value = getattr(self, name)
            self._require(
                constraint.check(value),
                value,
                partial(_unfit, name, constraint),
            )

    def _checked(self, value: Any) -> Any:
        """A value to score; an error where it has the wrong shape or cannot be drawn."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"the value must be a Tensor, not {type(value).__name__}")
        shape, event = value.shape, self._event_shape
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {event}."
            )
        expected = self._batch_shape + event
        for one, other in zip(reversed(shape), reversed(expected)):
            if 1 not in (one, other) and one != other:
                raise ValueError(
                    f"a value of shape {shape} is not broadcastable with batch_shape+event_shape, "
                    f"{expected}"
                )
        self._validate_support(value)

    def _validate_support(self, value: Any) -> None:
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support`, so that samples cannot be checked; "
                "define it, or say validate_args=False",
                stacklevel=4,
            )
            return
        self._require(
            support.check(value),
            value,
            lambda kind, shape, who: (
                f"Expected value argument ({kind} of shape {shape}) to be within the support "
                f"({support!r}) of the distribution {who}"
            ),
        )

    def _require(self, fits: Any, value: Any, complaint: Callable[[str, Any, str], str]) -> None:
        """Raise an error unless all of a value fits; in a compiled program, at each call."""
        valid = upper.seen_below("_is_all_true", fits) if current().modes else NotImplemented
        if valid is NotImplemented:
            valid = fits.all()

        def check(valid: Any, value: Any) -> None:
            if not valid:
                who = repr(self) if tracing is None else type(self).__name__
                said = complaint(type(value).__name__, tuple(value.shape), who)
                raise ValueError(f"{said}, but found invalid values:\n{value}")

        tracing = current().tracing
        if tracing is None or has_values(valid):
            check(valid, value)
        else:
            tracing.ask(check, (valid, value), None)

    # ---- expansion ----

    def expand(self: Kind, batch_shape: Any, _instance: Any = None) -> Kind:
        """The same distribution as a batch of another shape, without copies of parameters."""
        shape = Size(batch_shape)
        new = self._get_checked_instance(type(self), _instance)
        for name, value in list(self.__dict__.items()):
            if self._is_kept(name):
                new.__dict__[name] = self._expanded(name, value, shape)
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new.__dict__["_validate_args"] = self._validate_args
        answer: Kind = new
        return answer

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """An instance to fill in: the one that was given, or a new one without parameters."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own, "
                f"which the expand of {cls.__name__} cannot know: it must define expand, too"
            )
        return object.__new__(type(self)) if _instance is None else _instance

    def _is_kept(self, name: str) -> bool:
        """Whether an attribute goes along; what was derived from parameters is derived again."""
        derived = isinstance(getattr(type(self), name, None), lazy_property)
        return name in self._event_dims() or not derived

    def _event_dims(self) -> dict[str, int]:
        """For each parameter the dimensions of its own, those of its base classes included."""
        found: dict[str, int] = {}
        inherited = [vars(kind).get("arg_constraints") for kind in type(self).__mro__]
        for constraints in [self.arg_constraints, *inherited]:
            if isinstance(constraints, dict):
                found |= {name: c.event_dim for name, c in constraints.items()}
        return found

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        """An attribute for another batch shape."""
        if isinstance(value, Distribution):
            return value.expand(batch_shape)
        dims = self._event_dims().get(name)
        if dims is None:
            return value
        return value.expand(batch_shape + value.shape[value.ndim - dims :])

    # ---- what subclasses answer ----

    @property
    def mean(self) -> Any:
        """The expectation."""
        raise self._lack("mean")

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        raise self._lack("mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise self._lack("variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Samples, of shape sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples through which gradients flow to the parameters."""
        raise self._lack("rsample")

    def sample_n(self, n: int) -> Any:
        """Old name of sample((n,))."""
        warnings.warn("use sample((n,)) instead of sample_n(n)", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at a value."""
        raise self._lack("log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to a value."""
        raise self._lack("cdf")

    def icdf(self, value: Any) -> Any:
        """The quantile of a probability."""
        raise self._lack("icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that can be drawn, along dimension 0."""
        raise self._lack("enumerate_support")

    def entropy(self) -> Any:
        """The entropy of each distribution of the batch."""
        raise self._lack("entropy")

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _enumerated(self, values: Any, expand: bool) -> Any:
        """Values along dimension 0, as enumerate_support answers them."""
        ones = (1,) * len(self._batch_shape)
        values = values.reshape((-1, *ones))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def __repr__(self) -> str:
        shown = {
            name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__
        }
        inner = [f"{name}: {v if v.numel() == 1 else v.shape}" for name, v in shown.items()]
        return f"{type(self).__name__}({', '.join(inner)})"


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), θ> - F(θ) + k(x)) with natural parameters θ.

    Entropies and divergences follow from the log normaliser F and its gradient.
    """

    @property
    def _mean_carrier_measure(self) -> float:
        raise self._lack("_mean_carrier_measure")

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise self._lack("_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise self._lack("_log_normalizer")

    def _bregman(self) -> tuple[list[Any], Any, Any]:
        """The natural parameters, the log normaliser there, and its gradient."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        return parameters, normalizer, grad(normalizer.sum(), parameters, create_graph=True)

    def entropy(self) -> Any:
        """The entropy, from the log normaliser."""
        parameters, normalizer, slopes = self._bregman()
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes):
            dims = parameter.ndim - len(self._batch_shape)
            result = result - sum_rightmost(parameter * slope, dims)
        return result
