"""Tangents of every op: each input's alone, together, beside the vjp differentiated twice."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.autograd import forward_ad as fw
from adjoint.autograd.forward_rules import pushed, through_vjp
from adjoint.call import dispatch
from adjoint.call.context import current
from adjoint.call.layers import opened
from adjoint.call.short_form import layer_of
from adjoint.dtypes import FLOAT
from adjoint.ops.op import TABLE, Op
from adjoint.tensors.tensor import AS_IS, plain
from adjoint.testing import assert_close, flatten, generator, is_differentiable, map_arrays
from adjoint.transforms.duals import DualLevel, dual
from tests.test_ops import differentiable_cases, double, tangent_of

OPS = sorted(name for name, op in TABLE.items() if op.ruled_parameters())
every_op = pytest.mark.parametrize("name", OPS)

# Whose derivatives are refused: there is no tangent either.
REFUSED = {
    "bin_totals",
    "bincount",
    "dirichlet_slope",
    "gamma_slope",
    "geqrf",
    "ldl_factors",
    "ldl_solved",
    "path_slopes",
    "solve_adjoint",
    "successes",
    "unique_all",
    "unique_runs",
}

# A NaN of one side hands its gradient to both, and takes its tangent from the second: as PyTorch's.
OTHER_AT_NAN = {"maximum", "minimum"}


def test_no_op_is_differentiated_twice() -> None:
    """Every op has a tangent by its family or by a rule of its own, or none at all."""
    general = {
        name
        for name, op in TABLE.items()
        if op.ruled_parameters() and op.jvp is None and op.family == "general"
    }
    assert general == REFUSED, "declare jvp= beside their derivatives"


def test_what_has_no_derivative_has_no_tangent() -> None:
    points = adjoint.rand(4, 2)
    with fw.dual_level():
        moving = fw.make_dual(points, adjoint.ones(4, 2))
        for call in (adjoint.geqrf, adjoint.unique, adjoint.histogramdd):
            with pytest.raises(RuntimeError, match="is not implemented"):
                call(*((moving, [2, 2]) if call is adjoint.histogramdd else (moving,)))


def calls(op: Op) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Arguments and tangents for each sample of an op."""
    for case in differentiable_cases(op.name):
        rng = generator(case.label)
        bound = op.bind(case.sample.args, dict(case.sample.kwargs))
        bound = map_arrays(lambda a: double(a) if is_differentiable(a) else a, bound)
        tangents = [
            tangent_of(rng, value) if i in op.ruled_parameters() else None
            for i, value in enumerate(bound)
        ]
        if any(tangent is not None for tangent in tangents):
            args = map_arrays(lambda a: Tensor(a.copy("K"), AS_IS), bound)
            yield case, args, map_arrays(plain, tangents)


def arrays(tangents: Any, results: list[Any]) -> list[Any]:
    """The tangents of floating results as arrays, zeros where there is none."""
    flat = list(tangents) if isinstance(tangents, tuple) else [tangents]
    return [
        np.zeros(r.shape) if t is None else t.numpy()
        for r, t in zip(results, flat, strict=True)
        if r.dtype.category >= FLOAT
    ]


def singles(tangents: list[Any]) -> Iterator[list[Any]]:
    """The same with all tangents but one left out."""
    for i, tangent in enumerate(tangents):
        elements = tangent if isinstance(tangent, list) else [tangent]
        for j, element in enumerate(elements):
            if element is None:
                continue
            alone: list[Any] = [None] * len(tangents)
            alone[i] = element
            if isinstance(tangent, list):
                alone[i] = [element if k == j else None for k in range(len(tangent))]
            yield alone


@every_op
def test_tangents_add_up(name: str) -> None:
    """Each input's tangent alone gives its part of what all give together."""
    op = TABLE[name]
    for case, args, tangents in calls(op):
        with case, np.errstate(all="ignore"):
            result, together = pushed(op, args, tangents)
            results = flatten(result)
            parts = [arrays(pushed(op, args, alone)[1], results) for alone in singles(tangents)]
            for whole, *found in zip(arrays(together, results), *parts, strict=True):
                size = max(1.0, float(np.abs(whole).max(initial=0)))
                assert_close(sum(found), whole, 1e-9, 1e-10 * size)


