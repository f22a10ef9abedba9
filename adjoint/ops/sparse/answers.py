"""What ops of the tables answer where an argument is sparse; those not named here are refused.

Answers compute and record nothing: the call is recorded as any other, and the op's own rules, made
of ops, run on sparse gradients by the same answers.
"""

from collections.abc import Callable
from typing import Any

from adjoint.dtypes import FLOAT, int64, promote_types
from adjoint.ops.arranging.conversion import moved, to, to_copy
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.shape import cat, permute, transpose, unsqueeze
from adjoint.ops.arranging.writing import fill
from adjoint.ops.dims import normal_dim, normal_dims
from adjoint.ops.elementwise.activation import relu_back
from adjoint.ops.elementwise.arithmetic import add, mul, true_divide
from adjoint.ops.matrices.matmul import same_dtype, shapes_of
from adjoint.ops.op import find
from adjoint.ops.reducing.reduction import any as any_, sum
from adjoint.ops.sparse.layers import (
    ANSWERS,
    Compressed,
    Coordinates,
    Sparse,
    blank,
    compressed,
    coordinates,
    layout_of,
    meeting,
    refused,
    sparse_of,
    sparse_tensor,
)
from adjoint.ops.sparse.parts import dense, picked
from adjoint.ops.sparse.patterns import looked_up, paired, places_of, starts_of
from adjoint.tensors.concrete import concrete
from adjoint.tensors.tensor import AS_IS, Tensor

# Zero stays zero, and each element is treated alone; the first ones are linear besides.
LINEAR = "neg positive conj_physical real imag deg2rad rad2deg"
ZERO_TO_ZERO = """
    abs asin asinh atan atanh ceil erf erfinv expm1 floor isinf isnan isneginf isposinf log1p relu
    round sgn sign signbit sin sinh sqrt square tan tanh trunc
"""


def answers(*names: str) -> Callable[[Any], Any]:
    """Declare what ops of these names answer."""

    def note(function: Any) -> Any:
        for name in names:
            ANSWERS[name] = function
        return function

    return note


def _layer(value: Any) -> Sparse:
    layer = sparse_of(value)
    if layer is None:
        raise TypeError(f"expected a sparse tensor, got one of layout {layout_of(value).name}")
    return layer


def _is_number(value: Any) -> bool:
    """Whether a value is a number, or a dense tensor of one element and no dimension."""
    return not isinstance(value, Tensor) or (value.ndim == 0 and sparse_of(value) is None)


# ---- element by element ----


def _elementwise(name: str, whole: bool) -> Any:
    """The answer of an op that treats each element alone; `whole`: those of a place are summed."""

    def answer(input: Any, *rest: Any) -> Any:
        layer = _layer(input)
        layer = layer.joined() if whole else layer
        return sparse_tensor(layer.holding(find(name)(layer.elements, *rest)))

    return answer


for _name in LINEAR.split():
    ANSWERS[_name] = _elementwise(_name, whole=False)
for _name in ZERO_TO_ZERO.split():
    ANSWERS[_name] = _elementwise(_name, whole=True)


@answers("pow")
def _pow(input: Any, exponent: Any) -> Any:
    if sparse_of(exponent) is not None or not _is_number(exponent):
        raise refused("pow", layout_of(input))
    if float(exponent) <= 0:
        raise RuntimeError("pow(): of a sparse tensor the exponent must be positive")
    layer = _layer(input).joined()
    return sparse_tensor(layer.holding(layer.elements**exponent))


@answers("relu_back")
def _relu_back(slope: Any, output: Any) -> Any:
    layer = _layer(output)
    return sparse_tensor(layer.holding(relu_back(_at(slope, layer), layer.elements)))


@answers("clone")
def _clone(input: Any, memory_format: Any = None) -> Any:
    copied: Any = _layer(input).copied()
    return sparse_tensor(copied)


@answers("_to_copy")
def _to_copy(input: Any, dtype: Any = None, memory_format: Any = None) -> Any:
    layer = _layer(input)
    return sparse_tensor(layer.holding(to_copy(layer.elements, dtype=dtype)))


@answers("transfer")
def _transfer(input: Any, where: Any, origin: Any) -> Any:
    layer = _layer(input)
    elements = moved(layer.elements, where)
    if isinstance(layer, Compressed):
        parts = (moved(layer.starts, where), moved(layer.numbers, where), elements)
        return sparse_tensor(Compressed(*parts, layer.shape, layer.by_rows))
    places = moved(coordinates(layer).places, where)
    return sparse_tensor(Coordinates(places, elements, layer.shape, coordinates(layer).coalesced))


