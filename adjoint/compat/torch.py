"""PyTorch's import paths: `adjoint.compat.torch.nn.functional` and all others, see `paths.py`."""

from adjoint.compat import node_methods, tensor_methods
from adjoint.compat.mirror import reflect

tensor_methods.attach()
node_methods.attach()
reflect(__name__)
