"""torch.sparse: sparse tensors, as dense ones.

Products and gradients are those of PyTorch; memory and time are those of all elements. Which
elements were given is not remembered: those that are not zero count.
"""

from typing import Any

from adjoint import dtypes
from adjoint.compat.tensor_types import CPU_TYPES
from adjoint.creation.factories import zeros
from adjoint.creation.from_memory import as_tensor
from adjoint.ops.arranging.indexing import index_put
from adjoint.ops.matrices.matmul import addmm as addmm, mm as mm
from adjoint.ops.reducing.reduction import sum as sum


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: Any = None,
    is_coalesced: Any = None,
) -> Any:
    """A tensor that is zero but where indices, a column each, have values; these are summed."""
    if values is None:  # only the size is given
        return zeros(tuple(indices), dtype=dtype, device=device, requires_grad=requires_grad)
    places: Any = as_tensor(indices, dtype=dtypes.int64, device=device)
    elements: Any = as_tensor(values, dtype=dtype, device=device)
    if size is None:
        size = [int(place.max()) + 1 for place in places] + list(elements.shape[1:])
    empty = zeros(tuple(size), dtype=elements.dtype, device=elements.device)
    made = index_put(empty, tuple(places), elements, accumulate=True)
    return made.requires_grad_() if requires_grad else made


def _typed(dtype: Any) -> Any:
    """The old name of sparse tensors of one data type."""

    def make(*args: Any) -> Any:
        return sparse_coo_tensor(*args, dtype=dtype)

    return make


globals().update({name: _typed(kind.dtype) for name, kind in CPU_TYPES.items()})
spmm = mm
