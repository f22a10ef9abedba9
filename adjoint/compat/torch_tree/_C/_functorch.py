"""torch._C._functorch: which transforms are under way, and what tensors are inside them.

A derivative by backward has no level in adjoint; it is counted here all the same, as in PyTorch.
"""

from typing import Any

from adjoint.autograd.node import AccumulateGrad
from adjoint.call.layers import (
    Derivative,
    Layer,
    Level,
    depth_now,
    derivatives,
    open_levels,
    tracked_by,
)
from adjoint.func.batching import place
from adjoint.ops.arranging.shape import movedim
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import renewed
from adjoint.transforms.batches import (
    Batch,
    BatchLevel,
    batched_value,
    joined,
    layered,
    loops,
    value_at,
)
from adjoint.transforms.duals import Dual, DualLevel

# ---- the transforms under way ----

get_dynamic_layer_stack_depth = depth_now


def _open(level: Level) -> int:
    open_levels.set((*open_levels.get(), level))
    return level.depth


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Start a vmap; its number."""
    return _open(BatchLevel(batch_size, randomness))


def _jvp_increment_nesting() -> int:
    """Start a derivative by forward mode; its number."""
    return _open(DualLevel())


def _grad_increment_nesting() -> int:
    """Start a derivative by backward; its number."""
    derivative = Derivative("grad", None, [])
    derivative.__enter__()
    return derivative.depth


def _end(kind: Any) -> int:
    """End the newest transform, which must be of a kind; how many were under way."""
    depth = depth_now()
    levels, running = open_levels.get(), derivatives.get()
    all_open: list[Any] = [*levels, *running]
    found = next((each for each in all_open if each.depth == depth), None)
    if not isinstance(found, kind):
        raise RuntimeError(f"the newest transform is {found}, and not the one to be ended")
    if isinstance(found, Level):
        open_levels.set(tuple(each for each in levels if each is not found))
        found.ended = True
    else:
        derivatives.set(tuple(each for each in running if each is not found))
    return depth


def _vmap_decrement_nesting() -> int:
    """End the newest transform, a vmap; how many were under way."""
    return _end(BatchLevel)


def _jvp_decrement_nesting() -> int:
    """End the newest transform, a derivative by forward mode; how many were under way."""
    return _end(DualLevel)


def _grad_decrement_nesting() -> int:
    """End the newest transform, a derivative by backward; how many were under way."""
    return _end(Derivative)


def pop_dynamic_layer_stack_and_undo_to_depth(depth: int) -> None:
    """End the newest transforms until no more than so many are under way."""
    while depth_now() > max(depth, 0):
        _end(object)


# ---- tensors inside them ----


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor is an element of a batch, at the newest transform it takes part in."""
    return isinstance(_newest(tensor), Batch)


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether a derivative follows a tensor, at the newest transform it takes part in."""
    return isinstance(_newest(tensor), (Dual, Derivative))


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor is an element of a batch of the vmap before this one: there is none."""
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor takes part in a transform."""
    return _newest(tensor) is not None


def maybe_current_level() -> int | None:
    """The number of the newest transform, if one is under way."""
    return depth_now() or None


def _newest(tensor: Tensor) -> Layer | Derivative | None:
    """The layer or derivative by which a tensor takes part in the newest transform it is in."""
    tracked = tracked_by(tensor)[0]
    if tracked:
        return tracked[-1]
    layer: Layer | None = tensor.layer
    if isinstance(layer, Batch) and not layer.batched:
        return _newest(layer.value)
    return layer if isinstance(layer, (Batch, Dual)) else None


def _level_of(tensor: Tensor) -> int:
    """The number of the newest transform that a tensor takes part in; 0 if none, -1 if it ended."""
    found = _newest(tensor)
    if isinstance(found, Derivative):
        return found.depth
    if isinstance(found, Layer):
        return -1 if found.level.ended else found.level.depth
    return -1 if _is_spent(tensor) else 0


def _is_spent(tensor: Tensor) -> bool:
    """Whether the history of a tensor was used up by a derivative that has ended."""
    stack: list[Any] = [] if tensor.node is None or not tensor.node.released else [tensor.node]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad) and not node.variable.needs_grad:
            return True
        for following, _ in node.edges():
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return False


def dlevel(tensor: Tensor) -> int:
    """The number of the newest transform that follows a tensor; 0 if none, -1 if it has ended."""
    return 0 if is_batchedtensor(tensor) else _level_of(tensor)


def maybe_get_level(tensor: Tensor) -> int:
    """The same of any transform; -1 if there is none, -2 if it has ended."""
    level = _level_of(tensor)
    return -1 if level == 0 else -2 if level < 0 else level


def maybe_get_bdim(tensor: Tensor) -> int:
    """Where the batch of a tensor was given; -1 if it is no element of one."""
    layer = _newest(tensor)
    return layer.given_dim if isinstance(layer, Batch) else -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor below the newest transform that it takes part in."""
    found = _newest(tensor)
    if isinstance(found, Batch):
        at = found.given_dim
        return movedim(found.value, 0, at) if at else found.value
    if isinstance(found, Dual):
        return found.primal
    if isinstance(found, Derivative):
        below: Any = renewed(tensor)
        return below  # type: ignore[no-any-return]  # made by `upper.tensor`
    raise RuntimeError("get_unwrapped: the tensor takes part in no transform")


def batch_level(number: int) -> BatchLevel:
    """The vmap of a number, which must be under way."""
    for level in open_levels.get():
        if level.depth == number and isinstance(level, BatchLevel):
            return level
    raise RuntimeError(f"no vmap of number {number} is under way")


def _add_batch_dim(tensor: Tensor, batch_dim: int, level: int) -> Tensor:
    """The elements of a tensor along a dimension, inside a vmap."""
    at = batch_dim % tensor.ndim
    value = movedim(tensor, at, 0) if at else tensor
    return layered(batch_level(level), value, given_dim=at)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """A tensor of a vmap as seen from outside, its batch at a dimension."""
    own = batch_level(level)
    return place(batched_value(own, *value_at(own, tensor)), out_dim)


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """A dimension as the slower part of another, which is numbered as if the first were gone."""
    front = movedim(x, src, 0)
    return joined(front, dst % (x.ndim - 1))  # type: ignore[no-any-return]  # an op of a Tensor


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Tensor:
    """A dimension as two, the first of a given size."""
    at = src % x.ndim
    shape = x.shape
    return x.reshape((*shape[:at], size1, shape[at] // size1, *shape[at + 1 :]))  # type: ignore[attr-defined, no-any-return]


# ---- ops that vmap calls for each element ----


def _is_vmap_fallback_enabled() -> bool:
    """Whether vmap may call an op for each element."""
    return loops.allowed


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Let vmap call ops for each element, or refuse to."""
    loops.allowed = enabled
