"""Every op of the table over a batch: vmap against a loop, nested, in place and differentiated."""

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.call import dispatch
from adjoint.call.rule import LOOP
from adjoint.func import jvp, vjp, vmap
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import TABLE
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.testing import (
    as_array,
    assert_close,
    direction_like,
    flatten,
    generator,
    is_differentiable,
    map_arrays,
    samples_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "notes" / "vmap.md"
SIZE = 2  # of a batch
MOST = 6  # samples of an op that are looked at

# Their results follow from strides: a batch that lies last is no batch of such memory.
READS_STRIDES = {"strided_view", "through_memory", "view_as_complex", "view_dtype", "view_shape"}

# Chance has no say in their samples, but would have in others.
CERTAIN = {"successes"}

LISTED = PAGE.read_text()

every_op = pytest.mark.parametrize("name", sorted(TABLE))
every_inplace = pytest.mark.parametrize("name", sorted(INPLACE))


def listed(heading: str) -> set[str]:
    """The ops that a section of the notes lists, one a row of its table."""
    section = LISTED.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


REFUSED = listed("Refused")  # for a batch of values that their results' shapes depend on


class Case:
    """One sample of an op for each element of a batch; as a context it names what is raised."""

    def __init__(self, name: str, number: int, bound: list[Any], first: list[Any]) -> None:
        self.name = name
        self.bound = bound
        self.label = f"{name}, sample {number}"
        self.pattern = ""
        self.elements = [first, self.varied(first)]
        self.places = [i for i, a in enumerate(first) if is_differentiable(a)]
        self.cotangents: list[Tensor] = []
        self.tangents: list[Tensor] = []

    def __enter__(self) -> "Case":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            return False
        error.add_note(f"in {self.label}, {self.pattern}")
        return str(error).startswith("vmap: the shape of what") and self.name in REFUSED

    def varied(self, arrays: list[Any]) -> list[Any]:
        """Other arguments of the same kind; whole numbers stay, where others aren't accepted."""
        if self.name in CERTAIN:
            return arrays
        scaled = [a * a.dtype.type(0.875) if is_differentiable(a) else a for a in arrays]
        turned = [a if is_differentiable(a) else np.flip(a).copy() for a in scaled]
        try:
            self.call(*[Tensor(a.copy("K"), AS_IS) for a in turned])
        except (RuntimeError, ValueError, IndexError):
            return scaled
        return turned

    def call(self, *tensors: Any) -> list[Any]:
        """The op on tensors in the places of the sample's arrays: its results that are tensors."""
        left = iter(tensors)
        values = map_arrays(lambda array: next(left), self.bound)
        results = flatten(dispatch.apply(TABLE[self.name], values))
        return [result for result in results if isinstance(result, Tensor)]

    def patterns(self) -> Iterator[tuple[Any, ...]]:
        """in_dims for the arrays: first, last, and each without a batch or alone with one."""
        count = len(self.elements[0])
        yield (0,) * count
        if self.name not in READS_STRIDES:
            yield (-1,) * count
        if count > 1:
            for i in range(count):
                yield tuple(None if i == j else 0 for j in range(count))
                if count > 2:
                    yield tuple(0 if i == j else None for j in range(count))

    def batched(self, in_dims: tuple[Any, ...]) -> list[Any]:
        """The arguments of vmap: a batch along each in_dim, the first element's where it's None."""
        return [
            Tensor(elements[0].copy("K") if dim is None else np.stack(elements, dim), AS_IS)
            for dim, elements in zip(in_dims, zip(*self.elements))
        ]

    def element(self, in_dims: tuple[Any, ...], k: int) -> list[Any]:
        """The arguments of one element of that batch; without in_dims, all of element k."""
        dims = in_dims or (0,) * len(self.elements[0])
        return [
            Tensor(elements[0 if dim is None else k].copy("K"), AS_IS)
            for dim, elements in zip(dims, zip(*self.elements))
        ]

    def looped(self, function: Callable[..., list[Any]], in_dims: tuple[Any, ...]) -> list[Any]:
        """A function of one element, over the batch in a loop."""
        rows = [function(*self.element(in_dims, k)) for k in range(SIZE)]
        return [np.stack([as_array(r) for r in column]) for column in zip(*rows)]

    def check(self, function: Callable[..., list[Any]], in_dims: tuple[Any, ...]) -> None:
        """Vmap of a function against the loop."""
        self.pattern = f"in_dims={in_dims}"
        expected = self.looped(function, in_dims)
        found = mapped(function, in_dims)(*self.batched(in_dims))
        compare(found, expected)

    # ---- what is looked at besides the call itself ----

    def keeps_its_form(self) -> bool:
        """Whether the result could be put where the first argument is."""
        results, first = self.call(*self.element((), 0)), self.elements[0][0]
        return [(r.array.dtype, r.array.shape) for r in results] == [(first.dtype, first.shape)]

    def changed(self, target: Any, *rest: Any) -> list[Any]:
        """A copy of the first argument, changed by the in-place form."""
        left = iter((target.clone(), *rest))
        values = map_arrays(lambda array: next(left), self.bound)
        assert INPLACE[self.name + "_"].run(values) is values[0]
        return [values[0]]

    def floating(self, *tensors: Any) -> list[Any]:
        """The results that could have a derivative."""
        return [r for r in self.call(*tensors) if is_differentiable(r.array)]

    def of_floats(self, tensors: Any, function: Any) -> Callable[..., list[Any]]:
        """A function of all arrays as one of the differentiable ones, given the others."""

        def call(*floats: Any) -> Any:
            whole = list(tensors)
            for place, value in zip(self.places, floats):
                whole[place] = value
            return function(*whole)

        return call

    def pulled(self, *tensors: Any) -> list[Any]:
        """The gradients of one element."""
        floats = [tensors[i] for i in self.places]
        return flatten(vjp(self.of_floats(tensors, self.floating), *floats)[1](self.cotangents))

    def pushed(self, *tensors: Any) -> list[Any]:
        """The tangents of one element."""
        floats = tuple([tensors[i] for i in self.places])
        found = jvp(self.of_floats(tensors, self.floating), floats, tuple(self.tangents))
        return list(found[1])


def mapped(function: Callable[..., Any], in_dims: Any) -> Any:
    """The function over batches; loops are told of elsewhere."""

    def quietly(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return vmap(function, in_dims, randomness="different")(*args)

    return quietly


def compare(found: list[Any], expected: list[Any]) -> None:
    """Equality up to rounding."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        tolerance = 2e-2 if b.dtype == np.float16 else 2e-4 if b.dtype.itemsize < 8 else 1e-8
        size = float(np.abs(b[np.isfinite(b)]).max(initial=1)) if is_differentiable(b) else 1.0
        assert_close(a, b, tolerance, tolerance * size)


def cases(name: str, differentiable: bool = False) -> Iterator[Case]:
    """The samples of an op that have an array to batch."""
    op = TABLE[name]
    if op.draws:  # see test_vmap_randomness.py
        return
    found = 0
    for number, sample in enumerate(samples_of(name)):
        if not sample.compare_values or (differentiable and not sample.differentiate):
            continue
        bound = op.bind(sample.args, dict(sample.kwargs))
        first: list[Any] = []
        map_arrays(first.append, bound)
        if not first or (differentiable and not any(is_differentiable(a) for a in first)):
            continue
        found += 1
        if found > MOST:
            return
        yield Case(name, number, bound, first)


def test_every_op_takes_a_batch() -> None:
    """Each op has samples and a way to take a batch; loops are few, and listed."""
    assert [name for name in TABLE if not samples_of(name)] == []
    loops = {name for name, op in TABLE.items() if op.batching == LOOP and op.vmap is None}
    assert loops == listed("Loops")
    assert len(loops) <= 0.05 * len(TABLE)


@every_op
def test_against_a_loop(name: str) -> None:
    """Values over a batch are those of a loop, wherever the batch lies and whoever has one."""
    for case in cases(name):
        for in_dims in case.patterns():
            with case:
                case.check(case.call, in_dims)


@every_op
def test_nested(name: str) -> None:
    """A batch of batches, and two batches of different arguments."""
    for case in cases(name):
        with case:
            check_nested(case)


def check_nested(case: Case) -> None:
    """Vmap of vmap against two loops."""
    count = len(case.elements[0])
    outer, inner = (0,) * count, (0,) * count
    if count > 1:
        outer = (None, *outer[1:])
        inner = (*inner[:-1], None)
    case.pattern = f"in_dims={outer} around {inner}"
    grid = [
        Tensor(
            np.stack(
                [
                    elements[0]
                    if i is None
                    else np.stack([elements[j if o is None else (j + k) % SIZE] for j in (0, 1)])
                    for k in range(1 if o is None else SIZE)
                ]
            ),
            AS_IS,
        )
        for o, i, elements in zip(outer, inner, zip(*case.elements))
    ]
    given = [g if o is not None else g[0] for g, o in zip(grid, outer)]
    found = mapped(mapped(case.call, inner), outer)(*given)
    rows = []
    for k in range(SIZE):
        picked = [g if o is None else g[k] for g, o in zip(given, outer)]
        columns = [
            case.call(*[p if i is None else p[j] for p, i in zip(picked, inner)])
            for j in range(SIZE)
        ]
        rows.append([np.stack([as_array(c) for c in column]) for column in zip(*columns)])
    compare(found, [np.stack(column) for column in zip(*rows)])


@every_inplace
def test_inplace(name: str) -> None:
    """The in-place form changes the elements of a batch as it changes one."""
    op = INPLACE[name].op
    for case in cases(op.name):
        if isinstance(case.bound[0], np.ndarray) and case.keeps_its_form():
            for in_dims in case.patterns():
                with case:
                    if in_dims[0] is not None:
                        case.check(case.changed, in_dims)


@every_op
def test_vmap_of_derivatives(name: str) -> None:
    """Vmap of a pullback and of a pushforward are loops of them."""
    for case in derivative_cases(name):
        everywhere = (0,) * len(case.elements[0])
        with case:
            case.check(case.pulled, everywhere)
            case.check(case.pushed, everywhere)


@every_op
def test_derivatives_of_vmap(name: str) -> None:
    """The pullback and the pushforward of a vmap are those of the loop."""
    for case in derivative_cases(name):
        with case:
            check_derivatives(case)


def check_derivatives(case: Case) -> None:
    """Derivatives of vmap against loops of derivatives."""
    everywhere = (0,) * len(case.elements[0])
    whole = case.batched(everywhere)
    floats = [whole[i] for i in case.places]
    over = case.of_floats(whole, mapped(case.floating, everywhere))
    pull = vjp(over, *floats)[1]
    compare(
        flatten(pull([each_of(t) for t in case.cotangents])),
        case.looped(case.pulled, everywhere),
    )
    found = jvp(over, tuple(floats), tuple([each_of(t) for t in case.tangents]))[1]
    compare(list(found), case.looped(case.pushed, everywhere))


def each_of(tensor: Tensor) -> Tensor:
    """The same for each element of the batch."""
    return Tensor(np.stack([tensor.array] * SIZE), AS_IS)


def derivative_cases(name: str) -> Iterator[Case]:
    """The samples that have a derivative."""
    for case in cases(name, differentiable=True):
        results = [as_array(r) for r in case.floating(*case.element((), 0))]
        if results:
            case.cotangents = directions(case.label + " back", results)
            floats = [case.elements[0][i] for i in case.places]
            case.tangents = directions(case.label + " forward", floats)
            yield case


def directions(label: str, arrays: list[Any]) -> list[Tensor]:
    """A tensor to pull back or to push forward for each array."""
    rng = generator(label)
    return [Tensor(direction_like(rng, a), AS_IS) for a in arrays]


@pytest.mark.parametrize(("factors", "sides"), [(2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("solve", ["ldl_solve", "lu_solve"])
def test_factors_and_sides_of_other_ranks(solve: str, factors: int, sides: int) -> None:
    """Each with its own, whichever of the two is itself a batch."""
    factor = getattr(adjoint.linalg, solve.replace("solve", "factor"))
    A = (adjoint.eye(3) * 4 + adjoint.arange(54.0).reshape(2, 3, 3, 3) % 5).double()
    A = (A + A.mT)[:, 0] if factors == 1 else A + A.mT
    B = adjoint.arange(36.0).double().reshape(2, 3, 3, 2)
    B = B[:, 0] if sides == 1 else B

    def solved(a: Tensor, b: Tensor) -> Tensor:
        return getattr(adjoint.linalg, solve)(*factor(a), b)

    expected = adjoint.stack([solved(a, b) for a, b in zip(A, B, strict=True)])
    np.testing.assert_allclose(adjoint.vmap(solved)(A, B), expected)


def test_an_index_without_elements_may_be_of_any_type() -> None:
    x = adjoint.arange(5.0)
    found = adjoint.vmap(lambda i: adjoint.gather(x, 0, i))(
        adjoint.zeros(3, 0, dtype=adjoint.uint8)
    )
    assert found.shape == (3, 0)
