"""What sparse tensors are made of, what they are made from, and their conversions.

The ops here are the only ones with rules of their own; all else about sparse tensors is a function
of these and of ops on their elements, or is answered by the layer (see answers).
"""

import math
from typing import Any, NoReturn

from adjoint.ops.annotations import Value
from adjoint.ops.arranging.conversion import (
    layout,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    to,
)
from adjoint.ops.composites import answered_below
from adjoint.ops.op import linear
from adjoint.ops.sparse.layers import (
    Compressed,
    Coordinates,
    Sparse,
    as_tensor,
    compressed,
    coordinates,
    layout_of,
    refused,
    sparse_of,
    sparse_tensor,
    take_over,
)
from adjoint.ops.sparse.patterns import indices_of, looked_up, places_of
from adjoint.ops.sparse.sparse_op import SparseOp
from adjoint.tensors.concrete import concrete
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

# ---- ops ----


@linear(
    elements=lambda grad, places: picked(grad, places),
    node_name="SparseCooTensorWithDimsAndTensorsBackward0",
    home=None,
    kind=SparseOp,
)
def from_coordinates(
    xp: Any, elements: Value, places: Value, size: Any, coalesced: bool = False
) -> Value:
    """The tensor that has elements in places, a column of indices each."""
    return sparse_tensor(Coordinates(places.detach(), elements.detach(), size, coalesced))


@linear(
    elements=lambda grad, starts, numbers, by_rows: elements_at(grad, starts, numbers, by_rows),
    node_name="SparseCompressedTensorBackward0",
    home=None,
    kind=SparseOp,
)
def from_compressed(
    xp: Any, elements: Value, starts: Value, numbers: Value, size: Any, by_rows: bool = True
) -> Value:
    """The matrix whose rows, or columns, have their elements one after another."""
    parts = (starts.detach(), numbers.detach(), elements.detach())
    return sparse_tensor(Compressed(*parts, size, by_rows))


def elements_at(grad: Any, starts: Any, numbers: Any, by_rows: bool) -> Any:
    """What a gradient has where a compressed matrix has its elements."""
    columns = as_tensor(numbers)
    pattern = Compressed(as_tensor(starts), columns, columns, tuple(grad.shape), by_rows)
    return picked(grad, Tensor(pattern.indices(), AS_IS))


@linear(
    input=lambda grad, places, input_shape, origin: to_layout(
        from_coordinates(grad, places, tuple(input_shape)), origin
    ),
    home=None,
    kind=SparseOp,
)
def picked_from(xp: Any, input: Value, places: Value, origin: Any) -> Value:
    """The elements of a tensor of layout `origin` in places, a column of indices each."""
    layer = sparse_of(input)
    columns = concrete(places)
    if layer is None:
        return Tensor(xp.array(concrete(input)[tuple(columns)]), AS_IS)
    whole = coordinates(layer).joined()
    depth = len(whole.sparse_sizes())
    if depth > columns.shape[0]:
        raise refused("picked", layer.layout)
    known = places_of(xp, whole.indices(), whole.sparse_sizes())
    at, there = looked_up(xp, known, places_of(xp, columns[:depth], whole.sparse_sizes()))
    elements = concrete(whole.elements)
    if not elements.shape[0]:
        shape = (columns.shape[1], *whole.shape[columns.shape[0] :])
        return Tensor(xp.zeros(shape, elements.dtype), AS_IS)
    index = (at, *columns[depth:])
    found = elements[index]
    return Tensor(xp.where(there.reshape(-1, *(1,) * (found.ndim - 1)), found, 0 * found), AS_IS)


def picked(input: Any, places: Any) -> Any:
    """The elements of a tensor, dense or sparse, in places."""
    return picked_from(input, places, layout_of(input) if isinstance(input, Tensor) else strided)


