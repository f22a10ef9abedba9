"""Sparse tensors under the names of torch.sparse: what the tables declare with this home."""

from adjoint.creation.sparse import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from adjoint.ops import PUBLIC

__all__ = ["check_sparse_tensor_invariants"] + list(PUBLIC["sparse"])
globals().update(PUBLIC["sparse"])
