"""Every op and composite of the tables, on every sample, checked in every way a declaration allows."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from adjoint.autograd.differentiate import grad
from adjoint.dispatch import OpNode
from adjoint.dtypes import dtype
from adjoint.ops.derive import jvp
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import MISSING, TABLE
from adjoint.tensor import Tensor
from adjoint.testing import (
    Sample,
    all_functions,
    as_array,
    assert_close,
    check_second_order,
    check_vjp,
    direction_like,
    draw,
    flatten,
    function_of,
    generator,
    is_differentiable,
    map_arrays,
    numeric_jvp,
    open_call,
    samples_of,
    takes_only_tensors,
)

FUNCTIONS = all_functions()
OPS = sorted(TABLE)
ELEMENTWISE = [name for name in OPS if takes_only_tensors(TABLE[name])]
IN_PLACE = sorted(INPLACE)

every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_op = pytest.mark.parametrize("name", OPS)
every_elementwise = pytest.mark.parametrize("name", ELEMENTWISE)
every_inplace = pytest.mark.parametrize("name", IN_PLACE)

# Their results follow from strides, so other strides may give another result or an error.
READS_STRIDES = {"as_strided", "is_contiguous", "stride", "view", "view_as"}


def described(value: Any) -> str:
    """An argument of a sample, short enough for a failure's first line."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(described(v) for v in value)})"
    return repr(value)


def each_sample(name: str, *, differentiable: bool = False) -> Iterator[tuple[str, Sample]]:
    """The samples of a function; what fails inside the loop's body names the sample."""
    for number, sample in enumerate(samples_of(name)):
        if differentiable and not (sample.differentiate and sample.compare_values):
            continue
        shown = [described(a) for a in sample.args]
        shown += [f"{k}={described(v)}" for k, v in sample.kwargs.items()]
        yield f"{name}({', '.join(shown)}) [sample {number}]", sample


class Naming:
    """Adds the sample to whatever is raised while it is checked."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            error.add_note(f"in {self.label}")


def leaves_of(arrays: list[Any]) -> list[Tensor]:
    """Fresh tensors that require grad."""
    return [Tensor(a.copy()).requires_grad_() for a in arrays]


def opened(name: str, sample: Sample) -> tuple[Callable[..., list[Any]], list[Any]]:
    """A sample as a function of its differentiable arrays."""
    return open_call(function_of(name), sample)


def test_every_op_has_samples() -> None:
    """Nothing enters the tables untested."""
    assert [name for name in FUNCTIONS if not samples_of(name)] == []


# ---- against PyTorch ----


def oracle(torch: Any, name: str, sample: Sample) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The same sample as a call of PyTorch."""
    function: Any = sample.torch or name
    if isinstance(function, str):
        path, function = function, torch
        for part in path.split("."):
            function = getattr(function, part)

    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(translated(torch, a) for a in args)
        return function(*args, **{k: translated(torch, v) for k, v in kwargs.items()})

    return open_call(call, sample, torch.tensor)


def translated(torch: Any, value: Any) -> Any:
    """An argument that is no array, as PyTorch takes it."""
    return getattr(torch, value.name) if isinstance(value, dtype) else value


def oracle_array(value: Any) -> Any:
    """A tensor of PyTorch as a NumPy array."""
    return value.detach().resolve_conj().resolve_neg().numpy()


def cast(array: Any, single: bool) -> Any:
    """The array, in single precision if asked for."""
    if not single or not is_differentiable(array):
        return array
    return array.astype(np.complex64 if array.dtype.kind == "c" else np.float32)


@every_function
@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
def test_forward(torch: Any, name: str, single: bool) -> None:
    """Values, data types, shapes and requires_grad are PyTorch's; float32 stays float32."""
    for label, sample in each_sample(name):
        with Naming(label):
            call, arrays = opened(name, sample)
            arrays = [cast(a, single) for a in arrays]
            theirs, _ = oracle(torch, name, sample)
            wanted = sample.differentiate
            ours = call(*[Tensor(a.copy()).requires_grad_(wanted) for a in arrays])
            expected = theirs(*[torch.tensor(a).requires_grad_(wanted) for a in arrays])
            assert len(ours) == len(expected), f"{len(ours)} results, expected {len(expected)}"
            for a, b in zip(ours, expected, strict=True):
                if not isinstance(b, torch.Tensor):
                    assert a == b
                    continue
                value = oracle_array(b)
                assert a.array.dtype == value.dtype, f"{a.array.dtype}, expected {value.dtype}"
                assert a.array.shape == value.shape, f"{a.array.shape}, expected {value.shape}"
                assert a.requires_grad == b.requires_grad, "requires_grad"
                if sample.compare_values and not single:
                    assert_close(a, value, 1e-6, 1e-8)


