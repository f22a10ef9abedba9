"""Results put into the tensors that a call gives as out=."""

from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.call.arguments import has_layer, tensors_in
from adjoint.call.context import current
from adjoint.dtypes import can_cast
from adjoint.tensors.tensor import Tensor


def refuse_shared(name: str, tensors: list[Tensor], out: Any, elsewhere: bool = False) -> None:
    """Refuse a tensor as out= that lies where an argument is read, or where another of its is."""
    for target in tensors_in([out]):
        for tensor in tensors:
            written, read = target.array, tensor.array
            shared = target is tensor or numpy_backend.overlap(written, read)
            if shared and elsewhere:
                shared = target is not tensor and numpy_backend.partly_overlap(written, read)
            if shared:
                raise RuntimeError(
                    f"{name}(): unsupported operation: out shares memory with an argument; clone() "
                    "the argument first"
                )


def write_out(name: str, result: Any, out: Any, exact: Any = False) -> Any:
    """Put a result into the tensors given as out=: cast, unless it must fit exactly.

    What can't be cast is a RuntimeError, or of the class that `exact` names.
    """
    if isinstance(out, (tuple, list)):
        pairs = list(zip(out, result, strict=True))
        for target, value in pairs:
            _check_out(name, value, target, exact)
        for target, value in pairs:
            target.overwrite(value, name)
        return type(result)(*out) if hasattr(result, "_fields") else out
    if out.layer is not None and out.layer.becomes(out, result, name):
        return out
    _check_out(name, result, out, exact)
    return out.overwrite(result, name)


def refuse_gradient(name: str, result: Any, out: Any) -> None:
    """Refuse a result, or a tensor given as out=, that needs a gradient."""
    if result.needs_grad or (out.needs_grad and current().recording):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad"
        )


def _check_out(name: str, result: Any, out: Any, exact: Any) -> None:
    """Refuse a tensor given as out= that can't take a result."""
    if has_layer([result, out]):
        raise RuntimeError(
            f"{name}(): it is an out= function, which can't be used inside a transform, nor on "
            "sparse tensors; use what the function returns"
        )
    refuse_gradient(name, result, out)
    if type(result.array) is not type(out.array) and result.device != out.device:
        raise RuntimeError(
            f"{name}(): expected out to be on {result.device}, where the result is, but it is on "
            f"{out.device}"
        )
    if isinstance(exact, type):
        if not can_cast(result.dtype, out.dtype):
            raise exact(
                f"{name}(): {result.dtype.name} can't be cast to the type of out, {out.dtype.name}"
            )
    elif exact and out.dtype is not result.dtype:
        if name not in ("all", "any") or out.dtype.name != "uint8":
            raise RuntimeError(
                f"{name}(): expected out of dtype {result.dtype.name}, got {out.dtype.name}"
            )
