"""Sparse tensors under the names of torch.sparse; docs/notes/sparse.md says what they are."""

from adjoint.creation.sparse import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from adjoint.ops.sparse.products import (
    addmm as addmm,
    log_softmax as log_softmax,
    mm as mm,
    sampled_addmm as sampled_addmm,
    softmax as softmax,
    sum as sum,
)