@every_op
def test_tangents_beside_the_vjp_twice(name: str) -> None:
    """The rule of an op, or its family, agrees with the derivative of its vjp."""
    op = TABLE[name]
    for case, args, tangents in calls(op):
        if not case.sample.second_order or any(array.size == 0 for array in case.arrays):
            continue
        with case, np.errstate(all="ignore"):
            result, found = pushed(op, args, tangents)
            results = flatten(result)
            other = through_vjp(op, args, tangents)[1]
            for a, b in zip(arrays(found, results), arrays(other, results), strict=True):
                if name in OTHER_AT_NAN:
                    a, b = a[~np.isnan(result.numpy())], b[~np.isnan(result.numpy())]
                size = max(1.0, float(np.abs(b).max(initial=0)))
                assert_close(a, b, 1e-8, 1e-9 * size)


@every_op
def test_duals(name: str) -> None:
    """A call on dual tensors answers the result of the call, and its tangent."""
    op = TABLE[name]
    for case, args, tangents in calls(op):
        with case, np.errstate(all="ignore"):
            result, moved = pushed(op, args, tangents)
            results = flatten(result)
            with fw.dual_level():
                given = [paired(value, tangent) for value, tangent in zip(args, tangents)]
                unpacked = [fw.unpack_dual(each) for each in flatten(dispatch.apply(op, given))]
                for (primal, _), expected in zip(unpacked, results, strict=True):
                    np.testing.assert_array_equal(primal.numpy(), expected.numpy())
                found = arrays(tuple(tangent for _, tangent in unpacked), results)
            for a, b in zip(found, arrays(moved, results), strict=True):
                np.testing.assert_array_equal(a, b)


SHORT = [name for name in OPS if TABLE[name].lane in (dispatch.UNARY, dispatch.BINARY)]


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("fades", [True, False])
def test_the_short_form(name: str, fades: bool) -> None:
    """A call of one or two arguments answers what the long way does, in its own memory."""
    op = TABLE[name]
    tried = 0
    for case, args, tangents in calls(op):
        if any(v is not d for v, d in zip(args[op.required :], op.defaults[op.required :])):
            continue
        level = DualLevel(fades=fades)
        with case, np.errstate(all="ignore"), opened(level):
            for moved in (tangents, *singles(tangents)):
                given = [v if t is None else dual(level, v, t) for v, t in zip(args, moved)]
                expected = dispatch.apply(op, given)
                layer = next(found for each in given if (found := layer_of(each)))
                found = layer.brief(op, current(), *(given + [None])[:2])
                if found is None:  # complex numbers
                    continue
                assert type(found.layer) is type(expected.layer)
                if found.layer is None:
                    continue
                tried += 1
                primal, tangent = found.layer.primal, found.layer.tangent
                np.testing.assert_array_equal(primal.array, expected.layer.primal.array)
                np.testing.assert_array_equal(tangent.array, expected.layer.tangent.array)
                assert tangent.array.dtype == expected.layer.tangent.array.dtype
                assert not any(
                    np.shares_memory(tangent.array, t.array) for t in moved if t is not None
                )
    assert tried or name == "floor_divide"  # whose derivative is refused


def paired(value: Any, tangent: Any) -> Any:
    """An argument with its tangent, lists element by element."""
    if isinstance(tangent, list):
        return [paired(v, t) for v, t in zip(value, tangent)]
    return value if tangent is None else fw.make_dual(value, tangent)


HIDING = [name for name in OPS if TABLE[name].hides]


@pytest.mark.parametrize("name", HIDING)
def test_what_a_forward_hides(name: str) -> None:
    """A tangent from what the forward has kept for rules is that of a call that is recorded."""
    op = TABLE[name]
    for case, args, tangents in calls(op):
        with case:
            results = flatten(pushed(op, args, tangents)[0])
            found = arrays(pushed(op, args, tangents)[1], results)
            recorded = [
                value if tangent is None else value.clone().requires_grad_()
                for value, tangent in zip(args, tangents)
            ]
            again = pushed(op, recorded, tangents)[1]
            expected = arrays(detached(again), results)
            for a, b in zip(found, expected, strict=True):
                assert_close(a, b, 1e-9, 1e-10)


def detached(tangents: Any) -> Any:
    """Tangents without the history that a recorded call gives them."""
    if isinstance(tangents, tuple):
        return tuple(detached(tangent) for tangent in tangents)
    return None if tangents is None else tangents.detach()
