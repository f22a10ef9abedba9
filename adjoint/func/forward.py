"""Derivatives of functions by forward mode: jvp, jacfwd, linearize, hessian."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.autograd import entry_points
from adjoint.autograd.grad_mode import recording
from adjoint.call.context import current
from adjoint.call.layers import change_tracking, newest_level, opened, tracking
from adjoint.creation.factories import zeros_like
from adjoint.func.reverse import (
    Differentiated,
    arranged,
    basis_of,
    chosen,
    jacrev,
    refuse_complex,
    tensors_of,
    with_aux,
)
from adjoint.ops.arranging.shape import cat, split
from adjoint.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import BatchLevel, batched_value, layered, value_at
from adjoint.transforms.duals import DualLevel, dual, primal_at, tangent_at


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """(output, tangent): func's output at primals, and how it changes along tangents.

    With `has_aux` func returns a pair, and its second element comes third. If `strict`, an output
    that does not depend on the primals is an error, else its tangent is zeros.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"jvp(f, primals, tangents): Expected primals to be a tuple, got "
            f"{type(primals).__name__}; for a single argument write (x,)"
        )
    flat, spec = tree_flatten(primals)
    directions, other = tree_flatten(tangents)
    if other != spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            f"structure, got {spec} and {other}"
        )
    check_directions(flat, directions)
    level = DualLevel()
    tracing = current().tracing
    if tracing is not None:  # a layer looks like what the program works on
        tracing.lift_all([*flat, *directions])
    with opened(level) if tracking.get() else following(level):
        inside = [dual(level, p, t) for p, t in zip(flat, directions)]
        answer, aux = func(*tree_unflatten(inside, spec)), None
        if has_aux:
            answer, aux = with_aux(answer, "jvp")
        outputs, form = tensors_of(answer, "jvp", func)
        found: list[Any] = []
        for i, output in enumerate(outputs):
            output.up_to_date()
            tangent = tangent_at(level, output)
            if tangent is None and strict:
                raise RuntimeError(
                    f"jvp(f, primals, tangents, strict=True): The output of f at index {i} is "
                    "independent of the inputs. This is not allowed with strict=True."
                )
            found.append(tangent)
        values = [primal_at(level, output) for output in outputs]
        aux = tree_map(lambda leaf: primal_at(level, leaf), aux)
    found = [zeros_like(v.detach()) if t is None else t for v, t in zip(values, found)]
    pair = tree_unflatten(values, form), tree_unflatten(found, form)
    return (*pair, aux) if has_aux else pair


@contextmanager
def following(level: DualLevel) -> Iterator[None]:
    """Let a level be open and calls have tangents, though the mode outside says otherwise."""
    change_tracking(True)
    try:
        with opened(level):
            yield
    finally:
        change_tracking(False)


