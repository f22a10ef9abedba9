"""Products: matmul and its relatives, einsum, tensordot."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from adjoint.call.dispatch import conj, write_out
from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import promote_types
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import expand, permute, reshape, squeeze, transpose, unsqueeze
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.batch_rules import of_rank
from adjoint.ops.dims import broadcast_shape, normal_dim
from adjoint.ops.node_names import of_product
from adjoint.ops.op import composite, general, multilinear
from adjoint.ops.reducing.reduction import sum
from adjoint.tensors.views import apply_inplace


def mT(value: Any) -> Any:  # noqa: N802  as Tensor.mT
    """Matrices with rows and columns exchanged."""
    return value.T if value.ndim == 2 else transpose(value, -2, -1)


def mH(value: Any) -> Any:  # noqa: N802  as Tensor.mH
    """The conjugate transpose of matrices."""
    return conj(mT(value))


def shapes_of(*values: Any) -> str:
    """The shapes of operands, for an error message."""
    return " and ".join(str(tuple(value.shape)) for value in values)


def same_dtype(*values: Any) -> None:
    """Refuse operands of different data types.

    Values without one pass, so that the trial call which finds the short path does too.
    """
    kinds = [kind for value in values if (kind := getattr(value, "dtype", None)) is not None]
    if any(kind != kinds[0] for kind in kinds):
        names = " and ".join(getattr(kind, "name", str(kind)) for kind in kinds)
        raise RuntimeError(f"expected operands of one dtype, got {names}; convert one with .to()")


def _matrices(*values: Any, ndim: int = 2) -> None:
    """Refuse anything but operands with `ndim` dimensions."""
    for value in values:
        if value.ndim != ndim:
            raise RuntimeError(f"expected {ndim}-d operands, got shapes {shapes_of(*values)}")


def _flat(value: Any) -> Any:
    """Rows of all batches under each other."""
    return reshape(value, (math.prod(value.shape[:-1]), value.shape[-1]))


# ---- matmul ----


def _left_factor(grad: Value, other: Value) -> Value:
    """Gradient of the left factor of a product."""
    if grad.ndim == 2 == other.ndim:
        return rows_product(grad, conj(other))
    if other.ndim == 1:
        return unsqueeze(grad, -1) * conj(other)
    if grad.ndim == other.ndim - 1:  # the left factor is a vector
        grad = unsqueeze(grad, -2)
    return matmul(grad, mH(other))


def _right_factor(grad: Value, input: Value, other_shape: Any) -> Value:
    """Gradient of the right factor of a product."""
    if input.ndim == 1:
        if grad.ndim == 0:
            return grad * conj(input)
        return unsqueeze(conj(input), -1) * unsqueeze(grad, -2)
    if grad.ndim == input.ndim - 1:  # the right factor is a vector
        return reshape(grad, (-1,)) @ conj(_flat(input))
    if input.ndim > 2 and len(other_shape) == 2:  # one product, instead of a sum of many
        return turned_product(conj(_flat(input)), _flat(grad))
    if input.ndim == 2 == grad.ndim:
        return turned_product(conj(input), grad)
    return mH(input) @ grad


def _product_each(input: Any, input_batched: bool, other: Any, other_batched: bool) -> Any:
    """The product for each element: one product of many rows, where a matrix is shared."""
    left, right = input.ndim - input_batched, other.ndim - other_batched
    if not (left and right):
        raise RuntimeError("matmul: both operands must have at least one dimension")
    if (not other_batched and right < 3) or (not input_batched and left == 1 < right):
        return matmul(input, other)  # the batch is one more dimension of rows
    if not input_batched and right == 1 and left < 3:
        return matmul(other, mT(input) if left == 2 else input)
    first = unsqueeze(input, -2) if left == 1 else input
    second = unsqueeze(other, -1) if right == 1 else other
    rank = max(left, right, 2)
    product = matmul(of_rank(first, input_batched, rank), of_rank(second, other_batched, rank))
    gone = [dim for dim, single in ((-2, left == 1), (-1, right == 1)) if single]
    return squeeze(product, gone) if gone else product


@multilinear(
    input=lambda grad, other: _left_factor(grad, other),
    other=lambda grad, input, other_shape: _right_factor(grad, input, other_shape),
    vmap=_product_each,
    batching=MATRICES,  # where both are
    node_name=of_product,
    saved_as={"other": "mat2"},
    exact_out=True,
    also="linalg",
    autocast="narrow",
)
def matmul(xp: Any, input: Array, other: Array) -> Array:
    """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
    same_dtype(input, other)
    return xp.matmul(input, other)


