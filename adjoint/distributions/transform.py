"""Invertible functions of tensors that know by how much they stretch volumes, and their chains."""

import math
from collections.abc import Sequence
from typing import Any

from adjoint.creation.factories import zeros_like
from adjoint.distributions import constraints
from adjoint.distributions.parameters import lazy_property, sum_rightmost
from adjoint.tensors.size import Size


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
            self._inv = InverseTransform(self)
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
        kind: Any = type(self)
        copy: Transform = kind(*given, cache_size=cache_size)
        return copy

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


def require_dims(shape: Any, count: int) -> None:
    """An error for a shape of fewer dimensions than an event has."""
    if len(shape) < count:
        raise ValueError(f"Too few dimensions on input: {len(shape)} of {count}")


class InverseTransform(Transform):
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
        return isinstance(other, InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"

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
        return (
            constraints.independent(here, dims - here.event_dim) if dims > here.event_dim else here
        )

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
            self._inv._inv = self  # noqa: SLF001  its other half
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
        require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        require_dims(y.shape, self.codomain.event_dim)
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
    require_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected a shape that ends in {old} but got {shape}")
    return Size(shape[:cut]) + new
