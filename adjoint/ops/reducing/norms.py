"""Norms of vectors, and what is made of them."""

import math
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.out import write_out
from adjoint.dtypes import FLOAT, as_dtype, can_cast, category_of, from_numpy_dtype
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import clone, contiguous
from adjoint.ops.arranging.shape import narrow
from adjoint.ops.arranging.writing import fill
from adjoint.ops.batch_rules import reduced
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.dims import normal_dim, normal_dims
from adjoint.ops.elementwise.arithmetic import abs as absolute, sgn
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.elementwise.selection import where
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.reducing.extremes import amax, amin
from adjoint.ops.reducing.reduction import kept, reduced_count, sum
from adjoint.tensors.concrete import concrete, has_values
from adjoint.tensors.tensor import AS_IS, Tensor


def _norm_rule(grad: Value, input: Value, result: Value, p: Any, dim: Any, keepdim: bool) -> Value:
    """The derivative of a norm; 0, a subgradient, where the norm has a corner."""
    if p == 0:
        return None
    grad, result = kept(grad, input.shape, dim, keepdim), kept(result, input.shape, dim, keepdim)
    if p == 1 or reduced_count(input.shape, dim) == 1:
        return grad * sgn(input)
    if math.isinf(p):
        size = absolute(input)
        if holds_complex(input):  # of half precision: the result is rounded, the sizes are not
            result = (amax if p > 0 else amin)(size, () if dim is None else dim, True)
        attained = size == result
        return sgn(input) * attained * (grad / sum(attained, dim, True))
    zero = result == 0
    scale = where(zero, 0.0, grad * where(zero, 1.0, result) ** (1 - p))
    if p == 2:
        return input * scale
    size = absolute(input)
    if p > 2:
        return input * size ** (p - 2) * scale
    flat = input == 0
    return sgn(input) * where(flat, 0.0, where(flat, 1.0, size) ** (p - 1)) * scale


def _norm_tangent(
    input: Value, input_tangent: Value, result: Value, p: Any, dim: Any, keepdim: bool
) -> Value:
    """The gradient of a norm, along the tangent."""
    slope = _norm_rule(fill(result, 1), input, result, p, dim, keepdim)
    if slope is None:
        return None
    moved = sum(conj(slope) * input_tangent, dim, keepdim)
    return real(moved) if holds_complex(moved) else moved


@general(
    input=_norm_rule,
    vmap=lambda input, input_shape, p, dim, keepdim: reduced(
        p_norm, input_shape, [input, p, dim, keepdim]
    ),
    wide="rules",
    node_name="LinalgVectorNormBackward0",
    saved_as={"p": "ord"},
    home=None,
    jvp=_norm_tangent,
    ordered=True,
    exact_out=True,
)
def p_norm(xp: Any, input: Array, p: float = 2, dim: Any = None, keepdim: bool = False) -> Array:
    """The norm of exponent p of all elements over dim, as one vector."""
    if category_of(input.dtype) < FLOAT:
        raise RuntimeError(f"a norm is for floating and complex tensors, not {input.dtype}")
    axes = normal_dims(dim, input.ndim)
    kind = from_numpy_dtype(input.dtype).to_real().numpy_dtype
    if p != 0 and math.prod([input.shape[axis] for axis in axes]) == 1:  # a power might overflow
        size = xp.abs(input)
        return size if keepdim else size.squeeze(axes)
    size = widened(input)
    if p == 2 and size.dtype.kind == "f":
        squares = xp.squares_along(size, axes)
        return narrowed(xp.sqrt(squares if keepdim else squares.squeeze(axes)), kind)
    size = xp.abs(size)
    if math.isinf(p):
        if reduced_count(input.shape, dim) == 0:
            raise RuntimeError(f"the norm of exponent {p} does not exist for no elements")
        extreme = size.max if p > 0 else size.min
        return narrowed(extreme(axis=axes, keepdims=keepdim), kind)
    if p == 0:
        return narrowed((size != 0).sum(axis=axes, keepdims=keepdim), kind)
    if p == 1:
        return narrowed(size.sum(axis=axes, keepdims=keepdim), kind)
    if p == 2:
        return narrowed(xp.sqrt((size * size).sum(axis=axes, keepdims=keepdim)), kind)
    total = xp.power(size, p).sum(axis=axes, keepdims=keepdim)
    return narrowed(xp.power(total, 1 / p), kind)


