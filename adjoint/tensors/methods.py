"""Gives Tensor the methods and properties that are no ops."""

from typing import Any

from adjoint.autograd import entry_points, saved_attributes
from adjoint.autograd.provenance import INTERPRETED
from adjoint.call.overriding import is_overriding, offered, seen_by_mode
from adjoint.creation import factories
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops import attach_all
from adjoint.tensors import interop, pickling, printing, subclass
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

for _home in (factories, interop, pickling, printing, subclass):
    attach_all(_home)
saved_attributes.attach_all()


def _new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A tensor; of a subclass it is whole already, since its `__init__` need not call Tensor's."""
    made = object.__new__(cls)
    if cls is not Tensor and args:
        Tensor.__init__(made, *args, **kwargs)
    return made


def derived(cls: Any) -> None:
    """Have a class of the program's made as PyTorch makes it; before there is one, it costs time.

    A compiled Tensor does it in C: tools/mypyc_repair.py.
    """
    if INTERPRETED and not cls.__module__.startswith("adjoint."):
        setattr(Tensor, "__new__", staticmethod(_new))  # noqa: B010  # mypy refuses the other form


def _init_subclass(cls: Any, /, **options: Any) -> None:
    """Told of each class that is derived from Tensor."""
    super(Tensor, cls).__init_subclass__(**options)
    derived(cls)


if INTERPRETED:
    setattr(Tensor, "__init_subclass__", classmethod(_init_subclass))  # noqa: B010

upper.operators.from_data = factories.from_data
upper.operators.aliased = subclass.aliased
upper.operators.as_subclass = subclass.as_subclass


def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor with respect to the leaves to their `.grad`."""
    if seen_by_mode() or is_overriding(self):
        named = {"gradient": gradient, "retain_graph": retain_graph}
        offered(backward, (self,), {**named, "create_graph": create_graph, "inputs": inputs})
        return
    entry_points.backward(self, gradient, retain_graph, create_graph, None, inputs)


def _delete_grad(self: Tensor) -> None:
    self.gradient = None


def _keep(name: str) -> Any:
    """Why an attribute that every tensor has can't be deleted."""

    def refuse(self: Tensor) -> None:
        raise RuntimeError(f"a tensor's {name} can't be deleted")

    return refuse


def _index(self: Tensor) -> int:
    if category_of(self.array.dtype) >= FLOAT:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


_grad: Any = Tensor.grad
_tensor: Any = Tensor
_tensor.backward = backward
_index.__name__ = "__index__"
_tensor.__index__ = _index  # a compiled class has no place for it
# A compiled property has no deleter, so that `del x.grad` works only through this one.
_tensor.grad = property(_grad.__get__, _grad.__set__, _delete_grad)
for _name in ("data", "requires_grad"):
    _old: Any = getattr(Tensor, _name)
    setattr(Tensor, _name, property(_old.__get__, _old.__set__, _keep(_name)))