def _product(left: Any, right: Any, out: Any) -> Any:
    """matmul, into `out` where one is given."""
    return matmul(left, right) if out is None else matmul(left, right, out=out)


@multilinear(
    input=lambda grad, other: rows_product(conj(other), grad),
    other=lambda grad, input: matmul(conj(input), grad),
    batching=MATRICES,
    home=None,
    autocast="narrow",
    node_name="MmBackward0",
)
def turned_product(xp: Any, input: Array, other: Array) -> Array:
    """The transpose of a matrix times another, in one step: the gradient of a right factor."""
    return xp.turned_product(input, other)


@multilinear(
    input=lambda grad, other: matmul(grad, conj(other)),
    other=lambda grad, input: turned_product(grad, conj(input)),
    batching=MATRICES,
    home=None,
    autocast="narrow",
    node_name="MmBackward0",
)
def rows_product(xp: Any, input: Array, other: Array) -> Array:
    """A matrix times the transpose of another, in one step: the gradient of a left factor."""
    return xp.rows_product(input, other)


@composite
def mm(input: Value, mat2: Value, *, out: Any = None) -> Value:
    """Product of two matrices."""
    _matrices(input, mat2)
    return _product(input, mat2, out)


@composite
def bmm(input: Value, mat2: Value, *, out: Any = None) -> Value:
    """Products of two batches of matrices."""
    _matrices(input, mat2, ndim=3)
    if input.shape[0] != mat2.shape[0]:
        raise RuntimeError(f"bmm: batches differ in size: {shapes_of(input, mat2)}")
    return _product(input, mat2, out)


@composite
def mv(input: Value, vec: Value, *, out: Any = None) -> Value:
    """Product of a matrix and a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: expected a matrix and a vector, got {shapes_of(input, vec)}")
    return _product(input, vec, out)


def _vectors(name: str, first: Any, second: Any) -> None:
    if len(first) != 1 or tuple(first) != tuple(second):
        raise RuntimeError(
            f"{name}: expected two vectors of one length, got shapes {tuple(first)} and "
            f"{tuple(second)}"
        )


def _dot_each(input: Any, input_batched: bool, tensor: Any, tensor_batched: bool) -> Any:
    _vectors("dot", input.shape[input_batched:], tensor.shape[tensor_batched:])
    same_dtype(input, tensor)
    if input_batched and tensor_batched:
        return sum(input * tensor, -1)
    return matmul(input, tensor) if input_batched else matmul(tensor, input)


@multilinear(
    input=lambda grad, tensor: grad * conj(tensor),
    tensor=lambda grad, input: grad * conj(input),
    vmap=_dot_each,
    exact_out=True,
)
def dot(xp: Any, input: Array, tensor: Array) -> Array:
    """Sum of the products of two vectors' elements."""
    _vectors("dot", input.shape, tensor.shape)
    same_dtype(input, tensor)
    return xp.dot(input, tensor)


@composite(exact_out=True)
def vdot(input: Value, other: Value) -> Value:
    """Dot product of two vectors, the first conjugated."""
    _vectors("vdot", input.shape, other.shape)
    return dot(conj(input), other)


@composite(also="ger", numpy=True)
def outer(input: Value, vec2: Value) -> Value:
    """The matrix of all products of two vectors' elements."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: expected two vectors, got shapes {shapes_of(input, vec2)}")
    if input.dtype is vec2.dtype:
        return outer_product(input, vec2)
    return unsqueeze(input, 1) * vec2


@multilinear(
    input=lambda grad, vec2: matmul(grad, conj(vec2)),
    vec2=lambda grad, input: matmul(conj(input), grad),
    vmap=lambda input, input_batched, vec2, vec2_batched: _outer_each(
        input, input_batched, vec2, vec2_batched
    ),
    node_name="MulBackward0",
    home=None,
)
def outer_product(xp: Any, input: Array, vec2: Array) -> Array:
    """All products of two vectors' elements; of their gradients each is one product of a matrix."""
    return xp.multiply(input[:, None], vec2)


