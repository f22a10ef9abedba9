"""Whether an array is held by one place alone, so that it may be handed over without a copy.

Interpreted on purpose: how many references a call itself makes is then the same for all callers.
"""

from sys import getrefcount
from typing import Any, Final

from adjoint.tensor_core import NDARRAY


def _references(value: Any) -> int:
    """How often a value is referred to, with what a call such as is_alone adds."""
    return getrefcount(value)


def _references_of_one() -> int:
    """How many that are for a value in one place."""
    value = object()
    return _references(value)


ALONE: Final = _references_of_one()  # it depends on the version of Python


def is_alone(array: Any) -> bool:
    """Whether nothing refers to an array's memory but the one place the caller has it from.

    A view of the memory, or a Tensor, would count: each refers to the array.
    """
    return type(array) is NDARRAY and array.base is None and getrefcount(array) <= ALONE
