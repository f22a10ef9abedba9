"""Where the tensors of a program are found at each call: fixed ones, arguments, their gradients."""

from typing import Any

from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.compiling.reads import held_at
from adjoint.tensors.core import TensorCore
from adjoint.tensors.views import replay


class Place:
    """A tensor that is the same at every call."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def found(self, arguments: list[Any]) -> Any:
        """The tensor, in a call with these tensors as arguments."""
        return self.tensor


class Argument(Place):
    """A tensor among the arguments of a call."""

    __slots__ = ("number",)

    def __init__(self, tensor: Any, number: int) -> None:
        super().__init__(None)
        self.number = number

    def found(self, arguments: list[Any]) -> Any:
        """See Place."""
        return arguments[self.number]


class GradientOf(Place):
    """The gradient that another tensor has when the call begins."""

    __slots__ = ("owner",)

    def __init__(self, owner: Place) -> None:
        super().__init__(None)
        self.owner = owner

    def found(self, arguments: list[Any]) -> Any:
        """See Place."""
        return self.owner.found(arguments).gradient


class Held(Place):
    """A tensor that something else holds, which each call replaces by another."""

    __slots__ = ("holder", "key")

    def __init__(self, holder: Any, key: Any) -> None:
        super().__init__(None)
        self.holder = holder
        self.key = key

    def found(self, arguments: list[Any]) -> Any:
        """See Place."""
        return held_at(self.holder, self.key)


class Part:
    """How a tensor shows the memory of another: detached or not, and by which view operations."""

    __slots__ = ("apart", "kind", "needs_grad", "recorded", "retains", "steps")

    def __init__(self, steps: tuple[Any, ...], apart: bool, shown: Any) -> None:
        self.steps = steps
        self.apart = apart
        self.kind = type(shown)
        self.needs_grad = shown.needs_grad
        self.recorded = shown.node is not None  # whether with a history
        self.retains = shown.extras is not None and shown.extras.retains_grad

    def of(self, tensor: Any) -> Any:
        """It, of the tensor of a call."""
        if self.apart:
            tensor = self._replayed(tensor.detach())
            return tensor.requires_grad_() if self.needs_grad else tensor
        if not self.needs_grad:
            return self._replayed(tensor)
        with set_grad_enabled(self.recorded):
            found = self._replayed(tensor)
        if self.retains:
            found.retain_grad()
        return found

    def _replayed(self, tensor: Any) -> Any:
        found = replay(tensor, self.steps)
        return found if type(found) is self.kind else found.as_subclass(self.kind)


class Shown(Place):
    """What shares the memory of another tensor."""

    __slots__ = ("owner", "part")

    def __init__(self, owner: Place, part: Part) -> None:
        super().__init__(None)
        self.owner = owner
        self.part = part

    def found(self, arguments: list[Any]) -> Any:
        """See Place."""
        return self.part.of(self.owner.found(arguments))


def same_at_every_call(places: list[Place]) -> list[Any] | None:
    """The tensors of these places; None if a call decides which they are."""
    return [place.tensor for place in places] if {type(p) for p in places} <= {Place} else None


class Lifted:
    """A tensor from outside that a trace has met, and how it was before."""

    __slots__ = (
        "accumulator",
        "array",
        "base",
        "counter",
        "gradient",
        "gradient_version",
        "index",
        "known",
        "needs_grad",
        "node",
        "number",
        "place",
        "steps",
        "tensor",
        "tracer",
        "version",
        "view_version",
    )

    def __init__(self, tensor: TensorCore, place: Place, index: int) -> None:
        self.tensor: Any = tensor
        self.place = place
        self.index = index  # of the input that it became; -1: it is a view of another
        self.tracer: Any = None
        self.array = tensor.array
        self.known = tensor.known
        self.gradient: Any = tensor.gradient
        self.gradient_version = 0 if self.gradient is None else self.gradient.version()
        self.node = tensor.node
        self.number = tensor.output_number
        self.needs_grad = tensor.needs_grad
        self.version = tensor.version()
        extras = tensor.extras
        self.accumulator = None if extras is None else extras.accumulator
        self.counter = None if extras is None else extras.counter
        self.view_version = 0 if extras is None else extras.view_version
        self.base = None if extras is None else extras.base
        self.steps = () if extras is None else extras.steps

    @property
    def is_apart(self) -> bool:
        """Whether it is a view whose base the trace does not know: an argument."""
        return self.base is not None and self.index >= 0

    def sharding(self, spread: Any) -> Any:
        """How it is spread over the devices of a mesh: a gradient is as what it belongs to."""
        place = self.place
        if isinstance(place, GradientOf):
            place = place.owner
        if isinstance(place, Argument):
            return spread.of_argument(self.array)
        return spread.of_state(place.tensor)

    def restore(self) -> None:
        """Let the tensor be as it was before."""
        tensor = self.tensor
        tensor.array = self.array
        tensor.known = self.known
        tensor.gradient = self.gradient
        tensor.node = self.node
        tensor.output_number = self.number
        tensor.needs_grad = self.needs_grad
        extras = tensor.extras
        if extras is not None:
            extras.accumulator = self.accumulator
            extras.view_version = self.view_version
            extras.base, extras.steps = self.base, self.steps
            if self.is_apart:  # which has counted for itself
                extras.counter = self.counter
            if extras.counter is not None:
                extras.counter.value = self.version
        if self.gradient is not None and self.gradient.version() != self.gradient_version:
            self.gradient.counter().value = self.gradient_version
