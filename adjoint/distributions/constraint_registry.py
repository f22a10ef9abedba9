"""Transforms from unconstrained tensors to those of a set, for optimisers and samplers.

`biject_to` answers bijections; `transform_to` answers what is good for optimising coordinates,
which may map several tensors to one.
"""

from collections.abc import Callable
from numbers import Number
from typing import Any

from adjoint.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """For each kind of constraint a function that makes a transform to it."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Give the factory for a kind of constraint, of which an instance may be given."""
        if factory is None:
            return lambda later: self.register(constraint, later)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """A transform from all real tensors to those that a constraint allows."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(end, Number) for end in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    move = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), move])


def _to_half_line(bound: str, direction: int) -> Callable[[Any], transforms.Transform]:
    def factory(constraint: Any) -> transforms.Transform:
        move = transforms.AffineTransform(getattr(constraint, bound), direction)
        return transforms.ComposeTransform([transforms.ExpTransform(), move])

    return factory


def _to_pieces(registry: ConstraintRegistry) -> None:
    """The factories for constraints that are made of others."""

    def independent(constraint: Any) -> transforms.Transform:
        inner = registry(constraint.base_constraint)
        return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> transforms.Transform:
        inner = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(inner, constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    for factory in (independent, cat, stack):
        registry.register(getattr(constraints, factory.__name__), factory)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda constraint: transforms.identity_transform)
    for _kind in (constraints.greater_than, constraints.greater_than_eq):
        _registry.register(_kind, _to_half_line("lower_bound", 1))
    _registry.register(constraints.less_than, _to_half_line("upper_bound", -1))
    for _between in (constraints.interval, constraints.half_open_interval):
        _registry.register(_between, _to_interval)
    _registry.register(
        constraints.corr_cholesky, lambda constraint: transforms.CorrCholeskyTransform()
    )
    _to_pieces(_registry)

biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(
    constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform()
)
for _matrices in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_matrices, lambda constraint: transforms.PositiveDefiniteTransform())
