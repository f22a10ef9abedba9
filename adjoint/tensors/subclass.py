"""Subclasses of Tensor: how they are made, and how they see and keep operations.

A subclass with `__torch_function__` is handed every op that one of its instances takes part in.
Tensor's own, which a subclass inherits, runs the op and makes the results instances of the
subclass. A class that sets `__torch_function__ = unhandled`, or None, takes part as a plain tensor.
"""

import functools
from typing import Any, Final

from adjoint.call.context import Changed
from adjoint.ops.arranging.conversion import alias
from adjoint.tensors.tensor import AS_IS, Tensor


def _check(kind: Any, data: Tensor) -> None:
    """Refuse to make an instance of what is no subclass, or of one that answers for another."""
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(
            f"{kind!r} does not inherit from Tensor, so no tensor can be made an instance of it"
        )
    layer = data.layer
    if layer is not None and layer.wraps and not layer.sparse and not issubclass(type(data), kind):
        raise RuntimeError(
            f"Creating a new Tensor subclass {kind.__name__} but the raw Tensor object is already "
            f"associated to a python object of type {type(data).__name__}, whose class answers "
            "calls on it; make it of the tensor that it holds"
        )


def instance(kind: Any, array: Any) -> Any:
    """An instance of a subclass on an array; the subclass's own __init__ is not run."""
    made = Tensor.__new__(kind)
    Tensor.__init__(made, array, AS_IS)
    return made


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """An instance of cls on the memory of data, without its history."""
    _check(cls, data)
    data.up_to_date()
    made = instance(cls, data.array)
    if data.layer is not None:
        made.layer, made.special = data.layer.detached(), True
    made.rare().counter = data.counter()
    made.rare().origin = data.whole_array()
    if require_grad:
        Tensor.requires_grad_(made)
    if data.inference:
        made.mark_inference()
    return made


def aliased(tensor: Tensor, kind: Any = Tensor) -> Tensor:
    """The same memory and history, whatever is between: only those below autograd see it.

    Refused if it is for an instance of a class that can't be one on this tensor.
    """
    if kind is not Tensor:
        _check(kind, tensor)
    with unseen():
        shown: Tensor = alias(tensor)
    return shown


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same memory and history as an instance of cls."""
    _check(cls, self)
    with Changed({"modes": ()}):
        shown = aliased(self)
    made = instance(cls, shown.array)
    made.take_over(shown)
    return made


def plain() -> Changed:
    """Inside, in the calling context, instances of subclasses are treated as plain tensors."""
    return Changed({"overrides": False})


def unseen() -> Changed:
    """The same, and no function mode is asked either."""
    return Changed({"overrides": False, "functions": ()})


def _converted(result: Any, kind: Any) -> Any:
    """Results of an op as instances of a subclass."""
    if isinstance(result, Tensor):
        return result if isinstance(result, kind) else as_subclass(result, kind)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_converted(element, kind) for element in result])
    if isinstance(result, (tuple, list)):
        return type(result)([_converted(element, kind) for element in result])
    return result


def torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run func on its arguments as on plain tensors; the results are instances of cls."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    named = kwargs or {}
    with plain():
        result = func(*args, **named)
    return result if func in unconverted() else _converted(result, cls)


@functools.cache
def unconverted() -> frozenset[Any]:
    """What answers tensors as they are: the gradient, and the base of a view."""
    names = ("grad", "_grad", "_base")
    return frozenset(getattr(Tensor, name).__get__ for name in names if hasattr(Tensor, name))


class _Unhandled:
    """A `__torch_function__` that makes the call as if all were plain tensors.

    It is no function, so that it is the same on a class and on its instances.
    """

    __name__ = "_disabled_torch_function_impl"
    as_plain = True  # so that nobody need ask it

    def __call__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with plain():
            return func(*args, **(kwargs or {}))


unhandled: Final = _Unhandled()


METHODS: dict[str, Any] = {
    "_make_subclass": staticmethod(make_subclass),
    "as_subclass": as_subclass,
    "__torch_function__": classmethod(torch_function),
}
