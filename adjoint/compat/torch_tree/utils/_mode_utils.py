"""torch.utils._mode_utils: calls that neither modes nor classes see."""

from adjoint.compat.torch_tree.utils._python_dispatch import dispatch_disabled

no_dispatch = dispatch_disabled
