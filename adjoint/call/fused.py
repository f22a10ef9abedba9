"""Loops of the wheel in the place of forwards and rules: which one takes the arguments of a call.

They are made by `adjoint.ops.attaching`; docs/notes/kernels.md says where loops come from.
"""

from typing import Any, Final

from adjoint.backends.loops import BITS, narrow_form
from adjoint.call.half_precision import is_half
from adjoint.tensors.core import F32, F64, NDARRAY

# What an argument must be for a loop of the wheel to take it.
ARRAY: Final = 0
COLUMN: Final = 1  # an array with one number for each row
NUMBER: Final = 2
EITHER: Final = 3  # an array or a number
TEXT: Final = 4  # any text: loops that ask for one come first
EXACTLY: Final = 5  # the value that the loop was made for

# Where a result of a loop over rows comes from, if it is no argument; MADE and up: computed.
NONE: Final = -1
MADE: Final = 100


def _compared(name: str, one: float, other: float) -> bool:
    if name == "equal":
        return one == other
    if name == "not_equal":
        return one != other
    if name == "less":
        return one < other
    if name == "less_equal":
        return one <= other
    return one > other if name == "greater" else one >= other


class Loop:
    """A loop of the wheel: the arguments that it takes, and what they must be.

    A condition is a comparison of the number at a place with another, or (an int) with the one at
    another place, and whether it holds.
    """

    def __init__(
        self,
        function: Any,
        kinds: list[int],
        values: list[Any],
        order: list[int],
        conditions: list[tuple[str, int, Any, bool]],
        narrows: bool,
    ) -> None:
        self.function = function  # a ufunc of NumPy's
        self.kinds = kinds
        self.values = values  # where an argument must be exactly one
        self.order = order
        self.conditions = conditions
        self.narrows = narrows  # in float32 it computes what 16-bit floats want, to be rounded

    def fits(self, args: list[Any], array_type: Any) -> bool:
        """Whether it computes what is asked for with these arguments, its arrays of a type."""
        for i, kind in enumerate(self.kinds):
            value = args[i]
            array = type(value) is array_type
            if kind == ARRAY:
                if not array:
                    return False
            elif kind < TEXT:
                if type(value) is not float and type(value) is not int:
                    if kind == NUMBER or not array:
                        return False
            elif kind == TEXT:
                if type(value) is not str:
                    return False
            elif array or value is not self.values[i]:
                if type(value) is not str or value != self.values[i]:
                    return False
        for name, place, other, holds in self.conditions:
            compared = args[other] if type(other) is int else other
            if _compared(name, args[place], compared) != holds:
                return False
        return True


class Fused:
    """The loops of a forward or a rule, for arrays of one type.

    16-bit floats are computed with in float32, block by block, and rounded once.
    """

    kernels: "Kernels | None" = None  # the same on a GPU, once a call has asked for them

    def __init__(self) -> None:
        self.loops: list[Loop] = []
        self.direct: Any = None  # the function of NumPy's that a forward with `defaults` is
        self.defaults: list[Any] = []

    def add(self, loop: Loop) -> None:
        """Make a loop known; those for any text come last."""
        if TEXT in loop.kinds:
            self.loops.append(loop)
        else:
            self.loops.insert(0, loop)

    def answer(self, args: list[Any]) -> Any:
        """What a loop makes of the arguments; None if there is none for them."""
        loop = self.found(args)
        if loop is not None:
            return loop.function(*[args[i] for i in loop.order])
        found = self.of_halves(args, None)
        if found is not None:
            return found
        return None if self.kernels is None else self.kernels.answer(args)

    def write(self, args: list[Any], target: Any) -> bool:
        """Let a loop write what it makes of the arguments; False if there is none for them."""
        loop = self.found(args)
        if loop is None:
            return self.of_halves(args, target) is not None
        loop.function(*[args[i] for i in loop.order], out=target)
        return True

    def found(self, args: list[Any]) -> Loop | None:
        """The loop for such arguments."""
        kind: Any = None
        for value in args:
            if type(value) is NDARRAY:
                if kind is None:
                    kind = value.dtype
                    if kind is not F32 and kind is not F64:
                        return None
                elif value.dtype is not kind:
                    return None
        if kind is None:
            return None
        for loop in self.loops:
            if loop.fits(args, NDARRAY):
                return loop
        return None

    def of_halves(self, args: list[Any], target: Any) -> Any:
        """What a loop makes of 16-bit floats, or writes to a target; None if there is none.

        Beside another operand one may be a number in float32.
        """
        kind: Any = None
        wide = 0
        for value in args:
            if type(value) is NDARRAY:
                own = value.dtype
                if own is F32 and not value.shape:
                    wide += 1
                elif kind is None and own.itemsize == 2 and is_half(own):
                    kind = own
                elif kind is None or own != kind:  # None would be equal to float64
                    return None
        if kind is None:
            return None
        order = self.order_for_halves(args)
        if order is None or (wide and (wide > 1 or len(order[1]) != 2)):
            return None
        function = narrow_form(order[0], kind.char)
        if function is None:
            return None
        given = [args[i] for i in order[1]]
        if kind.char != "e":  # of which NumPy knows no more than the bits
            given = [v.view(BITS) if type(v) is NDARRAY and v.dtype == kind else v for v in given]
        if target is not None:
            if kind.char != "e" and function.types[0][-1] == "?":
                return None  # a truth would be written as bits
            function(*given, out=target if kind.char == "e" else target.view(BITS))
            return target
        out = function(*given)
        return out.view(kind) if out.dtype is BITS else out

    def order_for_halves(self, args: list[Any]) -> tuple[Any, list[int]] | None:
        """The function that does for float32 what is asked for, and the arguments it takes."""
        for loop in self.loops:
            if loop.narrows and loop.fits(args, NDARRAY):
                for i in loop.order:
                    if loop.kinds[i] == EITHER and type(args[i]) is not NDARRAY:
                        return None
                return loop.function, loop.order
        if self.direct is None:
            return None
        count = self.direct.nin
        for i, value in enumerate(args):
            usual = type(value) is NDARRAY if i < count else value is self.defaults[i]
            if not usual:
                return None
        return self.direct, list(range(count))

    def whole(self) -> Any:
        """The function of the loop that takes arrays only, all in their order; or None."""
        for loop in self.loops:
            if loop.order == list(range(len(loop.kinds))) and not loop.conditions:
                if not any(kind != ARRAY for kind in loop.kinds):
                    return loop.function
        return None


