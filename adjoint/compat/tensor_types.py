"""torch.FloatTensor and its like: names of a data type and a device that make and know tensors."""

from typing import Any

from adjoint import dtypes
from adjoint.creation.factories import is_size, tensor, zeros
from adjoint.creation.sparse import sparse_coo_tensor
from adjoint.device import device, set_default_device
from adjoint.dtypes import dtype, set_default_dtype
from adjoint.tensors.size import Size
from adjoint.tensors.subclass import aliased
from adjoint.tensors.tensor import Tensor

# Storages of one data type have a class of their own, torch.FloatStorage, and most tensors a type.
DTYPE_NAMES: dict[str, dtype | None] = {
    "Float": dtypes.float32,
    "Double": dtypes.float64,
    "Half": dtypes.float16,
    "BFloat16": dtypes.bfloat16,
    "Byte": dtypes.uint8,
    "Char": dtypes.int8,
    "Short": dtypes.int16,
    "Int": dtypes.int32,
    "Long": dtypes.int64,
    "Bool": dtypes.bool_,
    "ComplexFloat": dtypes.complex64,
    "ComplexDouble": dtypes.complex128,
}


class TensorType(type):
    """The class of torch.FloatTensor; its instances are no classes of tensors, but descriptions."""

    dtype: dtype
    where: device
    path: str

    def __call__(cls, *args: Any, size: Any = None, device: Any = None) -> Tensor:
        """A tensor of some sizes, of a sequence's elements, or the tensor given."""
        if size is not None:
            args = tuple(size)
        first = args[0] if args else 0
        if isinstance(first, Tensor):
            if first.dtype is not cls.dtype:
                raise TypeError(
                    f"{cls.path}: expected a tensor of {cls.dtype.name}, got one of "
                    f"{first.dtype.name}; convert it with .to()"
                )
            return aliased(first)
        if hasattr(first, "untyped"):  # a storage, whose memory it shows
            held = getattr(first, "dtype", cls.dtype)
            if held is not cls.dtype:
                raise RuntimeError(
                    f"{cls.path}: expected a storage of {cls.dtype.name}, got one of {held.name}"
                )
            return aliased(first.untyped().memory.view(cls.dtype))
        where = cls.where if device is None else device
        if is_size(first):
            return zeros(int(first), *args[1:], dtype=cls.dtype, device=where)
        if isinstance(first, Size):
            return zeros(*args, dtype=cls.dtype, device=where)
        if len(args) > 1 or not hasattr(first, "__len__"):
            kind = type(first).__name__
            raise TypeError(f"{cls.path}: data must be a sequence of numbers, or sizes, not {kind}")
        exact = cls.dtype if cls.dtype.is_floating_point else None  # no detour by way of float32
        made: Any = tensor(first, dtype=exact, device=where)
        converted: Tensor = made.to(cls.dtype)
        return converted

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.where.type
        )

    def __repr__(cls) -> str:
        return f"<class '{cls.path}'>"


def _types(where: device, prefix: str) -> dict[str, TensorType]:
    found = {}
    for stem, kind in DTYPE_NAMES.items():
        if kind is not None and not kind.is_complex:  # those have a storage, and no such type
            name = f"{stem}Tensor"
            names = {"dtype": kind, "where": where, "path": f"{prefix}.{name}"}
            found[name] = TensorType(name, (), names)
    return found


CPU_TYPES = _types(device("cpu"), "torch")
CUDA_TYPES = _types(device("cuda"), "torch.cuda")
BY_PATH = {kind.path: kind for kind in (*CPU_TYPES.values(), *CUDA_TYPES.values())}


def set_default_tensor_type(t: Any) -> None:
    """New tensors made from numbers have this type: `torch.DoubleTensor`, or its name."""
    kind = BY_PATH.get(t) if isinstance(t, str) else t
    if not isinstance(kind, TensorType):
        raise TypeError(
            f"set_default_tensor_type: expected a type such as torch.FloatTensor: {t!r}"
        )
    set_default_dtype(kind.dtype)
    set_default_device(kind.where)


def sparse_of_type(args: tuple[Any, ...], dtype: Any, device: Any = None) -> Any:
    """A sparse tensor as its old constructors make it: of sizes, or of indices and values."""
    if len(args) > 1 and all(isinstance(each, Tensor) for each in args[:2]):
        return sparse_coo_tensor(*args, dtype=dtype, device=device)
    size: Any = args[0] if args and isinstance(args[0], Size) else args
    if not all(type(each) is int for each in size):
        raise TypeError(
            "a sparse tensor is made of whole numbers that are its sizes, of a Size, or of indices "
            f"and values, not of {args!r}; use sparse_coo_tensor()"
        )
    return sparse_coo_tensor(size=tuple(size) or (0,), dtype=dtype, device=device)
