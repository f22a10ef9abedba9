"""Branches and loops as functions: Python runs them eagerly, and in a compiled program XLA does.

There a loop is one loop, however many steps it makes, and a branch is chosen when the program runs
(docs/notes/compile.md). The functions they take are called with tensors, and change none in place.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from adjoint.call.context import current
from adjoint.creation.factories import tensor
from adjoint.dtypes import bool_
from adjoint.ops.arranging.shape import movedim, stack
from adjoint.pytree import TreeSpec, tree_flatten
from adjoint.tensors.tensor import Tensor


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """true_fn(*operands) if pred is true, else false_fn(*operands)."""
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: true_fn and false_fn must be functions")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: operands must be a tuple, got {type(operands).__name__}")
    if isinstance(pred, Tensor):
        if prod(pred.shape) != 1:
            raise RuntimeError(f"cond: pred must have one element, got shape {list(pred.shape)}")
    elif not isinstance(pred, (bool, int, float)):
        raise RuntimeError(f"cond: pred must be a bool or a tensor, got {type(pred).__name__}")
    tracing = current().tracing
    if tracing is None or not isinstance(pred, Tensor) or tracing.knows(pred):
        return true_fn(*operands) if pred else false_fn(*operands)
    branches = [Flat(true_fn, operands), Flat(false_fn, operands)]
    leaves = branches[0].leaves
    found = tracing.cond(pred, branches, leaves)
    return branches[0].answers.unflatten(found)


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: tuple[Any, ...] | list[Any],
) -> tuple[Any, ...]:
    """Let body_fn(*carried) be carried on while cond_fn(*carried) is true; what is carried then.

    What body_fn answers must look like what it was given. Gradients pass through it eagerly; in a
    compiled program the number of steps is not known, and `scan` is differentiable.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: cond_fn and body_fn must be functions")
    if not isinstance(carried_inputs, (tuple, list)):
        kind = type(carried_inputs).__name__
        raise RuntimeError(f"while_loop: carried_inputs must be a tuple, got {kind}")
    carried = tuple(carried_inputs)
    body, test = Carried(body_fn, carried), Testing(cond_fn, carried)
    leaves = body.leaves
    for name, leaf in zip(body.names, leaves):
        if not isinstance(leaf, (Tensor, int, float)):
            raise RuntimeError(f"while_loop: {name} must be a tensor or a number, got {leaf!r}")
    tracing = current().tracing
    if tracing is not None:  # numbers change from step to step, as tensors do
        given = [leaf if isinstance(leaf, Tensor) else tensor(leaf) for leaf in leaves]
        leaves = tracing.while_loop(test, body, given)
    else:
        while test(leaves)[0]:
            leaves = body(leaves)
    return tuple(body.tree.unflatten(leaves))


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Carry a value along xs: combine_fn(carry, x) answers the next carry and a result.

    The last carry, and all results stacked along dim; `reverse` begins at the end of xs, whose
    results stay last.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"scan: combine_fn must be a function, got {combine_fn!r}")
    step = Combining(combine_fn, init, xs)
    check_tensors("scan", step.names, step.leaves)
    check_tensors("scan", step.x_names, step.x_leaves)
    if not step.leaves:
        raise RuntimeError("scan: init has no tensor in it")
    if not step.x_leaves:
        return init, []
    moved = _along(step, dim)
    dim = dim % step.x_leaves[0].ndim
    tracing = current().tracing
    if tracing is not None and all(each.layer is None for each in (*step.leaves, *moved)):
        carry, results = tracing.scan(step, step.leaves, moved, reverse)
    else:
        carry, results = stepped(step, moved, reverse)
    shown = [movedim(y, 0, dim) if dim and dim < y.ndim else y for y in results]
    return step.tree.unflatten(carry), step.answers.unflatten(shown)


def stepped(step: "Combining", xs: list[Any], reverse: bool) -> tuple[list[Any], list[Any]]:
    """A scan along the first dimension, step by step."""
    carry, count, results = step.leaves, len(step.leaves), []
    length = xs[0].shape[0]
    for place in reversed(range(length)) if reverse else range(length):
        answer = step([*carry, *[x[place] for x in xs]])
        carry = answer[:count]
        results.append(answer[count:])
    if reverse:
        results.reverse()
    return carry, [stack(each) for each in zip(*results)]


