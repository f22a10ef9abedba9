"""In which data type and on which backend an op computes, and how its results lie in memory."""

from typing import TYPE_CHECKING, Any, Final

from adjoint.backends import Backend, lookup
from adjoint.backends.numpy import numpy_backend
from adjoint.call.half_precision import is_half
from adjoint.dtypes import (
    BOOL,
    FLOAT,
    dtype,
    fitted_integer,
    from_numpy_dtype,
    get_default_dtype,
    of_python_scalar,
    result_of,
)
from adjoint.tensors.core import F32, F64, NDARRAY, NUMPY_BACKEND, backend_of
from adjoint.tensors.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.ops.op import Op

NUMBER: Final[Any] = numpy_backend.xp.number  # what NumPy's own numbers are


def narrowed(op: "Op", arrays: list[Any], out: Any) -> Any:
    """An elementwise result in the 16-bit type of the arguments, where NumPy has widened it."""
    if not op.diagonal or not op.promotes or isinstance(out, (tuple, list)):
        return out
    own = getattr(out, "dtype", None)
    if own is None or (own is not F32 and own != F32):
        return out
    for i in op.promotes:  # a number among them may be in float32
        kind = getattr(arrays[i], "dtype", None)
        if kind is not None and kind is not F32 and is_half(kind):
            return out.astype(kind)
    return out


def has_pairs(arrays: list[Any], numpy: bool) -> bool:
    """Whether an array is of complex32, in which nothing is computed."""
    for array in arrays:
        if type(array) is NDARRAY:
            kind = array.dtype
            if kind is not F32 and kind is not F64 and kind.kind == "W":
                return True
        elif not numpy and getattr(getattr(array, "dtype", None), "kind", "") == "W":
            return True
    return False


def common_backend(op: "Op", tensors: list[Tensor]) -> Backend:
    """The backend of all arguments; 0-d CPU tensors go along with any other."""
    backend: Backend = backend_of(tensors[0].array)
    for tensor in tensors:
        other = backend_of(tensor.array)
        if other is not backend:
            if other is numpy_backend and tensor.array.ndim == 0:
                continue
            if backend is numpy_backend and tensors[0].array.ndim == 0:
                return common_backend(op, tensors[1:] + tensors[:1])
            # PyTorch's product of two matrices takes one without values; ours has none then.
            if op.name == "matmul" and tensor.array.ndim == tensors[0].array.ndim == 2:
                if not (backend.xp.valued() and other.xp.valued()):
                    return other if backend.xp.valued() else backend
            raise RuntimeError(
                f"{op.name}(): Expected all tensors to be on the same device, but found "
                f"{backend.device(tensors[0].array)} and {other.device(tensor.array)}; "
                "move one with .to(...)"
            )
    return backend


def promoted(op: "Op", values: list[Any], arrays: list[Any], backend: Backend) -> list[Any]:
    """The raw arguments, those that mix brought to one data type."""
    if not op.promotes:
        return arrays
    if len(op.promotes) == 1 and op.bools and not op.floats:
        if isinstance(values[op.promotes[0]], Tensor):  # it is of the type that it is of
            return arrays
    target = uniform(op, arrays)
    if target is None:
        kind = promotion(op, values)
        if kind is None:
            return arrays
        target = kind.numpy_dtype
    lone = F32 if op.wide_numbers and is_half(target) else target
    for i in op.promotes:
        array = arrays[i]
        if isinstance(values[i], Tensor):
            if array.dtype != target:
                if array.ndim < 2:  # it lies in one way only
                    arrays[i] = array.astype(target if array.ndim else lone)
                else:
                    arrays[i] = backend.xp.copied(array, target)
        elif isinstance(values[i], (list, tuple)):
            arrays[i] = [a if a.dtype == target else a.astype(target) for a in array]
        elif isinstance(array, (bool, int, float, complex)):
            if type(array) is int and target.kind in "iu":
                if array < 0 and i == 1 and op.name == "pow":
                    raise RuntimeError(
                        "pow(): integers to negative integer powers are fractions; convert to float"
                    )
                # Operators wrap numbers around, as in PyTorch; an exponent is not of the type.
                array = fitted_integer(array, target, op.required == 2 and op.name != "pow")
            arrays[i] = backend.asarray(array, lone)
        elif array is not None and not isinstance(array, str):
            arrays[i] = backend.asarray(array).astype(target)
    return arrays


def uniform(op: "Op", arrays: list[Any]) -> Any:
    """The floating type of the arguments that mix, if it is that of all; None to look closer."""
    kind: Any = None
    for i in op.promotes:
        array = arrays[i]
        if type(array) is NDARRAY:
            if kind is None:
                kind = array.dtype
                if kind is not F32 and kind is not F64:
                    return None
            elif array.dtype is not kind:
                return None
        elif type(array) is not float and type(array) is not int:
            return None
    return kind


