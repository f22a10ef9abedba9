"""Copies and conversions: clone, to, contiguous, data types; questions about memory and type."""

import math
from typing import Any

from adjoint.backends import backend_for, backend_of
from adjoint.backends.numpy import host
from adjoint.call.argument_types import refuse_no_flag
from adjoint.call.context import current
from adjoint.call.promotion import channels_last as lies_last
from adjoint.call.rule import FRONT
from adjoint.device import device, device as as_device
from adjoint.dtypes import (
    NumpyDtype,
    as_dtype,
    bfloat16,
    bool_,
    complex32,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    of_python_scalar,
    result_of,
    uint8,
    uint16,
    uint32,
    uint64,
)
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.batch_rules import of_rank
from adjoint.ops.composites import answered_below, overridable
from adjoint.ops.dims import normal_dim, product
from adjoint.ops.op import composite, linear
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.concrete import concrete, lying, memory_of, place_apart, place_of
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper


class _Named:
    """A constant that is known by its name alone, and pickles as such."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"adjoint.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(_Named):
    """In which order the elements of a tensor lie in memory."""


class layout(_Named):
    """How a tensor is stored: all elements, or those that are not zero (docs/notes/sparse.md)."""


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")  # no tensor has this one, nor the next
sparse_bsc = layout("sparse_bsc")

CHANNELS_RANK = {channels_last: 4, channels_last_3d: 5}


# ---- copies ----


def _copied(xp: Any, input: Any, target: Any, order: Any) -> Any:
    """input in memory of its own, as another data type if target is given."""
    rank = CHANNELS_RANK.get(order)
    if rank is not None:
        if input.ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {order.name} format")
        return xp.moveaxis(xp.copied(xp.moveaxis(input, 1, -1), target, ordered=True), -1, 1)
    return xp.copied(input, target, ordered=order is contiguous_format)


def _of_batch(order: Any, shape: Any) -> Any:
    """The order in memory of a batch: channels last is one of single elements, of a shape."""
    rank = CHANNELS_RANK.get(order)
    if rank is None:
        return order
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {order.name} format")
    return None


@linear(
    input=lambda grad: grad,
    vmap=lambda input, memory_format, input_shape: clone(
        input, memory_format=_of_batch(memory_format, input_shape)
    ),
    numpy="copy",
)
def clone(xp: Any, input: Array, *, memory_format: Any = None) -> Array:
    """A copy, in the same order in memory unless memory_format asks for another."""
    return _copied(xp, input, None, memory_format)


@linear(
    input=lambda grad: grad,
    vmap=lambda input, dtype, memory_format, input_shape: to_copy(
        input, dtype=dtype, memory_format=_of_batch(memory_format, input_shape)
    ),
    name="_to_copy",
    converts=True,
    home=None,
)
def to_copy(xp: Any, input: Array, *, dtype: Any = None, memory_format: Any = None) -> Array:
    """A copy as another data type."""
    target = input.dtype if dtype is None else as_dtype(dtype).numpy_dtype
    return _copied(xp, input, target, memory_format)


@linear(input=lambda grad: grad, batching=FRONT, view=True, home=None)
def alias(xp: Any, input: Array) -> Array:
    """The same memory as another tensor."""
    return input[...]


@linear(input=lambda grad: zeros_of(grad), batching=FRONT, home=None)
def zeros_of(xp: Any, input: Array) -> Array:
    """Zeros shaped as input: the gradient of what is overwritten."""
    return xp.zeros_like(input)


def _check_source(array: Any, source: Any) -> None:
    """Refuse a source with more dimensions, which NumPy takes if they have size 1."""
    if source.ndim > array.ndim:
        raise RuntimeError(
            f"a source of {source.ndim} dimensions does not fit one of {array.ndim}; reshape it"
        )


def _write(xp: Any, array: Any, src: Any, non_blocking: bool) -> None:
    if hasattr(src, "ndim"):
        _check_source(array, src)
    array[...] = src


def _copied_each(input_each: Any, input_shape: Any, src: Any, src_batched: bool) -> Any:
    return copy(input_each, of_rank(src, src_batched, len(input_shape)))


@linear(
    input=lambda grad: zeros_of(grad),
    src=lambda grad: grad,
    vmap=_copied_each,
    mutate=_write,
    inplace=True,
    aligned=True,
    converts=True,
    node_name="CopyBackwards",
    home=None,
)
def copy(xp: Any, input: Array, src: Array, non_blocking: bool = False) -> Array:
    """The values of src in input's shape and data type."""
    source = xp.asarray(src)
    _check_source(input, source)
    return xp.copied(xp.broadcast_to(source, input.shape), input.dtype)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Any:
    """Overwrite with the values of src, broadcast and cast; src may be on another device."""
    if src is self and not self.requires_grad:  # nothing to do, also where memory is seen twice
        self.counter().bump()
        return self
    if isinstance(src, Tensor):
        where = place_apart(src, self)
        src = src if where is None else moved(src, where)
    return apply_inplace(copy, [self, src, non_blocking])