@answers("copy")
def _copy(input: Any, src: Any, non_blocking: bool = False) -> Any:
    source, target = sparse_of(src), sparse_of(input)
    if source is None or target is None or source.layout is not target.layout:
        raise RuntimeError(
            f"copy_() between layouts {layout_of(src).name} and {layout_of(input).name} is not "
            "implemented; convert one of them first"
        )
    copied: Any = source.copied()
    return sparse_tensor(copied)


@answers("zeros_of", "zeros_like", "empty_like")
def _zeros(input: Any, dtype: Any = None, **options: Any) -> Any:
    layer = _layer(input)
    whole = coordinates(layer)
    elements = whole.elements[:0] if dtype is None else to(whole.elements[:0], dtype)
    places = Tensor(layer.xp.zeros((len(whole.sparse_sizes()), 0), "int64"), AS_IS)
    return sparse_tensor(layer.like(Coordinates(places, elements, layer.shape, True)))


@answers("new_zeros", "new_empty")
def _new_zeros(input: Any, size: Any, dtype: Any = None, **options: Any) -> Any:
    return blank(tuple(size), dtype or input.dtype, input.device, layout_of(input))


@answers("fill", "full_like", "ones_like")
def _fill(input: Any, value: Any = 1, dtype: Any = None, **options: Any) -> Any:
    layer = _layer(input)
    if isinstance(layer, Coordinates):
        raise refused("fill", layer.layout)
    elements = layer.elements if dtype is None else to(layer.elements, dtype)
    return sparse_tensor(layer.holding(fill(elements, value)))


@answers("zero")
def _zero(input: Any) -> Any:
    return _zeros(input)


# ---- sums, products and quotients of two ----


def _same_shape(name: str, first: Any, second: Any) -> None:
    if first.shape != second.shape:
        raise RuntimeError(
            f"{name}(): expected sizes of 'self' and 'other' to match, but {list(first.shape)} != "
            f"{list(second.shape)}; sparse tensors are not broadcast"
        )


def _added(name: str, input: Any, other: Any, alpha: Any) -> Any:
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise RuntimeError(
            f"{name}(): a number can't be added to all elements of a sparse tensor; use to_dense()"
        )
    _same_shape(name, input, other)
    first, second = sparse_of(input), sparse_of(other)
    if first is None or second is None:  # the sum has all elements
        wholes = [value if sparse_of(value) is None else dense(value) for value in (input, other)]
        return add(*wholes, alpha=alpha)
    if first.layout is not second.layout:
        raise RuntimeError(
            f"{name}(): layouts {first.layout.name} and {second.layout.name} are not mixed; "
            "convert one of them"
        )
    if isinstance(first, Coordinates) and isinstance(second, Coordinates):
        return sparse_tensor(_joined(name, first, second, alpha))
    both = _joined(name, coordinates(first), coordinates(second), alpha)
    return sparse_tensor(first.like(both.joined()))


def _joined(name: str, first: Coordinates, second: Coordinates, alpha: Any) -> Coordinates:
    """The elements of both; summed where they are in the same places, in the same order."""
    if len(first.sparse_sizes()) != len(second.sparse_sizes()):
        raise RuntimeError(
            f"{name}(): both must have as many sparse dimensions, got "
            f"{len(first.sparse_sizes())} and {len(second.sparse_sizes())}"
        )
    same = first.places.shape == second.places.shape
    if same and (concrete(first.places) == concrete(second.places)).all():
        return first.holding(add(first.elements, second.elements, alpha=alpha))
    scaled = second.elements if alpha == 1 else second.elements * alpha
    kind = promote_types(first.elements.dtype, scaled.dtype)
    elements = cat([to(first.elements, kind), to(scaled, kind)])
    places = first.xp.concatenate([first.indices(), second.indices()], axis=1)
    both = Coordinates(Tensor(places, AS_IS), elements, first.shape)
    return both.joined() if first.coalesced and second.coalesced else both


@answers("add")
def _add(input: Any, other: Any, alpha: Any = 1) -> Any:
    return _added("add", input, other, alpha)


@answers("sub")
def _sub(input: Any, other: Any, alpha: Any = 1) -> Any:
    return _added("sub", input, other, -alpha)


def _at(value: Any, layer: Sparse) -> Any:
    """What a tensor has where a sparse one has its elements."""
    return picked(value, Tensor(layer.indices(), AS_IS))


