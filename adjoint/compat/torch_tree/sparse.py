"""torch.sparse: the old names of sparse tensors of one data type, and of their product."""

from typing import Any

from adjoint.compat.tensor_types import CPU_TYPES
from adjoint.creation.sparse import sparse_coo_tensor
from adjoint.ops.sparse.products import mm


def _typed(dtype: Any) -> Any:
    """The old name of sparse tensors of one data type."""

    def make(*args: Any) -> Any:
        return sparse_coo_tensor(*args, dtype=dtype)

    return make


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """gradcheck itself, which takes sparse arguments."""
    return gradcheck


globals().update({name: _typed(kind.dtype) for name, kind in CPU_TYPES.items()})
spmm = mm