def _relocated(array: Any, where: device) -> Any:
    """A raw array on another device, by way of NumPy; what is traced is on none yet."""
    tracing = current().tracing
    if tracing is not None:
        tracing.refuse_place(where)
        return array
    return backend_for(where).from_numpy(backend_of(array).to_numpy(array), where)


@linear(
    input=lambda grad, origin: moved(grad, origin),
    batching=FRONT,
    node_name="ToCopyBackward0",
    home=None,
)
def transfer(xp: Any, input: Array, where: Any, origin: Any) -> Array:
    """input on the device `where`; its gradient goes back to `origin`."""
    return _relocated(input, where)


def moved(value: Any, where: device) -> Any:
    """A Tensor or raw array on another device; a Tensor's gradient comes back."""
    if not isinstance(value, Tensor):
        return _relocated(value, where)
    return transfer(value, where, value.device)


# ---- conversions ----


def _is_dtype(value: Any) -> bool:
    return isinstance(value, (dtype, NumpyDtype, type))


def requested(args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `to` by name, for each of its call forms."""
    first = args[0] if args else None
    if isinstance(first, Tensor):
        args = (first.device, first.dtype, *args[1:])
    elif _is_dtype(first):
        args = (None, *args)
    names = ("device", "dtype", "non_blocking", "copy")
    if len(args) > len(names):
        raise TypeError(f"to() takes a device, a dtype, non_blocking and copy, got {args}")
    for name, value in zip(names, args):
        if name in options and not (name == "device" and value is None):
            raise TypeError(f"to() got several values for '{name}'")
        options.setdefault(name, value)
    unknown = options.keys() - {*names, "memory_format"}
    if unknown:
        raise TypeError(f"to() got an unexpected argument '{min(unknown)}'")
    kind = options.get("dtype")
    if kind is not None and not _is_dtype(kind):
        raise TypeError(f"to() takes a dtype after the device, got {kind!r}")
    if isinstance(options.get("non_blocking"), (device, str)):
        raise TypeError("to() takes the device before the dtype: to(device, dtype)")
    for name in names[2:]:
        if type(options.get(name, False)) is not bool:
            refuse_no_flag("to", name, options[name], False)
    return options


def same_place(wanted: device, own: device) -> bool:
    """Whether a tensor on `own` need not be moved to be on `wanted`."""
    return wanted.type == own.type and wanted.index in (None, own.index)


def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """The tensor as another dtype, on another device, or as another tensor; itself if it is so."""
    asked = requested(args, options)
    kind = None if asked.get("dtype") is None else as_dtype(asked["dtype"])
    where = None if asked.get("device") is None else device(asked["device"])
    order = asked.get("memory_format")
    result: Tensor = self
    if kind is not None and kind is not self.dtype:
        result = to_copy(result, dtype=kind, memory_format=order)
    if where is not None and not same_place(where, self.device):
        result = moved(result, where)
    reordered = order is not None and not _lies_plainly(self, order)
    if result is self and (reordered or asked.get("copy")):
        result = to_copy(self, memory_format=order)
    return result


def _converter(name: str, target: dtype | None) -> Any:
    """The method that converts to one data type."""

    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        if target is None:
            raise RuntimeError(f"{name} needs ml_dtypes: pip install -U 'adjoint[bfloat16]'")
        return to(self, target, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor as {name if target is None else target.name}."
    return convert


_CONVERTERS = {
    "bool": bool_,
    "byte": uint8,
    "char": int8,
    "short": int16,
    "int": int32,
    "long": int64,
    "half": float16,
    "bfloat16": bfloat16,
    "float": float32,
    "double": float64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
}

_TYPE_NAMES = {
    "Bool": bool_,
    "UInt16": uint16,
    "UInt32": uint32,
    "UInt64": uint64,
    "Byte": uint8,
    "Char": int8,
    "Short": int16,
    "Int": int32,
    "Long": int64,
    "Half": float16,
    "BFloat16": bfloat16,
    "Float": float32,
    "Double": float64,
    "ComplexHalf": complex32,
    "ComplexFloat": complex64,
    "ComplexDouble": complex128,
}


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor as another type."""
    if dtype is None:
        kind = self.dtype
        name = next(n for n, d in _TYPE_NAMES.items() if d is kind)
        part = "" if self.device.type == "cpu" else f"{self.device.type}."
        if self.layer is not None and self.layer.sparse:
            if self.layer.layout is not sparse_coo:
                raise RuntimeError(f"type(): there is no name for layout {self.layer.layout.name}")
            part += "sparse."
        return f"adjoint.{part}{name}Tensor"
    if isinstance(dtype, str):
        stem = dtype.removeprefix("torch.").removeprefix("adjoint.").removesuffix("Tensor")
        stem = stem.removeprefix("sparse.")
        if _TYPE_NAMES.get(stem) is None:
            known = ", ".join(f"adjoint.{n}Tensor" for n in _TYPE_NAMES)
            raise ValueError(f"invalid type: {dtype!r}; the known names are {known}")
        dtype = _TYPE_NAMES[stem]
    return to(self, dtype)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the data type and device of other."""
    return to(self, other)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in main memory."""
    return to(self, device("cpu"), memory_format=memory_format)


def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """The tensor on a GPU, as an array of CuPy."""
    if device is not None and as_device(device).type != "cuda":
        raise RuntimeError(f"Tensor.cuda(): must be cuda device, got {device}; use to()")
    return to(self, "cuda" if device is None else device, memory_format=memory_format)


def is_index(self: Tensor) -> bool:
    """Whether it has the type of indices: int64, where its library has that."""
    array = lying(self)
    return bool(backend_of(array).xp.are_indices(array))


# ---- memory ----


def is_contiguous(self: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in memory in the order of their indices."""
    array = lying(self)
    xp: Any = backend_of(array).xp
    if memory_format is contiguous_format:
        return bool(xp.is_contiguous(array))
    rank = CHANNELS_RANK.get(memory_format)
    if rank is None:
        return memory_format is preserve_format or bool(xp.is_contiguous(array))
    return self.ndim == rank and bool(xp.is_contiguous(xp.moveaxis(array, 1, -1)))


def _lies_plainly(self: Tensor, order: Any) -> bool:
    """Whether an order is the one that strides are most like; steps and gaps do not count."""
    if order is preserve_format:
        return True
    ranks = CHANNELS_RANK.values()
    if self.ndim in ranks and _channels_vary_first(self.shape, stride(self)):
        return CHANNELS_RANK.get(order) == self.ndim
    return order is contiguous_format


def _channels_vary_first(shape: Any, strides: Any) -> bool:
    """Whether strides are those of channels last; of single elements not, as in PyTorch."""
    step = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if not shape[dim] or strides[dim] < step or (dim == 0 and step == strides[1]):
            return False
        step = strides[dim] * max(shape[dim], 1)
    return bool(strides[1])


def lies_in_order(value: Any) -> bool:
    """Whether the elements of a tensor, or of an array, lie in the order of their indices."""
    array = lying(value) if isinstance(value, Tensor) else value
    return bool(backend_of(array).xp.is_contiguous(array))


@composite(home="Tensor")
def contiguous(input: Value, memory_format: Any = contiguous_format) -> Value:
    """The tensor itself if its elements lie in order, else a copy that does."""
    if isinstance(input, Tensor) and input.is_contiguous(memory_format):  # type: ignore[attr-defined]
        return input
    return clone(input, memory_format=memory_format)


def following(result: Any, input: Any) -> Any:
    """The result of a function of images in channels_last memory, if that is how they lie."""
    if not isinstance(input, Tensor) or input.layer is not None or not lies_last(input.array):
        return result
    return contiguous(result, channels_last if input.ndim == 4 else channels_last_3d)


@composite(numpy=True)
def ravel(input: Value) -> Value:
    """All elements in one dimension, next to one another in memory."""
    return contiguous(reshape(input, (-1,)) if product(input.shape) else reshape(input, (0,)))


def stride(self: Tensor, dim: Any = None) -> Any:
    """The distance in memory of neighbours along dim, or along each dimension, in elements."""
    array = lying(self)
    strides: tuple[int, ...] = backend_of(array).xp.strides_of(array)
    return strides if dim is None else strides[_checked_dim(self, dim)]


def _checked_dim(self: Tensor, dim: Any) -> int:
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if isinstance(dim, bool) or (isinstance(dim, Tensor) and dim.ndim):
        raise TypeError(f"argument 'dim' must be a whole number, not {dim!r}")
    return normal_dim(dim, self.ndim)


def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 for a tensor without elements, or memory."""
    if self.layer is not None and self.layer.sparse:
        raise RuntimeError(
            "data_ptr(): a sparse tensor has no memory of its own; ask its indices and values"
        )
    if self.layer is not None and self.layer.wraps and self.layer.value_refused() is not None:
        return 0
    array = concrete(self)
    return int(backend_of(array).xp.address(array)) if array.size else 0


def storage_offset(self: Tensor) -> int:
    """How many elements lie in memory before the first one."""
    return place_of(self)[0]


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions as they lie in memory, that of the largest steps first."""
    sizes, steps = tuple(self.shape), stride(self)
    if not isinstance(ambiguity_check, (bool, list)):
        raise TypeError("dim_order(): ambiguity_check must be a bool or a list of memory formats")
    if ambiguity_check is True:
        several = 1 in sizes or len(set(steps)) < len(steps)
    else:
        fitting = [is_contiguous(self, form) for form in ambiguity_check or ()]
        several = bool(fitting) and sum(fitting) != 1
    if several:
        raise RuntimeError(
            f"dim_order(): sizes {list(sizes)} and strides {list(steps)} have no order of their "
            "own; leave out ambiguity_check to get one that fits"
        )
    return tuple(sorted(range(self.ndim), key=lambda d: (-steps[d], -sizes[d])))


@answered_below
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    if self.shape != tensor.shape:
        return False
    ours, theirs = memory_of(self), memory_of(tensor)
    return ours.owner is theirs.owner and ours[1:3] == theirs[1:3]


# ---- sizes and kinds ----


def size(self: Tensor, dim: Any = None) -> Any:
    """The size of dim, or of every dimension."""
    return self.shape if dim is None else self.shape[_checked_dim(self, dim)]


def dim(self: Tensor) -> int:
    """How many dimensions it has."""
    return self.ndim


@composite(also="Tensor.nelement")
def numel(input: Tensor) -> int:
    """How many elements it has."""
    return int(input.current_array().size)


@composite
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floating-point numbers."""
    return input.dtype.is_floating_point


@composite
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return input.dtype.is_complex


@composite
def is_signed(input: Tensor) -> bool:
    """Whether the elements can be negative."""
    return input.dtype.is_signed


@composite
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have one shape."""
    return bool(input.current_array().shape == other.current_array().shape)


def element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return self.dtype.itemsize


@overridable
def get_device(self: Tensor) -> int:
    """The number of its device; -1 in main memory, and where there is none."""
    where = self.device
    if where.type in ("cpu", "meta"):
        return -1
    return 0 if where.index is None else where.index


# ---- data types ----


@overridable
def result_type(tensor: Any, other: Any) -> dtype:
    """The data type of an operation between two tensors or numbers."""
    dimensioned: list[dtype] = []
    zero_dim: list[dtype] = []
    numbers: list[dtype] = []
    for value in (tensor, other):
        if isinstance(value, Tensor):
            (dimensioned if value.ndim else zero_dim).append(value.dtype)
        else:
            numbers.append(of_python_scalar(value))
    return result_of(dimensioned, zero_dim, numbers)


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, with its data type."""
    if isinstance(obj, Tensor):
        return str(obj.type())  # type: ignore[attr-defined]  # compat has its own
    kind = type(obj)
    prefix = "" if kind.__module__ in ("builtins", None) else kind.__module__ + "."
    return prefix + kind.__qualname__


def _float_limits(numpy_dtype: Any) -> Any:
    """NumPy's finfo, or that of ml_dtypes for the types it brings."""
    if numpy_dtype.kind in "fc" and numpy_dtype.isbuiltin != 2:  # 2: made by another library
        return host.finfo(numpy_dtype)
    import ml_dtypes

    return ml_dtypes.finfo(numpy_dtype)


class finfo:
    """The limits of a floating-point data type; of the parts of a complex one."""

    def __init__(self, type: Any = None) -> None:
        kind = get_default_dtype() if type is None else as_dtype(type)
        if not (kind.is_floating_point or kind.is_complex):
            raise TypeError(f"finfo: {kind!r} is no floating-point type; ask iinfo")
        kind = kind.to_real()
        limits = _float_limits(kind.numpy_dtype)
        self.dtype = kind.name
        self.bits = 8 * kind.itemsize
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        self.resolution = float(f"1e-{int(limits.precision)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer data type."""

    def __init__(self, type: Any) -> None:
        kind = as_dtype(type)
        if kind.is_floating_point or kind.is_complex:
            raise TypeError(f"iinfo: {kind!r} is no integer type; ask finfo")
        if kind is bool_:
            raise TypeError("iinfo: adjoint.bool has no limits")
        limits = host.iinfo(kind.numpy_dtype)
        self.dtype = kind.name
        self.bits = 8 * kind.itemsize
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


_CONVERSIONS = (to, type_as, cpu, cuda, *[_converter(*each) for each in _CONVERTERS.items()])

METHODS: dict[str, Any] = {
    "copy_": copy_,
    "type": type_,
    "is_contiguous": is_contiguous,
    "stride": stride,
    "data_ptr": data_ptr,
    "storage_offset": storage_offset,
    "dim_order": dim_order,
    "is_set_to": is_set_to,
    "size": size,
    "dim": dim,
    "ndimension": dim,
    "element_size": element_size,
    "get_device": get_device,
    **{each.__name__: overridable(each) for each in _CONVERSIONS},
}

PROPERTIES: dict[str, Any] = {
    "itemsize": element_size,
    "nbytes": lambda self: math.prod(self.shape) * self.dtype.itemsize,
    "is_cpu": lambda self: self.device.type == "cpu",
    "is_cuda": lambda self: self.device.type == "cuda",
    "is_xla": lambda self: self.device.type == "xla",
    "is_meta": lambda self: self.device.type == "meta",
    "is_quantized": lambda self: False,
}


upper.operators.beside_device = moved
