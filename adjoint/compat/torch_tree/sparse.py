"""torch.sparse: old names of sparse tensors, and matrices of diagonals."""

from typing import Any

from adjoint.compat.tensor_types import CPU_TYPES, sparse_of_type
from adjoint.creation.factories import arange
from adjoint.creation.sparse import sparse_coo_tensor
from adjoint.dtypes import int64
from adjoint.ops.arranging.conversion import sparse_coo, sparse_csc, sparse_csr
from adjoint.ops.arranging.shape import cat, stack
from adjoint.ops.sparse.products import mm


def _typed(dtype: Any) -> Any:
    """The old name of sparse tensors of one data type."""

    def make(*args: Any) -> Any:
        return sparse_of_type(args, dtype)

    return make


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """The matrix with rows of numbers as its diagonals: a number stays in the column it has."""
    rows, places = diagonals.reshape(-1, diagonals.shape[-1]), offsets.reshape(-1).tolist()
    if len(shape) != 2 or offsets.dtype is not int64:
        raise RuntimeError(
            f"spdiags: shape must be that of a matrix and offsets int64, got {tuple(shape)} and "
            f"{offsets.dtype}"
        )
    if len(places) != len(rows) or len(set(places)) != len(places):
        raise RuntimeError(
            f"spdiags: wants one offset for each of {len(rows)} diagonals, and no offset twice, "
            f"got {places}"
        )
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"spdiags: layout must be a sparse one, got {layout}")
    height, width = shape
    spans = [(max(0, k), min(width, height + k, rows.shape[1])) for k in places]
    if any(last < first for first, last in spans):
        raise RuntimeError(f"spdiags: a diagonal of {places} lies outside of {tuple(shape)}")
    if not spans:
        empty: Any = sparse_coo_tensor(size=shape, dtype=diagonals.dtype)
        return empty if layout in (None, sparse_coo) else empty.to_sparse(layout=layout)
    columns = cat([arange(*span) for span in spans])
    lines = cat([arange(*span) - k for span, k in zip(spans, places, strict=True)])
    values = cat([row[slice(*span)] for row, span in zip(rows, spans, strict=True)])
    made: Any = sparse_coo_tensor(stack([lines, columns]), values, shape)
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """gradcheck itself, which takes sparse arguments."""
    return gradcheck


globals().update({name: _typed(kind.dtype) for name, kind in CPU_TYPES.items()})
spmm = mm
