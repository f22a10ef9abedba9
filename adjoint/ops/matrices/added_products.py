"""A product of matrices or vectors, added to something: addmm and its relatives."""

from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.half_precision import is_half, wide
from adjoint.call.out import write_out
from adjoint.dtypes import refuse_factor
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import expand, unsqueeze
from adjoint.ops.batch_rules import of_rank
from adjoint.ops.dims import broadcast_shape
from adjoint.ops.matrices.matmul import (
    check_ndim,
    matmul,
    mH,
    outer_each,
    product_each,
    same_dtype,
    shapes_of,
)
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import sum
from adjoint.tensors.changes import apply_inplace


def _scaled(value: Any, factor: Any) -> Any:
    """value times a number, without work for 1."""
    return value if factor == 1 else value * factor


def _scaled_back(grad: Value, factor: Any) -> Value:
    """The gradient through a multiplication by a number."""
    return grad if factor == 1 else grad * conj(factor)


def _added_tangent(
    product: Any, result: Any, sources: Any, tangents: Any, beta: Any, alpha: Any
) -> Any:
    """beta * dinput + alpha * (dfirst second + first dsecond), without what has no tangent."""
    first, second = sources
    shift, on_first, on_second = tangents
    total = None if shift is None else expand(_scaled(shift, beta), result.shape)
    for on, pair in ((on_first, (on_first, second)), (on_second, (first, on_second))):
        if on is not None:
            term = _scaled(product(*pair), alpha)
            total = term if total is None else total + term
    return total


def _added(input: Any, product: Any, beta: Any, alpha: Any, outer: bool = False) -> Any:
    """beta * input + alpha * product in the product's shape; beta 0 drops whatever input is."""
    lead = product.ndim - input.ndim
    sizes = zip(input.shape, product.shape[max(lead, 0) :])
    if lead < 0 or any(own not in (1, wanted) for own, wanted in sizes):
        raise RuntimeError(
            f"input of shape {tuple(input.shape)} can't be expanded to the product's shape "
            f"{tuple(product.shape)}"
        )
    kind = input.dtype
    if is_half(kind) and product.dtype != kind:
        input = wide(input)  # rounded once, with the product
    total = _sum_of(input, product, beta, alpha, outer)
    return total if total.dtype == kind else total.astype(kind)


def _product(xp: Any, input: Any, first: Any, second: Any) -> Any:
    """What is added to input, of 16-bit floats not rounded yet."""
    same_dtype(input, first, second)
    unrounded = xp.wide_product(first, second)
    return xp.matmul(first, second) if unrounded is None else unrounded


def _sum_of(input: Any, product: Any, beta: Any, alpha: Any, outer: bool) -> Any:
    """beta * input + alpha * product; those of outer products may be bools, as their factors."""
    if not outer and input.dtype.kind == "b":
        raise NotImplementedError("products of matrices are not implemented for bool")
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if outer or isinstance(factor, complex):
            refuse_factor(factor, input.dtype, name)
    if input.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    product = _scaled(product, alpha)
    return product if beta == 0 else product + _scaled(input, beta)


def _added_each(
    input: Any, batched: bool, product: Any, beta: Any, alpha: Any, outer: bool = False
) -> Any:
    """For each element beta * input + alpha * product; one of the two has the batch."""
    if batched and product.shape[0] != input.shape[0]:
        product = expand(product, (input.shape[0], *product.shape[1:]))
    if not batched and input.ndim >= product.ndim:
        raise RuntimeError(
            f"input of shape {tuple(input.shape)} can't be expanded to the product's shape "
            f"{tuple(product.shape[1:])}"
        )
    same_dtype(input, product)
    return _sum_of(of_rank(input, batched, product.ndim - 1), product, beta, alpha, outer)


