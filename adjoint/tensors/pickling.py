"""Copies and pickles of tensors.

A pickle holds the elements, `requires_grad`, the class and the attributes a user has set; neither
history nor `.grad` nor hooks. Tensors that shared memory no longer do when they are loaded, and a
view is stored without the rest of its base. `copy.copy` shares the memory, and what shared memory
before a `copy.deepcopy` of all shares its copy.
"""

import copy
from typing import Any

from adjoint.autograd.hooks import warn_if_has_hooks
from adjoint.backends import backend_for
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Changed, current
from adjoint.creation.factories import empty
from adjoint.creation.sparse import put_together, taken_apart
from adjoint.device import CPU, device
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.sparse.layers import sparse_of
from adjoint.tensors.concrete import has_values, place_of, room_of
from adjoint.tensors.core import NDARRAY, TensorCore, backend_of
from adjoint.tensors.subclass import make_subclass
from adjoint.tensors.tensor import AS_IS, Tensor

# What autograd keeps in a tensor, which is no attribute of the user's. A compiled tensor keeps it
# apart, and has no dictionary before the user sets something.
INNER = {*getattr(TensorCore, "__annotations__", {}), "array", "prepared"}


def attributes_of(self: Tensor) -> dict[str, Any]:
    """What the user has set on a tensor, in slots of its class too."""
    attributes: dict[str, Any] = dict(getattr(self, "__dict__", {}))
    for kind in type(self).__mro__[: type(self).__mro__.index(Tensor)]:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(self, name):
                attributes[name] = getattr(self, name)
    return {name: value for name, value in attributes.items() if name not in INNER}


def state_of(self: Tensor) -> Any:
    """What a pickle keeps besides the elements: what its class says, or what the user has set."""
    says: Any = getattr(type(self), "__getstate__", None)
    if says is getattr(Tensor, "__getstate__", None):
        return attributes_of(self)
    return _without_inner(says(self))


def _without_inner(state: Any) -> Any:
    """A state less what is autograd's, which `__dict__` holds as well where it is interpreted."""
    if type(state) is tuple:
        return tuple([_without_inner(part) for part in state])
    if type(state) is not dict:
        return state
    return {name: value for name, value in state.items() if name not in INNER}


def takes_state(made: Any) -> bool:
    """Whether the class of a tensor takes that in its own way."""
    takes = getattr(type(made), "__setstate__", None)
    return takes is not getattr(Tensor, "__setstate__", None)


def give_state(made: Any, state: Any) -> None:
    """Give a tensor what its pickle keeps: to its class, or as attributes, those of slots apart."""
    if takes_state(made):
        inner = {name: value for name, value in vars(made).items() if name in INNER}
        made.__setstate__(state)
        vars(made).update(inner)  # which it has dropped if it replaces `__dict__`
        return
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(made, name, value)


def shown_to_modes(tensor: Any, storage: Any = None, blank: Any = None) -> Any:
    """A tensor, or one like it on other memory: modes see how a blank one is given that.

    Where the blank one is of a class, which need not have memory, they see `detach` alone.
    """
    if not current().modes:
        return tensor
    if blank is None:
        blank = empty(0, dtype=tensor.dtype, device=tensor.device)
    if blank.layer is not None or tensor.device != CPU:
        return tensor.detach()
    pattern = (tensor.storage_offset(), tensor.shape, tensor.stride())
    return blank.set_(storage or tensor.untyped_storage(), *pattern)


def _made(kind: Any, shown: Any, requires_grad: bool) -> Any:
    """A leaf of a class on the memory of a tensor."""
    made = shown if kind is Tensor else make_subclass(kind, shown)
    return made.requires_grad_() if requires_grad else made


def rebuilt(kind: Any, array: Any, where: str, requires_grad: bool, attributes: Any) -> Any:
    """A tensor from its pickle."""
    place = device(where)
    shown = shown_to_modes(Tensor(backend_for(place).from_numpy(array, place), AS_IS))
    made = _made(kind, shown, requires_grad)
    give_state(made, attributes)
    return made


