"""The types that declarations speak of; to a type checker, which can't know them, they are Any.

When the program runs they are classes, so that a public signature can be made of them.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from adjoint.tensors.tensor import Tensor

if TYPE_CHECKING:
    Array: TypeAlias = Any
    Value: TypeAlias = Any
    Values: TypeAlias = Any
    Operand: TypeAlias = Any
else:

    class Array:
        """An array of the library that a forward runs on; in public it is a Tensor."""

    Value = Tensor  # which composites are given, and rules too, unless they are given arrays
    Values = tuple[Tensor, ...]
    Operand = Tensor | complex  # or a number, which takes part in type promotion