def _checked_product(
    ranks: tuple[int, int], first: Any, first_batched: bool, second: Any, second_batched: bool
) -> Any:
    """The product for each element of operands of these ranks, in a batch of one or more."""
    shapes = first.shape[first_batched:], second.shape[second_batched:]
    counts = [shape[0] for shape in shapes if len(shape) == 3]  # of matrices in a batch
    if (len(shapes[0]), len(shapes[1])) != ranks or len(set(counts)) > 1:
        raise RuntimeError(
            f"expected operands of {ranks[0]} and {ranks[1]} dimensions that fit, got shapes "
            f"{tuple(shapes[0])} and {tuple(shapes[1])}"
        )
    same_dtype(first, second)
    if first_batched or second_batched:
        return product_each(first, first_batched, second, second_batched)
    return unsqueeze(matmul(first, second), 0)


def _addmm_each(
    input: Any,
    input_batched: bool,
    mat1: Any,
    mat1_batched: bool,
    mat2: Any,
    mat2_batched: bool,
    beta: Any,
    alpha: Any,
) -> Any:
    product = _checked_product((2, 2), mat1, mat1_batched, mat2, mat2_batched)
    return _added_each(input, input_batched, product, beta, alpha)


@general(
    input=lambda grad, beta: _scaled_back(grad, beta),
    mat1=lambda grad, mat2, alpha: _scaled_back(grad @ mH(mat2), alpha),
    mat2=lambda grad, mat1, alpha: _scaled_back(mH(mat1) @ grad, alpha),
    vmap=_addmm_each,
    inplace=True,
    exact_out=True,
    autocast="narrow",
    jvp=lambda result, mat1, mat2, beta, alpha, input_tangent, mat1_tangent, mat2_tangent: (
        _added_tangent(
            matmul,
            result,
            (mat1, mat2),
            (input_tangent, mat1_tangent, mat2_tangent),
            beta,
            alpha,
        )
    ),
)
def addmm(
    xp: Any, input: Array, mat1: Array, mat2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Array:
    """beta * input + alpha * (mat1 @ mat2)."""
    check_ndim(mat1, mat2)
    return _added(input, _product(xp, input, mat1, mat2), beta, alpha)


def _addmv_each(
    input: Any,
    input_batched: bool,
    mat: Any,
    mat_batched: bool,
    vec: Any,
    vec_batched: bool,
    beta: Any,
    alpha: Any,
) -> Any:
    product = _checked_product((2, 1), mat, mat_batched, vec, vec_batched)
    return _added_each(input, input_batched, product, beta, alpha)


@general(
    input=lambda grad, beta: _scaled_back(grad, beta),
    mat=lambda grad, vec, alpha: _scaled_back(unsqueeze(grad, -1) * conj(vec), alpha),
    vec=lambda grad, mat, alpha: _scaled_back(mH(mat) @ grad, alpha),
    vmap=_addmv_each,
    inplace="function",
    jvp=lambda result, mat, vec, beta, alpha, input_tangent, mat_tangent, vec_tangent: (
        _added_tangent(
            matmul,
            result,
            (mat, vec),
            (input_tangent, mat_tangent, vec_tangent),
            beta,
            alpha,
        )
    ),
    exact_out=True,
)
def addmv(xp: Any, input: Array, mat: Array, vec: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """beta * input + alpha * (mat @ vec)."""
    if mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"expected a matrix and a vector, got shapes {shapes_of(mat, vec)}")
    return _added(input, _product(xp, input, mat, vec), beta, alpha)


def _baddbmm_each(
    input: Any,
    input_batched: bool,
    batch1: Any,
    batch1_batched: bool,
    batch2: Any,
    batch2_batched: bool,
    beta: Any,
    alpha: Any,
) -> Any:
    product = _checked_product((3, 3), batch1, batch1_batched, batch2, batch2_batched)
    return _added_each(input, input_batched, product, beta, alpha)


@general(
    input=lambda grad, beta: _scaled_back(grad, beta),
    batch1=lambda grad, batch2, alpha: _scaled_back(grad @ mH(batch2), alpha),
    batch2=lambda grad, batch1, alpha: _scaled_back(mH(batch1) @ grad, alpha),
    vmap=_baddbmm_each,
    inplace=True,
    autocast="narrow",
    jvp=lambda result, batch1, batch2, beta, alpha, input_tangent, batch1_tangent, batch2_tangent: (
        _added_tangent(
            matmul,
            result,
            (batch1, batch2),
            (input_tangent, batch1_tangent, batch2_tangent),
            beta,
            alpha,
        )
    ),
    exact_out=True,
)
def baddbmm(
    xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Array:
    """beta * input + alpha * (batch1 @ batch2), one product for each batch."""
    return _added(input, _batch_product(xp, input, batch1, batch2), beta, alpha)


def _addbmm_each(
    input: Any,
    input_batched: bool,
    batch1: Any,
    batch1_batched: bool,
    batch2: Any,
    batch2_batched: bool,
    beta: Any,
    alpha: Any,
) -> Any:
    product = sum(_checked_product((3, 3), batch1, batch1_batched, batch2, batch2_batched), -3)
    return _added_each(input, input_batched, product, beta, alpha)


@general(
    input=lambda grad, beta: _scaled_back(grad, beta),
    batch1=lambda grad, batch2, alpha: _scaled_back(grad @ mH(batch2), alpha),
    batch2=lambda grad, batch1, alpha: _scaled_back(mH(batch1) @ grad, alpha),
    vmap=_addbmm_each,
    inplace=False,
    exact_out=True,
    wide=True,
    autocast="narrow",
    jvp=lambda result, batch1, batch2, beta, alpha, input_tangent, batch1_tangent, batch2_tangent: (
        _added_tangent(
            lambda a, b: sum(matmul(a, b), 0),
            result,
            (batch1, batch2),
            (input_tangent, batch1_tangent, batch2_tangent),
            beta,
            alpha,
        )
    ),
)
def addbmm(
    xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Array:
    """beta * input + alpha * the sum of batch1 @ batch2 over the batches."""
    product = _batch_product(xp, input, batch1, batch2)
    return _added(input, xp.sum(product, axis=0, dtype=product.dtype), beta, alpha)


@composite(home="Tensor")
def addbmm_(input: Value, *batches: Any, **factors: Any) -> Value:
    """In-place form of addbmm; a tensor that was broadcast gets the shape of the result."""
    values = addbmm.bind((input, *batches), factors)
    if values[0] is input and broadcast_shape(input.shape, _summed_shape(values)) != input.shape:
        return write_out("addbmm_", addbmm.run(values), input)
    return apply_inplace(addbmm, values)


def _summed_shape(values: list[Any]) -> tuple[int, ...]:
    """The shape of what addbmm adds; that of input, which is refused later, if they don't fit."""
    first, second = values[1], values[2]
    return (first.shape[1], second.shape[2]) if first.ndim == second.ndim == 3 else ()


def _batch_product(xp: Any, input: Any, batch1: Any, batch2: Any) -> Any:
    check_ndim(batch1, batch2, ndim=3)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(f"batches differ in size: {shapes_of(batch1, batch2)}")
    return _product(xp, input, batch1, batch2)


def _addr_each(
    input: Any,
    input_batched: bool,
    vec1: Any,
    vec1_batched: bool,
    vec2: Any,
    vec2_batched: bool,
    beta: Any,
    alpha: Any,
) -> Any:
    product = outer_each(vec1, vec1_batched, vec2, vec2_batched)
    return _added_each(input, input_batched, product, beta, alpha, outer=True)


@general(
    input=lambda grad, beta: _scaled_back(grad, beta),
    vec1=lambda grad, vec2, alpha: _scaled_back(grad @ conj(vec2), alpha),
    vec2=lambda grad, vec1, alpha: _scaled_back(conj(vec1) @ grad, alpha),
    vmap=_addr_each,
    promotes="input vec1 vec2",
    inplace=True,
    jvp=lambda result, vec1, vec2, beta, alpha, input_tangent, vec1_tangent, vec2_tangent: (
        _added_tangent(
            lambda a, b: unsqueeze(a, -1) * b,
            result,
            (vec1, vec2),
            (input_tangent, vec1_tangent, vec2_tangent),
            beta,
            alpha,
        )
    ),
)
def addr(
    xp: Any, input: Array, vec1: Array, vec2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Array:
    """beta * input + alpha * the outer product of two vectors."""
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"expected two vectors, got shapes {shapes_of(vec1, vec2)}")
    return _added(input, xp.multiply(vec1[:, None], vec2), beta, alpha, outer=True)
