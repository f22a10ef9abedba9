"""Mixed precision: products in half the bits, gradients scaled so that they do not vanish."""

from adjoint.amp.autocast_mode import (
    autocast as autocast,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
    is_autocast_available as is_autocast_available,
)
from adjoint.amp.grad_scaler import GradScaler as GradScaler
