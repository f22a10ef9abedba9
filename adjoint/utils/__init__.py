"""What PyTorch keeps under `torch.utils`."""

from adjoint.utils import checkpoint as checkpoint, hooks as hooks