def unwrapped(value: Any) -> Any:
    """The array of a tensor, in lists too."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, tuple):
        for element in value:
            if isinstance(element, Tensor):
                return tuple([unwrapped(e) for e in value])
    elif isinstance(value, list):
        return [unwrapped(e) for e in value]
    return value


def promotion(op: "Op", values: list[Any]) -> dtype | None:
    """The data type in which an op computes; None to leave all as it is."""
    dimensioned: list[dtype] = []
    zero_dim: list[dtype] = []
    numbers: list[dtype] = []
    scalars: list[Any] = []  # of NumPy: numbers to a tensor, but in rules what forwards answered
    tensors = False
    for i in op.promotes:
        value = values[i]
        for element in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(element, Tensor):
                tensors = True
                kind = from_numpy_dtype(element.array.dtype)
                (dimensioned if element.array.ndim else zero_dim).append(kind)
            elif isinstance(element, (bool, int, float, complex)):
                numbers.append(of_python_scalar(element))
            elif isinstance(element, NUMBER):
                scalars.append(element)
            elif lookup(type(element)) is not None:
                kind = from_numpy_dtype(element.dtype)
                (dimensioned if element.ndim else zero_dim).append(kind)
            elif element is not value:
                raise TypeError(
                    f"{op.name}(): expected a list of Tensors, got {type(element).__name__} in it"
                )
            elif i < op.required:
                raise TypeError(
                    f"{op.name}(): argument '{op.parameters[i]}' must be a Tensor or a number, not "
                    f"{type(value).__name__}"
                )
    for scalar in scalars:
        if tensors:
            numbers.append(of_python_scalar(scalar.item()))
        else:
            zero_dim.append(from_numpy_dtype(scalar.dtype))
    if not (dimensioned or zero_dim or numbers):
        return None
    if not op.bools:
        refuse_bools(op, [*dimensioned, *zero_dim, *numbers])
    result = result_of(dimensioned, zero_dim, numbers)
    if op.floats and result.category < FLOAT:
        return get_default_dtype()
    return result


def refuse_bools(op: "Op", kinds: list[dtype]) -> None:
    """Raise if one of the types to mix is bool, for an op that is not meant for truth values."""
    for kind in kinds:
        if kind.category == BOOL:
            raise RuntimeError(
                f"{op.name}(): a bool tensor is not supported; invert it with ~, combine two with "
                "logical_xor(), or convert it with .to(...)"
            )


def as_array(value: Any, backend: Backend) -> Any:
    """What a forward answered as an array: of its own library, if it is one of another."""
    own = lookup(type(value))
    return (backend if own is None else own).asarray(value)


# ---- how results lie in memory ----


def arranged(op: "Op", arrays: list[Any], out: Any, backend: Backend) -> Any:
    """What a forward answered, in the order in memory that its op declares."""
    if op.follows:
        first: Any = arrays[0]
        if op.follows == "argument":
            return _as_argument(first, out, backend)
        if op.follows == "all":
            last = len(first) > 0
            for each in first:
                last = last and channels_last(each)
        elif op.follows == "images":
            last = channels_last(first) and first.ndim == 4
        else:
            last = channels_last(first) or (op.follows == "either" and channels_last(arrays[1]))
        if last:
            if isinstance(out, tuple) and not op.hides:
                return tuple([with_channels_last(each, backend) for each in out])
            if op.hides:
                return (with_channels_last(out[0], backend), *out[1:])
            return with_channels_last(out, backend)
    return in_order(out, backend)


def _as_argument(first: Any, out: Any, backend: Backend) -> Any:
    """What a forward answered, its dimensions in memory in the order of an argument's."""
    strides: Any = getattr(first, "strides", None)
    if strides is None or 0 in strides or len(strides) < 2 or min(strides) < 0:
        return in_order(out, backend)
    axes = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    if axes == list(range(len(strides))):
        return in_order(out, backend)
    back = [axes.index(dim) for dim in range(len(strides))]
    if isinstance(out, tuple):
        return tuple([in_order(each.transpose(axes), backend).transpose(back) for each in out])
    return in_order(out.transpose(axes), backend).transpose(back)


def channels_last(array: Any) -> bool:
    """Whether the steps in memory of images, or volumes, are smallest from channel to channel."""
    if type(array) is NDARRAY and array.flags.c_contiguous:
        return False
    strides: Any = getattr(array, "strides", None)
    if strides is None or len(strides) < 4 or len(strides) > 5 or strides[1] == 0:
        return False
    sizes: Any = array.shape
    least = 0
    for dim in (1, *range(len(strides) - 1, 1, -1), 0):
        if sizes[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * sizes[dim]
    return True


def with_channels_last(array: Any, backend: Backend) -> Any:
    """The elements of an array with those of all channels of a pixel together in memory."""
    if array.ndim < 4:
        return array
    return backend.xp.moveaxis(
        backend.xp.ascontiguousarray(backend.xp.moveaxis(array, 1, -1)), -1, 1
    )


def in_order(out: Any, backend: Backend) -> Any:
    """What a forward answered, its arrays in the order of their elements."""
    if type(out) is NDARRAY:
        return numpy_backend.copy(out) if out.ndim > 1 and not out.flags.c_contiguous else out
    if isinstance(out, tuple):
        return tuple([in_order(each, backend) for each in out])
    if backend is not NUMPY_BACKEND and type(out) is backend.array_type:
        return out if backend.xp.is_contiguous(out) else backend.copy(out)
    return out
