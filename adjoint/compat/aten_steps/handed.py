"""How gradients come into `.grad`, and what changes keep, where modes see PyTorch's steps."""

from itertools import pairwise
from typing import Any, Final

from adjoint.call.context import current
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import unseen
from adjoint.compat.aten_steps.recorded import stepping
from adjoint.ops.arranging.conversion import contiguous_format
from adjoint.tensors.tensor import Tensor


def handed(leaf: Any, grad: Any, owned: bool) -> Tensor:
    """The first gradient of a leaf: laid out as that is, and a copy if others hold it."""
    dense = _is_dense(leaf)
    if owned and (_lies_as(grad, leaf) if dense else grad.is_contiguous()):
        return grad.detach()  # type: ignore[no-any-return]
    if not dense:
        return retained(grad)
    looks = {"dtype": grad.dtype, "layout": grad.layout, "device": grad.device}
    with asking() as ask:
        blank = ask("new_empty_strided", grad, list(grad.shape), list(leaf.stride()), **looks)
    return blank.copy_(grad)  # type: ignore[no-any-return]


def retained(grad: Any) -> Tensor:
    """The gradient that a tensor keeps because it was told to, or a leaf with gaps."""
    return grad.clone(memory_format=contiguous_format)  # type: ignore[no-any-return]


def copied(op: Any, target: Any) -> None:
    """Show the copy that PyTorch keeps of a tensor before a change in place of it."""
    if op.name not in _BY_RESULT:
        with asking() as ask:
            ask("clone", target)


def passed(node: Any, grad: Any, replay: Any) -> list[Any] | None:
    """The gradients of a change to a view: those outside of it pass, in memory laid out as its."""
    if not current().modes or grad.layer is not None:
        return None
    with stepping() as ask:
        whole = ask("new_empty_strided", grad, list(node.spec.shape), list(node.strides))
        ask("copy_", whole, grad)
        with unseen():
            view = replay(whole, node.steps)
        place = list(view.shape), list(view.stride()), view.storage_offset()
        inside = ask("as_strided", whole, *place)
        own = ask("clone", inside, memory_format=contiguous_format)
    found = node.step.apply([own], True)
    by_view = found.pop(node.position)
    if by_view is not None and node.step.edges()[node.position][0] is not None:
        with stepping() as ask:
            ask("copy_", inside, by_view)
    return [whole, *found]


# Changes whose result says enough of what was there, or of which nothing is kept.
_BY_RESULT: Final = ("elu", "selu", "celu", "leaky_relu", "acosh", "asinh", "atanh")


def _lies_as(grad: Any, leaf: Any) -> bool:
    """Whether a gradient is laid out as its leaf; where there is one element alone, any way is."""
    pairs = zip(grad.shape, grad.stride(), leaf.stride())
    return all(one == other for size, one, other in pairs if size != 1)


def _is_dense(tensor: Any) -> bool:
    """Whether the elements of a tensor fill a piece of memory, each one place of it."""
    known = sorted((step, size) for size, step in zip(tensor.shape, tensor.stride()) if size != 1)
    if not known or 0 in tensor.shape:
        return True
    fits = [low * size == high for (low, size), (high, _) in pairwise(known)]
    return bool(known[0][0] == 1 and all(fits))
