"""Conversions between layouts, as torch.ops.aten has them."""

from typing import Any, Final

from adjoint.ops.arranging.conversion import sparse_csr
from adjoint.ops.sparse import parts


def _to_dense(input: Any, dtype: Any = None, masked_grad: bool | None = None) -> Any:
    """The tensor with all its elements."""
    return parts.to_dense(input, dtype, masked_grad=masked_grad)


def _to_sparse(
    input: Any,
    sparse_dim: Any = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Any:
    """The tensor in a sparse layout."""
    return parts.to_sparse(
        input, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim
    )


def _to_sparse_csr(input: Any, dense_dim: int | None = None) -> Any:
    """A matrix with its values row after row."""
    return parts.to_sparse_csr(input, dense_dim)


def _to_sparse_csc(input: Any, dense_dim: int | None = None) -> Any:
    """A matrix with its values column after column."""
    return parts.to_sparse_csc(input, dense_dim)


def _coalesce(input: Any) -> Any:
    """The tensor with each place once, in order."""
    return parts.coalesced(input)


def _sparse_coo_tensor_with_dims_and_tensors(
    sparse_dim: int,
    dense_dim: int,
    size: Any,
    indices: Any,
    values: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    is_coalesced: bool | None = None,
) -> Any:
    """The tensor that has values at indices, a column of them each."""
    return parts.from_coordinates(values, indices, tuple(size), bool(is_coalesced))


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    """The matrix that has values row after row, or column after column."""
    by_rows = layout is sparse_csr
    return parts.from_compressed(values, compressed_indices, plain_indices, tuple(size), by_rows)


SPARSE: Final = (
    _to_dense,
    _to_sparse,
    _to_sparse_csr,
    _to_sparse_csc,
    _coalesce,
    _sparse_coo_tensor_with_dims_and_tensors,
    sparse_compressed_tensor,
)