@composite(numpy=True)
def inner(input: Value, other: Value, *, out: Value | None = None) -> Value:
    """Sum of products over the last dimension of both; with a scalar, the plain product."""
    if out is not None:  # a plain product is cast, a sum of them is not
        return write_out("inner", inner(input, other), out, bool(input.ndim and other.ndim))
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner: the last sizes differ: {shapes_of(input, other)}")
    if input.ndim == 1 == other.ndim:
        return dot(input, other)
    return tensordot(input, other, ([-1], [-1]))


# ---- a product added to something ----


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


def _added(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product in the product's shape; beta 0 drops whatever input is."""
    same_dtype(input, product)
    lead = product.ndim - input.ndim
    sizes = zip(input.shape, product.shape[max(lead, 0) :])
    if lead < 0 or any(own not in (1, wanted) for own, wanted in sizes):
        raise RuntimeError(
            f"input of shape {tuple(input.shape)} can't be expanded to the product's shape "
            f"{tuple(product.shape)}"
        )
    total = _sum_of(input, product, beta, alpha)
    return total if total.dtype == input.dtype else total.astype(input.dtype)  # of bfloat16


def _sum_of(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product."""
    if input.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    product = _scaled(product, alpha)
    return product if beta == 0 else product + _scaled(input, beta)


def _added_each(input: Any, batched: bool, product: Any, beta: Any, alpha: Any) -> Any:
    """For each element beta * input + alpha * product; one of the two has the batch."""
    if batched and product.shape[0] != input.shape[0]:
        product = expand(product, (input.shape[0], *product.shape[1:]))
    if not batched and input.ndim >= product.ndim:
        raise RuntimeError(
            f"input of shape {tuple(input.shape)} can't be expanded to the product's shape "
            f"{tuple(product.shape[1:])}"
        )
    same_dtype(input, product)
    return _sum_of(of_rank(input, batched, product.ndim - 1), product, beta, alpha)


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
        return _product_each(first, first_batched, second, second_batched)
    return unsqueeze(matmul(first, second), 0)


def _outer_each(first: Any, first_batched: bool, second: Any, second_batched: bool) -> Any:
    """The outer product for each element, in a batch of one or more."""
    shapes = first.shape[first_batched:], second.shape[second_batched:]
    if len(shapes[0]) != 1 or len(shapes[1]) != 1:
        raise RuntimeError(
            f"expected two vectors, got shapes {tuple(shapes[0])} and {tuple(shapes[1])}"
        )
    product = unsqueeze(first, -1) * unsqueeze(second, -2)
    return product if product.ndim == 3 else unsqueeze(product, 0)


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
    _matrices(mat1, mat2)
    same_dtype(mat1, mat2)
    return _added(input, xp.matmul(mat1, mat2), beta, alpha)


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
    same_dtype(mat, vec)
    return _added(input, xp.matmul(mat, vec), beta, alpha)


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
    return _added(input, _batch_product(xp, batch1, batch2), beta, alpha)


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
    product = _batch_product(xp, batch1, batch2)
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


def _batch_product(xp: Any, batch1: Any, batch2: Any) -> Any:
    _matrices(batch1, batch2, ndim=3)
    same_dtype(batch1, batch2)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(f"batches differ in size: {shapes_of(batch1, batch2)}")
    return xp.matmul(batch1, batch2)


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
    product = _outer_each(vec1, vec1_batched, vec2, vec2_batched)
    return _added_each(input, input_batched, product, beta, alpha)


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
    return _added(input, xp.multiply(vec1[:, None], vec2), beta, alpha)


# ---- einsum ----


def _sizes(labels: str, shape: Any) -> dict[str, int]:
    return dict(zip(labels, shape))


def _contracted_each(
    input: Any,
    input_batched: bool,
    other: Any,
    other_batched: bool,
    left: str,
    right: str,
    out: str,
) -> Any:
    """The batch is one more label, of those that have it and of the result."""
    used = {*left, *right}
    label = next(letter for letter in map(chr, itertools.count(256)) if letter not in used)
    left, right = label * input_batched + left, label * other_batched + right
    return contract(input, other, left, right, label + out)


@multilinear(
    input=lambda grad, other, left, right, out: contract(grad, conj(other), out, right, left),
    other=lambda grad, input, left, right, out: contract(conj(input), grad, left, out, right),
    vmap=_contracted_each,
    node_name="EinsumBackward0",
    home=None,
    autocast="narrow",
    ordered=True,
)
def contract(xp: Any, input: Array, other: Array, left: str, right: str, out: str) -> Array:
    """The sum of products of two operands over the labels that `out` lacks.

    No label repeats within an operand, and each one of an operand is also in the other or in `out`;
    so the gradients are contractions of the same kind.
    """
    same_dtype(input, other)
    sizes = _sizes(left, input.shape) | _sizes(right, other.shape)
    batch = [label for label in left if label in right and label in out]
    summed = [label for label in left if label in right and label not in out]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]

    def arranged(array: Any, labels: str, *groups: list[str]) -> Any:
        order = [labels.index(label) for label in [*batch, *groups[0], *groups[1]]]
        shape = [sizes[label] for label in batch]
        shape += [math.prod(sizes[label] for label in group) for group in groups]
        return xp.reshape(xp.transpose(array, order), shape)

    first, second = arranged(input, left, rows, summed), arranged(other, right, summed, columns)
    product = xp.matmul(first, second) if summed else xp.multiply(first, second)
    made = [*batch, *rows, *columns]
    product = xp.reshape(product, [sizes[label] for label in made])
    return xp.transpose(product, [made.index(label) for label in out])


def _parsed(equation: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, one character for each dimension."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    for part in (*parts, right):
        letters = part.replace("...", "", 1)
        if not all(letter.isascii() and letter.isalpha() for letter in letters):
            raise RuntimeError(
                f"einsum(): subscripts must be letters and at most one ellipsis, got '{part}'"
            )
    if len(parts) != len(operands):
        raise RuntimeError(
            f"einsum(): the equation '{equation}' is for {len(parts)} operands, got {len(operands)}"
        )
    hidden = [operand.ndim - len(part.replace("...", "")) for part, operand in zip(parts, operands)]
    for part, operand, count in zip(parts, operands, hidden):
        if count < 0 or (count and "..." not in part):
            raise RuntimeError(
                f"einsum(): '{part}' does not name the {operand.ndim} dimensions of an operand "
                f"of shape {tuple(operand.shape)}"
            )
    widest = (
        max(count for part, count in zip(parts, hidden) if "..." in part) if ("..." in left) else 0
    )
    covered = "".join(chr(ord("0") + i) for i in range(widest))  # what the ellipsis stands for
    labels = [part.replace("...", covered[widest - count :]) for part, count in zip(parts, hidden)]
    letters = left.replace("...", "").replace(",", "")
    if not arrow:
        return labels, covered + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    out = right.replace("...", covered)
    for label in out:
        if out.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once")
        if label not in letters and label not in covered:
            raise RuntimeError(f"einsum(): output subscript {label} is in no operand")
    return labels, out


def _label_sizes(labels: list[str], operands: Sequence[Any]) -> dict[str, int]:
    """The size of each label; sizes of 1 give way to others."""
    sizes: dict[str, int] = {}
    for part, operand in zip(labels, operands):
        for label, size in zip(part, operand.shape):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} in the operand of shape "
                    f"{tuple(operand.shape)} and {known} in one before"
                )
    return sizes


def _without_repeats(operand: Any, labels: str) -> tuple[Any, str]:
    """The operand's diagonals for labels that it has several times."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            operand = diagonal(operand, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return operand, labels


def _summed_out(operand: Any, labels: str, wanted: set[str]) -> tuple[Any, str]:
    """The operand summed over the labels that nobody else wants."""
    dims = [i for i, label in enumerate(labels) if label not in wanted]
    if dims:
        operand = sum(operand, dims)
    return operand, "".join(label for label in labels if label in wanted)


def _next_pair(labels: list[str], out: str, sizes: dict[str, int]) -> tuple[int, int]:
    """Which two operands to contract next: those whose product saves most elements."""

    def count(letters: Any) -> int:
        return math.prod(sizes[label] for label in letters)

    best: tuple[int, int, int] | None = None
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            kept = _kept(labels, i, j, out)
            cost = count(kept) - count(labels[i]) - count(labels[j])
            if best is None or cost < best[0]:
                best = (cost, i, j)
    assert best is not None
    return best[1], best[2]


def _kept(labels: list[str], i: int, j: int, out: str) -> str:
    """The labels of the product of operands i and j that are wanted later."""
    later = set(out).union(*(part for k, part in enumerate(labels) if k not in (i, j)))
    return "".join(label for label in dict.fromkeys(labels[i] + labels[j]) if label in later)


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation and operands of einsum(operand, [0, 1], ..., [out])."""

    def letters(sublist: Any) -> str:
        text = ""
        for entry in sublist:
            if entry is not Ellipsis and not 0 <= entry < 52:
                raise RuntimeError(f"einsum(): subscripts must be from 0 to 51, got {entry}")
            shifted = (
                entry if entry is Ellipsis or entry < 26 else entry + 6
            )  # after 'Z' come 6 others
            text += "..." if entry is Ellipsis else chr(ord("A") + shifted)
        return text

    operands = list(args[: len(args) // 2 * 2 : 2])
    equation = ",".join(letters(sublist) for sublist in args[1::2])
    return (f"{equation}->{letters(args[-1])}" if len(args) % 2 else equation), operands


@composite(method=False, numpy=True, spreads=True)
def einsum(*args: Any) -> Value:
    """Sums of products of operands, as 'ij,jk->ik' or lists of ints name their dimensions."""
    if len(args) < 2:
        raise ValueError("einsum(): needs an equation and at least one operand")
    if isinstance(args[0], str):
        equation = args[0]
        operands = list(args[1:])
    else:
        equation, operands = _from_sublists(args)
    labels, out = _parsed(equation, operands)
    sizes = _label_sizes(labels, operands)
    for i, operand in enumerate(operands):
        full = tuple(sizes[label] for label in labels[i])
        if tuple(operand.shape) != full:
            operand = expand(operand, full)
        operands[i], labels[i] = _without_repeats(operand, labels[i])
    for i in range(len(operands)):
        others = set(out).union(*(part for k, part in enumerate(labels) if k != i))
        operands[i], labels[i] = _summed_out(operands[i], labels[i], others)
    while len(operands) > 1:
        i, j = _next_pair(labels, out, sizes)
        kept = out if len(operands) == 2 else _kept(labels, i, j, out)
        kinds = operands[i].dtype, operands[j].dtype
        if kinds[0] is not kinds[1] and set(labels[i]) & set(labels[j]) <= set(kept):
            kind = promote_types(*kinds)  # nothing is summed: a product, which mixes types
            operands[i], operands[j] = operands[i].to(kind), operands[j].to(kind)
        operands[i] = contract(operands[i], operands[j], labels[i], labels[j], kept)
        labels[i] = kept
        del operands[j], labels[j]
    order = [labels[0].index(label) for label in out]
    return operands[0] if order == sorted(order) else permute(operands[0], order)


@composite(method=False, exact_out=True)
def tensordot(a: Value, b: Value, dims: Any = 2) -> Value:
    """Sums of products over some dimensions of a and of b; the others stay, a's first."""
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot: can't sum over {dims} dimensions of shapes {shapes_of(a, b)}"
            )
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError(f"tensordot: {len(first)} dimensions of a for {len(second)} of b")
    right = [chr(ord("a") + a.ndim + i) for i in range(b.ndim)]
    left = [chr(ord("a") + i) for i in range(a.ndim)]
    for d, e in zip(first, second):
        d, e = normal_dim(d, a.ndim), normal_dim(e, b.ndim)
        if a.shape[d] != b.shape[e] and 1 not in (a.shape[d], b.shape[e]):
            raise RuntimeError(
                f"tensordot: size {a.shape[d]} of a's dimension {d} differs from size "
                f"{b.shape[e]} of b's dimension {e}: {shapes_of(a, b)}"
            )
        right[e] = left[d]
    out = [label for label in left if label not in right]
    out += [label for label in right if label not in left]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)