@linear(input=lambda grad: grad, node_name="CoalesceBackward0", home=None, kind=SparseOp)
def coalesced(xp: Any, input: Value) -> Value:
    """The same tensor with each place once, and in order."""
    layer = _coordinates("coalesce", input)
    return sparse_tensor(layer.joined())


@linear(
    input=lambda grad, input: with_elements(grad, input),
    node_name="ValuesBackward0",
    home=None,
    kind=SparseOp,
)
def elements_of(xp: Any, input: Value) -> Value:
    """The kept elements."""
    return _sparse("values", input).elements.detach()


@linear(
    elements=lambda grad, pattern: picked(grad, Tensor(_pattern(pattern).indices(), AS_IS)),
    home=None,
    kind=SparseOp,
)
def with_elements(xp: Any, elements: Value, pattern: Value) -> Value:
    """The sparse tensor that has these elements where `pattern` has its own."""
    return sparse_tensor(_pattern(pattern).holding(elements.detach()))


def _pattern(tensor: Any) -> Sparse:
    return _sparse("with_elements", tensor)


def _masked(grad: Any, input: Any, masked: bool) -> Any:
    """The gradient of a tensor that was made dense: where it has elements, or everywhere."""
    if not masked:
        return to_layout(grad, layout_of(input))
    return sparse_mask(grad, coalesced(input) if layout_of(input) is sparse_coo else input)


@linear(
    input=lambda grad, input, masked: _masked(grad, input.detach(), masked),
    node_name="ToDenseBackward0",
    home=None,
    kind=SparseOp,
)
def dense(xp: Any, input: Value, masked: bool = True) -> Value:
    """The same tensor with all its elements."""
    layer = _sparse("to_dense", input).joined()
    elements, sizes = concrete(layer.elements), layer.sparse_sizes()
    blank = xp.zeros((math.prod(sizes), *layer.shape[len(sizes) :]), elements.dtype)
    whole = xp.updated(blank, places_of(xp, layer.indices(), sizes), elements)
    return Tensor(whole.reshape(layer.shape), AS_IS)


def _relaid(layer: Sparse, kind: layout) -> Sparse:
    """Kept elements in another sparse layout."""
    if kind is sparse_coo:
        return coordinates(layer)
    if kind in (sparse_csr, sparse_csc):
        return compressed(layer, kind is sparse_csr)
    raise NotImplementedError(f"to_sparse(): no tensor has the layout {kind.name}")


@linear(
    input=lambda grad, origin: to_layout(grad, origin),
    node_name="ToSparseBackward0",
    home=None,
    kind=SparseOp,
)
def relaid(xp: Any, input: Value, kind: Any, origin: Any, depth: int | None = None) -> Value:
    """A tensor of layout `origin` in a sparse one; of a dense tensor by its first dimensions."""
    layer = sparse_of(input)
    if layer is None:
        return sparse_tensor(_relaid(_sparsified(xp, concrete(input), depth), kind))
    return sparse_tensor(_relaid(layer, kind))


def _sparsified(xp: Any, array: Any, depth: int | None) -> Coordinates:
    """The elements of an array that are not zero, or its parts that are not zero throughout."""
    depth = array.ndim if depth is None else depth
    rest = array.shape[depth:]
    rows = array.reshape(math.prod(array.shape[:depth]), *rest)
    kept = rows != 0
    if rest:
        kept = xp.any(kept.reshape(rows.shape[0], math.prod(rest)), axis=1)
    places = xp.nonzero(kept)[0]
    indices = indices_of(xp, places, array.shape[:depth])
    return Coordinates(
        Tensor(indices, AS_IS), Tensor(xp.take(rows, places, 0), AS_IS), array.shape, True
    )


def to_layout(tensor: Any, kind: layout) -> Any:
    """A tensor in a layout; itself if it has it already."""
    if layout_of(tensor) is kind:
        return tensor
    return dense(tensor) if kind is strided else relaid(tensor, kind, layout_of(tensor))


# ---- questions ----

