"""Ops and functions as methods of Tensor's: those who answer calls tell one from the other.

`Tensor.add` is no `add`, as in PyTorch: a class with `__torch_function__`, or a mode, is asked
about the one that the program wrote. A call that nobody answers pays nothing for it.
"""

import inspect
from inspect import Signature
from types import CellType, FunctionType, MethodType
from typing import Any

from adjoint.call.overriding import answered_elsewhere, offered
from adjoint.ops.signatures import Described
from adjoint.tensors.tensor import Tensor


class AsMethod(Described):
    """An op, or its in-place form, as a method."""

    def __init__(self, op: Any, name: str = "") -> None:
        self.op = op
        self.__name__: str = name or op.__name__
        self.__qualname__ = f"Tensor.{self.__name__}"
        self.describe(op.__doc__, op)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(self, args, kwargs)
        return self.op(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<adjoint method {self.__name__}>"

    def __reduce__(self) -> Any:
        return (getattr, (Tensor, self.__name__))

    def public_signature(self) -> Signature:
        """How users call it, and what it answers."""
        return inspect.signature(self.op)


def as_attribute(function: Any, owner: Any) -> Any:
    """A function as an attribute of a class: a method of Tensor's, in others itself, unbound.

    So a layer may have `activation = torch.tanh`, as where functions are C's.
    """
    return function.as_method() if issubclass(owner, Tensor) else function


def double(function: Any, name: str) -> Any:
    """A function once more, which offers its calls by itself (ops/composites.py), and by a name."""
    if not isinstance(function, FunctionType):
        return function
    cells = list(function.__closure__ or ())
    own = [place for place, name in enumerate(function.__code__.co_freevars) if name == "call"]
    for place in own:
        cells[place] = CellType()
    made = FunctionType(
        function.__code__,
        function.__globals__,
        name,
        function.__defaults__,
        tuple(cells),
    )
    for place in own:
        cells[place].cell_contents = made
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    made.__dict__.update(function.__dict__)
    made.__qualname__ = f"Tensor.{name}"
    made.double_of = function  # type: ignore[attr-defined]  # functions take attributes
    return made