# ---- other products ----


@composite(numpy=True)
def kron(input: Value, other: Value) -> Value:
    """The Kronecker product: every element of input times all of other."""
    ndim = max(input.ndim, other.ndim)
    if ndim == 0:
        return input * other
    outer_shape = (1,) * (ndim - input.ndim) + tuple(input.shape)
    inner_shape = (1,) * (ndim - other.ndim) + tuple(other.shape)
    *outer_front, count = outer_shape
    *inner_front, width = inner_shape
    # Whole rows of the result: to repeat few elements takes less than to multiply by short rows.
    spread = expand(reshape(input, [*outer_front, count, 1]), (*outer_front, count, width))
    tile = expand(reshape(other, [*inner_front, 1, width]), (*inner_front, count, width))
    spread = reshape(spread, [n for size in outer_front for n in (size, 1)] + [count * width])
    tile = reshape(tile, [n for size in inner_front for n in (1, size)] + [count * width])
    return reshape(spread * tile, [m * n for m, n in zip(outer_shape, inner_shape)])


@multilinear(
    input=lambda grad, other, dim: linalg_cross(conj(other), grad, dim=dim),
    other=lambda grad, input, dim: linalg_cross(grad, conj(input), dim=dim),
    home="linalg",
    numpy="cross linalg.cross",
    batching=FRONT,
    exact_out=True,
)
def linalg_cross(xp: Any, input: Array, other: Array, *, dim: int = -1) -> Array:
    """Cross product of the vectors along dim."""
    same_dtype(input, other)
    if input.ndim != other.ndim:
        raise RuntimeError(f"numbers of dimensions differ: shapes {shapes_of(input, other)}")
    dim = normal_dim(dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"dimension {dim} must have size 3, got {shapes_of(input, other)}")
    return xp.cross(input, other, axis=dim)


