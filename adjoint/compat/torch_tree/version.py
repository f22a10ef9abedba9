"""torch.version: the PyTorch that adjoint answers for, and how it would have been built."""

__version__ = "2.13.0"
cuda = None
hip = None
xpu = None
debug = False
git_version = "adjoint"
has_lapack = True  # NumPy's linear algebra is LAPACK's
has_mkl = has_openmp = False
has_spectral = True
