"""What ops that move, multiply, sum and choose answer where an argument is sparse; see answers."""

import builtins
from typing import Any

from adjoint.dtypes import FLOAT, int64, real_factor
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.shape import cat, permute, reshape, transpose, unsqueeze
from adjoint.ops.dims import check_index_type, check_positions, normal_dim, normal_dims
from adjoint.ops.elementwise.complex_numbers import view_as_complex, view_as_real
from adjoint.ops.matrices.matmul import same_dtype, shapes_of
from adjoint.ops.reducing.reduction import any as any_, sum
from adjoint.ops.sparse.answers import answers, layer_of
from adjoint.ops.sparse.layers import (
    Compressed,
    Coordinates,
    Sparse,
    compressed,
    coordinates,
    layout_of,
    meeting,
    refused,
    sparse_of,
    sparse_tensor,
)
from adjoint.ops.sparse.parts import dense
from adjoint.ops.sparse.patterns import paired, starts_of
from adjoint.tensors.concrete import concrete
from adjoint.tensors.tensor import AS_IS, Tensor

# ---- matrices ----


def _turned(value: Any) -> Any:
    """The transpose of a matrix, or of each of a batch."""
    layer = sparse_of(value)
    return transpose(value, -2, -1) if layer is None else sparse_tensor(_turned_layer(layer))


def _turned_layer(layer: Sparse) -> Sparse:
    if isinstance(layer, Compressed):
        return layer.turned()
    last = len(layer.shape) - 1
    return _permuted_layer(layer, (*range(last - 1), last, last - 1))


def _permuted_layer(layer: Sparse, order: Any) -> Sparse:
    whole = coordinates(layer)
    depth = len(whole.sparse_sizes())
    if sorted(order[:depth]) != [*range(depth)]:
        raise RuntimeError(
            f"permute(): sparse and dense dimensions can't change places; this tensor has {depth} "
            f"sparse of {len(whole.shape)}"
        )
    places = Tensor(whole.indices()[list(order[:depth])], AS_IS)
    elements = whole.elements
    if len(whole.shape) > depth:
        elements = permute(elements, (0, *[d - depth + 1 for d in order[depth:]]))
    shape = tuple([whole.shape[d] for d in order])
    kept_order = list(order[:depth]) == [*range(depth)]
    return Coordinates(places, elements, shape, whole.coalesced and kept_order)


@answers("t")
def _t(input: Any) -> Any:
    layer = layer_of(input)
    if len(layer.shape) > 2 or len(layer.sparse_sizes()) < len(layer.shape):
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{len(layer.sparse_sizes())} sparse and "
            f"{len(layer.shape) - len(layer.sparse_sizes())} dense dimensions"
        )
    return sparse_tensor(_turned_layer(layer) if len(layer.shape) == 2 else layer)


@answers("transpose")
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    layer = layer_of(input)
    rank = len(layer.shape)
    first, second = normal_dim(dim0, rank), normal_dim(dim1, rank)
    if first == second:
        return sparse_tensor(layer)
    order = [*range(rank)]
    order[first], order[second] = second, first
    return _permute(input, order)


@answers("permute")
def _permute(input: Any, dims: Any) -> Any:
    layer = layer_of(input)
    order = [normal_dim(d, len(layer.shape)) for d in dims]
    if isinstance(layer, Compressed):
        return sparse_tensor(layer if order == [0, 1] else layer.turned())
    return sparse_tensor(_permuted_layer(layer, order))


@answers("reshape")
def _reshape(input: Any, shape: Any) -> Any:
    layer = layer_of(input)
    if tuple(shape) != layer.shape:
        raise RuntimeError("reshape(): not implemented for sparse tensors; use to_dense() first")
    return sparse_tensor(layer)


@answers("unsqueeze")
def _unsqueeze(input: Any, dim: int) -> Any:
    layer = layer_of(input)
    if not isinstance(layer, Coordinates):
        raise refused("unsqueeze", layer.layout)
    at, depth, xp = normal_dim(dim, len(layer.shape) + 1), len(layer.sparse_sizes()), layer.xp
    shape = (*layer.shape[:at], 1, *layer.shape[at:])
    if at > depth:
        elements = unsqueeze(layer.elements, at - depth + 1)
        return sparse_tensor(Coordinates(layer.places, elements, shape))
    rows = layer.indices()
    blank = xp.zeros((1, rows.shape[1]), "int64")
    places = Tensor(xp.concatenate([rows[:at], blank, rows[at:]]), AS_IS)
    return sparse_tensor(Coordinates(places, layer.elements, shape))


