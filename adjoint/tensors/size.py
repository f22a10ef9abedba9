"""The shape of a tensor."""

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload


class Size(tuple[int, ...]):
    """A tuple of ints that also knows their product."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> "Size":
        return super().__new__(cls, map(operator.index, sizes))

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"adjoint.Size({list(self)})"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> "Size": ...

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return tuple.__new__(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> "Size":
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple(self) + other)

    def __radd__(self, other: Any) -> "Size":
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        found = tuple(self) * count
        return Size(found) if isinstance(found, tuple) else found  # an array multiplies numbers

    __rmul__ = __mul__


# A plain class at run time, as PyTorch's: what checks types can't say what a generic one holds.
del Size.__orig_bases__  # type: ignore[attr-defined]