@answers("mul")
def _mul(input: Any, other: Any) -> Any:
    first, second = sparse_of(input), sparse_of(other)
    if first is None:
        return _mul_by(second, input, swapped=True)
    return _mul_by(first, other, swapped=False)


def _mul_by(layer: Any, other: Any, swapped: bool) -> Any:
    """A sparse tensor times a number, a dense tensor, or another sparse one."""
    if _is_number(other):
        factor = other
    elif sparse_of(other) is not None:
        return _both(layer, other)
    else:
        factor = _at(_spread(other, layer.shape), layer)
    product = mul(factor, layer.elements) if swapped else mul(layer.elements, factor)
    return sparse_tensor(layer.holding(product))


def _spread(value: Any, shape: tuple[int, ...]) -> Any:
    if value.ndim > len(shape):
        raise RuntimeError(
            f"mul(): a dense factor of shape {list(value.shape)} has more dimensions than the "
            f"sparse one, of shape {list(shape)}"
        )
    return value.expand(shape)


def _both(layer: Sparse, other: Any) -> Any:
    """The product of two sparse tensors: the elements of the first in places of the second."""
    second = _layer(other)
    if layer.layout is not second.layout:
        raise RuntimeError(
            f"mul(): layouts {layer.layout.name} and {second.layout.name} are not mixed; convert "
            "one of them"
        )
    if layer.shape != second.shape:
        raise RuntimeError(
            f"mul(): expected sizes of 'self' and 'other' to match, but {list(layer.shape)} != "
            f"{list(second.shape)}; sparse tensors are not broadcast"
        )
    first, mask = coordinates(layer), coordinates(second).joined()
    xp, sizes = first.xp, first.sparse_sizes()
    if sizes != mask.sparse_sizes():
        raise RuntimeError("mul(): both sparse tensors must have as many sparse dimensions")
    known = places_of(xp, mask.indices(), sizes)
    at, there = looked_up(xp, known, places_of(xp, first.indices(), sizes))
    kept = Tensor(xp.nonzero(there)[0], AS_IS)
    product = first.elements[kept] * mask.elements[Tensor(at, AS_IS)[kept]]
    places = Tensor(first.indices()[:, concrete(kept)], AS_IS)
    made = Coordinates(places, product, first.shape, first.coalesced)
    return sparse_tensor(layer.like(made))


@answers("true_divide")
def _true_divide(input: Any, other: Any) -> Any:
    layer = sparse_of(input)
    if layer is None or not _is_number(other):
        raise RuntimeError(
            "div(): a sparse tensor is divided by a number, or by a dense tensor without "
            f"dimensions; got a divisor of shape {list(getattr(other, 'shape', ()))}"
        )
    return sparse_tensor(layer.holding(true_divide(layer.elements, other)))


# ---- matrices ----


def _turned(value: Any) -> Any:
    """The transpose of a matrix."""
    layer = sparse_of(value)
    return transpose(value, 0, 1) if layer is None else sparse_tensor(_turned_layer(layer))


def _turned_layer(layer: Sparse) -> Sparse:
    if isinstance(layer, Compressed):
        return layer.turned()
    return _permuted_layer(layer, (1, 0))


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
    layer = _layer(input)
    if len(layer.shape) > 2 or len(layer.sparse_sizes()) < len(layer.shape):
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{len(layer.sparse_sizes())} sparse and "
            f"{len(layer.shape) - len(layer.sparse_sizes())} dense dimensions"
        )
    return sparse_tensor(_turned_layer(layer) if len(layer.shape) == 2 else layer)


@answers("transpose")
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    layer = _layer(input)
    rank = len(layer.shape)
    first, second = normal_dim(dim0, rank), normal_dim(dim1, rank)
    if first == second:
        return sparse_tensor(layer)
    order = [*range(rank)]
    order[first], order[second] = second, first
    return _permute(input, order)


@answers("permute")
def _permute(input: Any, dims: Any) -> Any:
    layer = _layer(input)
    order = [normal_dim(d, len(layer.shape)) for d in dims]
    if isinstance(layer, Compressed):
        return sparse_tensor(layer if order == [0, 1] else layer.turned())
    return sparse_tensor(_permuted_layer(layer, order))


@answers("reshape")
def _reshape(input: Any, shape: Any) -> Any:
    layer = _layer(input)
    if tuple(shape) != layer.shape:
        raise RuntimeError("reshape(): not implemented for sparse tensors; use to_dense() first")
    return sparse_tensor(layer)


