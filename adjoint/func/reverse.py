"""Derivatives of functions by backward: grad, vjp, jacrev."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.autograd import entry_points
from adjoint.autograd.forward_rules import leaf_of
from adjoint.autograd.grad_mode import recording
from adjoint.call.context import is_recording
from adjoint.call.layers import (
    Derivative,
    Level,
    needs_below,
    newest_level,
    opened,
    reaches_others,
)
from adjoint.creation.factories import eye, ones_like, zeros, zeros_like
from adjoint.func.batching import name_of
from adjoint.ops.arranging.shape import cat, split, stack
from adjoint.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import BatchLevel, batched_value, layered, value_at


def chosen(argnums: Any, args: tuple[Any, ...], name: str) -> tuple[int, ...]:
    """The positions of the arguments to differentiate by, counted from the front."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple):
        raise RuntimeError(
            f"{name}: argnums must be int or Tuple of ints, got {type(argnums).__name__}"
        )
    if not numbers:
        raise RuntimeError(f"{name}: argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(
                f"{name}: each element of argnums must be int, got {type(number).__name__}"
            )
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise RuntimeError(
                f"{name}: Got argnum={number}, but only {len(args)} positional inputs were given"
            )
    counted = tuple(number % len(args) for number in numbers)
    if len(set(counted)) != len(counted):
        raise RuntimeError(f"{name}: argnums elements must be unique, got {argnums}")
    return counted


class Differentiated:
    """A function's arguments as leaves, and what it made of them: ready for pullbacks."""

    def __init__(self, name: str, inputs: Any) -> None:
        self.name = name
        self.recording = is_recording()
        self.level: Level | None = newest_level()
        flat, self.spec = tree_flatten(inputs)
        self.leaves = [self.leaf(i, value) for i, value in enumerate(flat)]
        self.outside: bool | None = None  # what leads_outside found

    def leaf(self, i: int, value: Any) -> Tensor:
        """An argument to differentiate by."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{self.name}: Thing passed to transform API must be Tensor, got "
                f"{type(value).__name__} as input {i}; pass numbers as arguments that argnums "
                "leaves out"
            )
        if not (value.dtype.is_floating_point or value.dtype.is_complex):
            raise RuntimeError(
                f"{self.name}: input {i} is {value.dtype.name}, and only Tensors of floating point "
                "and complex dtype have a derivative; convert it with .to(...) first"
            )
        if value.needs_grad and not self.recording:
            with recording():  # a pullback may be called where it is recorded
                leaf = leaf_of(value, self.level)
        else:
            leaf = leaf_of(value, self.level)
        leaf.inference = False  # it is kept by what is recorded here, and gone with it
        return leaf

    def running(self, func: Any) -> Derivative:
        """While the function runs."""
        return Derivative(self.name, func, self.leaves)

    def inputs(self) -> Any:
        """The arguments again, in their structure."""
        return tree_unflatten(self.leaves, self.spec)

    def pullback(
        self, outputs: list[Tensor], cotangents: list[Any], last: bool, recorded: bool | None = None
    ) -> list[Any]:
        """The gradients of the leaves, zeros where nothing reaches them.

        They are recorded where something needs it, if `recorded` or else the grad mode allows it.
        """
        pairs = [(o, c) for o, c in zip(outputs, cotangents) if o.needs_grad]
        allowed = is_recording() if recorded is None else recorded
        lasting = allowed and (self.leads_outside(outputs) or needs_any(cotangents))
        grads: tuple[Any, ...] = (None,) * len(self.leaves)
        if pairs and self.leaves:
            grads = entry_points.grad(
                [o for o, _ in pairs],
                self.leaves,
                [c for _, c in pairs],
                retain_graph=lasting or not last,
                create_graph=lasting,
                allow_unused=True,
            )
        return [zeros_like(x.detach()) if g is None else g for x, g in zip(self.leaves, grads)]

    def end(self) -> None:
        """All is done: what was computed of leaves that are only its own needs no gradient."""
        if not self.outside:
            for leaf in self.leaves:
                if leaf.node is None:
                    leaf.needs_grad = False

    def leads_outside(self, outputs: list[Tensor]) -> bool:
        """Whether something outside this transform may need the derivatives' own derivatives."""
        if self.outside is None:
            own = {id(leaf) for leaf in self.leaves if leaf.node is None}
            self.outside = reaches_others(outputs, own)
        return self.outside

    def shown(self, value: Any, outputs: list[Tensor]) -> Any:
        """A result as the caller gets it: without history, unless it leads outside."""
        if isinstance(value, Tensor) and value.needs_grad:
            if not self.recording or not self.leads_outside(outputs):
                return value.shared()
        return value


def needs_any(values: list[Any]) -> bool:
    """Whether one of the tensors needs a gradient somewhere."""
    return any(isinstance(value, Tensor) and needs_below(value) for value in values)


