"""Invertible functions of tensors that know by how much they stretch volumes."""

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

from adjoint.creation import eye, full_like, zeros_like
from adjoint.distributions import constraints
from adjoint.distributions.parameters import (
    broadcast_all,
    lazy_property,
    sum_rightmost,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from adjoint.ops.activation import logsigmoid, softplus
from adjoint.ops.arrange import pad
from adjoint.ops.conversion import finfo
from adjoint.ops.decompositions import linalg_cholesky
from adjoint.ops.facts import broadcast_shapes
from adjoint.ops.shape import cat, stack
from adjoint.size import Size

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function from a domain to a codomain, with `inv` and `log_abs_det_jacobian`.

    With cache_size=1 the last pair of argument and value is kept, so that the inverse of a value
    is the argument itself. A subclass defines `_call` and `_inverse`; `_arguments` names the
    attributes that its constructor takes, by which it is compared and copied.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _arguments: tuple[str, ...] = ()

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, not {cache_size}")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Transform | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> Any:
        """The dimensions of an event, where they are those of its image."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("use .domain.event_dim or .codomain.event_dim: they differ")
        return self.domain.event_dim

    @property
    def inv(self) -> "Transform":
        """The inverse; its inverse is this transform again."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 or -1: whether a monotonous transform grows or falls."""
        raise NotImplementedError(f"{type(self).__name__} does not implement sign")

    def with_cache(self, cache_size: int = 1) -> "Transform":
        """The same transform with another size of its cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is not Transform.__init__ and not self._arguments:
            raise NotImplementedError(f"{type(self).__name__} does not implement with_cache")
        given = (getattr(self, name) for name in self._arguments)
        return type(self)(*given, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        if not self._arguments:
            return self is other or type(self).__init__ is Transform.__init__
        return all(_same(getattr(self, a), getattr(other, a)) for a in self._arguments)

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        """The value at x."""
        if self._cache_size == 0:
            return self._call(x)
        before, value = self._cached_x_y
        if x is not before:
            value = self._call(x)
            self._cached_x_y = x, value
        return value

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        argument, before = self._cached_x_y
        if y is not before:
            argument = self._inverse(y)
            self._cached_x_y = argument, y
        return argument

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement _call")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement _inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the factor by which volumes grow at x, whose value is y."""
        raise NotImplementedError(f"{type(self).__name__} does not implement log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of a value."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of an argument."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _same(one: Any, other: Any) -> bool:
    """Whether two arguments of a transform are equal; tensors in all elements."""
    answer = one == other
    return bool(answer.all()) if hasattr(answer, "all") else bool(answer)


def _require_dims(shape: Any, count: int) -> None:
    if len(shape) < count:
        raise ValueError(f"Too few dimensions on input: {len(shape)} of {count}")


class _InverseTransform(Transform):
    """The inverse of another transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)  # noqa: SLF001  its other half
        self._inv: Transform = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Where the other ends."""
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """Where the other starts."""
        return self._inv.domain

    @property
    def bijective(self) -> Any:
        """As the other."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """As the other."""
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        """The other."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The inverse of the other with that cache."""
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)  # noqa: SLF001  its other half

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The other's, negated."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the other's argument."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the other's value."""
        return self._inv.forward_shape(shape)


# ---- transforms of transforms ----


class ComposeTransform(Transform):
    """Transforms one after another."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def _side(self, near: str, far: str, parts: Sequence[Transform]) -> Any:
        """The set at one end; its events have the dimensions that all parts need."""
        if not parts:
            return constraints.real
        here = getattr(parts[0], near)
        dims = getattr(parts[-1], far).event_dim
        for part in reversed(parts):
            begin, end = getattr(part, near).event_dim, getattr(part, far).event_dim
            dims = max(dims + begin - end, begin)
        return constraints.independent(here, dims - here.event_dim) if dims > here.event_dim else here

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Where the first part starts."""
        return self._side("domain", "codomain", self.parts)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """Where the last part ends."""
        return self._side("codomain", "domain", self.parts[::-1])

    @lazy_property
    def bijective(self) -> Any:
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        return math.prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, the last one first."""
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same parts, each with that cache."""
        same = self._cache_size == cache_size
        return self if same else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the parts', each over the dimensions of an event."""
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims = self.domain.event_dim
        total: Any = 0
        for part, before, after in zip(self.parts, values, values[1:]):
            begin, end = part.domain.event_dim, part.codomain.event_dim
            total = sum_rightmost(part.log_abs_det_jacobian(before, after), dims - begin) + total
            dims += end - begin
        return total

    def forward_shape(self, shape: Any) -> Any:
        """The shape after all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape before all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform, with more of the last dimensions counted as one event."""

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The other's, of larger events."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The other's, of larger events."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        """As the other."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """As the other."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        _require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        _require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The other's, summed over an event."""
        inner = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(inner, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        """As the other."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """As the other."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        inner = f"{self.base_transform!r}, {self.reinterpreted_batch_ndims}"
        return f"{type(self).__name__}({inner})"


class ReshapeTransform(Transform):
    """Events of one shape as events of another; no volume changes."""

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"in_shape {in_shape} and out_shape {out_shape} have different numbers of elements"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Real events of the one shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Real events of the other shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """0 for each event."""
        return x.new_zeros(x.shape[: x.ndim - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        """The shape with its end replaced."""
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape with its end put back."""
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Any, old: Size, new: Size) -> Size:
    _require_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected a shape that ends in {old} but got {shape}")
    return Size(shape[:cut]) + new


# ---- transforms of numbers ----


class _Increasing(Transform):
    """Of real numbers, one by one, and growing."""

    domain = constraints.real
    bijective = True
    sign = 1


class ExpTransform(_Increasing):
    """exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The argument itself."""
        return x


def _clipped_sigmoid(x: Any) -> Any:
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(_Increasing):
    """1 / (1 + exp(-x)), kept off 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(y) + log(1 - y), from x."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of sigmoid(x)."""
        return -softplus(-x)


class TanhTransform(_Increasing):
    """tanh(x); with a cache, values that round to 1 still have an inverse."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(1 - y²), from x."""
        return _log_slope_of_tanh(x)


def _log_slope_of_tanh(x: Any) -> Any:
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|, whose inverse is taken to be positive."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """x ** exponent, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        """The exponent's."""
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |exponent y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """loc + scale * x."""

    bijective = True
    _arguments = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> Any:
        """The dimensions of an event, as they were given."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Real events."""
        if self._event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        """The scale's."""
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)  # type: ignore[operator]
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |scale|, summed over an event."""
        if isinstance(self.scale, Number):
            result = full_like(x, math.log(abs(self.scale)))  # type: ignore[arg-type]
        else:
            result = self.scale.abs().log()
        if self._event_dim:
            shape = (*result.shape[: -self._event_dim], -1)
            result = result.reshape(shape).sum(-1)
        return result.expand(x.shape[: x.ndim - self._event_dim])

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the parameters."""
        return broadcast_shapes(shape, *(getattr(p, "shape", ()) for p in (self.loc, self.scale)))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution, to the unit interval."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """What the distribution can draw."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


# ---- transforms of vectors and matrices ----


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
        _require_dims(shape, 1)
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
        part = _clipped_sigmoid(self._shifted(x))
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
        _require_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        """One element less."""
        _require_dims(shape, 1)
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
        return 0.5 * rest.log().sum(-1) + _log_slope_of_tanh(x).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """The matrix that has so many entries below its diagonal."""
        _require_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {count}")
        return Size(shape[:-1]) + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        """How many entries are below the diagonal."""
        _require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {shape}")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Matrices as Cholesky factors: what is above the diagonal counts for nothing."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

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
