"""torch._utils: many tensors as one and apart again, and tensors from pickles of PyTorch's."""

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn

from adjoint.compat.aten_steps.asking import unseen
from adjoint.compat.no_compiler import never
from adjoint.compat.torch_files.unpickling import set_attributes
from adjoint.compat.torch_tree.storage import TypedStorage
from adjoint.device import device as as_device
from adjoint.dtypes import dtype
from adjoint.nn.parameter import Parameter
from adjoint.ops.arranging.shape import cat
from adjoint.tensors.pickling import shown_to_modes, state_of
from adjoint.tensors.tensor import Tensor
from adjoint.utils.data.worker import Failure

__all__ = [
    "ExceptionWrapper",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_device_index",
    "_is_privateuse1_backend_available",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_unflatten_dense_tensors",
    "classproperty",
    "cpu_count",
    "is_compiling",
    "try_import",
]

is_compiling = never
_is_privateuse1_backend_available = never


class classproperty:
    """A property of a class, which is asked without an instance."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.func(type(instance) if owner is None else owner)


class ExceptionWrapper(Failure):
    """An exception on its way from a thread or process to another; the one in hand by default."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        error: Any = (exc_info or sys.exc_info())[1]
        super().__init__(error, where)
        self.exc_type, self.where = self.kind, where
        self.exc_msg = "".join(traceback.format_exception(error))

    def reraise(self) -> NoReturn:
        """Raise the same kind of exception, with what the traceback was."""
        raise self.exception()


def cpu_count() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))


def try_import(module_name: str) -> ModuleType | None:
    """A module by its name; None where it is not installed."""
    return importlib.import_module(module_name) if find_spec(module_name) else None


def flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """The elements of all tensors, one after another."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Parts of such a tensor, in the shapes of others."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True))


_flatten_dense_tensors, _unflatten_dense_tensors = flatten_dense_tensors, unflatten_dense_tensors


def _get_obj_state(obj: Any) -> Any:
    """What a pickle keeps of an object besides its elements."""
    return state_of(obj) if isinstance(obj, Tensor) else obj.__getstate__()


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Give an object its attributes, and those of slots, which come apart."""
    if isinstance(state, tuple) and len(state) != len(("attributes", "slots")):
        raise RuntimeError(f"the state must be attributes and those of slots, got {state!r}")
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(obj, name, value)
    return obj


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device, given as a number, a device or its name; -1 for the CPU."""
    if isinstance(device, int) or (device is None and optional):
        return device
    named = None if device is None else as_device(device)
    if named is not None and named.type == "cpu":
        if not allow_cpu:
            raise ValueError(f"expected a device other than the CPU, got {device!r}")
        return -1
    if named is None or (named.index is None and not optional):
        raise ValueError(f"expected a device with a number, or a number, got {device!r}")
    return named.index or 0


def _element_size(dtype: dtype) -> int:
    """The bytes of one element of a data type."""
    return dtype.itemsize


# ---- what Python's own pickle calls to make PyTorch's tensors again ----


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """A tensor that shows the elements of a storage in a pattern."""
    with unseen():
        made = TypedStorage(storage).memory.as_strided(size, stride, storage_offset)
    return shown_to_modes(made)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Any:
    """The same, with hooks, and marks of how it is to be seen."""
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    marks = metadata or {}
    made = made.conj() if marks.get("conj") else made
    made = made.neg() if marks.get("neg") else made
    made = made.detach().requires_grad_(requires_grad)
    if backward_hooks:
        made._backward_hooks = backward_hooks  # noqa: SLF001  # a member that programs know
    return made


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter on the memory of a tensor."""
    made: Any = Parameter(data, requires_grad)
    if backward_hooks:
        made._backward_hooks = backward_hooks  # noqa: SLF001  # a member that programs know
    return made


def _rebuild_parameter_with_state(
    data: Any, requires_grad: bool, backward_hooks: Any, state: Any
) -> Any:
    """The same with attributes of its own."""
    made = _rebuild_parameter(data, requires_grad, backward_hooks)
    set_attributes(made, state)
    return made