_NAMES = {sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc"}


def _sparse(name: str, input: Any) -> Sparse:
    layer = sparse_of(input)
    if layer is None:
        raise RuntimeError(f"{name} expected sparse tensor layout but got Strided")
    return layer


def _coordinates(name: str, input: Any) -> Coordinates:
    layer = sparse_of(input)
    if not isinstance(layer, Coordinates):
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got "
            f"{_NAMES.get(layout_of(input), 'Strided')}"
        )
    return layer


def _compressed(name: str, input: Any, by_rows: bool) -> Compressed:
    layer = sparse_of(input)
    if not isinstance(layer, Compressed) or layer.by_rows is not by_rows:
        raise RuntimeError(
            f"{name} expected sparse {'row' if by_rows else 'column'} compressed tensor layout "
            f"but got {_NAMES.get(layout_of(input), 'Strided')}"
        )
    return layer


def _only_sparse(name: str, input: Any) -> Sparse:
    """The layer, for the private methods, which dense tensors do not have at all."""
    layer = sparse_of(input)
    if layer is None:
        raise NotImplementedError(f"{name}() is only for sparse tensors; this one is strided")
    return layer


def _checked_coalesced(name: str, input: Any) -> Coordinates:
    layer = _coordinates(name, input)
    if not layer.coalesced:
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )
    return layer


def coalesce(self: Tensor) -> Value:
    """The tensor with each place once, in order, values of one place summed; itself if it is so."""
    _coordinates("coalesce", self)
    return self if is_coalesced(self) else coalesced(self)


@answered_below
def is_coalesced(self: Tensor) -> bool:
    """Whether each place is there once, in order."""
    return _coordinates("is_coalesced", self).coalesced


@answered_below
def indices(self: Tensor) -> Value:
    """A column of indices for each value of a coalesced tensor."""
    return _checked_coalesced("indices", self).places.detach()


def values(self: Tensor) -> Value:
    """The values of a sparse tensor, which must be coalesced if it has coordinates."""
    if sparse_of(self) is None and self.special and upper.seen_below is not None:
        found = upper.seen_below("values", self)  # a class may hold a sparse one
        if found is not NotImplemented:
            return found
    if layout_of(self) is sparse_coo:
        _checked_coalesced("values", self)
    return elements_of(self)


@answered_below
def _indices(self: Tensor) -> Value:
    """A column of indices for each value, as they were given."""
    layer = _only_sparse("_indices", self)
    if not isinstance(layer, Coordinates):
        raise refused("_indices", layer.layout)
    return layer.places.detach()


@answered_below
def _values(self: Tensor) -> Value:
    """The values as they were given, without history."""
    return _only_sparse("_values", self).elements.detach()


