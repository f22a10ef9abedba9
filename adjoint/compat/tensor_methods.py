"""Methods of Tensor that only programs written for PyTorch use; attached when this is imported."""

from typing import Any

from adjoint.compat.legacy_types import CPU_TYPES, CUDA_TYPES, TensorType, type_name
from adjoint.compat.storages import TypedStorage, UntypedStorage
from adjoint.ops.conversion import type_
from adjoint.tensor import Tensor


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of the same type: of some sizes, of a sequence's elements, or an alias."""
    if args and isinstance(args[0], Tensor):
        return args[0].alias()
    types = CUDA_TYPES if self.device.type == "cuda" else CPU_TYPES
    for kind in types.values():
        if kind.dtype is self.dtype:
            made: Tensor = kind(*args, device=self.device if device is None else device)
            return made
    raise TypeError(f"new: there is no legacy type of {self.dtype.name}; use new_tensor or new_empty")


def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, torch.FloatTensor; or the tensor converted to another."""
    if dtype is None:
        return type_name(self)
    if isinstance(dtype, TensorType):
        return self.to(device=dtype.where, dtype=dtype.dtype)
    return type_(self, dtype)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes that the tensor and its views show."""
    return UntypedStorage(self)


def storage(self: Tensor) -> TypedStorage:
    """The elements that the tensor and its views show."""
    return TypedStorage(self)


def is_conj(self: Tensor) -> bool:
    """Whether elements wait to be conjugated: never, they are conjugated at once."""
    return False


def is_nonzero(self: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(self)


def same(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor: there is no pinned or shared memory to move it to."""
    return self


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Become a tensor of another size, with the elements that there is room for."""
    sizes = tuple(size[0]) if len(size) == 1 and hasattr(size[0], "__len__") else size
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad; use reshape or narrow")
    made = self.new_zeros(sizes)
    kept = min(made.numel(), self.numel())
    made.view(-1)[:kept] = self.reshape(-1)[:kept]
    self.data = made
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Become a tensor of the size of another; see resize_."""
    return resize_(self, the_template.shape)


METHODS: dict[str, Any] = {
    "new": new,
    "type": type,
    "untyped_storage": untyped_storage,
    "storage": storage,
    "_typed_storage": storage,
    "is_conj": is_conj,
    "is_neg": is_conj,
    "is_nonzero": is_nonzero,
    "is_pinned": is_conj,
    "is_shared": is_conj,
    "pin_memory": same,
    "share_memory_": same,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "is_mkldnn": False,
    "is_mps": False,
    "is_nested": False,
    "is_xpu": False,
    "is_sparse_csr": False,
    "__long__": Tensor.__int__,
    "__nonzero__": Tensor.__bool__,
}


def attach() -> None:
    """Give Tensor these methods; those it has under the same name stay, `type` excepted."""
    for name, method in METHODS.items():
        if name == "type" or not hasattr(Tensor, name):
            setattr(Tensor, name, method)
