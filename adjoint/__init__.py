"""PyTorch's autograd in Python you can read, on NumPy, CuPy or JAX."""

from adjoint import autograd as autograd
from adjoint import ops as ops
from adjoint.tensor import Tensor as Tensor
