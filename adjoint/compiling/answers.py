"""What hooks answer: those that only look on leave what they see, and its place in the graph."""

from typing import Any

from adjoint.autograd.hooks import function_of, name_of
from adjoint.compiling.errors import OutdatedError
from adjoint.pytree import tree_flatten
from adjoint.tensors.tensor import Tensor


class Answers:
    """What hooks have answered in eager calls: those that never did only look on."""

    def __init__(self) -> None:
        self.known: dict[Any, bool] = {}  # by their code, whether they have answered anything
        self.results: dict[Any, Any] = {}  # of Functions: what their results look like
        self.on_host: set[Any] = set()  # Functions whose code reads values

    def note(self, hook: Any, args: tuple[Any, ...], answer: Any) -> None:
        """A hook has answered."""
        key = code_of(hook)
        own = answer is not None and not any(answer is value for value in args)
        self.known[key] = own or self.known.get(key, False)

    def only_looks(self, hook: Any) -> bool:
        """Whether a hook was called and never answered anything."""
        return self.known.get(code_of(hook)) is False

    def note_results(self, function: Any, values: list[Any], result: Any) -> None:
        """A Function has answered."""
        leaves, tree = tree_flatten(result)
        looks = [
            (each.array.shape, each.array.dtype, each.needs_grad)
            if isinstance(each, Tensor)
            else each
            for each in leaves
        ]
        self.results[function, _looks(values)] = (tree, looks)

    def results_of(self, function: Any, values: list[Any]) -> Any:
        """What the results of a Function look like, of such arguments; None if it is not known."""
        return self.results.get((function, _looks(values)))


def _looks(values: list[Any]) -> tuple[Any, ...]:
    return tuple(
        (each.array.shape, str(each.array.dtype)) if isinstance(each, Tensor) else repr(each)
        for each in values
    )


def code_of(hook: Any) -> Any:
    """What a hook has in common with those that other calls register."""
    function = function_of(hook)
    return getattr(function, "__code__", function)


class AnsweredError(OutdatedError):
    """A hook that only looked on has answered something: its program is of no use any more."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook
        super().__init__(f"hook '{name_of(hook)}' answers a value, which it never did before")
