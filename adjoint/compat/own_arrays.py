"""Subclasses of Tensor with an attribute called `array`, which adjoint's tensors have too.

A program that asks for it means the class's own; adjoint's modules mean the array of the tensor.
"""

import sys
from typing import Any

from adjoint.tensors.core import TensorCore

_NATIVE: Any = vars(TensorCore).get("array")  # where the compiled package keeps it


class OwnArray:
    """The attribute in the place of the class's own: who asks decides which is meant."""

    def __init__(self, own: Any) -> None:
        self.own = own
        self.answering: set[int] = set()  # tensors whose class is being asked

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        if tensor is None:
            return self.own
        if self._is_adjoints(tensor):
            return vars(tensor)["array"] if _NATIVE is None else _NATIVE.__get__(tensor)
        return self._asked(tensor, "__get__", kind)

    def __set__(self, tensor: Any, value: Any) -> None:
        if self._is_adjoints(tensor):
            if _NATIVE is None:
                vars(tensor)["array"] = value
            else:
                _NATIVE.__set__(tensor, value)
        elif hasattr(self.own, "__set__"):
            self._asked(tensor, "__set__", value)
        else:
            raise AttributeError(f"{type(tensor).__name__}.array can't be set")

    def _is_adjoints(self, tensor: Any) -> bool:
        """Whether adjoint's own code asks; compiled code is seen where the class itself asks."""
        asking = sys._getframe(2).f_globals.get("__name__", "")  # noqa: SLF001  # who calls
        return id(tensor) in self.answering or asking.partition(".")[0] == "adjoint"

    def _asked(self, tensor: Any, method: str, *given: Any) -> Any:
        """What the class answers, whose own look at the array is adjoint's."""
        if not hasattr(self.own, method):
            return self.own
        self.answering.add(id(tensor))
        try:
            return getattr(self.own, method)(tensor, *given)
        finally:
            self.answering.discard(id(tensor))
