"""Rules, as the rest of the package sees them: a function, and where its arguments come from.

A rule's parameters say what it wants by their names; `ops/op.py` reads the names once, when an op
is declared. What a node must keep follows: what the rules that will run have named.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.tensors.core import F32, F64, NDARRAY

if TYPE_CHECKING:
    from adjoint.call.fused import Fused

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
        self.passes = False  # with its option as it is by default, it answers the gradient itself
        self.fused: "Fused | None" = None  # the loops of the wheel that do the same
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
