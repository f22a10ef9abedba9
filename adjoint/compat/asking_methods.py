"""Methods and attributes of Tensor that a class with its own `__torch_function__` is asked about.

Ops and functions ask where they begin (call.overriding). What is no op is a plain method or a
property, which must cost a Tensor nothing more: a class that answers calls gets such members that
ask it first, an attribute as `Tensor.shape.__get__`.
"""

import functools
import sys
from typing import Any

from adjoint.call.overriding import is_overriding, offered, seen_by_mode
from adjoint.tensors.tensor import Tensor

_LISTED = """
    __array__ __bool__ __complex__ __contains__ __deepcopy__ __dir__ __dlpack__ __dlpack_device__
    __float__ __format__ __index__ __int__ __invert__ __len__ __reduce_ex__ __repr__ __reversed__
    _coalesced_ _indices _is_view _nnz _values apply_ ccol_indices coalesce col_indices
    const_data_ptr copy_ crow_indices data_ptr dense_dim detach detach_ dim dim_order element_size
    get_device indices is_coalesced is_contiguous is_inference is_pinned is_set_to is_shared item
    ndimension new_tensor numpy pin_memory register_hook register_post_accumulate_grad_hook
    requires_grad_ resize_ resize_as_ retain_grad row_indices share_memory_ size sparse_dim storage
    storage_offset storage_type stride to_dense to_sparse to_sparse_coo tolist type untyped_storage
    values
"""
_NAMES = tuple(_LISTED.split())

ATTRIBUTES = (
    *("H", "T", "_backward_hooks", "_base", "_post_accumulate_grad_hooks", "_version", "data"),
    *("device", "dtype", "grad", "grad_dtype", "grad_fn", "imag", "is_cpu", "is_cuda", "is_ipu"),
    *("is_leaf", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested"),
    *("is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu", "itemsize"),
    *("layout", "mH", "mT", "nbytes", "ndim", "output_nr", "real", "requires_grad"),
    *("retains_grad", "shape", "volatile"),
)
_SETTABLE = ("_backward_hooks", "data", "grad", "grad_dtype", "requires_grad")


class AskingAttribute(property):
    """An attribute about which the class of its tensor is asked first."""


def _asking(name: str, asks: Any) -> Any:
    """A method that asks the class of its tensor first, or a mode."""
    own = getattr(Tensor, name)

    @functools.wraps(own)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if asks(self):
            return offered(getattr(Tensor, name), (self, *args), kwargs)
        return own(self, *args, **kwargs)

    return call


def _asking_iter(asks: Any) -> Any:
    """How a tensor is gone through: its `dim` is asked for, and the method `unbind`."""
    own = Tensor.__iter__

    @functools.wraps(own)
    def call(self: Any) -> Any:
        if asks(self) and self.dim():
            return iter(self.unbind(0))
        return own(self)

    return call


def _asking_attribute(name: str) -> AskingAttribute:
    """The same of a property: its `__get__` is what is asked about, or its `__set__`."""
    own = getattr(Tensor, name)

    def asks(function: Any) -> Any:
        def call(self: Tensor, *value: Any) -> Any:
            if is_overriding(self):
                return offered(function, (self, *value), {})
            return function(self, *value)

        return call

    if name not in _SETTABLE:
        return AskingAttribute(asks(own.__get__), own.__set__, own.__delete__, own.__doc__)
    return AskingAttribute(asks(own.__get__), asks(own.__set__), asks(own.__delete__), own.__doc__)


@functools.cache
def _members() -> dict[str, Any]:
    """These members, once Tensor has all of its own."""
    methods = {name: _asking(name, is_overriding) for name in _NAMES}
    methods["__iter__"] = _asking_iter(is_overriding)
    return methods | {name: _asking_attribute(name) for name in ATTRIBUTES}


@functools.cache
def ask_modes() -> None:
    """Have modes asked about methods that are no ops, from the first mode on."""
    for name in _NAMES:
        asks = _in_a_program if name.startswith("_") else lambda tensor: seen_by_mode()
        setattr(Tensor, name, _asking(name, asks))
    setattr(Tensor, "__iter__", _asking_iter(lambda tensor: seen_by_mode()))  # noqa: B010  # mypy refuses the other form


def _in_a_program(tensor: Tensor) -> bool:
    """Whether a mode sees what a program does by `len()` and the like, not the library itself."""
    if not seen_by_mode():
        return False
    asking = sys._getframe(2).f_globals.get("__name__") or ""  # noqa: SLF001  # who calls
    return not asking.startswith("adjoint.")


def give(cls: Any) -> None:
    """Give a new class these members, if it answers calls; never in place of its bases' own."""
    above = cls.__mro__[: cls.__mro__.index(Tensor)]
    if cls.__module__.startswith("adjoint."):  # whose own code must not meet itself
        return
    handlers = [vars(kind).get("__torch_function__") for kind in above]
    if not any(isinstance(each, (classmethod, staticmethod)) for each in handlers):
        return
    for name, asking in _members().items():
        given = [vars(kind)[name] for kind in above if name in vars(kind)]
        own = next((each for each in given if each is not asking), None)
        if own is not None and given[0] is asking:
            setattr(cls, name, own)
        elif not given:
            setattr(cls, name, asking)
