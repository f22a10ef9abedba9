"""What is among the arguments of a call: tensors, their classes, layers, complex numbers."""

from typing import Any

from adjoint.tensors.core import F32, F64, TensorCore
from adjoint.tensors.tensor import Tensor, wants_calls
from adjoint.tensors.upper import upper


def tensors_in(values: list[Any]) -> list[Tensor]:
    """The tensors among the arguments, lists included."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            for element in value:
                if isinstance(element, Tensor):
                    found.append(element)
    return found


def kinds_of(tensors: list[Tensor]) -> tuple[Any, ...]:
    """The subclasses among tensors that answer calls, each once."""
    found: dict[Any, None] = {}
    for tensor in tensors:
        if type(tensor) is not Tensor and wants_calls(type(tensor)):
            found[type(tensor)] = None
    return tuple(found)


def has_layer(tensors: list[Tensor]) -> bool:
    """Whether one of the arguments takes part in a transform."""
    for tensor in tensors:
        if tensor.layer is not None:
            return True
    return False


def holds_complex(value: Any) -> bool:
    """Whether a Tensor, an array or a number is complex; rules ask it before they conjugate."""
    if isinstance(value, TensorCore):
        value = value.array
    elif isinstance(value, (float, int)):
        return False
    kind = getattr(value, "dtype", None)
    if kind is F32 or kind is F64:
        return False
    return isinstance(value, complex) if kind is None else bool(kind.kind in "cW")


def conj(value: Any) -> Any:
    """Complex conjugate of a Tensor, an array or a number; what is real is returned as it is."""
    if not holds_complex(value):
        return value
    return value.conjugate() if isinstance(value, complex) else upper.operators.conj_physical(value)