@answered_below
def _nnz(self: Tensor) -> int:
    """How many values a sparse tensor has."""
    return int(_only_sparse("_nnz", self).elements.shape[0])


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say of a tensor that each place is there once, in order, or that it may not be so."""
    if upper.seen_below is not None:
        found = upper.seen_below("_coalesced_", self, coalesced)
        if found is not NotImplemented:
            return self
    layer = _coordinates("_coalesced_", self)
    said = Coordinates(layer.places, layer.elements, layer.shape)
    said.coalesced = bool(coalesced)  # also of a single element, which cannot be out of order
    self.layer = said
    return self


def _depth(self: Tensor) -> int:
    layer = sparse_of(self)
    return 0 if layer is None else len(layer.sparse_sizes())


@answered_below
def sparse_dim(self: Tensor) -> int:
    """How many dimensions have indices."""
    return _depth(self)


@answered_below
def dense_dim(self: Tensor) -> int:
    """How many dimensions each value has."""
    return int(self.ndim) - _depth(self)


@answered_below
def crow_indices(self: Tensor) -> Value:
    """Where the rows of a matrix in layout sparse_csr start, and the end of the last."""
    return _compressed("crow_indices", self, by_rows=True).starts.detach()


@answered_below
def col_indices(self: Tensor) -> Value:
    """The columns of the values of a matrix in layout sparse_csr."""
    return _compressed("col_indices", self, by_rows=True).numbers.detach()


@answered_below
def ccol_indices(self: Tensor) -> Value:
    """Where the columns of a matrix in layout sparse_csc start, and the end of the last."""
    return _compressed("ccol_indices", self, by_rows=False).starts.detach()


@answered_below
def row_indices(self: Tensor) -> Value:
    """The rows of the values of a matrix in layout sparse_csc."""
    return _compressed("row_indices", self, by_rows=False).numbers.detach()


# ---- conversions ----


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Value:
    """The tensor with all its elements; the gradient is kept where the sparse one has values.

    With `masked_grad=False` it is kept everywhere.
    """
    if layout_of(self) is strided:
        return self if dtype is None else to(self, dtype)
    if dtype is not None:
        raise RuntimeError("to_dense(): dtype is not supported for sparse tensors; use to() first")
    return dense(self, masked_grad is not False)


def to_sparse(
    self: Tensor,
    sparse_dim: Any = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Value:
    """The tensor in a sparse layout: coordinates of the first sparse_dim dimensions, or another."""
    if isinstance(sparse_dim, type(strided)):
        sparse_dim, layout = None, sparse_dim
    if sparse_dim is not None and layout is not None:
        raise RuntimeError("to_sparse(): give sparse_dim or layout, not both")
    if blocksize is not None or dense_dim:
        raise NotImplementedError("to_sparse(): there are no blocks, nor dense dimensions of those")
    kind = sparse_coo if layout is None else layout
    if kind is strided:
        raise RuntimeError("to_sparse(): strided is no sparse layout; use to_dense()")
    layer = sparse_of(self)
    if layer is not None:
        if sparse_dim not in (None, len(layer.sparse_sizes())):
            raise RuntimeError(
                f"to_sparse(): a tensor of layout {layer.layout.name} keeps its "
                f"{len(layer.sparse_sizes())} sparse dimensions; sparse_dim={sparse_dim} is not "
                "supported"
            )
        return to_layout(self, kind)
    if sparse_dim is not None and not 0 < sparse_dim <= max(self.ndim, 1):
        raise RuntimeError(f"to_sparse(): sparse_dim must be in (0, {self.ndim}], got {sparse_dim}")
    return relaid(self, kind, strided, sparse_dim)


def to_sparse_coo(self: Tensor) -> Value:
    """The tensor with the indices of each value."""
    return to_layout(self, sparse_coo)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Value:
    """A matrix with its values row after row."""
    return _matrix_in("to_sparse_csr", self, sparse_csr, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Value:
    """A matrix with its values column after column."""
    return _matrix_in("to_sparse_csc", self, sparse_csc, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> NoReturn:
    """Refused: there are no blocks."""
    raise NotImplementedError("to_sparse_bsr(): there are no blocks; use to_sparse_csr()")


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> NoReturn:
    """Refused: there are no blocks."""
    raise NotImplementedError("to_sparse_bsc(): there are no blocks; use to_sparse_csc()")


def _matrix_in(name: str, input: Any, kind: layout, dense_dim: int | None) -> Any:
    if dense_dim:
        raise NotImplementedError(f"{name}(): values are numbers; dense_dim must be 0")
    if input.ndim != 2:
        error = IndexError if input.ndim < 2 else NotImplementedError
        raise error(f"{name}(): expected a matrix, got a tensor of {input.ndim} dimensions")
    return to_layout(input, kind)


def sparse_mask(self: Tensor, mask: Tensor) -> Value:
    """The elements of input where the sparse tensor mask has values, in the layout of mask."""
    layer = _only_sparse("sparse_mask", mask)
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} "
            f"but mask has size {list(mask.shape)}"
        )
    own = sparse_of(self)
    if own is layer:
        return self
    if own is not None and own.layout is not layer.layout:
        raise RuntimeError(
            f"sparse_mask(): expected a mask of layout {own.layout.name}, got {layer.layout.name}"
        )
    return with_elements(picked(self, Tensor(layer.indices(), AS_IS)), mask.detach())


def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Let a tensor of layout sparse_coo have another size; one with values can only grow."""
    layer = _coordinates("sparse_resize_", self)
    sizes = tuple(size)
    _check_depths("sparse_resize_", sizes, sparse_dim, dense_dim)
    places, elements = layer.places, layer.elements
    if not elements.shape[0]:
        return sparse_resize_and_clear_(self, sizes, sparse_dim, dense_dim)
    grown = all(new >= old for new, old in zip(sizes, layer.shape))
    if places.shape[0] != sparse_dim or len(sizes) != len(layer.shape) or not grown:
        raise RuntimeError(
            f"sparse_resize_(): a tensor that has values keeps its {places.shape[0]} sparse and "
            f"{elements.ndim - 1} dense dimensions, and none gets smaller; {list(layer.shape)} "
            f"can't become {list(sizes)} with {sparse_dim} and {dense_dim}; use "
            "sparse_resize_and_clear_()"
        )
    wider = layer.xp.zeros((elements.shape[0], *sizes[sparse_dim:]), concrete(elements).dtype)
    wider[tuple([slice(n) for n in elements.shape])] = concrete(elements)
    made = Coordinates(places, Tensor(wider, AS_IS), sizes, layer.coalesced)
    return take_over(self, sparse_tensor(made))


