"""Methods of Tensor that only programs written for PyTorch use."""

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from adjoint._base import HookTable
from adjoint.autograd.node import edge_node
from adjoint.call.context import current, is_inference_mode_enabled
from adjoint.compat import asking_methods
from adjoint.compat.aten import PRIVATE
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.odd_products import smm, sspaddmm
from adjoint.compat.own_arrays import OwnArray
from adjoint.compat.tensor_types import TensorType, sparse_of_type
from adjoint.compat.torch_tree.storage import (
    CLASSES,
    STORAGE_NAMES,
    TypedStorage,
    UntypedStorage,
    elements_for,
    storage_of,
)
from adjoint.compat.torch_tree.utils._python_dispatch import (
    make_subclass,
    make_wrapper_subclass,
    undispatched,
)
from adjoint.dtypes import get_default_dtype
from adjoint.ops.arranging.conversion import (
    alias,
    channels_last,
    channels_last_3d,
    contiguous_format,
    data_ptr,
    preserve_format,
    sparse_coo,
    type_,
)
from adjoint.ops.composites import answered_below
from adjoint.tensors.methods import derived
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper
from adjoint.tensors.views import replay

_LAYOUTS = (contiguous_format, channels_last, channels_last_3d)
UNKNOWN_KINDS = ("ipu", "maia", "mkldnn", "mps", "mtia", "nested", "vulkan", "xpu")


