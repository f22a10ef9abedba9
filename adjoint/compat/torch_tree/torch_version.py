"""torch.torch_version: the PyTorch that adjoint answers for."""

from adjoint.compat.torch_tree.version import __version__ as __version__