def check_directions(primals: list[Any], tangents: list[Any], name: str = "jvp") -> None:
    """Refuse a tangent that is not like its primal."""
    call = "jvp(f, primals, tangents)" if name == "jvp" else name
    if not primals:
        raise RuntimeError(f"{call}: Expected at least one Tensor in primals")
    for i, (primal, tangent) in enumerate(zip(primals, tangents)):
        if not isinstance(primal, Tensor) or not isinstance(tangent, Tensor):
            stranger = tangent if isinstance(primal, Tensor) else primal
            raise RuntimeError(
                f"{call}: Expected primals and tangents to only contain Tensors, "
                f"but element {i} is a {type(stranger).__name__}"
            )
        if primal.shape != tangent.shape:
            raise RuntimeError(
                f"{name}: tangent {i} must have the shape of its primal, {list(primal.shape)}, got "
                f"{list(tangent.shape)}"
            )
        if not (primal.dtype.is_floating_point or primal.dtype.is_complex):
            raise ValueError(
                f"{name}: primal {i} is {primal.dtype.name}, and only Tensors of floating point "
                "and complex dtype have a tangent; convert it with .to(...) first"
            )


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that answers the Jacobian of func, by forward mode over a basis of its input.

    Elements of the Jacobian have the dimensions of the output, then those of the input. With
    `chunk_size` so many columns are computed at once, at most.
    """
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"jacfwd: `chunk_size` should be greater than 0, got {chunk_size!r}")

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        moving = Moving(func, args, kwargs, chosen(argnums, args, "jacfwd"))
        columns, form, aux = moving.columns(chunk_size, randomness, has_aux)
        single = isinstance(argnums, int)
        blocks = [arranged(moving.spec, moving.blocks(column), single) for column in columns]
        jacobian = tree_unflatten(blocks, form)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


class Moving:
    """A call of a function, some of whose arguments are to move along unit vectors."""

    def __init__(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: tuple[int, ...]
    ) -> None:
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.numbers = numbers
        self.inputs, self.spec = tree_flatten([args[n] for n in numbers])
        check_directions(self.inputs, self.inputs, "jacfwd")
        refuse_complex(self.inputs, "jacfwd", "inputs")
        self.basis, self.sizes = basis_of(self.inputs)

    def at(self, *moved: Any) -> Any:
        """The function's answer with these arguments in the places of those that move."""
        given = [tree_map(taking_part, arg) for arg in self.args]
        for number, value in zip(self.numbers, moved):
            given[number] = value
        return self.func(*given, **self.kwargs)

    def columns(
        self, chunk_size: int | None, randomness: str, has_aux: bool
    ) -> tuple[list[Tensor], TreeSpec, Any]:
        """For each output a row for each unit vector; the outputs' structure, and what is besides.

        With no element to move along, one call still says what the outputs are like.
        """
        total = sum(self.sizes)
        step = max(total, 1) if chunk_size is None else chunk_size
        chunks = [
            self.along(self.basis[i : i + step], randomness, has_aux)
            for i in range(0, max(total, 1), step)
        ]
        _, form, aux = chunks[0]
        parts = zip(*[found for found, _, _ in chunks])
        return [cat(list(part), 0) if len(part) > 1 else part[0] for part in parts], form, aux

    def along(
        self, rows: Tensor, randomness: str, has_aux: bool
    ) -> tuple[list[Tensor], TreeSpec, Any]:
        """The same along some unit vectors, all at once."""
        level = BatchLevel(int(rows.shape[0]), randomness, "jacfwd")
        with opened(level):
            parts = split(rows, self.sizes, 1) if len(self.sizes) > 1 else (rows,)
            tangents = [
                layered(level, part.reshape((level.size, *value.shape)).to(value.dtype))
                for part, value in zip(parts, self.inputs)
            ]
            primals = tuple(tree_unflatten(self.inputs, self.spec))
            directions = tuple(tree_unflatten(tangents, self.spec))
            answers = jvp(self.at, primals, directions, has_aux=has_aux)
            outputs, form = tree_flatten(answers[1])
            refuse_complex(outputs, "jacfwd", "outputs")
            columns = [batched_value(level, *value_at(level, output)) for output in outputs]
            aux = tree_map(lambda leaf: value_at(level, leaf)[0], answers[2:])
        return columns, form, aux

    def blocks(self, column: Any) -> list[Tensor]:
        """The Jacobians of one output by each input: its dimensions, then those of the input."""
        parts = split(column, self.sizes, 0) if len(self.sizes) > 1 else (column,)
        return [
            part.movedim(0, -1).reshape((*column.shape[1:], *value.shape))
            for part, value in zip(parts, self.inputs)
        ]


def taking_part(value: Any) -> Any:
    """An argument that is not differentiated by, which the function may change in place."""
    level = newest_level()
    return level.lift(value) if isinstance(value, Tensor) and level is not None else value


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(output, push): func's output, and a linear function from tangents to the output's tangent.

    func runs once; push is cheap, and may be called as often as needed.
    """
    work = Differentiated("linearize", list(primals))
    with recording(), work.running(func):
        answer = func(*work.inputs())
        outputs, form = tensors_of(answer, "linearize", func)
        live = [output for output in outputs if output.needs_grad]
        cotangents = [zeros_like(output.detach()).requires_grad_() for output in live]
        pulled: tuple[Any, ...] = ()
        if live and work.leaves:
            pulled = entry_points.grad(
                live, work.leaves, cotangents, create_graph=True, allow_unused=True
            )

    def push(*tangents: Any) -> Any:
        directions, spec = tree_flatten(list(tangents))
        if spec != work.spec:
            raise RuntimeError(
                f"linearize: expected tangents in the structure of the primals, {work.spec}, "
                f"got {spec}"
            )
        check_directions(list(work.leaves), directions, "linearize")
        pairs = [(p, t) for p, t in zip(pulled, directions) if p is not None and p.needs_grad]
        found: tuple[Any, ...] = (None,) * len(live)
        if pairs:
            found = entry_points.grad(
                [p for p, _ in pairs],
                cotangents,
                [t for _, t in pairs],
                retain_graph=True,
                allow_unused=True,
            )
        by_output = {id(output): tangent for output, tangent in zip(live, found)}
        answers: list[Any] = []
        for output in outputs:
            tangent = by_output.get(id(output))
            answers.append(zeros_like(output.detach()) if tangent is None else tangent)
        return tree_unflatten(answers, form)

    shown = [work.shown(output, outputs) for output in outputs]
    return tree_unflatten(shown, form), push


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that answers the Hessian of func: forward mode over backward."""
    return jacfwd(jacrev(func, argnums), argnums)