def _matrix(name: str, value: Any) -> Sparse:
    layer = layer_of(value)
    if len(layer.shape) != 2 or len(layer.sparse_sizes()) != 2:
        raise RuntimeError(
            f"{name}(): matrices expected, got a tensor with {len(layer.sparse_sizes())} sparse "
            f"and {len(layer.shape) - len(layer.sparse_sizes())} dense dimensions"
        )
    return layer


@answers("matmul")
def matmul(input: Any, other: Any) -> Any:
    """A product of matrices, one or both of them sparse; a dense one may be a vector, or many."""
    same_dtype(input, other)
    if input.ndim == 0 or other.ndim == 0 or input.shape[-1] != other.shape[-min(2, other.ndim)]:
        raise RuntimeError(f"matmul(): shapes can't be multiplied: {shapes_of(input, other)}")
    if sparse_of(input) is None:
        _matrix("matmul", other)
        if input.ndim > 2:
            rows = _turned_product(other, reshape(input, (-1, input.shape[-1])))
            return reshape(rows, (*input.shape[:-1], other.shape[-1]))
        return _product(_turned(other), input) if input.ndim == 1 else _turned_product(other, input)
    if input.ndim == 3 and sparse_of(other) is None and other.ndim == 3:
        return _batch_product(input, other)
    _matrix("matmul", input)
    if sparse_of(other) is None:
        return _product(input, other) if other.ndim <= 2 else _products(input, other)
    _matrix("matmul", other)
    return _sparse_product(input, other)


def _batch_product(input: Any, other: Any) -> Any:
    """Sparse matrices times as many dense ones: one product of a matrix that has them as blocks."""
    layer, (count, rows, inner) = layer_of(input), input.shape
    if len(layer.sparse_sizes()) != 3 or other.shape[0] != count:
        raise RuntimeError(
            "bmm(): expected batches of one size, the sparse one without dense dimensions; got "
            f"{shapes_of(input, other)}"
        )
    block, row, column = layer.indices()
    lines, columns = block * rows + row, block * inner + column
    whole = concrete(reshape(other, (count * inner, other.shape[2])))
    elements = concrete(layer.elements)
    found = layer.xp.sparse_product(lines, columns, elements, whole, count * rows)
    return Tensor(found.reshape(count, rows, other.shape[2]), AS_IS)


def _products(input: Any, other: Any) -> Any:
    """A sparse matrix times many dense ones, as one product."""
    last = other.ndim - 2
    columns = permute(other, last, *range(last), last + 1)
    found = _product(input, reshape(columns, (other.shape[-2], -1)))
    found = reshape(found, (input.shape[0], *columns.shape[1:]))
    return permute(found, *range(1, last + 1), 0, last + 1).contiguous()


def _turned_product(other: Any, input: Any) -> Any:
    """A dense matrix times a sparse one."""
    return _turned(_product(_turned(other), transpose(input, 0, 1))).contiguous()


def _product(input: Any, other: Any) -> Any:
    """A sparse matrix times a dense one, or a vector."""
    layer = _matrix("matmul", input)
    rows, columns = layer.indices()
    xp, elements, factor = layer.xp, concrete(layer.elements), concrete(other)
    matrix = factor if factor.ndim == 2 else factor.reshape(-1, 1)
    product = xp.sparse_product(rows, columns, elements, matrix, layer.shape[0])
    return Tensor(product if factor.ndim == 2 else product.reshape(-1), AS_IS)


def _sparse_product(input: Any, other: Any) -> Any:
    """A sparse matrix times another."""
    first, second = layer_of(input), layer_of(other)
    one, two, places = meeting(first, second)
    elements = concrete(first.elements)[one] * concrete(second.elements)[two]
    size = (first.shape[0], second.shape[1])
    made = Coordinates(Tensor(places, AS_IS), Tensor(elements, AS_IS), size).joined()
    return sparse_tensor(compressed(made) if isinstance(first, Compressed) else made)


@answers("rows_product")
def _rows_product(input: Any, other: Any) -> Any:
    return matmul(input, _turned(other))


@answers("turned_product")
def _turned_by(input: Any, other: Any) -> Any:
    return matmul(_turned(input), other)