def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Let a tensor of layout sparse_coo have another size, and no values."""
    layer, sizes = _coordinates("sparse_resize_and_clear_", self), tuple(size)
    _check_depths("sparse_resize_and_clear_", sizes, sparse_dim, dense_dim)
    xp, kind = layer.xp, concrete(layer.elements).dtype
    places = Tensor(xp.zeros((sparse_dim, 0), "int64"), AS_IS)
    elements = Tensor(xp.zeros((0, *sizes[sparse_dim:]), kind), AS_IS)
    return take_over(self, sparse_tensor(Coordinates(places, elements, sizes, True)))


def _check_depths(name: str, sizes: tuple[int, ...], sparse_dim: int, dense_dim: int) -> None:
    if len(sizes) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"{name}(): size has {len(sizes)} dimensions, but sparse_dim + dense_dim is "
            f"{sparse_dim + dense_dim}"
        )


def is_sparse(self: Tensor) -> bool:
    """Whether it is of layout sparse_coo."""
    return layout_of(self) is sparse_coo


def is_sparse_csr(self: Tensor) -> bool:
    """Whether it is of layout sparse_csr."""
    return layout_of(self) is sparse_csr


METHODS: dict[str, Any] = {
    "coalesce": coalesce,
    "is_coalesced": is_coalesced,
    "indices": indices,
    "values": values,
    "_indices": _indices,
    "_values": _values,
    "_nnz": _nnz,
    "_coalesced_": _coalesced_,
    "sparse_dim": sparse_dim,
    "dense_dim": dense_dim,
    "crow_indices": crow_indices,
    "col_indices": col_indices,
    "ccol_indices": ccol_indices,
    "row_indices": row_indices,
    "to_dense": to_dense,
    "to_sparse": to_sparse,
    "to_sparse_coo": to_sparse_coo,
    "to_sparse_csr": to_sparse_csr,
    "to_sparse_csc": to_sparse_csc,
    "to_sparse_bsr": to_sparse_bsr,
    "to_sparse_bsc": to_sparse_bsc,
    "sparse_mask": sparse_mask,
    "sparse_resize_": sparse_resize_,
    "sparse_resize_and_clear_": sparse_resize_and_clear_,
}

PROPERTIES: dict[str, Any] = {
    "layout": layout_of,
    "is_sparse": is_sparse,
    "is_sparse_csr": is_sparse_csr,
}
