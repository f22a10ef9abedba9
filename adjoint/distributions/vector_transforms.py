"""Transforms of vectors, of matrices, and of tensors in pieces."""

from collections.abc import Sequence
from typing import Any

from adjoint.creation.factories import eye
from adjoint.distributions import constraints
from adjoint.distributions.number_transforms import clipped_sigmoid, log_slope_of_tanh
from adjoint.distributions.parameters import sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix
from adjoint.distributions.transform import Transform, require_dims
from adjoint.ops.arranging.arrange import pad
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.shape import cat, stack
from adjoint.ops.elementwise.activation import logsigmoid
from adjoint.ops.matrices.decompositions import linalg_cholesky
from adjoint.tensors.size import Size


class SoftmaxTransform(Transform):
    """Vectors as parts of 1: softmax. Vectors that differ by a constant have one value."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The same; a vector at least."""
        require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors as one part more of 1: each element says how much of the rest is broken off."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _shifted(x: Any) -> Any:
        """Log odds of breaking off, such that zeros give equal parts."""
        count = x.shape[-1]
        return x - (count + 1 - x.new_ones(count).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        part = clipped_sigmoid(self._shifted(x))
        rest = (1 - part).cumprod(-1)
        return pad(part, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        offsets = (y.shape[-1] - y.new_ones(parts.shape[-1]).cumsum(-1)).log()
        return parts.log() - rest.log() + offsets

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of log part + log of what stays, over the elements."""
        odds = self._shifted(x)
        return (-odds + logsigmoid(odds) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One element more."""
        require_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        """One element less."""
        require_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors as Cholesky factors of correlation matrices.

    An element's tanh is the share, with its sign, that an entry has of what is left of its row.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        share = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - share * share).sqrt().cumprod(-1)
        share = share + eye(share.shape[-1], dtype=share.dtype, device=share.device)
        return share * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = pad(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], value=1)
        entries, rest = (tril_matrix_to_vec(part, diag=-1) for part in (y, rest))
        share = entries / rest.sqrt()
        return (share.log1p() - (-share).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of x to the entries below the diagonal."""
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * rest.log().sum(-1) + log_slope_of_tanh(x).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """The matrix that has so many entries below its diagonal."""
        require_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {count}")
        return Size(shape[:-1]) + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        """How many entries are below the diagonal."""
        require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {shape}")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Matrices as Cholesky factors: what is above the diagonal counts for nothing."""

    domain = constraints.independent(constraints.real, 2)
    codomain: Any = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Matrices as positive definite ones, by way of their Cholesky factors."""

    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = super()._call(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return super()._inverse(linalg_cholesky(y))


# ---- transforms of pieces ----


class _Pieces(Transform):
    """Other transforms, each of a piece of a tensor along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("all elements of tseq must be Transforms")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> Any:
        """Whether all are."""
        return all(t.bijective for t in self.transforms)

    def _split(self, value: Any) -> Sequence[Any]:
        raise NotImplementedError

    def _pieces(self, value: Any) -> Sequence[Any]:
        if not -value.ndim <= self.dim < value.ndim:
            raise AssertionError(f"dim {self.dim} is out of range for {value.ndim} dimensions")
        pieces = self._split(value)
        if len(pieces) != len(self.transforms):
            raise AssertionError(f"{len(self.transforms)} transforms, but {len(pieces)} pieces")
        return pieces


class CatTransform(_Pieces):
    """Transforms of pieces that are joined as by cat, with the lengths that are given."""

    _arguments = ("transforms", "dim", "lengths")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.transforms)} transforms, but lengths {self.lengths}")

    @property
    def event_dim(self) -> Any:
        """The most of any transform."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of the whole."""
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domains, joined."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomains, joined."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _split(self, value: Any) -> Sequence[Any]:
        if value.shape[self.dim] != self.length:
            raise AssertionError(
                f"dimension {self.dim} has length {value.shape[self.dim]}, not {self.length}"
            )
        pieces: Sequence[Any] = value.split(self.lengths, self.dim)
        return pieces

    def _call(self, x: Any) -> Any:
        return cat([t(piece) for t, piece in zip(self.transforms, self._pieces(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return cat([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The pieces', joined, or added where a piece is part of an event."""
        parts = []
        for t, before, after in zip(self.transforms, self._pieces(x), self._pieces(y)):
            part = t.log_abs_det_jacobian(before, after)
            parts.append(sum_rightmost(part, self.event_dim - t.event_dim))
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        dim += self.event_dim
        return cat(parts, dim) if dim < 0 else sum(parts)


class StackTransform(_Pieces):
    """Transforms of pieces that are joined as by stack."""

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The domains, stacked."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The codomains, stacked."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _split(self, value: Any) -> Sequence[Any]:
        pieces: Sequence[Any] = value.unbind(self.dim)
        return pieces

    def _call(self, x: Any) -> Any:
        return stack([t(piece) for t, piece in zip(self.transforms, self._pieces(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return stack([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The pieces', stacked."""
        pieces = zip(self.transforms, self._pieces(x), self._pieces(y))
        return stack([t.log_abs_det_jacobian(b, a) for t, b, a in pieces], self.dim)
