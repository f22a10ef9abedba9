"""Functions and custom operators over a batch: their own rule is called below the level of vmap."""

from typing import Any, NamedTuple

from adjoint.autograd.function_node import FunctionCtx
from adjoint.call.layers import Below
from adjoint.ops.arranging.shape import expand, movedim
from adjoint.ops.reducing.reduction import sum_to_size
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import BatchLevel, layered, value_at


class VmapInfo(NamedTuple):
    """What a rule over batches is told of the vmap it is called for."""

    batch_size: int
    randomness: str


def taken_below(level: BatchLevel, tree: Any, in_front: bool) -> tuple[Any, Any]:
    """Arguments below a level, and where the batch of each lies, None for those that have none.

    It lies where it was given to vmap, unless all are wanted with theirs in front.
    """
    leaves, spec = tree_flatten(tree)
    inner: list[Any] = []
    dims: list[int | None] = []
    for leaf in leaves:
        value, batched = value_at(level, leaf)
        dim = leaf.layer.given_dim if batched and not in_front else 0
        inner.append(movedim(value, 0, dim) if dim else value)
        dims.append(dim if batched else None)
    return tree_unflatten(inner, spec), tree_unflatten(dims, spec)


def has_batch(dims: Any) -> bool:
    """Whether one of the arguments has a batch."""
    return any(dim is not None for dim in tree_flatten(dims)[0])


def put_above(name: str, level: BatchLevel, output: Any, dims: Any) -> Any:
    """Results below a level as tensors of it, given where the batch of each lies."""
    leaves, spec = tree_flatten(output)
    if dims is None or isinstance(dims, int):
        each: list[Any] = [dims] * len(leaves)
    else:
        each, found = tree_flatten(dims)
        if found != spec:
            raise RuntimeError(
                f"the vmap rule of {name} returned an incompatible (output, out_dims): output has "
                f"structure {spec}, out_dims {found}; give a dimension, or None, for each tensor"
            )
    placed = [
        leaf if not isinstance(leaf, Tensor) else at_level(level, leaf, dim)
        for leaf, dim in zip(leaves, each)
    ]
    return tree_unflatten(placed, spec)


def at_level(level: BatchLevel, value: Any, dim: int | None) -> Tensor:
    """A tensor of a level, from one below whose batch lies along a dimension, if it has one."""
    if dim is None:
        return layered(level, value, batched=False)
    front = movedim(value, dim, 0) if dim else value
    if front.shape[0] != level.size:
        raise RuntimeError(
            f"a vmap rule says that the batch lies along dimension {dim} of a result of shape "
            f"{list(value.shape)}, but there are {level.size} elements in it"
        )
    return layered(level, front)


def by_rule(
    name: str, rule: Any, level: BatchLevel, values: list[Any], once: Any, in_front: bool = False
) -> Any:
    """What a rule, (info, in_dims, *args) → (output, out_dims), answers, as tensors of the level.

    With no batch among the arguments, what `once` answers is for all.
    """
    inner, dims = taken_below(level, tuple(values), in_front)
    with Below(level.number):
        if not has_batch(dims):
            return put_above(name, level, once(list(inner)), None)
        answer = rule(VmapInfo(level.size, level.randomness), dims, *inner)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise RuntimeError(
            f"Expected the vmap rule of {name} to have two returns, (output, out_dims), got "
            f"{type(answer).__name__ if not isinstance(answer, tuple) else len(answer)}"
        )
    return put_above(name, level, *answer)


class OverBatch:
    """One call of a Function over a batch, whose methods run inside a vmap of their own."""

    def __init__(
        self, function: Any, info: VmapInfo, in_dims: Any, keywords: dict[str, Any]
    ) -> None:
        self.function = function
        self.info = info
        self.in_dims = in_dims
        self.keywords = keywords
        self.out_dims: Any = None
        self.shapes: list[Any] = []  # of each argument, as forward saw it
        self.flags: dict[str, list[bool]] = {}  # whether each tensor that was saved has a batch
        self.kept_dims: Any = None  # where batches lie in what setup_context has set besides

    def new_level(self) -> BatchLevel:
        """A level for one of the methods."""
        return BatchLevel(*self.info, name=f"vmap of {self.function.__name__}")

    def arguments(self, level: BatchLevel, args: Any) -> Any:
        """The arguments as the Function's methods see them."""
        return put_above(self.function.__name__, level, tuple(args), self.in_dims)

    def outside(self, level: BatchLevel, tree: Any) -> tuple[Any, Any]:
        """Tensors of a level as they are below, the batch in front, and where it lies."""
        leaves, spec = tree_flatten(tree)
        pairs = [value_at(level, leaf) for leaf in leaves]
        dims = [0 if batched else None for _, batched in pairs]
        return tree_unflatten([v for v, _ in pairs], spec), tree_unflatten(dims, spec)

    def keep(self, ctx: Any, inner: FunctionCtx, level: BatchLevel) -> None:
        """What setup_context has put into its ctx, in the one of the call below the level."""
        state = dict(inner.__dict__)
        state.pop("needs_input_grad")
        for name, method in (
            ("to_save", ctx.save_for_backward),
            ("saved_for_forward", ctx.save_for_forward),
            ("dirty_tensors", ctx.mark_dirty),
            ("non_differentiable", ctx.mark_non_differentiable),
        ):
            pairs = [value_at(level, tensor) for tensor in state.pop(name, ())]
            self.flags[name] = [batched for _, batched in pairs]
            method(*[value for value, _ in pairs])
        if "materialize_grads" in state:
            ctx.set_materialize_grads(state.pop("materialize_grads"))
        ctx.kept, self.kept_dims = self.outside(level, state)

    def context(self, ctx: Any, level: BatchLevel, saved: str) -> Any:
        """The ctx for one of the Function's methods."""
        inner: Any = FunctionCtx()
        inner.needs_input_grad = ctx.needs_input_grad[:-1]
        kept = put_above(self.function.__name__, level, ctx.kept, self.kept_dims)
        for name, value in kept.items():
            setattr(inner, name, value)
        inner.saved_tensors = tuple(
            at_level(level, tensor, 0) if batched else tensor
            for tensor, batched in zip(ctx.saved_tensors, self.flags[saved])
        )
        return inner

    def gradient(self, level: BatchLevel, place: int, grad: Any) -> Any:
        """The gradient of an argument below the level: for one without a batch, the sum of all."""
        if not isinstance(grad, Tensor):
            return grad
        shape = self.shapes[place]
        if shape is not None and tuple(grad.shape) != shape:
            grad = sum_to_size(grad, shape)
        value, batched = value_at(level, grad)
        if self.in_dims[place] is None:
            return value.sum(0) if batched else value
        front = value if batched else expand(value, (level.size, *value.shape))
        return movedim(front, 0, self.in_dims[place]) if self.in_dims[place] else front


def as_given(level: BatchLevel, output: Any, tensors: list[Tensor]) -> Any:
    """Outputs over a batch, the arguments themselves where those were returned."""
    leaves, spec = tree_flatten(output)
    given = {id(value_at(level, tensor)[0]): tensor for tensor in tensors}
    found = [given.get(id(value_at(level, leaf)[0]), leaf) for leaf in leaves]
    return tree_unflatten(found, spec)
