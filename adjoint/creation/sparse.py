"""Sparse tensors from indices and values, and the checks of these."""

import contextlib
from itertools import pairwise
from typing import Any

from adjoint.creation.from_memory import as_tensor
from adjoint.creation.options import shape_of
from adjoint.device import device as as_device, get_default_device
from adjoint.dtypes import as_dtype, get_default_dtype, int32, int64
from adjoint.ops.arranging.conversion import sparse_coo, sparse_csc, sparse_csr
from adjoint.ops.composites import overridable
from adjoint.ops.sparse.layers import Coordinates, Sparse, blank
from adjoint.ops.sparse.parts import from_compressed, from_coordinates
from adjoint.tensors.concrete import concrete, has_values
from adjoint.tensors.tensor import Tensor

__all__ = [
    "check_sparse_tensor_invariants",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]


class _Checks:
    """Whether indices are checked where a sparse tensor is made, for the whole process."""

    def __init__(self) -> None:
        self.enabled = False


_checks = _Checks()


class check_sparse_tensor_invariants(contextlib.ContextDecorator):
    """Check the indices of sparse tensors when they are made: in a block, or from now on."""

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are checked."""
        return _checks.enabled

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        _checks.enabled = True

    @staticmethod
    def disable() -> None:
        """Don't check from now on."""
        _checks.enabled = False

    def __enter__(self) -> None:
        self.before.append(_checks.enabled)
        _checks.enabled = self.state

    def __exit__(self, *error: object) -> None:
        _checks.enabled = self.before.pop()


def _is_checked(asked: bool | None) -> bool:
    return _checks.enabled if asked is None else asked


def _elements(values: Any, dtype: Any, device: Any) -> Any:
    """The values as a tensor; its history goes on, and lists get the default type."""
    if device is None and isinstance(values, Tensor):
        device = values.device
    return as_tensor(values, dtype=None if dtype is None else as_dtype(dtype), device=device)


def _indices(values: Any, where: Any) -> Any:
    """Indices as 64-bit integers, on the device of the values."""
    made: Any = as_tensor(values, device=where)
    return (made if made.dtype is int64 else made.to(int64)).detach()


def _finished(made: Tensor, requires_grad: bool) -> Tensor:
    return made.detach().requires_grad_() if requires_grad else made


@overridable
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """The tensor that is zero but where indices, a column each, have values; these are summed."""
    if values is None:
        size = indices if size is None else size
        return _empty(size, dtype, device, requires_grad)
    elements = _elements(values, dtype, device)
    places = _indices(indices, elements.device)
    if places.ndim != 2:
        if places.ndim != 1 or size is None:
            raise RuntimeError(
                f"sparse_coo_tensor(): indices must be a matrix, sparse_dim x nnz, got shape "
                f"{list(places.shape)}"
            )
        places = places.reshape(-1, 1)
    if elements.ndim == 0:
        elements = elements.reshape(1)
    if places.shape[1] != elements.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{places.shape[1]}, nnz from values: {elements.shape[0]}"
        )
    sizes = _sizes_of(places, elements) if size is None else shape_of("sparse_coo_tensor", size)
    if len(sizes) != places.shape[0] + elements.ndim - 1:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(sizes)}, sparse_dim = {places.shape[0]}, dense_dim = {elements.ndim - 1}"
        )
    if tuple(elements.shape[1:]) != sizes[places.shape[0] :]:
        raise RuntimeError(
            f"values must have the size of the dense dimensions, {list(sizes[places.shape[0] :])}, "
            f"got {list(elements.shape[1:])}"
        )
    if _is_checked(check_invariants) and places.device.type != "meta":
        _check_coordinates(concrete(places), sizes, bool(is_coalesced))
    return _finished(from_coordinates(elements, places, sizes, bool(is_coalesced)), requires_grad)