@answers("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    product = matmul(input, _turned(weight))
    return product if bias is None else product + bias


@answers("addmm")
def _addmm(input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    if sparse_of(input) is not None:
        raise refused("addmm", layout_of(input))
    product = matmul(mat1, mat2)
    if sparse_of(product) is not None:
        product = dense(product)
    alpha, beta = real_factor(alpha, mat1), real_factor(beta, mat1)
    scaled = product if alpha == 1 else product * alpha
    return scaled if beta == 0 else scaled + (input if beta == 1 else input * beta)


@answers("addmv")
def _addmv(input: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _addmm(input, mat, vec, beta, alpha)


# ---- sums, parts and rows of many ----


@answers("sum")
def _sum(input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    layer = layer_of(input)
    if dim is None and not keepdim:
        return sum(layer.elements, dtype=dtype)
    if isinstance(layer, Compressed) and not keepdim:
        raise RuntimeError(
            f"sum(): of a tensor of layout {layer.layout.name} only with keepdim=True, or of all "
            "elements; use to_sparse() first"
        )
    rank = len(layer.shape)
    return summed(layer, normal_dims(dim, rank), keepdim, dtype)


def summed(layer: Sparse, dims: Any, keepdim: bool, dtype: Any) -> Any:
    """The sum over some dimensions: sparse, unless all with indices are among them."""
    whole = coordinates(layer)
    depth, xp = len(whole.sparse_sizes()), layer.xp
    inner = [d - depth + 1 for d in dims if d >= depth]
    elements = whole.elements
    if dtype is not None or elements.dtype.category < FLOAT:
        elements = to(elements, int64 if dtype is None else dtype)
    if inner:
        elements = sum(elements, inner, keepdim)
    shape = [1 if d in dims else n for d, n in enumerate(layer.shape) if keepdim or d not in dims]
    kept = [d for d in range(depth) if d not in dims]
    if not kept and not keepdim:
        return sum(elements, 0)
    rows = whole.indices()
    if keepdim:
        blank = xp.zeros(rows.shape[1], "int64")
        places = xp.stack([blank if d in dims else rows[d] for d in range(depth)])
    else:
        places = rows[kept]
    made = Coordinates(Tensor(places, AS_IS), elements, tuple(shape)).joined()
    return sparse_tensor(layer.like(made))


@answers("cat")
def _cat(tensors: Any, dim: int = 0) -> Any:
    layers = [sparse_of(tensor) for tensor in tensors]
    if not all(isinstance(layer, Coordinates) for layer in layers):
        raise RuntimeError("cat(): sparse tensors are joined with others of layout sparse_coo only")
    return sparse_tensor(_concatenated([coordinates(layer_of(t)) for t in tensors], dim))


def _concatenated(parts: list[Coordinates], dim: int) -> Coordinates:
    first = parts[0]
    rank, depth, xp = len(first.shape), len(first.sparse_sizes()), first.xp
    at = normal_dim(dim, rank)
    for part in parts[1:]:
        if [*part.shape[:at], *part.shape[at + 1 :]] != [*first.shape[:at], *first.shape[at + 1 :]]:
            raise RuntimeError(
                f"cat(): sizes {list(first.shape)} and {list(part.shape)} differ in another "
                f"dimension than {at}"
            )
        if len(part.sparse_sizes()) != depth:
            raise RuntimeError("cat(): all must have as many sparse dimensions")
    shape = list(first.shape)
    if at >= depth:  # each has zeros where the others have their elements
        shape[at] = count = builtins.sum([part.shape[at] for part in parts])
        spread: list[Any] = []
        before = 0
        for part in parts:
            size = part.shape[at]
            sizes = [(0, 0)] * part.elements.ndim
            sizes[at - depth + 1] = (before, count - before - size)
            spread.append(Tensor(xp.pad(concrete(part.elements), sizes), AS_IS))
            before += size
        rows = xp.concatenate([part.indices() for part in parts], axis=1)
        return Coordinates(Tensor(rows, AS_IS), cat(spread), tuple(shape))
    places: list[Any] = []
    start = 0
    for part in parts:
        rows = [row + start if d == at else row for d, row in enumerate(part.indices())]
        places.append(xp.stack(rows))
        start += part.shape[at]
    shape[at] = start
    elements = cat([part.elements for part in parts])
    return Coordinates(Tensor(xp.concatenate(places, axis=1), AS_IS), elements, tuple(shape))


@answers("stack")
def _stack(tensors: Any, dim: int = 0) -> Any:
    return _cat([_unsqueeze(tensor, dim) for tensor in tensors], dim)


@answers("any")
def _any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is not None:
        raise refused("any with dim", layout_of(input))
    return any_(layer_of(input).joined().elements)


@answers("index_select")
def _index_select(input: Any, dim: int, index: Any) -> Any:
    layer = layer_of(input)
    if not isinstance(layer, Coordinates):
        raise refused("index_select", layer.layout)
    at, depth, xp = normal_dim(dim, len(layer.shape)), len(layer.sparse_sizes()), layer.xp
    shape = list(layer.shape)
    wanted = concrete(index)
    check_index_type(xp, wanted, IndexError)
    if wanted.ndim != 1:
        raise IndexError(f"index_select(): the index must be 1-d, not {wanted.ndim}-d")
    shape[at] = int(wanted.shape[0])
    if at >= depth:
        elements = index_select(layer.elements, at - depth + 1, index)
        return sparse_tensor(Coordinates(layer.places, elements, tuple(shape), layer.coalesced))
    # Sparse dimensions are counted from the end too, dense ones are not.
    wanted = xp.where(wanted < 0, wanted + layer.shape[at], wanted)
    check_positions(xp, wanted, layer.shape[at], IndexError)
    rows = layer.indices()
    order = xp.argsort(rows[at], kind="stable")
    new, old = paired(xp, wanted, starts_of(xp, rows[at][order], layer.shape[at]))
    chosen = order[old]
    places = xp.stack([new if d == at else row[chosen] for d, row in enumerate(rows)])
    elements = layer.elements[Tensor(chosen, AS_IS)]
    return sparse_tensor(Coordinates(Tensor(places, AS_IS), elements, tuple(shape)))


def _selected(name: str, input: Any, chosen: dict[int, int]) -> Any:
    """The part of a tensor that has given indices in some dimensions."""
    layer = coordinates(layer_of(input))
    depth, xp = len(layer.sparse_sizes()), layer.xp
    for dim, number in chosen.items():
        size = layer.shape[dim]
        if not -size <= number < size:
            raise IndexError(f"{name}(): index {number} is out of range for size {size}")
    rows = layer.indices()
    there = xp.ones(rows.shape[1], bool)
    for dim, number in chosen.items():
        if dim < depth:
            there = there & (rows[dim] == number % layer.shape[dim])
    kept = xp.nonzero(there)[0]
    inner = [slice(None), *[chosen.get(d, slice(None)) for d in range(depth, len(layer.shape))]]
    elements = layer.elements[Tensor(kept, AS_IS)][tuple(inner)]
    left = [d for d in range(depth) if d not in chosen]
    if not left:
        return sum(elements, 0) if elements.ndim > 1 else sum(elements).to(elements.dtype)
    shape = tuple([n for d, n in enumerate(layer.shape) if d not in chosen])
    return sparse_tensor(
        Coordinates(Tensor(rows[left][:, kept], AS_IS), elements, shape, layer.coalesced)
    )


@answers("basic_index")
def _basic_index(input: Any, index: Any) -> Any:
    shape = layer_of(input).shape
    index = list(index)
    left = len(shape) - len([each for each in index if each is not None and each is not Ellipsis])
    if left < 0:
        raise IndexError(f"__getitem__(): too many indices for a tensor of {len(shape)} dimensions")
    at = index.index(Ellipsis) if Ellipsis in index else len(index)
    index[at : at + 1] = [slice(None)] * left
    chosen: dict[int, int] = {}
    new: list[int] = []  # dimensions of what is answered
    dim = 0
    for each in index:
        if each is None:
            new.append(dim - len(chosen) + len(new))
            continue
        if isinstance(each, int):
            chosen[dim] = each
        elif not isinstance(each, slice) or each.indices(shape[dim]) != (0, shape[dim], 1):
            raise refused("__getitem__ with slices", layout_of(input))
        dim += 1
    if not chosen and not new:
        raise refused("__getitem__ with slices", layout_of(input))
    found = _selected("__getitem__", input, chosen) if chosen else input
    for place in new:
        found = unsqueeze(found, place)
    return found


@answers("view_as_real")
def _view_as_real(input: Any) -> Any:
    layer = layer_of(input)
    if not isinstance(layer, Coordinates):
        raise refused("view_as_real", layer.layout)
    elements: Any = view_as_real(layer.elements)
    shape = (*layer.shape, 2)
    return sparse_tensor(Coordinates(layer.places, elements, shape, layer.coalesced))


@answers("view_as_complex")
def _view_as_complex(input: Any) -> Any:
    layer = layer_of(input)
    if not isinstance(layer, Coordinates):
        raise refused("view_as_complex", layer.layout)
    if layer.elements.ndim < 2 or layer.shape[-1] != 2:
        raise RuntimeError(
            "view_as_complex(): a sparse tensor must end in a dense dimension of size 2, got shape "
            f"{list(layer.shape)}"
        )
    elements: Any = view_as_complex(layer.elements)
    return sparse_tensor(Coordinates(layer.places, elements, layer.shape[:-1], layer.coalesced))


@answers("unbind")
def _unbind(input: Any, dim: int = 0) -> Any:
    shape = layer_of(input).shape
    at = normal_dim(dim, len(shape))
    return tuple([_selected("unbind", input, {at: number}) for number in range(shape[at])])


@answers("select")
def _select(input: Any, dim: int, index: int) -> Any:
    return _selected("select", input, {normal_dim(dim, len(layer_of(input).shape)): index})
