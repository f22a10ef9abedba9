"""Whether an array is held by one place alone, so that it may be handed over without a copy.

Interpreted on purpose: how many references a call itself makes is then the same for all callers.
"""

from sys import getrefcount
from typing import Any, Final

from adjoint.tensors.core import NDARRAY


def _references(value: Any) -> int:
    """How often a value is referred to, with what a call such as is_alone adds."""
    return getrefcount(value)


def _references_of_one() -> int:
    """How many that are for a value in one place."""
    value = object()
    return _references(value)


def _references_in_list() -> int:
    """How many that are for a value in a list alone."""
    values = [object()]
    return getrefcount(values[0])


# They depend on the version of Python.
ALONE: Final = _references_of_one()
ALONE_IN_LIST: Final = _references_in_list()


def is_alone(array: Any) -> bool:
    """Whether nothing refers to an array's memory but the one place the caller has it from.

    A view of the memory, or a Tensor, would count: each refers to the array.
    """
    return type(array) is NDARRAY and array.base is None and getrefcount(array) <= ALONE


def is_first_alone(arrays: list[Any]) -> bool:
    """The same of the first in a list, which is the one place that has it.

    A compiled caller that took it out of the list would refer to it once more.
    """
    if type(arrays[0]) is not NDARRAY or arrays[0].base is not None:
        return False
    return getrefcount(arrays[0]) <= ALONE_IN_LIST


def is_first_tensor_alone(tensors: list[Any]) -> bool:
    """The same of the first Tensor in a list, its array, and the memory of which that is a view."""
    if getrefcount(tensors[0]) > ALONE_IN_LIST:
        return False
    layer = tensors[0].layer
    if layer is not None and layer.wraps and layer.value_refused() is not None:
        return True  # it has no memory, and what it holds is its class's affair
    array, extras = tensors[0].array, tensors[0].extras
    if type(array) is not NDARRAY or getrefcount(array) > ALONE_IN_LIST + 1:
        return False
    allowed = ALONE_IN_LIST
    if extras is not None and extras.base is not None:
        if getrefcount(extras.base) > ALONE_IN_LIST:
            return False
        allowed += 1  # for the Tensor of which this one is a view
    elif extras is not None and extras.origin is not None and extras.origin is array.base:
        allowed += 1  # for what storage offsets count from
    return array.base is None or getrefcount(array.base) <= allowed
