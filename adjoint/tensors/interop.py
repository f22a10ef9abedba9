"""Tensors among arrays of other libraries: NumPy's protocols, DLPack, CUDA's array interface."""

from collections.abc import Callable
from typing import Any

from adjoint.backends import backend_for, lookup
from adjoint.backends.numpy import host, numpy_backend
from adjoint.call.context import current, is_recording
from adjoint.creation.factories import empty_like, full_like, ones_like, zeros_like
from adjoint.device import CPU, device as as_device
from adjoint.ops import PUBLIC, find_function
from adjoint.ops.arranging.conversion import clone, moved, same_place, to
from adjoint.ops.declaration import DECLARED
from adjoint.ops.op import Op
from adjoint.ops.sparse.layers import layout_of, sparse_of
from adjoint.tensors.tensor import AS_IS, Tensor

__all__ = ["from_dlpack", "to_dlpack"]

np = numpy_backend.xp


# ---- to NumPy ----


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The elements as a NumPy array on the same memory; with force=True, maybe a copy."""
    if not force:
        if self.requires_grad and is_recording():
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad, since what NumPy does is not "
                "recorded. Use tensor.detach().numpy() instead."
            )
        if sparse_of(self) is not None:
            raise TypeError(
                f"can't convert a tensor of layout {layout_of(self).name} to numpy. Use "
                "tensor.to_dense() first."
            )
        if self.device.type != "cpu":
            raise TypeError(
                f"can't convert a tensor on {self.device} to numpy without a copy. Use "
                "tensor.cpu().numpy(), or tensor.numpy(force=True)."
            )
    seen: Any = self.detach() if current().modes else self  # which modes are shown
    return seen.numpy_array()


def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's conversion: np.asarray(tensor)."""
    array = numpy(self)
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError(f"a tensor of {array.dtype} becomes {np.dtype(dtype)} only by a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


# ---- NumPy's ufuncs ----


def _numpy_names() -> dict[str, Any]:
    """What is called for NumPy's functions, by their names, as the declarations say."""
    return {name: d.function for d in DECLARED.values() for name in d.numpy_names()}


NUMPY_NAMES = _numpy_names()


def _for_ufunc(name: str) -> Any:
    """The op of a ufunc: that which says so, or has its name."""
    return NUMPY_NAMES.get(name) or PUBLIC["adjoint"].get(name)


def _place_of(values: Any) -> as_device:
    """The device of the first tensor among arguments."""
    for value in values:
        if isinstance(value, Tensor):
            return value.device
        if isinstance(value, (list, tuple)):
            found = _place_of(value)
            if found is not CPU:
                return found
    return CPU


def _tensors(value: Any, where: as_device) -> Any:
    """Arguments as ops take them: arrays as tensors on the device, NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        tensor = Tensor(np.asarray(value), AS_IS)
        return tensor if same_place(where, CPU) else moved(tensor, where)
    if isinstance(value, (list, tuple)):
        return type(value)([_tensors(element, where) for element in value])
    return value


def _written(result: Any, out: Any) -> Any:
    """A result put into NumPy's out=, a tensor or an array."""
    if isinstance(out, tuple):
        (out,) = out
    if isinstance(out, Tensor):
        if result.requires_grad or out.requires_grad:
            raise RuntimeError("out= does not support automatic differentiation; detach() first")
        return out.overwrite(result, "out")
    np.copyto(out, numpy(result), casting="same_kind")
    return out


def apply_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """np.sin(tensor), np.add(array, tensor): the op of that name, with its derivative."""
    op = _for_ufunc(ufunc.__name__)
    out = options.pop("out", None)
    kind = options.pop("dtype", None)
    if method != "__call__" or op is None or options or ufunc.nout != 1:
        return NotImplemented
    if not all(_understood(value) for value in inputs):
        return NotImplemented
    arguments = _tensors(inputs, _place_of(inputs))
    # NumPy's functions take numbers where PyTorch's want tensors.
    result = op.run(op.bind(arguments, {})) if isinstance(op, Op) else op(*arguments)
    if kind is not None:
        result = to(result, np.dtype(kind))
    return result if out is None else _written(result, out)


def _understood(value: Any) -> bool:
    """Whether an op can take this argument."""
    numbers = (Tensor, bool, int, float, complex, np.ndarray)
    return isinstance(value, numbers) or lookup(type(value)) is not None


# ---- NumPy's functions ----

RENAMED = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "m": "input"}