@every_function
def test_gradient(torch: Any, name: str) -> None:
    """First-order gradients, and which inputs have none, are PyTorch's."""
    for label, sample in each_sample(name, differentiable=True):
        with Naming(label):
            call, arrays = opened(name, sample)
            theirs, _ = oracle(torch, name, sample)
            leaves = leaves_of(arrays)
            twins = [torch.tensor(a).requires_grad_() for a in arrays]
            pairs = [
                (a, b)
                for a, b in zip(call(*leaves), theirs(*twins), strict=True)
                if isinstance(b, torch.Tensor) and b.requires_grad
            ]
            if not pairs:
                continue
            rng = generator(label)
            weights = [direction_like(rng, a.array) for a, _ in pairs]
            ours = grad(
                [a for a, _ in pairs], leaves, [Tensor(w) for w in weights], allow_unused=True
            )
            expected = torch.autograd.grad(
                [b for _, b in pairs], twins, [torch.tensor(w) for w in weights], allow_unused=True
            )
            for i, (a, b, array) in enumerate(zip(ours, expected, arrays, strict=True)):
                a = np.zeros_like(array) if a is None else a
                b = np.zeros_like(array) if b is None else oracle_array(b)
                assert_close(a, b, 1e-6, 1e-8, f"gradient of array {i}")


# ---- against finite differences ----


@every_function
def test_rules(name: str) -> None:
    """The gradient agrees with finite differences, along one random direction."""
    for label, sample in each_sample(name, differentiable=True):
        with Naming(label):
            call, arrays = opened(name, sample)
            check_vjp(call, arrays, msg=label)


@every_function
def test_second_order(name: str) -> None:
    """The gradient of the gradient agrees with finite differences of the gradient."""
    for label, sample in each_sample(name, differentiable=True):
        if sample.second_order:
            with Naming(label):
                call, arrays = opened(name, sample)
                check_second_order(call, arrays, msg=label)


@every_op
def test_jvp(name: str) -> None:
    """The forward derivative that follows from the family agrees with finite differences."""
    op = TABLE[name]
    for label, sample in each_sample(name, differentiable=True):
        with Naming(label):
            rng = generator(label)
            call, arrays = opened(name, sample)
            directions = [direction_like(rng, a) for a in arrays]
            left = iter(directions)

            def tangent(value: Any, left: Iterator[Any] = left) -> Any:
                """The direction of a differentiable array, None for all else."""
                if isinstance(value, (tuple, list)):
                    found = [tangent(v) for v in value]
                    return found if any(t is not None for t in found) else None
                floating = isinstance(value, np.ndarray) and is_differentiable(value)
                return Tensor(next(left)) if floating else None

            bound = op.bind(sample.args, dict(sample.kwargs))
            args = map_arrays(lambda a: Tensor(a.copy()), bound)
            tangents = [tangent(value) for value in bound]
            for i, given in enumerate(tangents):
                if i not in op.inputs:
                    assert given is None, f"{op.parameters[i]} is floating but has no rule"
            pushed = flatten(jvp(op, args, tangents)) if any(map(bool_of, tangents)) else []
            numeric = numeric_jvp(call, arrays, directions)
            for ours, theirs in zip(pushed, numeric, strict=False):
                if theirs is not None:
                    ours = np.zeros_like(theirs) if ours is None else ours
                    size = max(1.0, float(np.abs(theirs).max(initial=0)))
                    assert_close(ours, theirs, 1e-5, 1e-6 * size, "tangent")


def bool_of(tangent: Any) -> bool:
    """Whether an argument has a tangent."""
    return tangent is not None
