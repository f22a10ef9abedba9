"""torch.cpu.amp: mixed precision on the CPU."""

from adjoint.compat.torch_tree.cpu.amp.autocast_mode import autocast as autocast
from adjoint.compat.torch_tree.cpu.amp.grad_scaler import GradScaler as GradScaler