def _scalar(output: Any, name: str, func: Any) -> Tensor:
    """The output of a function to take the gradient of."""
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"{name}: Expected the function to return a Tensor, got {type(output).__name__} from "
            f"{name_of(func)}"
        )
    if output.array.ndim != 0:
        raise RuntimeError(
            f"{name}: Expected the function to return a scalar tensor, got a tensor with "
            f"{output.array.ndim} dims from {name_of(func)}. Maybe you wanted vjp or jacrev."
        )
    if not output.dtype.is_floating_point:
        raise RuntimeError(
            f"{name}: Expected the function to return a real floating tensor, got "
            f"{output.dtype.name} from {name_of(func)}"
        )
    return output


def with_aux(answer: Any, name: str) -> tuple[Any, Any]:
    """The (output, aux) that a function with has_aux=True returns."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True, "
            f"got {type(answer).__name__}"
        )
    check_aux(answer[1])
    return answer


def tensors_of(answer: Any, name: str, func: Any) -> tuple[list[Tensor], TreeSpec]:
    """The tensors that a function has returned, and their structure; nothing else is allowed."""
    outputs, spec = tree_flatten(answer)
    if answer is None or not outputs:
        raise RuntimeError(
            f"{name}(f, ...): Expected f to be a function that has non-empty output, got "
            f"{answer!r} from {name_of(func)}"
        )
    for i, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{name}(f, ...): expected f(*primals) to return only tensors, but output {i} of "
                f"{name_of(func)} is a {type(output).__name__}"
            )
    return outputs, spec


def check_aux(aux: Any) -> None:
    """Refuse what can't leave a transform as something besides: only tensors can."""
    for leaf in tree_flatten(aux)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(leaf).__name__} in aux; return "
                "other values by other means, or as tensors"
            )


