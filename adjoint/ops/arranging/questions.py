"""Questions about tensors, and loops over their elements in Python."""

from collections.abc import Callable
from typing import Any

from adjoint.call.context import Changed
from adjoint.ops.arranging.shape import expand
from adjoint.ops.op import composite
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor

# ---- questions ----


@composite
def is_conj(input: Tensor) -> bool:
    """Whether elements wait to be conjugated: never, they are conjugated at once."""
    return False


@composite
def is_neg(input: Tensor) -> bool:
    """Whether elements wait to be negated: never, they are negated at once."""
    return False


@composite
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    if not isinstance(input, Tensor):
        raise TypeError(f"is_nonzero(): input must be a Tensor, not {type(input).__name__}")
    return bool(input)


@composite(method=False)
def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode."""
    return input.is_inference()


@composite(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes have together; a number is a shape of one size."""
    for shape in shapes:
        if not isinstance(shape, int | tuple | list):
            raise RuntimeError(
                "broadcast_shapes(): a shape must be a number or a sequence of numbers, got "
                f"{shape!r}"
            )
    listed = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    sizes = [1] * max(map(len, listed), default=0)
    for shape in listed:
        for place, size in enumerate(reversed(shape), 1):
            if size < 0:
                raise ValueError(f"broadcast_shapes(): a size can't be negative: {shape}")
            if size != 1 and sizes[-place] not in (1, size):
                raise RuntimeError(
                    f"broadcast_shapes(): {shape} does not fit {tuple(sizes)} in dimension "
                    f"{-place}: sizes must be equal, or 1"
                )
            sizes[-place] = sizes[-place] if size == 1 else size
    return Size(sizes)


# ---- methods as functions ----


@composite(method=False)
def detach(input: Tensor) -> Tensor:
    """The same values without history; in-place changes to either are seen by both."""
    return input.detach()


@composite(method=False)
def detach_(input: Tensor) -> Tensor:
    """Forget how it was made; it becomes a leaf."""
    return input.detach_()


# ---- loops in Python ----


def _looped(name: str, function: Callable[..., Any], target: Tensor, others: list[Any]) -> Any:
    """Write function's answer for each element, and those of others in its place, into target."""
    for other in others:
        if not isinstance(other, Tensor):
            raise TypeError(f"{name}(): expected a Tensor, not {type(other).__name__}")
        if other.dtype is not target.dtype:
            raise TypeError(
                f"{name}(): expected {target.dtype} like the tensor's, got {other.dtype}"
            )
    if any(tensor.requires_grad for tensor in (target, *others)):
        raise RuntimeError(f"{name}(): Python's function has no derivative; use detach().{name}()")
    with Changed({"modes": ()}):
        tensors = [target, *[expand(other, *target.shape) for other in others]]
    rows = zip(*[tensor.numpy_array().reshape(-1).tolist() for tensor in tensors])
    answers = [function(*row) for row in rows]
    for answer in answers:
        if not isinstance(answer, int | float | complex):
            raise TypeError(f"{name}(): the function must answer a number, not {answer!r}")
    made: Any = target
    with Changed({"modes": ()}):  # nobody sees it in PyTorch, either
        return made.copy_(made.new_tensor(answers).reshape(target.shape))


def apply_(self: Tensor, callable: Callable[..., Any]) -> Any:
    """Replace each element by what a Python function of it answers; slow, and without gradient."""
    return _looped("apply_", callable, self, [])


def map_(self: Tensor, tensor: Tensor, callable: Callable[..., Any]) -> Any:
    """apply_, of a function of each element and that of another tensor."""
    return _looped("map_", callable, self, [tensor])


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[..., Any]) -> Any:
    """apply_, of a function of each element and those of two other tensors."""
    return _looped("map2_", callable, self, [x, y])


METHODS: dict[str, Any] = {"apply_": apply_, "map_": map_, "map2_": map2_}
