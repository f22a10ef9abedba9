"""torch.autograd.forward_ad: whether tangents are computed, which is private there."""

from adjoint.compat.torch_tree.autograd.grad_mode import RememberedSetting
from adjoint.transforms.duals import tracking

_is_fwd_grad_enabled = tracking.get


class _set_fwd_grad_enabled(RememberedSetting):
    """Let calls on dual tensors have tangents or not."""

    setting = tracking
