"""Gives Tensor the methods and properties that are no ops."""

from adjoint import creation, dispatch, interop, pickling, printing, subclass
from adjoint.autograd import differentiate
from adjoint.ops import attach_all

for _home in (differentiate, creation, interop, pickling, printing, subclass):
    attach_all(_home)

dispatch.operators.from_data = creation.from_data
dispatch.operators.as_subclass = subclass.as_subclass
