"""What stands for PyTorch's names in the files it saves."""

from typing import Any

from adjoint import dtypes
from adjoint.compat.torch_files.storages import KINDS, Storage
from adjoint.compat.torch_files.unpickling import Shown, refusal, set_attributes
from adjoint.compat.unheld_types import UNHELD_TYPES
from adjoint.creation.factories import empty_strided
from adjoint.creation.sparse import put_together
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.nn.parameter import Parameter
from adjoint.ops.arranging.conversion import layout
from adjoint.tensors.pickling import give_state
from adjoint.tensors.size import Size
from adjoint.tensors.subclass import make_subclass
from adjoint.tensors.tensor import Tensor


def _tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Any:
    return _on_storage(storage, None, (offset, size, stride), requires_grad, metadata)


def _tensor_of_type(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    of_type: Any,
    metadata: Any = None,
) -> Any:
    if not isinstance(of_type, dtype):
        raise refusal("a tensor has no data type")
    return _on_storage(storage, of_type, (offset, size, stride), requires_grad, metadata)


def _on_storage(
    storage: Any, of_type: Any, layout: tuple[Any, Any, Any], requires_grad: Any, metadata: Any
) -> Any:
    """A tensor on a storage, conjugated or negated if the file says that it is so to be seen."""
    if type(storage) is not Shown.kind or storage.loaded is None:
        raise refusal("a tensor is on no storage")
    if of_type is not None and of_type not in dtypes.ALL:
        raise RuntimeError(f"torch.load: adjoint has no tensors of {of_type.name}")
    known: Storage = storage.loaded
    made: Any = known.tensor(of_type, *layout)
    if metadata:
        if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
            raise refusal("a tensor has marks other than conj and neg")
        known.charge(made.numel() * made.dtype.itemsize)
        made = made.conj() if metadata.get("conj") else made
        made = made.neg() if metadata.get("neg") else made
    return made.requires_grad_() if requires_grad is True else made


def _without_values(of_type: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    if of_type not in dtypes.ALL or not type(size) is type(stride) is tuple:
        raise refusal("a tensor on the device meta has no data type, size and strides")
    if len(size) != len(stride) or not all(type(n) is int and n >= 0 for n in (*size, *stride)):
        raise refusal("the size and strides of a tensor on the device meta don't fit together")
    made = empty_strided(size, stride, dtype=of_type, device="meta")
    return made.requires_grad_() if requires_grad is True else made


def _without_memory(
    kind: Any,
    of_type: Any,
    size: Any,
    stride: Any,
    offset: Any,
    of_layout: Any,
    where: Any,
    requires_grad: Any,
) -> Any:
    if not isinstance(kind, type) or not issubclass(kind, Tensor) or kind is Tensor:
        raise refusal("a tensor without memory is of no class")
    if of_type not in dtypes.ALL or not isinstance(where, device):
        raise refusal("a tensor without memory has no data type and device")
    shown = {"dtype": of_type, "device": where, "requires_grad": requires_grad is True}
    return kind._make_wrapper_subclass(kind, size, stride, **shown)  # type: ignore[attr-defined]  # noqa: SLF001


def _layout(name: Any) -> Any:
    if type(name) is not str or not name.startswith("torch."):
        raise refusal("a layout has no name")
    return layout(name.removeprefix("torch."))


def _sparse(kind: Any, data: Any) -> Any:
    """A sparse tensor, whose indices are checked."""
    if type(kind) is not layout or type(data) is not tuple or not 3 <= len(data) <= 4:
        raise refusal("a sparse tensor is made of no layout, indices and values")
    if kind.name == "sparse_coo":
        return put_together(kind.name, data[:2], data[2], data[3:] == (True,))
    return put_together(kind.name, data[:3], data[3])


def _parameter(data: Any, requires_grad: Any, hooks: Any = None) -> Any:
    is_plain = type(data) is Tensor or (isinstance(data, Tensor) and data.layer is not None)
    if not is_plain or type(requires_grad) is not bool:
        raise refusal("a parameter is made of no tensor")
    return Parameter(data, requires_grad)


def _parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    made = _parameter(data, requires_grad)
    set_attributes(made, state)
    return made


def _size(*lengths: Any) -> Any:
    (found,) = lengths or ((),)
    if type(found) not in (tuple, list) or not all(type(one) is int for one in found):
        raise refusal("a torch.Size is made of something else than numbers")
    return Size(found)


def _device(name: Any, index: Any = None) -> Any:
    if type(name) is not str or (index is not None and type(index) is not int):
        raise refusal("a torch.device has no name and number")
    return device(name, index)


NAMES: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor_of_type,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _without_values,
    ("torch._utils", "_rebuild_sparse_tensor"): _sparse,
    ("torch._utils", "_rebuild_wrapper_subclass"): _without_memory,
    ("torch.serialization", "_get_layout"): _layout,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _parameter_with_state,
    ("torch", "Size"): _size,
    ("torch", "device"): _device,
    **{("torch", each.name): each for each in dtypes.ALL},
    **{("torch", name): each for name, each in UNHELD_TYPES.items() if isinstance(each, dtype)},
    **KINDS,
}


def of_type(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes or of another class, of a file that is trusted."""
    made: Any = function(*arguments)
    if type(made) is not kind:
        made = make_subclass(kind, made.detach(), made.requires_grad)
    give_state(made, state)
    return made
