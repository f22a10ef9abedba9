"""torch.autograd.forward_ad: whether tangents are computed, which is private there."""

from adjoint.autograd.grad_mode import Setting
from adjoint.transforms.duals import change_tracking, tracking

_is_fwd_grad_enabled = tracking.get


class _set_fwd_grad_enabled(Setting):
    """Let calls on dual tensors have tangents or not."""

    change = staticmethod(change_tracking)