@composite
def norm(
    input: Value,
    p: float | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Value:
    """The norm of exponent p over dim: a number, 'fro' (the same as 2) or 'nuc'."""
    if dtype is not None:
        input = _unnarrowed(input, as_dtype(dtype))
    options = {} if out is None else {"out": out}
    if p is None or p == "fro":
        if isinstance(dim, (tuple, list)) and len(dim) > 2:
            raise RuntimeError(f"norm: 'fro' is for one or two dims, got {tuple(dim)}; give p=2")
        return p_norm(input, 2, dim, keepdim, **options)
    if p == "nuc":
        dims = tuple(range(input.ndim)) if dim is None else dim
        if not isinstance(dims, (tuple, list)) or len(dims) != 2:
            raise RuntimeError(
                f"norm: 'nuc' is for matrices: dim must be two dimensions, not {dim}"
            )
        nuclear = COMPOSITES["linalg_matrix_norm"](input, "nuc", dims, keepdim)
        return nuclear if out is None else write_out("norm", nuclear, out, True)
    if isinstance(p, str):
        raise RuntimeError(f"norm: p must be a number, 'fro' or 'nuc', not '{p}'")
    return p_norm(input, p, dim, keepdim, **options)


def _unnarrowed(input: Any, target: Any) -> Any:
    """The input in a type that holds all its values."""
    kind = input.dtype
    if kind.is_complex and not target.is_complex:
        raise RuntimeError(f"norm: dtype should be complex for complex inputs, but got {target}")
    if not can_cast(kind, target) or target.itemsize < kind.itemsize or kind.category < FLOAT:
        raise RuntimeError(f"norm: {kind} can't be converted to {target} without loss")
    return input.to(target)


@composite
def dist(input: Value, other: Value, p: float = 2) -> Value:
    """The norm of exponent p of input - other."""
    return norm(input - other, p)


@composite(exact_out=True)
def renorm(input: Value, p: float, dim: int, maxnorm: float) -> Value:
    """The slices along dim, those whose norm exceeds maxnorm scaled down to it."""
    maxnorm = maxnorm.item() if isinstance(maxnorm, Tensor) else maxnorm
    return contiguous(input * _scale(_norms(input, p, dim, maxnorm), maxnorm))


def _norms(input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """The norms of the slices along dim, which are not to exceed maxnorm."""
    if p <= 0:
        raise RuntimeError(f"renorm: p must be positive, not {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: maxnorm must be >= 0, not {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: the input needs at least 2 dimensions, got {input.ndim}")
    place = normal_dim(dim, input.ndim)
    return p_norm(input, p, [d for d in range(input.ndim) if d != place], True)


def _scale(norms: Any, maxnorm: Any) -> Any:
    """What slices of these norms are multiplied by, for them not to exceed maxnorm."""
    return where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@composite(home="Tensor")
def renorm_(input: Value, p: float, dim: int, maxnorm: float) -> Value:
    """In-place form of renorm."""
    maxnorm = maxnorm.item() if isinstance(maxnorm, Tensor) else maxnorm
    if not input.requires_grad and input.layer is None and has_values(input):  # nothing recorded
        norms = _norms(concrete(input), p, dim, maxnorm)
        if (norms > maxnorm).any():
            input.mul_(Tensor(_scale(norms, maxnorm), AS_IS))
        else:  # nothing is to be written, but a change counted
            narrow(input, 0, 0, 0).mul_(1)
        return input
    return input.copy_(renorm(clone(input), p, dim, maxnorm))


@composite(method=False)
def norm_except_dim(v: Value, pow: int = 2, dim: int = 0) -> Value:
    """The norm of each slice along dim, with all dimensions kept; of everything if dim is -1."""
    if dim == -1:
        return p_norm(v, pow)
    place = normal_dim(dim, v.ndim)
    return p_norm(v, pow, [d for d in range(v.ndim) if d != place], True)
