"""Values written into the memory of tensors: the short ways, what fits, and what is refused."""

from typing import TYPE_CHECKING, Any, Final

import adjoint.call.dispatch as dispatch
from adjoint.autograd.node import (
    broadcasts_to,
)
from adjoint.backends.numpy import numpy_backend
from adjoint.backends.rooms import address
from adjoint.call.arguments import tensors_in
from adjoint.call.context import (
    current,
)
from adjoint.call.errors import complaint
from adjoint.call.promotion import promoted, unwrapped
from adjoint.dtypes import bool_, can_cast, from_numpy_dtype
from adjoint.tensors.core import (
    F32,
    F64,
    NDARRAY,
)
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import scattered

if TYPE_CHECKING:
    from adjoint.ops.op import Op

BOOLS: Final[Any] = bool_.numpy_dtype


def mutate_plainly(op: "Op", values: list[Any]) -> bool:
    """Change an ordinary NumPy tensor by others of its shape, where nothing is recorded.

    False, and nothing is touched, if the call is not of this kind.
    """
    target = values[0]
    settings = current()
    if not settings.plain or not isinstance(target, Tensor):
        return False
    if target.special or target.inference or (target.needs_grad and settings.recording):
        return False
    spec = target.spec()
    extras = target.extras
    if not spec.short or (extras is not None and extras.base is not None):
        return False
    arrays: list[Any] = [target.array]
    count = len(values)
    if op.mutate is None:  # one function of NumPy, which knows of no options
        count = op.required
        for i in range(count, len(values)):
            if values[i] is not op.defaults[i]:
                return False
    for value in values[1:count]:
        if isinstance(value, Tensor):
            theirs = value.extras
            if value.special or (value.needs_grad and settings.recording):
                return False
            if theirs is not None and theirs.base is not None:
                return False
            other = value.spec()
            if other is not spec and (
                not other.short or other.dtype is not spec.dtype or other.shape != spec.shape
            ):
                return False
            arrays.append(value.array)
        elif type(value) is float or type(value) is int:
            arrays.append(value)
        else:
            return False
    flags = target.array.flags
    if not flags.c_contiguous or not flags.writeable:
        return False
    if count > 1:
        refuse_shared(op, values)
    try:
        if op.mutate is None:
            op.direct(*arrays, out=target.array)
        elif not written_by_loop(op, arrays):
            op.mutate(dispatch.NUMPY, *arrays)
    except Exception as error:
        raise complaint(op, arrays, error)
    target.counter().bump()
    return True


def written_by_loop(op: "Op", arrays: list[Any]) -> bool:
    """Let a loop of the wheel change the first array; with usual options NumPy is faster."""
    if op.fused is None or not op.diagonal:
        return False
    for i in range(op.required, len(arrays)):
        if arrays[i] is not op.defaults[i]:
            return op.fused.write(arrays, arrays[0])
    return arrays[0].dtype.itemsize == 2 and op.fused.write(arrays, arrays[0])


def restride(
    target: Any = None, size: Any = None, stride: Any = None, offset: Any = None, *more: Any
) -> bool:
    """Show the memory of an ordinary NumPy tensor in another pattern, where nothing is recorded.

    False, and nothing is touched, if the call is not of this kind. The way of all views takes six
    times as long, most of it for the record that this one does not need.
    """
    settings = current()
    if not settings.plain or type(target) is not Tensor or target.inference or target.needs_grad:
        return False
    if more or not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        return False
    extras = target.extras
    if target.special or type(target.array) is not NDARRAY:
        return False
    if extras is not None and extras.base is not None:
        return False
    array = target.array
    whole = array if extras is None or extras.origin is None else extras.origin
    owner = array
    while type(owner.base) is NDARRAY:
        owner = owner.base
    if not array.flags.writeable or not owner.flags.c_contiguous:
        return False
    if whole is not owner and not whole.flags.c_contiguous:
        return False
    width: int = array.itemsize
    start = 0 if offset is None else offset
    if type(start) is not int or start < 0 or len(size) != len(stride):
        return False
    if offset is None and array is not whole:
        start = address(array) - address(whole)
    else:
        start *= width
    reach = start + width
    steps: list[int] = []
    for count, step in zip(size, stride):
        if type(count) is not int or type(step) is not int or count < 1 or step < 0:
            return False
        steps.append(step * width)
        reach += (count - 1) * step * width
    if reach > whole.nbytes:
        return False
    if whole is not owner:
        start += address(whole) - address(owner)
    if extras is None or extras.origin is None:
        target.rare().origin = whole
    target.replace_array(NDARRAY(tuple(size), array.dtype, owner, start, tuple(steps)))
    target.counter().bump()
    return True


