"""What all functions that make tensors share: their keywords and sizes."""

import math
import operator
from typing import Any

from adjoint.backends import Namespace, backend_for
from adjoint.backends.numpy import host
from adjoint.call.context import current, is_inference_mode_enabled
from adjoint.call.layers import newest_level
from adjoint.device import device, device as as_device, get_default_device
from adjoint.dtypes import as_dtype, dtype, get_default_dtype
from adjoint.ops.arranging.conversion import strided
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor


def _place(where: Any) -> device:
    return get_default_device() if where is None else device(where)


def maker(where: device) -> Any:
    """The namespace whose arrays become tensors of a device: NumPy's, if they have values."""
    tracing = current().tracing
    if tracing is not None and where.type != "meta":
        return tracing.xp
    own: Namespace = backend_for(where).xp
    return host if own.valued() else own


def finished(array: Any, where: device, requires_grad: bool) -> Tensor:
    """A NumPy array's values as a new tensor on a device; or an array of the device itself."""
    tracing = current().tracing
    if tracing is not None and where.type != "meta":
        array = tracing.held(array)
    elif where.type != "cpu" or type(array) is not NDARRAY:
        own = backend_of(array)
        if own.device_type != where.type:
            array = backend_for(where).from_numpy(own.to_numpy(array), where)
    result = Tensor(array, AS_IS)
    level = newest_level()
    if level is not None:
        result = level.lift(result)
    if requires_grad:
        result.requires_grad_()
    if is_inference_mode_enabled():
        result.mark_inference()
    return result


class Options:
    """The keywords that all factories take; pin_memory means nothing here and is accepted."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        unknown = given.keys() - _OPTIONS
        if unknown:
            raise TypeError(f"{name}() got an unexpected argument '{min(unknown)}'")
        if given.get("layout") not in (None, strided):
            raise RuntimeError(f"{name}() is not implemented for sparse types: tensors are strided")
        out, kind = given.get("out"), given.get("dtype")
        if isinstance(kind, str):
            raise TypeError(f"{name}(): dtype must be one such as adjoint.float32, not {kind!r}")
        if out is not None and kind is not None and as_dtype(kind) is not out.dtype:
            raise RuntimeError(
                f"{name}(): dtype {as_dtype(kind).name} does not match dtype of out "
                f"({out.dtype.name})"
            )
        place = given.get("device")
        if out is not None and place is not None and as_device(place).type != out.device.type:
            raise RuntimeError(f"{name}(): device {place} does not match that of out, {out.device}")
        self.name = name
        self.out = out
        self.dtype = kind if out is None else out.dtype
        self.device = _place(given.get("device"))
        where = self.device if out is None else out.device
        plain = where.type == "cpu" and current().tracing is None
        self.xp = host if plain else maker(where)  # makes the arrays
        asked = given.get("requires_grad")
        if not isinstance(asked, bool | None):
            said = type(asked).__name__
            raise TypeError(f"{name}(): argument 'requires_grad' must be bool, not {said}")
        self.requires_grad = asked is True
        self.memory_format = given.get("memory_format")
        self.like: Any = None  # the array of the tensor that is imitated

    def kind(self, default: dtype | None = None) -> dtype:
        """The data type asked for, or the default one."""
        if self.dtype is not None:
            return as_dtype(self.dtype)
        return get_default_dtype() if default is None else default

    def made(self, array: Any) -> Tensor:
        """The answer of the factory: a new tensor, or out with the new values."""
        if self.out is None:
            return finished(array, self.device, self.requires_grad)
        result = finished(array, self.out.device, False)
        overwritten: Tensor = self.out.overwrite(result, self.name)
        return overwritten

    def listed(self, array: Any) -> Tensor:
        """The answer of a factory of a row of numbers; an out of as many keeps its shape."""
        if self.out is not None and self.out.array.size == array.size:
            array = array.reshape(self.out.array.shape)
        return self.made(array)


_TOO_MANY = 1 << 59  # elements of 16 bytes, of which memory has no more than 63 bits
_OPTIONS = {"out", "dtype", "layout", "device", "requires_grad", "pin_memory", "memory_format"}


def sizes_of(name: str, size: tuple[Any, ...], options: dict[str, Any]) -> tuple[int, ...]:
    """A shape given as numbers, as one sequence, or as the keyword size."""
    if "size" in options:
        if size:
            raise TypeError(f"{name}() got several values for 'size'")
        return shape_of(name, options.pop("size"))
    if not size:
        raise TypeError(f"{name}() misses its size: give numbers, or () for a single element")
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        return shape_of(name, size[0])
    return shape_of(name, size)


def shape_of(name: str, size: Any) -> tuple[int, ...]:
    """A shape given as one sequence of numbers."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"{name}(): size must be a tuple of ints, not {type(size).__name__}")
    if size and isinstance(size[0], bool):
        raise TypeError(f"{name}(): size must be a tuple of ints, not of truths: {size}")
    try:
        sizes = tuple(operator.index(n) for n in size)
    except TypeError:
        kinds = ", ".join(type(n).__name__ for n in size)
        raise TypeError(f"{name}(): size must be a tuple of ints, got ({kinds})") from None
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"{name}(): a size can't be negative: {list(sizes)}")
    if math.prod(filter(None, sizes)) >= _TOO_MANY:  # strides count those beside a 0, too
        raise RuntimeError(f"{name}(): the size of the storage overflowed: {list(sizes)}")
    return sizes