def _empty(size: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor without values."""
    shape = shape_of("sparse_coo_tensor", tuple(size) if isinstance(size, list) else size)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    where = get_default_device() if device is None else as_device(device)
    return _finished(blank(shape, kind, where), requires_grad)


def _sizes_of(places: Any, elements: Any) -> tuple[int, ...]:
    """The least sizes that hold all indices."""
    rows = concrete(places)
    if rows.size and int(rows.min()) < 0:
        dim = [int(row.min()) < 0 for row in rows].index(True)
        raise RuntimeError(f"found negative index {int(rows[dim].min())} for dim {dim}")
    least = [int(row.max()) + 1 if rows.shape[1] else 0 for row in rows]
    return (*least, *[int(n) for n in elements.shape[1:]])


def _check_coordinates(rows: Any, sizes: tuple[int, ...], is_coalesced: bool) -> None:
    for dim, row in enumerate(rows):
        if row.shape[0] and int(row.min()) < 0:
            raise RuntimeError(f"found negative index {int(row.min())} for dim {dim}")
        if row.shape[0] and int(row.max()) >= sizes[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {sizes[dim]} but found "
                f"index {int(row.max())}"
            )
    if is_coalesced:
        columns = [*zip(*rows.tolist())]
        if sorted(set(columns)) != columns:
            raise RuntimeError(
                "cannot set is_coalesced to true if indices are not sorted, each once"
            )


def _check_compressed(starts: Any, numbers: Any, count: int, width: int, names: Any) -> None:
    """Refuse starts and numbers that describe no matrix."""
    start, number, counted = names
    ends, columns = starts.tolist(), numbers.tolist()
    if len(ends) != count + 1:
        raise RuntimeError(f"`{start}.shape[-1] == {counted[0]} + 1` is not satisfied.")
    if ends[0] != 0:
        raise RuntimeError(f"`{start}[..., 0] == 0` is not satisfied.")
    if ends[-1] != len(columns):
        raise RuntimeError(f"`{start}[..., -1] == nnz` is not satisfied.")
    if any(not 0 <= after - before <= width for before, after in pairwise(ends)):
        raise RuntimeError(
            f"`0 <= {start}[..., 1:] - {start}[..., :-1] <= {counted[1]}` is not satisfied."
        )
    if any(not 0 <= column < width for column in columns):
        raise RuntimeError(f"`0 <= {number} < {counted[1]}` is not satisfied.")
    for before, after in pairwise(ends):
        part = columns[before:after]
        if sorted(set(part)) != part:
            raise RuntimeError(
                f"`{number}[..., {start}[..., i - 1]:{start}[..., i]] for all i = 1, ..., "
                f"{counted[0]} are sorted and distinct` is not satisfied."
            )


_ROWS = ("crow_indices", "col_indices", ("nrows", "ncols"))
_COLUMNS = ("ccol_indices", "row_indices", ("ncols", "nrows"))


def _compressed(
    name: str, parts: tuple[Any, Any, Any], size: Any, by_rows: bool, options: tuple[Any, ...]
) -> Tensor:
    """A matrix from where its rows, or columns, start, and what they have."""
    dtype, device, requires_grad, check_invariants = options
    elements = _elements(parts[2], dtype, device)
    starts, numbers = [as_tensor(part, device=elements.device) for part in parts[:2]]
    for each in (starts, numbers):
        if each.dtype not in (int32, int64):
            raise RuntimeError(f"{name}(): indices must be int32 or int64, got {each.dtype.name}")
    if starts.ndim != 1 or numbers.ndim != 1 or elements.ndim != 1:
        raise NotImplementedError(
            f"{name}(): only single matrices, whose values are numbers; got values of shape "
            f"{list(elements.shape)}"
        )
    if numbers.shape[0] != elements.shape[0]:
        raise RuntimeError(f"`{_ROWS[1]}.numel() == values.shape[0]` is not satisfied.")
    if size is None:
        wide = int(concrete(numbers).max()) + 1 if numbers.shape[0] else 0
        size = (starts.shape[0] - 1, wide) if by_rows else (wide, starts.shape[0] - 1)
    sizes = shape_of(name, size)
    if len(sizes) != 2:
        raise RuntimeError(f"{name}(): size must be that of a matrix, got {list(sizes)}")
    if _is_checked(check_invariants) and has_values(starts):
        count, width = sizes if by_rows else sizes[::-1]
        names = _ROWS if by_rows else _COLUMNS
        _check_compressed(concrete(starts), concrete(numbers), count, width, names)
    made = from_compressed(elements, starts.detach(), numbers.detach(), sizes, by_rows)
    return _finished(made, requires_grad)


@overridable
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix whose rows start at crow_indices, and have values at col_indices."""
    parts = (crow_indices, col_indices, values)
    options = (dtype, device, requires_grad, check_invariants)
    return _compressed("sparse_csr_tensor", parts, size, True, options)


@overridable
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix whose columns start at ccol_indices, and have values at row_indices."""
    parts = (ccol_indices, row_indices, values)
    options = (dtype, device, requires_grad, check_invariants)
    return _compressed("sparse_csc_tensor", parts, size, False, options)


@overridable
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    layout: Any,
    **options: Any,
) -> Tensor:
    """A matrix in layout sparse_csr or sparse_csc."""
    if layout not in (sparse_csr, sparse_csc):
        raise NotImplementedError(f"sparse_compressed_tensor(): no tensor has the layout {layout}")
    make = sparse_csr_tensor if layout is sparse_csr else sparse_csc_tensor
    return make(compressed_indices, plain_indices, values, size, **options)


# ---- apart and together ----

_FORMS = {each.name: each for each in (sparse_coo, sparse_csr, sparse_csc)}


def taken_apart(layer: Sparse) -> tuple[str, tuple[Tensor, ...], tuple[int, ...], bool]:
    """What a sparse tensor is made of: layout, indices and values, sizes, if it is coalesced."""
    if isinstance(layer, Coordinates):
        parts = (layer.places.detach(), layer.elements.detach())
        return layer.layout.name, parts, layer.shape, layer.coalesced
    held: Any = layer
    lists = (held.starts.detach(), held.numbers.detach(), held.elements.detach())
    return layer.layout.name, lists, layer.shape, True


def put_together(name: str, parts: Any, size: Any, is_coalesced: bool = False) -> Any:
    """The tensor that was taken apart; its indices are checked, since they come from a file."""
    if name not in _FORMS or not all(type(part) is Tensor for part in parts):
        raise ValueError(f"a sparse tensor has the layout {name!r}, or parts that are no tensors")
    make: Any = {"sparse_csr": sparse_csr_tensor, "sparse_csc": sparse_csc_tensor}.get(name)
    if make is not None:
        return make(*parts, tuple(size), check_invariants=True)
    indices, values = parts
    return sparse_coo_tensor(
        indices, values, tuple(size), check_invariants=True, is_coalesced=bool(is_coalesced)
    )