def grad_and_value(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that answers the gradient of func, and what func answers.

    The gradient is by the arguments that `argnums` says. With `has_aux` func returns a pair, of
    which the second is passed on: the answer is then (gradient, (output, aux)).
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = chosen(argnums, args, "grad")
        single = isinstance(argnums, int)
        work = Differentiated("grad", [args[n] for n in numbers])
        given = list(args)
        for number, value in zip(numbers, work.inputs()):
            given[number] = value
        with recording(), work.running(func):
            output, aux = func(*given, **kwargs), None
            if has_aux:
                output, aux = with_aux(output, "grad")
            _scalar(output, "grad", func)
        found = work.pullback([output], [None], last=True)
        grads = tree_unflatten(found, work.spec)
        answer = work.shown(output, [output])
        if has_aux:
            answer = (answer, tree_map(lambda leaf: work.shown(leaf, [output]), aux))
        work.end()
        return (grads[0] if single else tuple(grads)), answer

    return wrapper


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that answers the gradient of func, whose output is one number.

    The gradient is by the arguments that `argnums` says. With `has_aux` func returns a pair, and
    the answer is (gradient, the second of the pair).
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, answer = both(*args, **kwargs)
        return (found, answer[1]) if has_aux else found

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(output, pullback): func's output, and a function from its cotangents to those of primals.

    With `has_aux` func returns a pair, and its second element comes third.
    """
    work = Differentiated("vjp", list(primals))
    with recording(), work.running(func):
        answer, aux = func(*work.inputs()), None
        if has_aux:
            answer, aux = with_aux(answer, "vjp")
    outputs, spec = tensors_of(answer, "vjp", func)

    def pullback(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        given, found = tree_flatten(cotangents)
        if found != spec and not (isinstance(answer, Tensor) and len(given) == 1):
            raise RuntimeError(
                "vjp: expected the cotangents to have the structure of the output, "
                f"{spec}, got {found}"
            )
        check_cotangents(outputs, given)
        pulled = work.pullback(outputs, given, not retain_graph, create_graph)
        return tuple(tree_unflatten(pulled, work.spec))

    shown = tree_unflatten([work.shown(output, outputs) for output in outputs], spec)
    if not has_aux:
        return shown, pullback
    return shown, pullback, tree_map(lambda leaf: work.shown(leaf, outputs), aux)


def check_cotangents(outputs: list[Tensor], given: list[Any]) -> None:
    """Refuse a cotangent that is not like its output."""
    for i, (output, cotangent) in enumerate(zip(outputs, given)):
        if not isinstance(cotangent, Tensor):
            raise TypeError(
                f"vjp: cotangents must be Tensors, but element {i} is a {type(cotangent).__name__}"
            )
        if cotangent.shape != output.shape:
            raise RuntimeError(
                f"vjp: cotangent {i} has shape {list(cotangent.shape)}, and its output "
                f"{list(output.shape)}"
            )


def refuse_complex(tensors: list[Any], name: str, what: str) -> None:
    """A Jacobian is one of real numbers."""
    for i, tensor in enumerate(tensors):
        if tensor.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {i}; take its real and imaginary parts apart"
            )


def basis_of(tensors: list[Tensor]) -> tuple[Tensor, list[int]]:
    """The unit vectors of the space of all elements, as rows, and how many are of each tensor."""
    sizes = [int(tensor.array.size) for tensor in tensors]
    kind = tensors[0].dtype
    return eye(sum(sizes), dtype=kind, device=tensors[0].device), sizes


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that answers the Jacobian of func, by backward over a basis of its output.

    Elements of the Jacobian have the dimensions of the output, then those of the input. With
    `chunk_size` so many rows are computed at once, at most.
    """
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, got {chunk_size!r}")

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = chosen(argnums, args, "jacrev")
        work = Differentiated("jacrev", [args[n] for n in numbers])
        refuse_complex(list(work.leaves), "jacrev", "inputs")
        given = list(args)
        for number, value in zip(numbers, work.inputs()):
            given[number] = value
        with recording(), work.running(func):
            answer, aux = func(*given, **kwargs), None
            if has_aux:
                answer, aux = with_aux(answer, "jacrev")
        outputs, spec = tensors_of(answer, "vjp in jacrev", func)
        refuse_complex(list(outputs), "jacrev", "outputs")
        rows = rows_of(work, outputs, chunk_size)
        single = isinstance(argnums, int)
        blocks = [arranged(work.spec, found, single) for found in rows]
        jacobian = tree_unflatten(blocks, spec)
        if not has_aux:
            return jacobian
        return jacobian, tree_map(lambda leaf: work.shown(leaf, outputs), aux)

    return wrapper


def arranged(spec: TreeSpec, found: list[Any], single: bool) -> Any:
    """The Jacobians of one output, in the structure of the inputs."""
    grads = tree_unflatten(found, spec)
    return grads[0] if single else tuple(grads)


def rows_of(
    work: Differentiated, outputs: list[Tensor], chunk_size: int | None
) -> list[list[Tensor]]:
    """For each output the Jacobians by each leaf: pullbacks of unit vectors, many at once."""
    if len(outputs) == 1 and outputs[0].array.ndim == 0:
        return [work.pullback(outputs, [ones_like(outputs[0].detach())], last=True)]
    if chunk_size == 1:
        return rows_one_by_one(work, outputs)
    basis, sizes = basis_of(outputs)
    total = sum(sizes)
    step = total if chunk_size is None else chunk_size
    chunks: list[list[Tensor]] = []
    for start in range(0, total, max(step, 1)):
        part = basis[start : start + step]
        chunks.append(pulled_rows(work, outputs, part, sizes, last=start + step >= total))
    if not chunks:
        chunks.append(pulled_rows(work, outputs, basis, sizes, last=True))
    columns = [cat(list(column), 0) for column in zip(*chunks)] if len(chunks) > 1 else chunks[0]
    by_output: list[list[Tensor]] = [[] for _ in outputs]
    for leaf, column in zip(work.leaves, columns):
        parts = split(column, sizes, 0) if len(sizes) > 1 else (column,)
        for found, output, part in zip(by_output, outputs, parts):
            found.append(part.reshape((*output.shape, *leaf.shape)))
    return by_output


def rows_one_by_one(work: Differentiated, outputs: list[Tensor]) -> list[list[Tensor]]:
    """The same by a pass for each unit vector, which sees no batch: it may look at values."""
    by_output: list[list[Tensor]] = []
    for output in outputs:
        rows: list[list[Tensor]] = []
        for i in range(int(output.array.size)):
            cotangents = [zeros_like(each.detach()) for each in outputs]
            unit = eye(int(output.array.size), dtype=output.dtype, device=output.device)[i]
            cotangents[len(by_output)] = unit.reshape(output.shape)
            rows.append(work.pullback(outputs, cotangents, last=False))
        by_output.append(
            [
                stack([row[j] for row in rows]).reshape((*output.shape, *leaf.shape))
                if rows
                else zeros(*output.shape, *leaf.shape, dtype=leaf.dtype, device=leaf.device)
                for j, leaf in enumerate(work.leaves)
            ]
        )
    return by_output


def pulled_rows(
    work: Differentiated, outputs: list[Tensor], basis: Tensor, sizes: list[int], last: bool
) -> list[Tensor]:
    """Pullbacks of some unit vectors of the output: for each leaf a row for each vector."""
    level = BatchLevel(int(basis.shape[0]), name="jacrev")
    with opened(level):
        parts = split(basis, sizes, 1) if len(sizes) > 1 else (basis,)
        cotangents = [
            layered(level, part.reshape((level.size, *output.shape)).to(output.dtype))
            for part, output in zip(parts, outputs)
        ]
        pulled = work.pullback(outputs, cotangents, last)
        return [batched_value(level, *value_at(level, grad)) for grad in pulled]
