"""Sizes, strides, device and layout of instances whose class wants to answer for them, too.

A class says so when it makes an instance, by `dispatch_sizes_strides_policy` and the like. It gets
members that ask its `__torch_dispatch__` about such instances; None is for what they look like.
"""

import math
from typing import Any, Final

from adjoint.compat.asking_methods import AskingAttribute
from adjoint.compat.torch_tree import ops
from adjoint.ops.arranging.conversion import contiguous_format
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor

SIZES: Final = "sizes"
STRIDES: Final = "strides"
DEVICE: Final = "device"
LAYOUT: Final = "layout"
_POLICIES: Final = {None: (), STRIDES: (STRIDES,), SIZES: (SIZES, STRIDES)}


def asked_for(policy: str | None, device: bool, layout: bool) -> frozenset[str]:
    """What the class is asked about an instance that was made with these options."""
    if policy not in _POLICIES:
        raise ValueError(
            f"dispatch_sizes_strides_policy: expected 'strides' or 'sizes', got {policy!r}"
        )
    more = [name for name, wanted in ((DEVICE, device), (LAYOUT, layout)) if wanted]
    return frozenset((*_POLICIES[policy], *more))


def _said(self: Any, what: str, namespace: str, name: str, *rest: Any) -> Any:
    """What the class of an instance says of it; None if it is not asked, or leaves it."""
    if what not in self.layer.asked:
        return None
    packet = getattr(ops.__getattr__(namespace), name)
    overload = "memory_format" if rest else "default"
    return self.layer.said(getattr(packet, overload), (self, *rest))


def _own(name: str) -> Any:
    """A property of Tensor, as a function."""
    return getattr(Tensor, name).__get__


def _shape(self: Any) -> Any:
    found = _said(self, SIZES, "aten", "sym_size")
    return _own("shape")(self) if found is None else Size(found)


def _size(self: Any, dim: Any = None) -> Any:
    shape = _shape(self)
    return shape if dim is None else shape[dim]


def _dim(self: Any) -> Any:
    found = _said(self, SIZES, "aten", "dim")
    return _own("ndim")(self) if found is None else found


def _numel(self: Any) -> Any:
    found = _said(self, SIZES, "aten", "sym_numel")
    return math.prod(_own("shape")(self)) if found is None else found


def _data_ptr(self: Any) -> Any:
    found = _said(self, SIZES, "aten", "numel")
    is_empty = found == 0 or not self.layer.has_memory
    return 0 if is_empty else Tensor.data_ptr(self)  # type: ignore[attr-defined]


def _stride(self: Any, dim: Any = None) -> Any:
    found = _said(self, STRIDES, "aten", "sym_stride")
    strides = Tensor.stride(self) if found is None else tuple(found)  # type: ignore[attr-defined]
    return strides if dim is None else strides[dim]


def _is_contiguous(self: Any, memory_format: Any = contiguous_format) -> Any:
    rest = () if memory_format is contiguous_format else (memory_format,)
    found = _said(self, STRIDES, "aten", "is_contiguous", *rest)
    own: Any = Tensor.is_contiguous  # type: ignore[attr-defined]
    return own(self, memory_format) if found is None else found


def _device(self: Any) -> Any:
    found = _said(self, DEVICE, "prim", "device")
    return _own("device")(self) if found is None else found


def _layout(self: Any) -> Any:
    found = _said(self, LAYOUT, "prim", "layout")
    return _own("layout")(self) if found is None else found


class _Answered(property):
    """A member of instances; their class itself has Tensor's, as far as anybody can see."""

    def __init__(self, name: str, member: Any) -> None:
        super().__init__(member)
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return getattr(Tensor, self.name) if instance is None else super().__get__(instance)


def _method(function: Any) -> Any:
    """A method, as a property."""
    return lambda self: function.__get__(self)


_MEMBERS: Final[dict[str, dict[str, Any]]] = {
    SIZES: {
        "shape": _shape,
        "ndim": _dim,
        "size": _method(_size),
        "dim": _method(_dim),
        "numel": _method(_numel),
        "data_ptr": _method(_data_ptr),
    },
    STRIDES: {"stride": _method(_stride), "is_contiguous": _method(_is_contiguous)},
    DEVICE: {"device": _device},
    LAYOUT: {"layout": _layout},
}


def give(cls: Any, asked: frozenset[str]) -> None:
    """Give a class the members that ask it; never in place of its own."""
    above = cls.__mro__[: cls.__mro__.index(Tensor)]
    for what in asked:
        for name, member in _MEMBERS[what].items():
            own = [vars(kind)[name] for kind in above if name in vars(kind)]
            if all(isinstance(each, AskingAttribute) for each in own):
                setattr(cls, name, _Answered(name, member))
