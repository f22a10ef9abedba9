"""Distributions of vectors and matrices that have a covariance."""

import math
import warnings
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import arange, eye
from adjoint.distributions import constraints
from adjoint.distributions.distribution import Distribution, ExponentialFamily
from adjoint.distributions.gammas import Beta, Chi2
from adjoint.distributions.parameters import (
    broadcast_all,
    half_log_2_pi,
    lazy_property,
    standard_normal,
)
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.questions import broadcast_shapes
from adjoint.ops.arranging.shape import broadcast_tensors, cat
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.decompositions import linalg_cholesky
from adjoint.ops.matrices.linalg import cholesky_solve, linalg_slogdet, linalg_solve_triangular
from adjoint.tensors.size import Size

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]

_NONE = Size()
_COVARIANCES: Any = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


def times_vector(matrix: Any, vector: Any) -> Any:
    """matrix @ vector, for batches of both."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def squared_distance(factor: Any, vector: Any) -> Any:
    """The squared length of a vector in units of the Cholesky factor of a covariance."""
    if factor.ndim == 2:  # one solution for all vectors
        columns = vector.reshape(-1, vector.shape[-1]).mT
        return solved(factor, columns).square().sum(-2).reshape(vector.shape[:-1])
    return solved(factor, vector.unsqueeze(-1)).square().sum((-2, -1))


def solved(factor: Any, matrix: Any) -> Any:
    """factor⁻¹ @ matrix for a lower triangular factor, for batches of both."""
    return linalg_solve_triangular(factor, matrix, upper=False)


def half_log_det(factor: Any) -> Any:
    """Half of the logarithm of a covariance's determinant, from its Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def factor_of_inverse(precision: Any) -> Any:
    """The Cholesky factor of a matrix's inverse: that of the matrix, seen from its other end."""
    turned = linalg_cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solved(turned, identity)


