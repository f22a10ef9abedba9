"""Sets that values must lie in: arguments of distributions, and what they can draw.

`check` answers for each event whether it lies in the set; an event has `event_dim` dimensions.
"""

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.creation.factories import full
from adjoint.distributions.parameters import all_rightmost
from adjoint.dtypes import bool_
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.shape import cat as cat_tensors, stack as stack_tensors
from adjoint.ops.elementwise.comparison import isclose
from adjoint.ops.matrices.decompositions import linalg_cholesky_ex
from adjoint.ops.matrices.spectra import linalg_eigvalsh

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values; its instances are the sets, its subclasses kinds of sets."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """For each event, whether it lies in the set."""
        raise NotImplementedError(f"{type(self).__name__} does not implement check")

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise AssertionError(reason)


# ---- sets that depend on other values ----


class _Dependent(Constraint):
    """A set that depends on other values, so that nothing can be said about a single one."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} of a dependent constraint is not known in advance")
        return value

    @property
    def is_discrete(self) -> Any:
        """Whether the set is discrete, where that was said."""
        return self._known("is_discrete")

    @property
    def event_dim(self) -> Any:
        """The dimensions of an event, where they were said."""
        return self._known("event_dim")

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> "_Dependent":
        """The same, with more said about it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Any) -> Any:
        """Cannot be answered."""
        raise ValueError("a dependent constraint cannot check a value by itself")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other values."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of instances that on their class is a dependent constraint."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Any) -> "_DependentProperty":  # type: ignore[override]
        """Decorate a function, when more was said about the set."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---- sets made of other sets ----


class _Around(Constraint):
    """A set that is described by another."""

    def __init__(self, base_constraint: Any) -> None:
        kind = type(base_constraint).__name__
        _require(
            isinstance(base_constraint, Constraint), f"base_constraint is a {kind}, no Constraint"
        )
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> Any:
        """As the set it is made of."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """As the set it is made of."""
        return self.base_constraint.event_dim

    def _require_dims(self, value: Any, dims: int) -> None:
        if value.ndim < dims:
            raise ValueError(f"Expected value.dim() >= {dims} but got {value.ndim}")


class _IndependentConstraint(_Around):
    """Events of several events, each of which must lie in a set."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        _require(
            isinstance(reinterpreted_batch_ndims, int) and reinterpreted_batch_ndims >= 0,
            f"reinterpreted_batch_ndims must be a count, not {reinterpreted_batch_ndims!r}",
        )
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> Any:
        """More dimensions than the set's it is made of."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        """Whether all parts of each event lie in the set."""
        self._require_dims(value, self.event_dim)
        return all_rightmost(self.base_constraint.check(value), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        inner = f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"
        return f"{type(self).__name__[1:]}({inner})"


class MixtureSameFamilyConstraint(_Around):
    """What a mixture can draw, from what its components can."""

    def check(self, value: Any) -> Any:
        """Whether every component could draw each event."""
        self._require_dims(value, self.event_dim)
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return all_rightmost(result, result.ndim - (value.ndim - self.event_dim))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Pieces(Constraint):
    """A tensor in pieces along a dimension, each of which has its own set."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        _require(
            all(isinstance(c, Constraint) for c in cseq), "all elements of cseq must be Constraints"
        )
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> Any:
        """Whether any piece is."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:
        """The most dimensions of a piece."""
        return max(c.event_dim for c in self.cseq)

    def _require_dim(self, value: Any) -> None:
        _require(
            -value.ndim <= self.dim < value.ndim,
            f"dim {self.dim} is out of range for a value of {value.ndim} dimensions",
        )


class _Cat(_Pieces):
    """Pieces that are joined as by cat."""

    def __init__(
        self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        _require(
            len(self.lengths) == len(self.cseq),
            f"{len(self.lengths)} lengths were given for {len(self.cseq)} constraints",
        )

    def check(self, value: Any) -> Any:
        """The answers of the pieces, joined."""
        self._require_dim(value)
        pieces = value.split(self.lengths, self.dim)
        return cat_tensors([c.check(v) for c, v in zip(self.cseq, pieces)], self.dim)


class _Stack(_Pieces):
    """Pieces that are joined as by stack."""

    @property
    def event_dim(self) -> Any:
        """The most dimensions of a piece, and one more where they are stacked inside events."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        """The answers of the pieces, stacked."""
        self._require_dim(value)
        pieces = value.unbind(self.dim)
        return stack_tensors([c.check(v) for c, v in zip(self.cseq, pieces)], self.dim)


# ---- sets of numbers ----


class _Bounded(Constraint):
    """Numbers between bounds, of which a subclass says the names and whether they belong."""

    _bounds: tuple[str, ...]

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__[1:]}({bounds})"


class _Above(_Bounded):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Below(_Bounded):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(_Bounded):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


class _Real(Constraint):
    """All numbers, and the infinities; not nan."""

    def check(self, value: Any) -> Any:
        """Whether it is a number."""
        return value == value  # noqa: PLR0124  nan alone differs from itself


class _GreaterThan(_Above):
    """Numbers above a bound."""

    def check(self, value: Any) -> Any:
        """Whether it lies above."""
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers that are not below a bound."""

    def check(self, value: Any) -> Any:
        """Whether it does not lie below."""
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below a bound."""

    def check(self, value: Any) -> Any:
        """Whether it lies below."""
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers between two bounds, which belong to them."""

    def check(self, value: Any) -> Any:
        """Whether it lies between."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers between two bounds, of which the lower belongs to them."""

    def check(self, value: Any) -> Any:
        """Whether it lies between."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    """Whole numbers between two bounds, which belong to them."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        """Whether it is whole and lies between."""
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThanEq):
    """Whole numbers from a bound on."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        """Whether it is whole and does not lie below."""
        return (value % 1 == 0) & super().check(value)


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        """Whether it is one of them."""
        return (value == 0) | (value == 1)


# ---- sets of vectors ----


class _OneHot(_Boolean):
    """Vectors of one 1 among zeros."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        """Whether there is one 1 and nothing else."""
        return super().check(value).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors without negative elements whose sum is 1."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        """Whether they are parts of 1, to six digits."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Below):
    """Vectors of counts whose sum is not above a bound."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        """Whether there are not too many."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    __repr__ = Constraint.__repr__


# ---- sets of matrices ----


class _Matrices(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrices):
    """Square matrices without entries above the diagonal."""

    def check(self, value: Any) -> Any:
        """Whether nothing is above the diagonal."""
        return all_rightmost(value.tril() == value, 2)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with positive diagonals."""

    def check(self, value: Any) -> Any:
        """Whether it could be a Cholesky factor."""
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: their rows have length 1."""

    def check(self, value: Any) -> Any:
        """Whether it could be such a factor, to what its data type resolves."""
        tolerance = 10 * finfo(value.dtype).eps * value.shape[-1]
        lengths = value.detach().square().sum(-1).sqrt()
        return super().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(_Matrices):
    """Square matrices."""

    def check(self, value: Any) -> Any:
        """Whether there are as many rows as columns."""
        is_square = value.shape[-2] == value.shape[-1]
        return full(value.shape[:-2], is_square, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Any) -> Any:
        """Whether it is its own transpose, to six digits."""
        square = super().check(value)
        return all_rightmost(isclose(value, value.mT, atol=1e-6), 2) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        """Whether no eigenvalue is negative."""
        symmetric = super().check(value)
        return (linalg_eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Any) -> Any:
        """Whether it has a Cholesky factor."""
        symmetric = super().check(value)
        return linalg_cholesky_ex(value).info == 0 if symmetric.all() else symmetric


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
