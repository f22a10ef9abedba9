"""NumPy arrays from what users write: numbers, nested sequences, arrays of any library."""

from collections.abc import Sequence
from typing import Any

from adjoint.backends import backend_of, lookup
from adjoint.backends.numpy import host, numpy_backend
from adjoint.device import device
from adjoint.dtypes import (
    BOOL,
    COMPLEX,
    FLOAT,
    bool_,
    dtype,
    from_numpy_dtype,
    get_default_dtype,
    int64,
    of_python_scalar,
    promote_types,
    uint64,
)
from adjoint.tensors.concrete import concrete, has_values
from adjoint.tensors.tensor import Tensor

np = numpy_backend.xp


def number(value: Any) -> Any:
    """A Python number from one, from NumPy's, or from a 0-d tensor."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, Tensor) and value.requires_grad:
        raise TypeError("expected a number, not a Tensor whose gradient would be lost: .item() it")
    sized = isinstance(value, numpy_backend.array_type) or (hasattr(value, "ndim") and value.ndim)
    if hasattr(value, "item") and not sized:
        return value.item()
    raise TypeError(f"expected a number, got {type(value).__name__}")


def array_of(data: Any, kind: dtype | None, default: device) -> tuple[Any, device]:
    """A fresh NumPy array with the values of data, and the device that data is on."""
    where = default
    if isinstance(data, Tensor):
        where = data.device
        if not has_values(data):
            array = concrete(data)
            return array.astype(array.dtype if kind is None else kind.numpy_dtype), where
        data = data.numpy_array()
    elif lookup(type(data)) not in (None, numpy_backend):
        backend = backend_of(data)
        where = backend.device(data)
        data = backend.to_numpy(data)
    if isinstance(data, (np.ndarray, np.generic)):
        check_array(np.asarray(data))
        copied = np.array(data, dtype=None if kind is None else kind.numpy_dtype, order="C")
        return numpy_backend.from_numpy(copied, where), where
    if hasattr(data, "__array__") and not isinstance(data, Sequence):
        if hasattr(data, "as_elements"):  # a storage, which shares its memory
            return data.as_elements(kind), where
        return array_of(np.asarray(data), kind, default)
    if hasattr(data, "__dlpack__"):
        return array_of(host.from_dlpack(data), kind, default)
    return _of_sequence(data, kind), where


def check_array(array: Any) -> None:
    """Refuse what no tensor can show."""
    if not array.dtype.isnative:
        raise ValueError(
            f"the array's byte order differs from this machine's ({array.dtype}); convert it with "
            "array.astype(array.dtype.newbyteorder('='))"
        )
    from_numpy_dtype(array.dtype)
    if any(stride < 0 for stride in array.strides):
        raise ValueError("tensors can't have negative strides: copy the array first")
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueError("the elements of a tensor lie a multiple of their size apart: copy first")


def is_row(data: Any) -> bool:
    """Whether an element of nested data has elements itself."""
    if isinstance(data, (list, tuple, range)):
        return True
    if isinstance(data, np.ndarray):
        return bool(data.ndim)
    if isinstance(data, (int, float, complex, str, bytes, dict, Tensor)):
        return False
    kind = type(data)
    like_one = hasattr(kind, "__len__") and hasattr(kind, "__getitem__")
    return isinstance(data, Sequence) or (like_one and not hasattr(kind, "__array__"))


def _of_sequence(data: Any, kind: dtype | None) -> Any:
    """Numbers in nested sequences as an array; the data type is that of the highest number."""
    shape: list[int] = []
    row = data
    while is_row(row):
        shape.append(len(row))
        if len(shape) > 64:
            raise ValueError(f"too many dimensions: {type(data).__name__} is nested deeper than 64")
        if not len(row):
            break
        row = row[0]
    kinds: set[Any] = set()
    special: list[Any] = []
    if isinstance(row, (str, bytes)):
        kind_of_error = ValueError if shape else TypeError
        raise kind_of_error(f"no number: {row!r}; tensors hold numbers only")
    if shape:
        _survey(data, shape, 0, kinds, special)
    else:
        kinds.add(type(data))
        special.append(data)
    found = _inferred(kinds, special)
    if any(isinstance(value, Tensor) for value in special):
        data = _plain(data)
    return _converted(data, shape, kind or found, found.category < FLOAT)


def _survey(data: Any, shape: list[int], level: int, kinds: set[Any], special: list[Any]) -> None:
    """Check that all rows of a level have one length; collect the types of the numbers."""
    if not is_row(data):
        raise TypeError(
            f"expected a sequence of length {shape[level]} at dim {level}, got "
            f"{type(data).__name__}"
        )
    if len(data) != shape[level]:
        raise ValueError(
            f"expected sequence of length {shape[level]} at dim {level} (got {len(data)})"
        )
    if level < len(shape) - 1:
        for row in data:
            _survey(row, shape, level + 1, kinds, special)
        return
    found = set(map(type, data))
    kinds |= found
    if not found <= _PLAIN:
        special.extend(value for value in data if type(value) not in _PLAIN)


_PLAIN = {bool, int, float, complex}


def _inferred(kinds: set[Any], special: list[Any]) -> dtype:
    """The data type for numbers of these types; the default one for none at all."""
    found = [of_python_scalar(kind()) for kind in kinds & _PLAIN]
    for value in special:
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            if value.ndim and value.shape != (1,) * value.ndim:
                raise ValueError(
                    f"only tensors of one element can stand among numbers, not one of shape "
                    f"{tuple(value.shape)}; use stack() to join tensors"
                )
            kind = value.dtype
            found.append(kind if isinstance(kind, dtype) else from_numpy_dtype(kind))
        elif isinstance(value, (bool, int, float, complex)):
            found.append(of_python_scalar(value))
        elif isinstance(value, (str, bytes)):
            raise TypeError(f"no number: {value!r}; tensors hold numbers only")
        elif is_row(value):
            raise TypeError(f"a {type(value).__name__} stands where a number was expected")
        else:
            raise RuntimeError(
                f"Could not infer dtype of {type(value).__name__}: tensors hold numbers only"
            )
    if not found:
        return get_default_dtype()
    result = found[0]
    for other in found[1:]:
        result = promote_types(result, other)
    return result


def _plain(data: Any) -> Any:
    """Nested data with its tensors replaced by numbers."""
    if isinstance(data, Tensor):
        return data.item()
    return [_plain(element) for element in data] if is_row(data) else data


def _converted(data: Any, shape: list[int], kind: dtype, whole: bool) -> Any:
    """Nested numbers, integers alone or others too, as an array of a data type, if they fit."""
    if 0 in shape:
        return np.empty(shape, kind.numpy_dtype)
    try:
        natural = np.array(data)
        if natural.dtype.kind not in "biufc" and kind.category == FLOAT:
            natural = np.array(data, dtype=kind.numpy_dtype)
    except (OverflowError, ValueError) as error:
        raise RuntimeError(f"the values can't be converted to {kind.name}: {error}") from None
    if natural.dtype.kind == "f" and whole and kind.category < FLOAT:
        natural = np.array(data, dtype=object)  # integers that no type of NumPy's has together
    if natural.dtype.kind == "O" and kind is bool_:
        natural = natural.astype(bool)
    if natural.dtype.kind == "O" and kind is uint64 and natural.min() >= 0:
        natural = natural.astype(uint64.numpy_dtype)
    too_large = natural.dtype == "uint64" and natural.max() > np.iinfo("int64").max
    if natural.dtype.kind == "O" or (too_large and kind is int64):
        raise ValueError("an integer is too large for int64; write it as a float, or split it")
    return fitted(natural, kind)


def fitted(values: Any, kind: dtype) -> Any:
    """values as a data type; refused if one overflows an integer type or loses a part."""
    category = kind.category
    if values.dtype.kind == "c" and category < COMPLEX and category != BOOL:
        raise TypeError(f"complex numbers can't be converted to {kind.name}; take .real first")
    if category < FLOAT and category != BOOL and values.dtype.kind in "fiu":
        limits = np.iinfo(kind.numpy_dtype)
        # Negative integers wrap around, as in PyTorch.
        low = limits.min or (0 if values.dtype.kind == "f" else -limits.max - 1)
        if not np.all((values >= low) & (values <= limits.max)):
            raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    with np.errstate(over="ignore"):
        return values.astype(kind.numpy_dtype)
