"""torch.masked: besides functions that take masks, tensors that carry one."""

from adjoint.compat.torch_tree.masked.maskedtensor import (
    MaskedTensor as MaskedTensor,
    as_masked_tensor as as_masked_tensor,
    is_masked_tensor as is_masked_tensor,
    masked_tensor as masked_tensor,
)