@answers("unsqueeze")
def _unsqueeze(input: Any, dim: int) -> Any:
    layer = _layer(input)
    if not isinstance(layer, Coordinates):
        raise refused("unsqueeze", layer.layout)
    at, depth, xp = dim % (len(layer.shape) + 1), len(layer.sparse_sizes()), layer.xp
    shape = (*layer.shape[:at], 1, *layer.shape[at:])
    if at > depth:
        elements = unsqueeze(layer.elements, at - depth + 1)
        return sparse_tensor(Coordinates(layer.places, elements, shape))
    rows = layer.indices()
    blank = xp.zeros((1, rows.shape[1]), "int64")
    places = Tensor(xp.concatenate([rows[:at], blank, rows[at:]]), AS_IS)
    return sparse_tensor(Coordinates(places, layer.elements, shape))


def _matrix(name: str, value: Any) -> Sparse:
    layer = _layer(value)
    if len(layer.shape) != 2 or len(layer.sparse_sizes()) != 2:
        raise RuntimeError(
            f"{name}(): matrices expected, got a tensor with {len(layer.sparse_sizes())} sparse "
            f"and {len(layer.shape) - len(layer.sparse_sizes())} dense dimensions"
        )
    return layer


@answers("matmul")
def matmul(input: Any, other: Any) -> Any:
    """A product of matrices, of which one or both are sparse; the dense one may be a vector."""
    same_dtype(input, other)
    if input.ndim == 0 or other.ndim == 0 or input.shape[-1] != other.shape[-min(2, other.ndim)]:
        raise RuntimeError(f"matmul(): shapes can't be multiplied: {shapes_of(input, other)}")
    if sparse_of(input) is None:
        _matrix("matmul", other)
        if input.ndim > 2:
            raise refused("matmul", layout_of(other))
        return _product(_turned(other), input) if input.ndim == 1 else _turned_product(other, input)
    _matrix("matmul", input)
    if sparse_of(other) is None:
        if other.ndim > 2:
            raise refused("matmul", layout_of(input))
        return _product(input, other)
    _matrix("matmul", other)
    return _sparse_product(input, other)


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
    first, second = _layer(input), _layer(other)
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
    scaled = product if alpha == 1 else product * alpha
    return scaled if beta == 0 else scaled + (input if beta == 1 else input * beta)


# ---- sums, parts and rows of many ----


@answers("sum")
def _sum(input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    layer = _layer(input)
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
    return sparse_tensor(_concatenated([coordinates(_layer(t)) for t in tensors], dim))


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
    if at >= depth:
        raise NotImplementedError("cat(): not along dense dimensions of sparse tensors")
    shape = list(first.shape)
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
    return any_(_layer(input).joined().elements)


@answers("index_select")
def _index_select(input: Any, dim: int, index: Any) -> Any:
    layer = _layer(input)
    if not isinstance(layer, Coordinates):
        raise refused("index_select", layer.layout)
    at, depth, xp = normal_dim(dim, len(layer.shape)), len(layer.sparse_sizes()), layer.xp
    shape = list(layer.shape)
    wanted = concrete(index).astype("int64")
    shape[at] = int(wanted.shape[0])
    if at >= depth:
        elements = index_select(layer.elements, at - depth + 1, index)
        return sparse_tensor(Coordinates(layer.places, elements, tuple(shape), layer.coalesced))
    rows = layer.indices()
    order = xp.argsort(rows[at], kind="stable")
    new, old = paired(xp, wanted, starts_of(xp, rows[at][order], layer.shape[at]))
    chosen = order[old]
    places = xp.stack([new if d == at else row[chosen] for d, row in enumerate(rows)])
    elements = layer.elements[Tensor(chosen, AS_IS)]
    return sparse_tensor(Coordinates(Tensor(places, AS_IS), elements, tuple(shape)))


def _selected(name: str, input: Any, chosen: dict[int, int]) -> Any:
    """The part of a tensor that has given indices in some dimensions."""
    layer = coordinates(_layer(input))
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
    if not all(isinstance(each, int) or each is Ellipsis for each in index):
        raise refused("__getitem__ with slices", layout_of(input))
    rank = len(_layer(input).shape)
    before = index[: index.index(Ellipsis)] if Ellipsis in index else index
    after = index[len(before) + 1 :]
    chosen = dict(enumerate(before)) | {rank - len(after) + i: n for i, n in enumerate(after)}
    return _selected("__getitem__", input, chosen)


@answers("select")
def _select(input: Any, dim: int, index: int) -> Any:
    return _selected("select", input, {normal_dim(dim, len(_layer(input).shape)): index})
