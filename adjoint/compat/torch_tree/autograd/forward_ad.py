"""torch.autograd.forward_ad: whether tangents are computed, which is private there."""

from adjoint.call.context import current
from adjoint.call.layers import tracking
from adjoint.compat.torch_tree.autograd.grad_mode import RememberedSetting


def _is_fwd_grad_enabled() -> bool:
    """Whether calls on dual tensors have tangents; in the forward of a Function they have none."""
    return tracking.get() and current().intermediates is None


class _set_fwd_grad_enabled(RememberedSetting):
    """Let calls on dual tensors have tangents or not."""

    setting = tracking
