"""torch.version: the PyTorch that adjoint answers for."""

__version__ = "2.13.0"
cuda = None
hip = None
xpu = None
debug = False
git_version = "adjoint"