def write_result(
    op: "Op", values: list[Any], given: list[Any], target: Tensor, backend: Any
) -> None:
    """Compute an op into the memory of its first argument; errors name arguments as `given`."""
    raw_values = [unwrapped(value) for value in values]
    arrays = promoted(op, values, raw_values, backend)
    own = type(target.array) is NDARRAY and arrays[0] is target.array
    usual = all(a is d for a, d in zip(arrays[op.required :], op.defaults[op.required :]))
    try:
        if own and written_by_loop(op, arrays):
            return
        if op.mutate is not None and backend.mutable and arrays[0] is target.array:
            op.mutate(backend.xp, target.array, *arrays[1:])
            return
        short = op.lane in (dispatch.UNARY, dispatch.BINARY)
        # For other types a forward does more: it refuses a division by 0, or to order complex ones.
        kind = target.array.dtype
        own = own and (not (op.looped or op.refuses) or kind is F32 or kind is F64)
        if short and own and usual and kind.kind not in "biucW":
            op.direct(*arrays[: op.required], out=target.array)
            return
        out = dispatch.run_forward(op, backend.xp, arrays)
    except Exception as error:
        raise complaint(op, dispatch.as_given(op, arrays, given), error)
    if isinstance(out, (tuple, list)):
        raise RuntimeError(f"{op.name}_(): an op with several results has no in-place form")
    out = backend.asarray(out)
    store(op.name + "_", target, out, backend)


def store(name: str, target: Tensor, out: Any, backend: Any) -> None:
    """Put values into a tensor's memory."""
    check_result(name, target, out)
    if backend.mutable:
        target.array[...] = out
        return
    xp = backend.xp
    value = xp.broadcast_to(out, target.array.shape).astype(target.array.dtype)
    extras = target.extras
    if extras is not None and extras.base is not None:
        base = extras.base
        base.replace_array(scattered(base.array, extras.steps, value))
    target.replace_array(value)
    tracing = current().tracing
    if tracing is not None:
        tracing.follow(target)


def check_result(name: str, target: Tensor, out: Any) -> None:
    """Refuse a result that can't be put where a tensor is, by its data type or shape."""
    kind, own = from_numpy_dtype(out.dtype), from_numpy_dtype(target.array.dtype)
    if not can_cast(kind, own):
        raise RuntimeError(
            f"{name}(): result type {kind.name} can't be cast to the desired output type {own.name}"
        )
    if out.shape != target.array.shape:
        if not broadcasts_to(out.shape, target.array.shape):
            raise RuntimeError(
                f"{name}(): output with shape {list(target.array.shape)} doesn't match the "
                f"broadcast shape {list(out.shape)}"
            )


def refuse_shared(op: "Op", values: list[Any]) -> None:
    """Refuse an operand that shares memory with the first, which is written, where it may not."""
    if not op.aligned and not op.apart:
        return
    target = values[0]
    counter = None if target.extras is None else target.extras.counter
    if counter is None and (op.aligned or not op.apart):
        return
    read = [values[i] for i in op.apart if i] if op.apart else values
    for tensor in tensors_in(read):
        if tensor is target:
            if op.aligned:
                continue
        elif counter is None or tensor.extras is None or tensor.extras.counter is not counter:
            continue
        if not op.aligned:
            if tensor.array.dtype is BOOLS and not any(tensor is value for value in values[1:]):
                continue  # a mask within an index, which is counted before anything is written
            shared = numpy_backend.overlap(target.array, tensor.array)
        else:
            shared = numpy_backend.partly_overlap(target.array, tensor.array)
        if shared:
            raise RuntimeError(
                f"{op.name}_(): unsupported operation: an operand and the written-to tensor share "
                "some of their memory; clone() the operand first"
            )


def same_memory(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors are one, or show the same memory."""
    if tensor is other:
        return True
    if tensor.extras is None or other.extras is None:
        return False
    return tensor.extras.counter is not None and tensor.extras.counter is other.extras.counter
