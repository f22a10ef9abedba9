"""torch._higher_order_ops: operations that take functions; here they are called as they are."""

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.tensors.tensor import Tensor


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """What one of two functions answers to operands, by a bool or a tensor of one element."""
    if isinstance(pred, Tensor) and pred.array.size != 1:
        raise RuntimeError(
            f"cond(): Expected pred to be bool or single-element tensor, but got one of shape "
            f"{list(pred.shape)}; choose by element with where()"
        )
    return (true_fn if pred else false_fn)(*operands)
