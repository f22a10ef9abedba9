"""torch.sparse's functions, made of ops on elements: so are their derivatives, of any order."""

from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.context import is_recording
from adjoint.dtypes import FLOAT, real_factor
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import sparse_coo, sparse_csr, strided, to
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.scattering import scatter_reduce
from adjoint.ops.arranging.shape import expand, reshape, t, unsqueeze
from adjoint.ops.arranging.writing import index_add
from adjoint.ops.composites import overridable
from adjoint.ops.dims import normal_dim, normal_dims, product as count_of
from adjoint.ops.elementwise.powers import exp, log
from adjoint.ops.matrices.matmul import matmul, same_dtype, shapes_of
from adjoint.ops.op import multilinear
from adjoint.ops.reducing.reduction import sum as total
from adjoint.ops.reducing.sorting import as_index
from adjoint.ops.sparse.layers import (
    Sparse,
    coordinates,
    layout_of,
    meeting,
    refused,
    sparse_of,
    take_over,
)
from adjoint.ops.sparse.parts import (
    coalesce,
    elements_of,
    from_coordinates,
    to_layout,
    with_elements,
)
from adjoint.ops.sparse.patterns import places_of
from adjoint.tensors.tensor import AS_IS, Tensor

# ---- products ----


@multilinear(
    elements=lambda grad, rows, columns, other: total(
        index_select(grad, 0, rows) * conj(index_select(other, 0, columns)), -1
    ),
    other=lambda grad, elements, rows, columns, other_shape: coordinate_product(
        conj(elements), grad, columns, rows, other_shape[0]
    ),
    autocast="narrow",
    home=None,
)
def coordinate_product(
    xp: Any, elements: Array, other: Array, rows: Array, columns: Array, count: int
) -> Array:
    """A matrix of `count` rows, of which some elements are kept, times a dense one."""
    return xp.sparse_product(rows, columns, elements, other, count)


def _kept(tensor: Any) -> tuple[Any, Any]:
    """A sparse tensor with each place once, and its elements, which lead back to it."""
    whole = coalesce(tensor) if layout_of(tensor) is sparse_coo else tensor
    return whole, elements_of(whole)


def _check_matrices(name: str, first: Any, second: Any) -> None:
    for tensor in (first, second):
        layer = sparse_of(tensor)
        if tensor.ndim != 2 or (layer is not None and len(layer.sparse_sizes()) != 2):
            raise RuntimeError(
                f"{name}(): matrices expected, got shapes {shapes_of(first, second)}, or dense "
                "dimensions in a sparse tensor"
            )
    if first.shape[1] != second.shape[0]:
        raise RuntimeError(f"{name}(): shapes can't be multiplied: {shapes_of(first, second)}")
    same_dtype(first, second)


def _rows_and_columns(whole: Any) -> tuple[Any, Any]:
    rows, columns = _layer(whole).indices()
    return Tensor(rows, AS_IS), Tensor(columns, AS_IS)


def _layer(tensor: Any) -> Sparse:
    layer = sparse_of(tensor)
    if layer is None:
        raise RuntimeError("expected a sparse tensor, got a strided one")
    return layer


def _by_dense(sparse: Any, other: Any) -> Any:
    whole, elements = _kept(sparse)
    return coordinate_product(elements, other, *_rows_and_columns(whole), sparse.shape[0])


def _of_both(first: Any, second: Any) -> Any:
    """The product of two sparse matrices, whose gradients are kept where these have elements."""
    (left, elements), (right, others) = _kept(first), _kept(second)
    one, two, places = meeting(_layer(left), _layer(right))
    terms = index_select(elements, 0, Tensor(one, AS_IS)) * index_select(
        others, 0, Tensor(two, AS_IS)
    )
    size = (first.shape[0], second.shape[1])
    return to_layout(
        coalesce(from_coordinates(terms, Tensor(places, AS_IS), size)), layout_of(first)
    )


def mm(mat1: Value, mat2: Value, reduce: str | None = None) -> Value:
    """The product of matrices of which one or both are sparse; their gradients are as sparse.

    With `reduce` ("sum", "mean", "amax", "amin") a row of mat1, in layout sparse_csr, combines its
    products with rows of mat2 otherwise than by their sum.
    """
    if reduce is not None:
        return _reduced_product(mat1, mat2, reduce)
    _check_matrices("sparse.mm", mat1, mat2)
    first, second = sparse_of(mat1), sparse_of(mat2)
    if first is not None and second is not None:
        return _of_both(mat1, mat2)
    if first is not None:
        return _by_dense(mat1, mat2)
    if second is not None:
        return t(_by_dense(t(mat2), t(mat1)))
    return matmul(mat1, mat2)


def _reduced_product(mat1: Any, mat2: Any, reduce: str) -> Any:
    """A sparse matrix times a dense one, its products combined row by row."""
    if layout_of(mat1) is not sparse_csr or layout_of(mat2) is not strided:
        raise NotImplementedError(
            "sparse.mm(): reduce needs a first matrix of layout sparse_csr and a dense second one; "
            f"got {layout_of(mat1).name} and {layout_of(mat2).name}"
        )
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise ValueError(f"sparse.mm(): reduce must be sum, mean, amax or amin, got {reduce!r}")
    _check_matrices("sparse.mm", mat1, mat2)
    rows, columns = _rows_and_columns(mat1)
    terms = unsqueeze(elements_of(mat1), 1) * index_select(mat2, 0, columns)
    places = expand(unsqueeze(rows, 1), tuple(terms.shape))
    blank = mat2.detach().new_zeros((mat1.shape[0], mat2.shape[1]))
    return scatter_reduce(blank, 0, places, terms, reduce, include_self=False)


