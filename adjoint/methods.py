"""Gives Tensor the methods and properties that are no ops."""

from adjoint import creation, interop, pickling, printing
from adjoint.autograd import differentiate
from adjoint.ops import attach_all

for _home in (differentiate, creation, interop, pickling, printing):
    attach_all(_home)