def _transpose(a: Any, axes: Any = None) -> Any:
    order = tuple(reversed(range(a.ndim))) if axes is None else tuple(axes)
    return find_function("permute")(a, order)


def _spread(name: str) -> Callable[..., Any]:
    """std or var, which divide by n in NumPy and by n - 1 in PyTorch."""

    def handler(a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
        return find_function(name)(a, dim=axis, correction=ddof, keepdim=keepdims)

    return handler


def _cumulative(name: str) -> Callable[..., Any]:
    """cumsum or cumprod, which flatten if no axis is given."""

    def handler(a: Any, axis: Any = None) -> Any:
        if axis is None:
            return find_function(name)(find_function("reshape")(a, (-1,)), 0)
        return find_function(name)(a, axis)

    return handler


def _dot(a: Any, b: Any) -> Any:
    """The last dimension of a with the last but one of b."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or 0 in (a.ndim, b.ndim):
        return find_function("mul")(a, b)
    if b.ndim <= 2:
        return find_function("matmul")(a, b)
    return find_function("tensordot")(a, b, ([a.ndim - 1], [b.ndim - 2]))


def _flip(m: Any, axis: Any = None) -> Any:
    dims = range(m.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return find_function("flip")(m, tuple(dims))


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return list(find_function("tensor_split")(ary, indices_or_sections, axis))


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return find_function("repeat_interleave")(a, repeats, axis)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return find_function("diagonal")(a, offset, axis1, axis2)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return find_function("sum")(_diagonal(a, offset, axis1, axis2), -1)


def _sort(a: Any, axis: int = -1) -> Any:
    return find_function("sort")(a, axis)[0]


def _roll(a: Any, shift: Any, axis: Any = ()) -> Any:
    return find_function("roll")(a, shift, () if axis is None else axis)


def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    return find_function("nan_to_num")(x, nan, posinf, neginf)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    return find_function("tensordot")(a, b, axes)


HANDLERS: dict[str, Callable[..., Any]] = {
    "cumprod": _cumulative("cumprod"),
    "cumsum": _cumulative("cumsum"),
    "diagonal": _diagonal,
    "dot": _dot,
    "empty_like": lambda prototype: empty_like(prototype),
    "flip": _flip,
    "full_like": lambda a, fill_value: full_like(a, fill_value),
    "nan_to_num": _nan_to_num,
    "ndim": lambda a: a.ndim,
    "ones_like": lambda a: ones_like(a),
    "repeat": _repeat,
    "roll": _roll,
    "shape": lambda a: tuple(a.shape),
    "size": lambda a: int(a.array.size),
    "sort": _sort,
    "split": _split,
    "std": _spread("std"),
    "tensordot": _tensordot,
    "trace": _trace,
    "transpose": _transpose,
    "var": _spread("var"),
    "zeros_like": lambda a: zeros_like(a),
}


def apply_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """np.concatenate([tensor, array]): adjoint's function of that meaning, with its derivative.

    Functions that have none here get plain arrays, which a tensor that requires grad refuses.
    """
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    home = func.__module__.removeprefix("numpy").lstrip(".")
    name = f"{home}.{func.__name__}" if home else func.__name__
    handler = HANDLERS.get(name)
    out = kwargs.get("out")
    named = {key: value for key, value in kwargs.items() if key != "out"}
    if handler is None:
        handler = NUMPY_NAMES.get(name)
        named = {RENAMED.get(key, key): value for key, value in named.items()}
    if handler is None:
        return func(*_arrays(args), **_arrays(kwargs))
    where = _place_of(args)
    named = {key: _tensors(value, where) for key, value in named.items()}
    result = handler(*_tensors(args, where), **named)
    return result if out is None else _written(result, out)


def _arrays(value: Any) -> Any:
    """Arguments with NumPy arrays in place of tensors."""
    if isinstance(value, Tensor):
        return numpy(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_arrays(element) for element in value])
    if isinstance(value, dict):
        return {key: _arrays(element) for key, element in value.items()}
    return value


# ---- DLPack and CUDA's array interface ----

_DLPACK_CUDA = 2


def export_dlpack(self: Tensor, *, stream: Any = None, **options: Any) -> Any:
    """The memory as a DLPack capsule."""
    if self.requires_grad:
        raise BufferError("Can't export a tensor that requires gradient; use tensor.detach()")
    if sparse_of(self) is not None:
        raise BufferError("a sparse tensor has no memory to export; use to_dense()")
    if not isinstance(stream, int | None):
        raise TypeError(f"__dlpack__(): stream must be an int or None, not {type(stream).__name__}")
    if self.device.type == "cpu":
        if stream not in (None, -1):
            raise AssertionError("a CPU has no streams: stream must be None")
    elif stream is not None:
        options["stream"] = stream
    return self.concrete_array().__dlpack__(**options)


def dlpack_device(self: Tensor) -> Any:
    """The device in DLPack's numbering."""
    return self.array.__dlpack_device__()


def to_dlpack(tensor: Tensor) -> Any:
    """The memory of a tensor as a DLPack capsule."""
    return export_dlpack(tensor)


class _Capsule:
    """A bare capsule as the object that libraries want to see; its memory is on the CPU."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class _Writable:
    """The memory of an array of which NumPy was not told whether it may be written."""

    def __init__(self, array: Any) -> None:
        self.array = array  # which keeps the memory
        place = array.__array_interface__["data"][0]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, False)}


def _imported(exporter: Any) -> Any:
    """The memory on a CPU that an object or a capsule exports, as an array."""
    capsule = exporter
    if hasattr(exporter, "__dlpack__"):
        try:
            capsule = exporter.__dlpack__(max_version=(1, 0))
        except TypeError:  # of an older protocol, which has no such argument
            capsule = exporter.__dlpack__()
    array = host.from_dlpack(_Capsule(capsule))
    told = "dltensor_versioned" in repr(capsule)  # the older protocol can't say what is read-only
    return array if told or not array.size else host.asarray(_Writable(array))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or with a copy of it."""
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export a tensor that requires gradient; use tensor.detach()")
        found = ext_tensor.detach()
    elif _on_gpu(ext_tensor):
        found = Tensor(backend_for(as_device("cuda")).xp.from_dlpack(ext_tensor), AS_IS)
    else:
        found = Tensor(_imported(ext_tensor), AS_IS)
    if device is None or as_device(device) == found.device:
        return clone(found) if copy else found
    if as_device(device).type == "meta":
        raise BufferError("from_dlpack(): memory can't be shared with the device meta")
    if copy is False:
        raise ValueError(f"from_dlpack(): to move it from {found.device} to {device} copies it")
    return to(found, device)


def _on_gpu(exporter: Any) -> bool:
    if not hasattr(exporter, "__dlpack_device__"):
        return False
    return int(exporter.__dlpack_device__()[0]) == _DLPACK_CUDA


def cuda_array_interface(self: Tensor) -> Any:
    """Where the memory is on a GPU; only for tensors there."""
    found = getattr(self.array, "__cuda_array_interface__", None)
    if found is None:
        raise AttributeError(
            f"a tensor on {self.device} has no __cuda_array_interface__: its memory is not CUDA's"
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Tensor that requires grad; use tensor.detach()"
        )
    return found


METHODS: dict[str, Any] = {
    "numpy": numpy,
    "__array__": as_array,
    "__array_priority__": 1000,
    "__array_ufunc__": apply_ufunc,
    "__array_function__": apply_function,
    "__dlpack__": export_dlpack,
    "__dlpack_device__": dlpack_device,
}

PROPERTIES: dict[str, Any] = {"__cuda_array_interface__": cuda_array_interface}
