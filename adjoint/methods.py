"""Gives Tensor the methods and properties that are no ops."""

from typing import Any

from adjoint import creation, dispatch, interop, pickling, printing, subclass
from adjoint.autograd import differentiate, saved_attributes as saved_attributes  # gives nodes theirs
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops import attach_all
from adjoint.tensor import Tensor

for _home in (creation, interop, pickling, printing, subclass):
    attach_all(_home)

dispatch.operators.from_data = creation.from_data
dispatch.operators.as_subclass = subclass.as_subclass


def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor with respect to the leaves to their `.grad`."""
    differentiate.backward(self, gradient, retain_graph, create_graph, None, inputs)


def _delete_grad(self: Tensor) -> None:
    self.gradient = None


def _index(self: Tensor) -> int:
    if category_of(self.array.dtype) >= FLOAT:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


_grad: Any = Tensor.grad
_tensor: Any = Tensor
_tensor.backward = backward
_tensor.__index__ = _index  # a compiled class has no place for it
# A compiled property has no deleter, so that `del x.grad` works only through this one.
_tensor.grad = property(_grad.__get__, _grad.__set__, _delete_grad)