@composite(exact_out=True)
def cross(input: Value, other: Value, dim: int | None = None) -> Value:
    """Cross product of the vectors along dim; without it, the first dimension of size 3."""
    if dim is None:
        sizes = list(input.shape)
        if 3 not in sizes:
            raise RuntimeError(f"cross: no dimension of size 3 in {shapes_of(input)}")
        dim = sizes.index(3)
    return linalg_cross(input, other, dim=dim)


@composite(home="linalg")
def linalg_vecdot(x: Value, y: Value, *, dim: int = -1) -> Value:
    """Dot products of the vectors along dim, the first conjugated."""
    same_dtype(x, y)
    return sum(conj(x) * y, dim)


def _chain_order(sizes: list[int]) -> list[list[int]]:
    """Where to split each run of a product of matrices, so that the multiplications are fewest."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


@composite(home="linalg", exact_out=True)
def linalg_multi_dot(tensors: Sequence[Value]) -> Value:
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
    operands = list(tensors)
    if len(operands) < 2:
        raise RuntimeError(f"multi_dot: expected at least 2 tensors, got {len(operands)}")
    same_dtype(*operands)
    _matrices(*operands[1:-1])
    from_vector, to_vector = operands[0].ndim == 1, operands[-1].ndim == 1
    if from_vector:
        operands[0] = unsqueeze(operands[0], 0)
    if to_vector:
        operands[-1] = unsqueeze(operands[-1], 1)
    _matrices(operands[0], operands[-1])
    for left, right in itertools.pairwise(operands):
        if left.shape[1] != right.shape[0]:
            raise RuntimeError(f"multi_dot: can't multiply shapes {shapes_of(left, right)}")
    split = _chain_order([operands[0].shape[0], *(operand.shape[1] for operand in operands)])

    def product(i: int, j: int) -> Any:
        if i == j:
            return operands[i]
        return matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    result = product(0, len(operands) - 1)
    ends = ([] if from_vector else [result.shape[0]]) + ([] if to_vector else [result.shape[1]])
    return reshape(result, ends) if from_vector or to_vector else result


@composite(method=False)
def chain_matmul(*matrices: Value) -> Value:
    """Product of several matrices in the cheapest order."""
    _matrices(*matrices)
    return linalg_multi_dot(matrices) if len(matrices) > 1 else matrices[0]
