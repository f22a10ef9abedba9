"""torch.cuda.amp: mixed precision on GPUs."""

from adjoint.compat.torch_tree.cuda.amp.autocast_mode import (
    autocast as autocast,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
)
from adjoint.compat.torch_tree.cuda.amp.grad_scaler import GradScaler as GradScaler