@overridable
def addmm(
    input: Value, mat1: Value, mat2: Value, *, beta: complex = 1, alpha: complex = 1
) -> Value:
    """beta * input + alpha * (mat1 @ mat2), mat1 being sparse; its gradient is as sparse."""
    product = mm(mat1, mat2)
    if product.dtype is not mat1.dtype and input.dtype is mat1.dtype:
        input = to(input, product.dtype)  # as autocast has cast the others
    return input * real_factor(beta, mat1) + product * real_factor(alpha, mat1)


@overridable
def sampled_addmm(
    input: Value,
    mat1: Value,
    mat2: Value,
    *,
    beta: complex = 1,
    alpha: complex = 1,
    out: Value | None = None,
) -> Value:
    """beta * input + alpha * (mat1 @ mat2) where input, in layout sparse_csr, has values."""
    if layout_of(input) is not sparse_csr:
        raise refused("sparse.sampled_addmm", layout_of(input))
    _check_matrices("sparse.sampled_addmm", mat1, mat2)
    size = (mat1.shape[0], mat2.shape[1])
    if tuple(input.shape) != size:
        raise RuntimeError(
            f"sparse.sampled_addmm(): input must have the shape of the product, {list(size)}, got "
            f"{list(input.shape)}"
        )
    same_dtype(input, mat1)
    rows, columns = _rows_and_columns(input)
    terms = index_select(mat1, 0, rows) * index_select(t(mat2), 0, columns)
    made = with_elements(
        elements_of(input) * real_factor(beta, mat1) + total(terms, 1) * real_factor(alpha, mat1),
        input.detach(),
    )
    return made if out is None else _written("sparse.sampled_addmm", made, out)


def _written(name: str, result: Any, out: Any) -> Any:
    """A tensor given as out=, with a result of its layout and data type."""
    if result.requires_grad or (out.requires_grad and is_recording()):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad"
        )
    if layout_of(out) is not layout_of(result) or out.dtype is not result.dtype:
        raise RuntimeError(
            f"{name}(): expected out of layout {layout_of(result).name} and {result.dtype.name}, "
            f"got {layout_of(out).name} and {out.dtype.name}"
        )
    return take_over(out, result)


# ---- sums ----


def sum(input: Value, dim: Any = None, dtype: Any = None) -> Value:
    """The sum over dim: sparse, unless all dimensions with indices are among them."""
    whole = coalesce(input)
    elements = elements_of(whole)
    if dim is None:
        return total(elements, dtype=dtype)
    layer = _layer(whole)
    depth = len(layer.sparse_sizes())
    dims = normal_dims(dim, len(layer.shape))
    inner = [d - depth + 1 for d in dims if d >= depth]
    if dtype is not None:
        elements = elements.to(dtype)
    if inner:
        elements = total(elements, inner)
    kept = [d for d in range(depth) if d not in dims]
    if not kept:
        return total(elements, 0)
    size = tuple([n for d, n in enumerate(layer.shape) if d not in dims])
    return coalesce(from_coordinates(elements, Tensor(layer.indices()[kept], AS_IS), size))


# ---- shares ----


def _shares(name: str, input: Any, dim: int, dtype: Any, logarithm: bool) -> Any:
    """Softmax, or its logarithm, over the values along dim; what has no value counts as -inf."""
    if layout_of(input) is not sparse_coo:
        raise refused(f"sparse.{name}", layout_of(input))
    whole = coalesce(input)
    layer = coordinates(_layer(whole))
    depth = len(layer.sparse_sizes())
    at = normal_dim(dim, len(layer.shape))
    elements = elements_of(whole)
    if dtype is not None:
        elements = elements.to(dtype)
    elif elements.dtype.category < FLOAT:
        elements = elements.to(elements.new_zeros(()).float().dtype)
    if at >= depth:
        function = elements.log_softmax if logarithm else elements.softmax
        return with_elements(function(at - depth + 1), whole.detach())
    owners, count = _owners(layer, at)
    flat = reshape(elements, (elements.shape[0], count_of(elements.shape[1:])))
    places = expand(unsqueeze(owners, 1), tuple(flat.shape))
    blank = flat.detach().new_zeros((count, flat.shape[1]))
    peaks = scatter_reduce(blank, 0, places, flat.detach(), "amax", include_self=False)
    shifted = flat - index_select(peaks, 0, owners)
    powers = exp(shifted)
    totals = index_select(index_add(blank, 0, owners, powers), 0, owners)
    shares = shifted - log(totals) if logarithm else powers / totals
    return with_elements(reshape(shares, tuple(elements.shape)), whole.detach())


def _owners(layer: Any, at: int) -> tuple[Any, int]:
    """Which elements share all indices but one: a number for each, and how many there are."""
    rows, sizes, xp = layer.indices(), layer.sparse_sizes(), layer.xp
    others = [d for d in range(len(sizes)) if d != at]
    places = places_of(xp, rows[others], tuple([sizes[d] for d in others]))
    found, owners = xp.unique(places, return_inverse=True)
    return as_index(Tensor(owners.reshape(-1), AS_IS)), int(found.shape[0])


def softmax(input: Value, dim: int, *, dtype: Any = None) -> Value:
    """Softmax over the values along dim; what has no value counts as minus infinity."""
    return _shares("softmax", input, dim, dtype, logarithm=False)


def log_softmax(input: Value, dim: int, *, dtype: Any = None) -> Value:
    """The logarithm of softmax over the values along dim."""
    return _shares("log_softmax", input, dim, dtype, logarithm=True)