class Kernels(Fused):
    """The kernels of a forward or a rule, which say None to arrays that they are not for."""

    def __init__(self, array_type: Any) -> None:
        super().__init__()
        self.array_type = array_type
        self.brief: Any = None  # that of arrays or numbers, with the defaults of all options
        self.forward: Any = None  # what else computes a short call: the forward of an op
        self.by_types: dict[Any, Any] | None = {}  # found before; None: values decide as well

    def add(self, loop: Loop) -> None:
        """See Fused."""
        super().add(loop)
        if loop.conditions or TEXT in loop.kinds or EXACTLY in loop.kinds:
            self.by_types = None

    def of_one(self, x: Any) -> Any:
        """A short call with one argument."""
        if self.brief is not None:
            return self.brief(x)
        return None if self.forward is None else self.forward(x)

    def of_two(self, x: Any, y: Any) -> Any:
        """A short call with two, arrays or numbers."""
        if self.brief is not None:
            return self.brief(x, y)
        if self.forward is None or type(x) is not self.array_type:
            return None
        same = type(y) is self.array_type and x.dtype is y.dtype
        return self.forward(x, y) if same else None

    def found(self, args: list[Any]) -> Loop | None:
        """See Fused."""
        key: Any = None
        if self.by_types is not None:
            key = tuple([type(value) for value in args])
            if key in self.by_types:
                loop: Loop | None = self.by_types[key]
                return loop
        for each in self.loops:
            if each.fits(args, self.array_type):
                if self.by_types is not None:
                    self.by_types[key] = each
                return each
        if self.by_types is not None:
            self.by_types[key] = None
        return None


class RowLoop:
    """A loop of the wheel over rows: the arguments that it takes, and what they must be."""

    def __init__(
        self,
        function: Any,
        kinds: list[int],
        values: list[Any],
        order: list[int],
        answers: list[int],
        several: bool,
    ) -> None:
        self.function = function  # a ufunc of NumPy's, with a core dimension
        self.kinds = kinds
        self.values = values
        self.order = order
        self.answers = answers  # for each result its number after MADE, NONE, or an argument
        self.several = several  # results come as a tuple, even if it is but one

    def fits(self, args: list[Any], length: int) -> bool:
        """Whether it computes what is asked for with these arguments."""
        for i, kind in enumerate(self.kinds):
            value = args[i]
            if kind <= COLUMN:
                if type(value) is not NDARRAY or not value.shape:
                    return False
                if value.shape[-1] != (length if kind == ARRAY else 1):
                    return False
            elif kind == NUMBER:
                if type(value) is not float and type(value) is not int:
                    return False
            elif type(value) is NDARRAY or value != self.values[i]:
                return False
        return True

    def run(self, args: list[Any]) -> Any:
        """What it makes of the arguments, in the order of the results."""
        made = self.function(*[args[i] for i in self.order])
        if not self.several:
            return made
        found: list[Any] = []
        for answer in self.answers:
            if answer == NONE:
                found.append(None)
            elif answer < MADE:
                found.append(args[answer])
            else:
                found.append(made[answer - MADE] if type(made) is tuple else made)
        return tuple(found)


class Rows(Fused):
    """The loops of a forward or a rule that works on rows, the last dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.over_rows: list[RowLoop] = []

    def answer(self, args: list[Any]) -> Any:
        """See Fused; the gradients of several outputs come as one argument."""
        flat: list[Any] = []
        for value in args:
            if type(value) is tuple and value and type(value[0]) is NDARRAY:
                flat.extend(value)
            else:
                flat.append(value)
        first = flat[0]
        if type(first) is not NDARRAY or not first.size or not first.shape:
            return None
        kind = first.dtype
        if kind is not F32 and kind is not F64:
            return None
        for value in flat:
            if type(value) is NDARRAY and value.dtype is not kind:
                return None
        length = first.shape[-1]
        for loop in self.over_rows:
            if len(loop.kinds) == len(flat) and loop.fits(flat, length):
                return loop.run(flat)
        return None
