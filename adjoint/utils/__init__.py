"""What PyTorch keeps under `torch.utils`."""

from adjoint.utils import checkpoint as checkpoint, data as data, hooks as hooks
from adjoint.utils.swapping import swap_tensors as swap_tensors
