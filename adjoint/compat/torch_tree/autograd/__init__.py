"""torch.autograd: old names, and settings that only PyTorch's engine has."""

from adjoint.autograd.graph import is_checkpoint_valid as _is_checkpoint_valid  # noqa: F401
from adjoint.compat.torch_tree._C._autograd import (
    SavedTensor as SavedTensor,
    kineto_available as kineto_available,
)
from adjoint.compat.torch_tree.autograd.grad_mode import (
    is_multithreading_enabled as is_multithreading_enabled,
    is_view_replay_enabled as is_view_replay_enabled,
    set_multithreading_enabled as set_multithreading_enabled,
)
from adjoint.compat.torch_tree.autograd.variable import Variable as Variable
