"""The step of plain gradient descent on arrays of NumPy's, which is compiled.

There is little to compute in a small model, so that finding out what to compute takes most time.
"""

from typing import Any, Final

from adjoint.backends.numpy import number_as_array, numpy_backend
from adjoint.optim.plans import check_shapes, check_writable
from adjoint.optim.programs import BLOCK
from adjoint.tensors.core import NDARRAY, TensorCore

multiply: Final[Any] = numpy_backend.xp.multiply
add: Final[Any] = numpy_backend.xp.add


def all_plain(params: list[Any]) -> bool:
    """Whether each gradient has memory of its own that a step can read: most have."""
    for each in params:
        param: TensorCore = each
        gradient = param.gradient
        if gradient is None or gradient.layer is not None or param.special:
            return False
    return True


def descend(params: list[Any], factor: float, writes: Any) -> list[Any]:
    """Have a multiple of each gradient added to its parameter; what isn't plain comes back."""
    others: list[Any] = []
    calls: list[Any] = writes.calls
    changed: list[Any] = writes.changed
    room_for: Any = writes.spare.room
    cell: Any = None
    kind: Any = None
    for each in params:
        param: TensorCore = each
        gradient = param.gradient
        assert gradient is not None
        array, grad = param.array, gradient.array
        dtype: Any = array.dtype
        plain = type(array) is NDARRAY and array.size <= BLOCK and grad.dtype is dtype
        if not plain or param.special or param.inference:
            others.append(each)
            continue
        if grad.shape != array.shape or not array.flags.writeable:
            check_shapes([array, grad], [])
            check_writable([array])
        if dtype is not kind:
            cell, kind = number_as_array(factor, dtype), dtype
        room = room_for(0, dtype, array)
        calls.append((multiply, grad, cell, room))
        calls.append((add, array, room, array))
        changed.append(each)
    return others