def new(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    """A tensor of the same type: of some sizes, of a sequence's elements, or an alias."""
    if self.layer is not None and self.layer.sparse:
        if self.layer.layout is not sparse_coo:
            raise RuntimeError(f"Tensor.new: there is none for layout {self.layer.layout.name}")
        made: Tensor = sparse_of_type(args or size or (), self.dtype, device or self.device)
        return made
    if args and isinstance(args[0], Tensor) and args[0].dtype is self.dtype:
        shown: Tensor = alias(args[0])
        return shown
    names = {"dtype": self.dtype, "where": self.device, "path": "Tensor.new"}
    return TensorType("new", (), names)(*args, size=size, device=device)


def type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, torch.FloatTensor; or the tensor converted to another."""
    if dtype is None:
        return type_(self).replace("adjoint.", "torch.", 1)
    if isinstance(dtype, TensorType):
        return self.to(device=dtype.where, dtype=dtype.dtype)
    return type_(self, get_default_dtype() if dtype is Tensor else dtype)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes that the tensor and its views show."""
    if self.layer is not None and not self.layer.wraps:
        return UntypedStorage(self)
    return storage_of(self, None if self.layer is None else self.layer.value_refused())


def storage(self: Tensor) -> TypedStorage:
    """The elements that the tensor and its views show."""
    return TypedStorage(self)


def never(self: Tensor) -> bool:
    """No: there is no pinned or shared memory, nor are there other devices and layouts."""
    return False


@answered_below
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """No: there is no pinned memory."""
    return False


def same(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor: there is no pinned or shared memory to move it to."""
    return self


def _become(self: Tensor, other: Tensor) -> Tensor:
    """Take over the memory of another tensor; what was recorded led to the old one."""
    self.data = other
    self.counter().bump()
    self.rare().accumulator = None
    return self


def _shown(name: str, tensor: Any, *args: Any, **named: Any) -> Any:
    """A change of a tensor that is no op, made by the innermost mode."""
    with asking() as ask:
        ask(name, tensor, *args, **named)
    return tensor


def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    """Become a tensor of another size, with the elements that there is room for."""
    sizes = tuple(size[0]) if len(size) == 1 and hasattr(size[0], "__len__") else size
    if self.requires_grad and not is_inference_mode_enabled():
        raise RuntimeError("cannot resize variables that require grad; use reshape or narrow")
    if current().modes:
        return _shown("resize_", self, list(sizes), memory_format=memory_format)
    if tuple(self.shape) == sizes:
        return self
    made = self.new_zeros(sizes).detach()
    kept = min(made.numel(), self.numel())
    made.view(-1)[:kept] = self.detach().reshape(-1)[:kept]
    return _become(self, made if memory_format is None else made.to(memory_format=memory_format))


def resize(self: Any, *sizes: Any) -> Any:
    """The elements in another shape; PyTorch's old name for `reshape`."""
    warnings.warn("resize is an old name: use reshape", stacklevel=2)
    return self.reshape(*sizes)


def resize_as(self: Any, tensor: Any) -> Any:
    """The elements in the shape of another tensor."""
    warnings.warn("resize_as is an old name: use reshape_as", stacklevel=2)
    return self.reshape(tensor.shape)


def resize_as_(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """Become a tensor of the size of another; see resize_."""
    if current().modes and not self.requires_grad:
        return _shown("resize_as_", self, the_template, memory_format=memory_format)
    if memory_format is preserve_format:
        memory_format = next(
            (each for each in _LAYOUTS if the_template.is_contiguous(memory_format=each)), None
        )
    return resize_(self, the_template.shape, memory_format=memory_format)


def set_(
    self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Show the memory of another tensor or storage from now on, or none; in a pattern if asked."""
    if self.special or current().modes:
        pattern: Any = () if size is None else (storage_offset, list(size))
        pattern += (list(stride),) if pattern and stride else ()
        if pattern and isinstance(source, Tensor):
            source = untyped_storage(source)
        given = () if source is None else (source, *pattern)
        overload = "_storage_offset" if pattern else ""
        name = f"set_.source_Storage{overload}" if isinstance(source, UntypedStorage) else "set_"
        if upper.seen_below(name, self, *given) is not NotImplemented:
            return self  # type: ignore[no-any-return]
    if source is None:
        return _become(self, self.new_empty(0).detach())
    if isinstance(source, UntypedStorage):
        source = elements_for(self, source)
    elif size is not None:
        source = elements_for(self, TypedStorage(source))
    if size is None:
        return _become(self, source)
    shown = source.new_empty(size).stride() if stride is None else stride
    return _become(self, source.as_strided(size, shown, storage_offset))


def storage_type(self: Tensor) -> Any:
    """The class of the storage: torch.FloatStorage."""
    return CLASSES[STORAGE_NAMES[self.dtype]]


def _kept(name: str, ask: Callable[[Tensor], Any]) -> property:
    """A private attribute that can be read, but neither set nor deleted."""

    def refuse(self: Tensor, *value: Any) -> NoReturn:
        raise RuntimeError(f"Tensor.{name} can't be set or deleted; see Tensor.detach_ and hooks")

    return property(ask, refuse, refuse)


def _hooks(self: Tensor) -> Any:
    """The hooks on the tensor's gradient, by id."""
    if self.grad_fn is None:
        return None if self.extras is None else self.extras.hooks
    hooks = self.grad_fn.hooks
    return None if hooks is None else hooks.tensor.get(self.output_nr)


def _set_hooks(self: Tensor, value: Any) -> None:
    """Have these hooks on the gradient and no others."""
    table = HookTable(value or {})
    if self.grad_fn is None:
        self.rare().hooks = table
    node = edge_node(self)
    if node is not None:
        node.any_hooks().tensor[self.output_nr] = table


def _set_grad(self: Any, grad: Any) -> None:
    self.grad = grad


def _keep_hooks(self: Tensor) -> NoReturn:
    raise RuntimeError("Tensor._backward_hooks can't be deleted; remove hooks by their handles")


def _post_accumulate_hooks(self: Tensor) -> Any:
    return None if self.extras is None else self.extras.post_accumulate


def volatile(self: Tensor) -> bool:
    """What no_grad was before there was no_grad."""
    warnings.warn("volatile was removed and has no effect; use no_grad() instead", stacklevel=2)
    return False


def __nonzero__(self: Tensor) -> bool:  # noqa: N807  # as well
    """Whether the one element is not zero."""
    return bool(self)


def __long__(self: Tensor) -> int:  # noqa: N807  # PyTorch's name
    """The one element as an integer."""
    return int(self)


def _dir(self: Tensor) -> list[str]:
    """The names that a tensor has: a property of another device's tensors is not one of them."""
    gone = {"volatile"} if self.device.type == "cuda" else {"volatile", "__cuda_array_interface__"}
    return sorted(set(object.__dir__(self)) - gone)


def _view_func(
    self: Tensor, new_base: Tensor, symint_visitor_fn: Any = None, tensor_visitor_fn: Any = None
) -> Any:
    """The view operations that made this view, on another base of the same shape."""
    extras = self.extras
    if extras is None or extras.base is None:
        raise RuntimeError("_view_func: the tensor is no view")
    if symint_visitor_fn is not None or tensor_visitor_fn is not None:
        raise NotImplementedError("_view_func: the arguments of view operations can't be replaced")
    base: Any = extras.base
    if (new_base.shape, new_base.dtype) != (base.shape, base.dtype):
        raise RuntimeError(
            f"_view_func: the base is {base.dtype.name}{list(base.shape)}, the new one "
            f"{new_base.dtype.name}{list(new_base.shape)}"
        )
    return replay(new_base, extras.steps)


def _ignore_arguments(self: Any, *args: Any, **kwargs: Any) -> None:
    """Nothing: the class's __new__ has made the tensor, and knows what the arguments mean."""


def _init_subclass(cls: Any, /, **options: Any) -> None:
    """A class with a __new__ of its own needs no __init__ that takes the same arguments."""
    super(Tensor, cls).__init_subclass__(**options)
    derived(cls)
    asking_methods.give(cls)
    if "array" in vars(cls):
        setattr(cls, "array", OwnArray(vars(cls)["array"]))  # noqa: B010  # of a class as any value
    if "__new__" in vars(cls) and cls.__init__ is Tensor.__init__:
        setattr(cls, "__init__", _ignore_arguments)  # noqa: B010  # mypy refuses the other form


# What Tensor has in another form; the rest it has not.
REPLACED: dict[str, Any] = {
    "__dir__": _dir,
    "__init_subclass__": classmethod(_init_subclass),
    "_make_subclass": staticmethod(make_subclass),
    "type": type,
}
TENSOR: dict[str, Any] = {
    "__torch_dispatch__": staticmethod(undispatched),
    "_make_wrapper_subclass": staticmethod(make_wrapper_subclass),
    "_view_func": _view_func,
    "_view_func_unsafe": _view_func,
    "new": new,
    "record_stream": PRIVATE["record_stream"],
    "untyped_storage": untyped_storage,
    "storage": storage,
    "_typed_storage": storage,
    "storage_type": storage_type,
    "const_data_ptr": data_ptr,
    "is_pinned": is_pinned,
    "is_shared": never,
    "pin_memory": same,
    "share_memory_": same,
    "resize": resize,
    "resize_as": resize_as,
    "smm": smm,
    "sspaddmm": sspaddmm,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "set_": set_,
    "volatile": property(volatile),
    "_backward_hooks": property(_hooks, _set_hooks, _keep_hooks),
    "_post_accumulate_grad_hooks": _kept("_post_accumulate_grad_hooks", _post_accumulate_hooks),
    "_grad": property(lambda tensor: tensor.grad, _set_grad),
    "_grad_fn": _kept("_grad_fn", lambda tensor: tensor.grad_fn),
    **{f"is_{kind}": property(never) for kind in UNKNOWN_KINDS},
    "__div__": Tensor.__truediv__,
    "__idiv__": Tensor.__itruediv__,
    "__rdiv__": Tensor.__rtruediv__,
    "__long__": __long__,
    "__nonzero__": __nonzero__,
}
