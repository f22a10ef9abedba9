"""PyTorch's import paths: `adjoint.compat.torch.nn.functional` and all others, see `paths.py`."""

from adjoint.compat import methods, old_argument_orders
from adjoint.compat.mirror import reflect

methods.attach()
old_argument_orders.accept()
reflect(__name__)