def _along(step: "Combining", dim: int) -> list[Any]:
    """xs with the dimension to go along in front; all must be equally long there."""
    first = step.x_leaves[0]
    if not -first.ndim <= dim < first.ndim:
        raise RuntimeError(f"scan: dim {dim} is none of a tensor of shape {list(first.shape)}")
    dim = dim % first.ndim
    for name, x in zip(step.x_names, step.x_leaves):
        if x.ndim <= dim or x.shape[dim] != first.shape[dim] or not x.shape[dim]:
            raise RuntimeError(
                f"scan: {name} has shape {list(x.shape)}: along dim {dim} it must have as many "
                f"elements as {step.x_names[0]} of shape {list(first.shape)}, and at least one"
            )
    return [movedim(x, dim, 0) if dim else x for x in step.x_leaves]


# ---- functions of nests as functions of lists ----


class Flat:
    """A function of nested arguments as one of a list of their leaves, that answers a list."""

    def __init__(self, function: Callable[..., Any], operands: Any) -> None:
        self.function = function
        self.leaves, self.tree = tree_flatten(tuple(operands))
        self.answers: Any = None  # the nest of its last answer

    def __call__(self, leaves: list[Any]) -> list[Any]:
        found, self.answers = tree_flatten(self.function(*self.tree.unflatten(leaves)))
        return found


class Testing(Flat):
    """A function that answers whether a loop goes on."""

    def __call__(self, leaves: list[Any]) -> list[Any]:
        found = super().__call__(leaves)
        value = found[0] if len(found) == 1 else None
        if isinstance(value, Tensor):
            if value.dtype is bool_ and prod(value.shape) == 1:
                return [value]
            value = f"{value.dtype}{list(value.shape)}"
        elif isinstance(value, bool):
            return [value]
        raise RuntimeError(
            f"while_loop: cond_fn must answer a bool or a tensor with one bool, got {value}"
        )


class Carried(Flat):
    """The body of a loop: its answer takes the place of its arguments."""

    def __init__(self, function: Callable[..., Any], operands: Any) -> None:
        super().__init__(function, operands)
        self.names = names_of(self.tree, "carried_inputs")

    def __call__(self, leaves: list[Any]) -> list[Any]:
        answer = self.function(*self.tree.unflatten(leaves))
        if not isinstance(answer, (tuple, list)):
            answer = (answer,)
        found, tree = tree_flatten(tuple(answer))
        check_carry("while_loop", self.names, (self.tree, leaves), (tree, found))
        return found


class Combining:
    """A step of a scan as a function of the leaves of a carry and of an element of xs."""

    def __init__(self, function: Callable[..., Any], init: Any, xs: Any) -> None:
        self.function = function
        self.leaves, self.tree = tree_flatten(init)
        self.x_leaves, self.x_tree = tree_flatten(xs)
        self.names = names_of(self.tree, "carry")
        self.x_names = names_of(self.x_tree, "xs")
        self.answers: Any = None  # the nest of its last result

    def __call__(self, leaves: list[Any]) -> list[Any]:
        count = len(self.names)
        given, rest = leaves[:count], leaves[count:]
        answer = self.function(self.tree.unflatten(given), self.x_tree.unflatten(rest))
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise RuntimeError(
                f"scan: combine_fn must answer a carry and a result, got {type(answer).__name__}"
            )
        carry, tree = tree_flatten(answer[0])
        check_carry("scan", self.names, (self.tree, given), (tree, carry))
        results, self.answers = tree_flatten(answer[1])
        check_tensors("scan", names_of(self.answers, "result"), results)
        return [*carry, *results]


# ---- what is refused ----


def names_of(tree: TreeSpec, name: str) -> list[str]:
    """Names for the leaves of a nest."""
    if tree.is_leaf():
        return [name]
    keys = tree.context if tree.type is dict else range(tree.num_children)
    children = zip(keys, tree.children_specs)
    return [each for key, child in children for each in names_of(child, f"{name}[{key!r}]")]


def check_tensors(loop: str, names: list[str], leaves: list[Any]) -> None:
    """Refuse what is no tensor."""
    for name, leaf in zip(names, leaves):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{loop}: {name} must be a tensor, got {leaf!r}")


def check_carry(loop: str, names: list[str], before: Any, after: Any) -> None:
    """Refuse a carry that does not look like the one before it."""
    (tree, given), (new_tree, found) = before, after
    if new_tree != tree:
        given, found = (" ".join(str(each).split()) for each in (tree, new_tree))
        raise RuntimeError(f"{loop}: what is carried is {given}, but {found} was answered")
    for name, old, new in zip(names, given, found):
        if _look(old) != _look(new):
            raise RuntimeError(
                f"{loop}: {name} has come back as {_look(new)}; it went in as {_look(old)}, and "
                "must stay so"
            )


def _look(leaf: Any) -> str:
    """What a leaf is, apart from its values."""
    if not isinstance(leaf, Tensor):
        return type(leaf).__name__
    return f"{leaf.dtype}{list(leaf.shape)}"
