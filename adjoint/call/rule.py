"""Rules, as the rest of the package sees them: a function, and where its arguments come from.

A rule's parameters say what it wants by their names; `ops/op.py` reads the names once, when an op
is declared. What a node must keep follows: what the rules that will run have named.
"""

from typing import Any, Final

from adjoint.tensors.core import F32, F64, NDARRAY

# Where an argument of a rule comes from.
GRAD: Final = 0
RESULT: Final = 1
VALUE: Final = 2
SHAPE: Final = 3
NEEDS: Final = 4
HIDDEN: Final = 5  # what forward computed besides its result, for the rules alone
TANGENT: Final = 6  # of an input, in a rule that pushes tangents forward
BATCHED: Final = 7  # whether a value has a batch, its first dimension, in a rule over batches
EACH: Final = 8  # a value with the batch in front, shown to each element if it is one for all
SIZE: Final = 9  # how many elements the batch has

ALL_GRADS: Final = -1  # the number of GRAD for a rule that wants the gradients of all outputs

# How an op takes a batch, unless a rule of its own says so.
ALIGN: Final = "align"  # batches in front, ranks made equal: the op does not look at dimensions
LEAD: Final = "lead"  # the first tensor gets the batch in front, the others broadcast to it
FRONT: Final = "front"  # every tensor gets the batch in front; the op leaves those dimensions alone
FOLD: Final = "fold"  # the batch joins the first dimension of every tensor, and of the results
MATRICES: Final = "matrices"  # as ALIGN, of what looks at its last two dimensions
LOOP: Final = "loop"  # one element of the batch at a time

# The forms that most rules have: of the gradient and what is named here.
OF_GRAD: Final = 0
OF_RESULT: Final = 1
OF_FIRST: Final = 2
OF_SECOND: Final = 3
OF_BOTH: Final = 4
OF_LATER: Final = 5  # one argument after the second
OF_MORE: Final = 6

_FORMS: Final[dict[tuple[Any, ...], int]] = {
    ((GRAD, 0),): OF_GRAD,
    ((GRAD, 0), (RESULT, 0)): OF_RESULT,
    ((GRAD, 0), (VALUE, 0)): OF_FIRST,
    ((GRAD, 0), (VALUE, 1)): OF_SECOND,
    ((GRAD, 0), (VALUE, 0), (VALUE, 1)): OF_BOTH,
}


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
    ) -> None:
        self.function = function  # a ufunc of NumPy's
        self.kinds = kinds
        self.values = values  # where an argument must be exactly one
        self.order = order
        self.conditions = conditions

    def fits(self, args: list[Any]) -> bool:
        """Whether it computes what is asked for with these arguments."""
        for i, kind in enumerate(self.kinds):
            value = args[i]
            array = type(value) is NDARRAY
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
    """The loops of a forward or a rule, for arrays of one type, float32 or float64."""

    def __init__(self) -> None:
        self.loops: list[Loop] = []

    def add(self, loop: Loop) -> None:
        """Make a loop known; those for any text come last."""
        if TEXT in loop.kinds:
            self.loops.append(loop)
        else:
            self.loops.insert(0, loop)

    def answer(self, args: list[Any]) -> Any:
        """What a loop makes of the arguments; None if there is none for them."""
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
            if loop.fits(args):
                return loop.function(*[args[i] for i in loop.order])
        return None

    def whole(self) -> Any:
        """The function of the loop that takes arrays only, all in their order; or None."""
        for loop in self.loops:
            if loop.order == list(range(len(loop.kinds))) and not loop.conditions:
                if not any(kind != ARRAY for kind in loop.kinds):
                    return loop.function
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


class Rule:
    """One derivative: its function, and where each of its arguments comes from."""

    def __init__(self, function: Any, sources: list[tuple[int, int]], wide: bool = False) -> None:
        self.function = function
        self.sources = sources
        self.form = _FORMS.get(tuple(sources), OF_MORE)
        self.later = 0  # which, in the form OF_LATER
        if len(sources) == 2 and sources[0] == (GRAD, 0) and sources[1][0] == VALUE:
            if sources[1][1] > 1:
                self.form, self.later = OF_LATER, sources[1][1]
        grads = [i for i, (kind, _) in enumerate(sources) if kind == GRAD]
        # The argument whose type says whether to compute in float32; -1: as it comes. A rule of
        # the gradient alone has but one step, and rounds once as it is. Tangents may be None.
        values = [i for i, (kind, _) in enumerate(sources) if kind in (RESULT, VALUE)]
        first = grads[:1] if TANGENT not in [kind for kind, _ in sources] else values[:1]
        self.wide = first[0] if wide and first and len(sources) > 1 else -1
        self.fused: Fused | None = None  # the loops of the wheel that do the same
        self.whole: Any = None  # one of them, of arrays alone

    def of_two(self, grad: Any, value: Any) -> Any:
        """The rule of two arrays, or of an array and a number, by a loop if there is one."""
        if self.fused is not None:
            if type(grad) is NDARRAY and type(value) is NDARRAY:
                kind = grad.dtype
                if self.whole is not None and (kind is F32 or kind is F64):
                    if value.dtype is kind:
                        return self.whole(grad, value)
            else:
                found = self.fused.answer([grad, value])
                if found is not None:
                    return found
        return self.function(grad, value)

    def of_list(self, args: list[Any]) -> Any:
        """The rule of any arguments, by a loop if there is one."""
        if self.fused is not None:
            found = self.fused.answer(args)
            if found is not None:
                return found
        return self.function(*args)


class Plan:
    """What a node must keep, given which rules will run."""

    def __init__(self, rules: list[Rule], parameters: int) -> None:
        self.values: list[int] = []
        self.shapes: list[int] = []
        self.results: list[int] = []
        for rule in rules:
            for kind, index in rule.sources:
                kept = {VALUE: self.values, SHAPE: self.shapes, RESULT: self.results}.get(kind)
                if kept is not None and index not in kept:
                    kept.append(index)
        self.wants_value = [i in self.values for i in range(parameters)]
        self.wants_shape = [i in self.shapes for i in range(parameters)]
        self.keep_first = 0 in self.values
        self.keep_second = 1 in self.values
        self.keep_result = bool(self.results)


NOTHING: Final[Plan] = Plan([], 0)
