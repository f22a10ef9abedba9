"""Methods of Tensor that a class with a `__torch_function__` of its own is asked about.

Ops and functions ask where they begin (call.overriding). What is no op is a plain method, which
must cost a Tensor nothing more: a class that answers calls gets methods that ask it first.
"""

import functools
from typing import Any

from adjoint.call.overriding import is_overriding, offered
from adjoint.tensors.tensor import Tensor

_NAMES = (
    *("__array__", "__bool__", "__contains__", "__deepcopy__", "__float__", "__int__", "__len__"),
    *("__reduce_ex__", "__reversed__", "_is_view", "data_ptr", "detach", "detach_", "dim"),
    *("element_size", "get_device", "is_contiguous", "is_inference", "is_set_to", "item", "numpy"),
    *("register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "resize_"),
    *("retain_grad", "size", "storage_offset", "stride", "tolist", "type", "untyped_storage"),
)


def _asking(own: Any) -> Any:
    """A method that asks the class of its tensor first."""

    @functools.wraps(own)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if is_overriding(self):
            return offered(own, (self, *args), kwargs)
        return own(self, *args, **kwargs)

    return call


@functools.cache
def _methods() -> dict[str, Any]:
    """These methods, once Tensor has all of its own."""
    return {name: _asking(getattr(Tensor, name)) for name in _NAMES}


def give(cls: Any) -> None:
    """Give a new class these methods, if it answers calls; never in place of its bases' own."""
    above = cls.__mro__[: cls.__mro__.index(Tensor)]
    if cls.__module__.startswith("adjoint."):  # whose own code must not meet itself
        return
    handlers = [vars(kind).get("__torch_function__") for kind in above]
    if not any(isinstance(each, (classmethod, staticmethod)) for each in handlers):
        return
    for name, asking in _methods().items():
        given = [vars(kind)[name] for kind in above if name in vars(kind)]
        own = next((each for each in given if each is not asking), None)
        if own is not None and given[0] is asking:
            setattr(cls, name, own)
        elif not given:
            setattr(cls, name, asking)