def rebuilt_sparse(
    name: str, parts: Any, size: Any, coalesced: bool, requires_grad: bool, attributes: Any
) -> Any:
    """A sparse tensor from its pickle."""
    made = put_together(name, parts, size, coalesced)
    give_state(made, attributes)
    return made.requires_grad_() if requires_grad else made


def reduced(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """What pickle keeps of a tensor."""
    warn_if_has_hooks(self)
    layer = sparse_of(self)
    if layer is not None:
        return (rebuilt_sparse, (*taken_apart(layer), self.requires_grad, state_of(self)))
    if self.layer is not None:
        own = self.layer.reduced(self, state_of(self))
        if own is not None:
            return own  # type: ignore[no-any-return]  # a layer's
    place = self.device
    as_it_is = place == CPU or not has_values(self)
    array = self.concrete_array() if as_it_is else self.numpy_array()
    return (rebuilt, (type(self), array, str(place), self.requires_grad, state_of(self)))


def copied_memory(whole: Any, memo: dict[Any, Any]) -> Any:
    """What a NumPy array reaches, in order: one copy for all that show it."""
    xp: Any = backend_of(whole).xp
    room = room_of(Tensor(whole, AS_IS))
    key = ("memory", xp.address(whole), room * whole.itemsize)
    if key not in memo:
        flat = xp.strided(whole, (room,), (1,), xp.memory(whole).start)
        memo[key] = whole, xp.copied(flat, ordered=True)
    return memo[key][1].view(whole.dtype)


def _copied(self: Any, memo: dict[Any, Any]) -> Any:
    """The same elements in other memory; modes see what PyTorch does with storages."""
    if self.layer is not None and self.layer.wraps:
        with Changed({"grad_enabled": False}):
            found = clone(self)
        if type(found) is not type(self) and self.layer.value_refused() is not None:
            raise RuntimeError(
                f"deepcopy: the clone of a {type(self).__name__}, which has no memory, is a "
                f"{type(found).__name__}; let its __torch_dispatch__ return one of the same "
                "subclass, or define __deepcopy__"
            )
        return found
    if self.layer is None and self.device == CPU and current().modes:
        memory = self.untyped_storage().clone()
        blank = self.new_empty(())
        if blank.layer is None:
            return shown_to_modes(self, memory, blank)
    if self.layer is None and type(self.array) is NDARRAY and self.array.size:
        array, whole = self.concrete_array(), self.whole_array()
        memory = copied_memory(array if whole is None else whole, memo).view(array.dtype)
        start, strides = place_of(self)
        shown = Tensor(numpy_backend.xp.strided(memory, array.shape, strides, start), AS_IS)
        if whole is not None:
            shown.rare().origin = memory
        return shown
    return clone(self.detach())


def deep_copied(self: Tensor, memo: dict[int, Any]) -> Any:
    """A leaf with memory of its own, and its gradient and attributes copied as well."""
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            f"protocol at the moment, and this one comes from {self.grad_fn!r}. Copy "
            "tensor.detach() instead."
        )
    if id(self) in memo:
        return memo[id(self)]
    copied = _copied(self, memo)
    if copied.layer is None:
        plain = copied if type(copied) is Tensor else Tensor(copied.array, AS_IS)
        made = _made(type(self), plain, self.requires_grad)
    else:
        made = copied.requires_grad_() if self.requires_grad else copied
    memo[id(self)] = made
    if self.gradient is not None:
        made.gradient = copy.deepcopy(self.gradient, memo)
    for name, value in attributes_of(self).items():
        setattr(made, name, copy.deepcopy(value, memo))
    return made


METHODS: dict[str, Any] = {"__reduce_ex__": reduced, "__deepcopy__": deep_copied}