class _WithCovariance(Distribution):
    """Given one of a covariance, its inverse and its Cholesky factor; it answers for all."""

    _unbroadcasted_scale_tril: Any

    def _choose(self, **given: Any) -> tuple[str, Any]:
        """The name of the matrix that was given, and the matrix."""
        chosen = {name: value for name, value in given.items() if value is not None}
        if len(chosen) != 1:
            raise self._ambiguous(f"exactly one of {', '.join(given)} may be specified")
        ((name, matrix),) = chosen.items()
        if matrix.ndim < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        return name, matrix

    @staticmethod
    def _ambiguous(reason: str) -> Exception:
        return ValueError(reason)

    def _set_matrix(self, name: str, matrix: Any, batch_shape: Size) -> None:
        """Keep a matrix for all of the batch."""
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))

    def _set_factor(self, name: str, matrix: Any) -> None:
        """Keep the Cholesky factor of the covariance."""
        find: Any = {"covariance_matrix": linalg_cholesky, "precision_matrix": factor_of_inverse}
        self._unbroadcasted_scale_tril = find[name](matrix) if name in find else matrix

    def _for_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._for_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._for_batch(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        identity = eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
        inverse = solved(factor, identity)
        return self._for_batch(inverse.mT @ inverse)


class MultivariateNormal(_WithCovariance):
    """Normally distributed vectors with mean loc."""

    arg_constraints: Any = {"loc": constraints.real_vector, **_COVARIANCES}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._choose(
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        batch = Size(broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self._set_matrix(name, matrix, batch)
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        each = self._unbroadcasted_scale_tril.square().sum(-1)
        return each.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + times_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        factor = self._unbroadcasted_scale_tril
        distance = squared_distance(factor, self._checked(value) - self.loc)
        return -self._event_shape[0] * half_log_2_pi - 0.5 * distance - half_log_det(factor)

    def entropy(self) -> Any:
        """The entropy."""
        constant = self._event_shape[0] * (0.5 + half_log_2_pi)
        return (constant + half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """Normally distributed vectors whose covariance is W Wᵀ + diag(D), with few columns in W.

    Inverse and determinant come from those of the small matrix 1 + Wᵀ D⁻¹ W.
    """

    arg_constraints: Any = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.ndim < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dims"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            shapes = ", ".join(str(tuple(p.shape)) for p in (loc, cov_factor, cov_diag))
            raise ValueError(
                f"Incompatible batch shapes: loc, cov_factor, cov_diag are {shapes}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = (
            columns[0][..., 0],
            columns[1],
            columns[2][..., 0],
        )
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        small = (cov_factor.mT / cov_diag.unsqueeze(-2)) @ cov_factor
        identity = eye(small.shape[-1], dtype=small.dtype, device=small.device)
        self._capacitance_tril = linalg_cholesky(small + identity)
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The mean."""
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The variance of each element."""
        each = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return each.expand(self._batch_shape + self._event_shape)

    def _for_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance, taken where all variances from D are 1."""
        unit = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / unit
        identity = eye(factor.shape[-2], dtype=factor.dtype, device=factor.device)
        return self._for_batch(unit * linalg_cholesky(factor @ factor.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._for_batch(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        root = self._root_of_correction()
        diagonal = self._unbroadcasted_cov_diag.reciprocal().diag_embed()
        return self._for_batch(diagonal - root.mT @ root)

    def _root_of_correction(self) -> Any:
        """The matrix A for which the inverse of the covariance is D⁻¹ - Aᵀ A."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        return solved(self._capacitance_tril, scaled)

    def _log_det(self) -> Any:
        """The logarithm of the covariance's determinant."""
        logarithms = self._unbroadcasted_cov_diag.log().sum(-1)
        return 2 * half_log_det(self._capacitance_tril) + logarithms

    def _squared_distance(self, vector: Any) -> Any:
        """The squared length of a vector in units of the covariance."""
        plain = (vector.square() / self._unbroadcasted_cov_diag).sum(-1)
        return plain - times_vector(self._root_of_correction(), vector).square().sum(-1)

    def rsample(self, sample_shape: Any = _NONE) -> Any:
        """Samples with gradients."""
        shape = self._extended_shape(sample_shape)
        common = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        own = standard_normal(shape, self.loc) * self._unbroadcasted_cov_diag.sqrt()
        return self.loc + times_vector(self._unbroadcasted_cov_factor, common) + own

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        distance = self._squared_distance(self._checked(value) - self.loc)
        return -self._event_shape[0] * half_log_2_pi - 0.5 * (self._log_det() + distance)

    def entropy(self) -> Any:
        """The entropy."""
        constant = self._event_shape[0] * (0.5 + half_log_2_pi)
        return (constant + 0.5 * self._log_det()).expand(self._batch_shape)


class Wishart(_WithCovariance, ExponentialFamily):
    """Sums of df outer products of normally distributed vectors with themselves."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._choose(
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        (df,) = broadcast_all(matrix.new_tensor(df) if isinstance(df, int | float) else df)
        size = matrix.shape[-1]
        batch = Size(broadcast_shapes(matrix.shape[:-2], df.shape))
        self.df = df.expand(batch)
        if (df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if (df < size).any():
            warnings.warn(
                f"samples are likely to be singular where df lies between {size - 1} and {size}",
                stacklevel=2,
            )
        self._set_matrix(name, matrix, batch)
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._set_factor(name, matrix)

    @staticmethod
    def _ambiguous(reason: str) -> Exception:
        return AssertionError(reason)

    @property
    def arg_constraints(self) -> Any:
        """df lies above the size of the matrices less 1."""
        return {**_COVARIANCES, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    @property
    def _df_of_matrix(self) -> Any:
        return self.df[..., None, None]

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._df_of_matrix * self.covariance_matrix

    @property
    def mode(self) -> Any:
        """The likeliest matrix, where there is one."""
        factor = self._df_of_matrix - self._event_shape[-1] - 1
        return where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        """The variance of each entry."""
        matrix = self.covariance_matrix
        each = matrix.diagonal(dim1=-2, dim2=-1)
        outer = each.unsqueeze(-1) * each.unsqueeze(-2)
        return self._df_of_matrix * (matrix.square() + outer)

    def rsample(self, sample_shape: Any = _NONE, max_try_correction: int | None = None) -> Any:
        """Samples with gradients; singular ones are drawn again, up to so many times."""
        sample = self._drawn(sample_shape)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            regular = self.support.check(sample)[..., None, None]
            if regular.all():
                break
            sample = where(regular, sample, self._drawn(sample_shape))
        return sample

    def _drawn(self, sample_shape: Any) -> Any:
        """Samples by Bartlett's decomposition: the Cholesky factor has independent entries."""
        shape = self._extended_shape(sample_shape)
        steps = arange(shape[-1], dtype=self.df.dtype, device=self.df.device)
        lengths = Chi2(self.df.unsqueeze(-1) - steps).rsample(sample_shape).sqrt()
        lengths = lengths.clamp(min=finfo(lengths.dtype).eps)
        noise = standard_normal(shape, lengths).tril(-1) + lengths.diag_embed()
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value, df, size = self._checked(value), self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        inverse_times = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            (df - size - 1) / 2 * linalg_slogdet(value).logabsdet
            - inverse_times / 2
            - df * (size * math.log(2) / 2 + half_log_det(factor))
            - (df / 2).mvlgamma(size)
        )

    def entropy(self) -> Any:
        """The entropy."""
        df, size = self.df, self._event_shape[-1]
        halves = arange(size, dtype=df.dtype, device=df.device) / 2
        slope = (df.unsqueeze(-1) / 2 - halves).digamma().sum(-1)
        unit = size * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)
        half = (df - size - 1) / 2
        return (size + 1) * unit + (df / 2).mvlgamma(size) - half * slope + df * size / 2

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        log_det = linalg_slogdet(-2 * x).logabsdet
        return half * (size * math.log(2) - log_det) + half.mvlgamma(size)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; the greater the concentration, the nearer to 1."""

    arg_constraints: Any = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        shape = self.concentration.shape
        super().__init__(shape, (dim, dim), validate_args=validate_args)

    @lazy_property
    def _beta(self) -> Any:
        """The squared length of each row left of the diagonal."""
        eta = self.concentration
        count: Any = arange(self.dim - 1, dtype=eta.dtype, device=eta.device)
        rows = cat([count.new_zeros(1), count])
        return Beta(rows + 0.5, (eta + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * rows)

    def sample(self, sample_shape: Any = _NONE) -> Any:
        """Rows of random directions, and lengths that leave the diagonal its part."""
        with no_grad():
            lengths = self._beta.sample(sample_shape).sqrt().unsqueeze(-1)
            arrows = standard_normal(self._extended_shape(sample_shape), lengths).tril(-1)
            size = arrows.square().sum(-1, keepdim=True).sqrt()
            entries = lengths * arrows / where(size == 0, 1.0, size)
            rest = (1 - entries.square().sum(-1)).clamp(min=finfo(entries.dtype).tiny)
            return entries + rest.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        eta, rows = self.concentration, self.dim - 1
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (eta - 1).unsqueeze(-1) + self.dim - arange(2, self.dim + 1, device=eta.device)
        last = eta + 0.5 * rows
        constant = 0.5 * rows * math.log(math.pi) + (last - 0.5).mvlgamma(rows)
        return (order * diagonal.log()).sum(-1) - constant + last.lgamma() * rows
