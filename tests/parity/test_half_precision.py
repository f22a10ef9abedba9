"""16-bit floats are computed with in float32 and rounded once, so they are as near as PyTorch's."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adjoint import bfloat16, float16
from adjoint.autograd.entry_points import grad
from adjoint.ops.op import TABLE
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.testing import (
    Sample,
    flatten,
    function_of,
    generator,
    open_call,
    samples_of,
)
from tests.test_ops import oracle

# Tested through the functions made of them: their other results are in float32, for their rules.
THROUGH = {
    "attend": (),  # by its rounded result: where terms cancel, what is left is that rounding
    "batch_standardized": ("batch_norm", "instance_norm"),
    "group_standardized": ("group_norm",),
    "layer_standardized": ("layer_norm",),
    "p_norm": ("norm", "linalg_norm"),
    "root_scaled": ("rms_norm",),
}
NO_ORACLE = {"linalg_matrix_exp"}  # of 16-bit numbers PyTorch's is nan
NAMES = sorted({name for name in TABLE if TABLE[name].wide} - THROUGH.keys() - NO_ORACLE)
NAMES += [name for names in THROUGH.values() for name in names]
NAMES += ["conv1d", "conv2d", "conv3d", "conv_transpose2d", "linear", "expand", "column_sums"]
BITS = {"float16": (10, -14), "bfloat16": (7, -126)}  # of the fraction, and the least exponent
KINDS = [float16, bfloat16]


def spacing(values: Any, kind: Any) -> Any:
    """How far apart numbers of a type lie where the values are."""
    bits, least = BITS[kind.name]
    return np.ldexp(1.0, np.maximum(np.frexp(np.abs(values))[1] - 1, least) - bits)


def half_samples(name: str) -> Iterator[Sample]:
    """The samples whose differentiable arrays are all real, so that they have 16-bit forms."""
    for sample in samples_of(name):
        arrays = open_call(function_of(name), sample)[1]
        if sample.compare_values and arrays and all(a.dtype.kind == "f" for a in arrays):
            yield sample


def compare(ours: Any, theirs: Any, exact: Any, kind: Any) -> None:
    """ours may be off by as many units in the last place as PyTorch's, twice, and two more."""
    if str(theirs.dtype).removeprefix("torch.") != kind.name or not theirs.numel():
        return
    assert ours.dtype is kind
    a, b, c = (
        np.asarray(value, np.float64)
        for value in (ours.detach().array, theirs.detach().double(), exact.detach().double())
    )
    assert (np.isfinite(a) == np.isfinite(b)).all()
    finite = np.isfinite(a) & np.isfinite(c)
    unit = spacing(b, kind)
    with np.errstate(invalid="ignore"):
        off, allowed = np.abs(a - c) / unit, 2 * np.abs(b - c) / unit
    assert off[finite].max(initial=0) <= allowed[finite].max(initial=0) + 2


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_rounded_once(torch: Any, name: str, kind: Any) -> None:
    """Values and gradients, against PyTorch's and against those in double precision."""
    theirs_kind = getattr(torch, kind.name)
    for sample in half_samples(name):
        call, arrays = open_call(function_of(name), sample)
        reference = oracle(torch, name, sample)
        rounded = [torch.tensor(a).to(theirs_kind) for a in arrays]
        wanted = sample.differentiate
        twins = [t.clone().requires_grad_(wanted) for t in rounded]
        exact = [t.double().requires_grad_(wanted) for t in rounded]
        try:
            expected, truth = flatten(reference(*twins)), flatten(reference(*exact))
        except (RuntimeError, NotImplementedError, ValueError):
            continue  # PyTorch has no kernel for it
        leaves = [
            Tensor(np.asarray(t.double()).astype(kind.numpy_dtype), AS_IS).requires_grad_(wanted)
            for t in rounded
        ]
        ours = flatten(call(*leaves))
        for a, b, c in zip(ours, expected, truth, strict=True):
            if isinstance(b, torch.Tensor):
                compare(a, b, c, kind)
        compare_gradients(torch, (ours, leaves), (expected, twins), (truth, exact), kind)


def compare_gradients(torch: Any, ours: Any, theirs: Any, exact: Any, kind: Any) -> None:
    """The gradients of one random projection of the results, each given as (results, leaves)."""
    live = [i for i, t in enumerate(theirs[0]) if getattr(t, "requires_grad", False)]
    if not live:
        return
    rng = generator("weights")
    weights = [torch.tensor(rng.normal(size=tuple(theirs[0][i].shape))) for i in live]
    weights = [w.to(theirs[0][i].dtype) for w, i in zip(weights, live)]
    try:
        expected, truth = (
            torch.autograd.grad(
                [found[i] for i in live],
                leaves,
                [w.to(found[i].dtype) for w, i in zip(weights, live)],
                allow_unused=True,
            )
            for found, leaves in (theirs, exact)
        )
    except (RuntimeError, NotImplementedError):
        return  # PyTorch has no kernel for it
    cotangents = [
        Tensor(np.asarray(w.double()).astype(ours[0][i].array.dtype), AS_IS)
        for w, i in zip(weights, live)
    ]
    found = grad([ours[0][i] for i in live], ours[1], cotangents, allow_unused=True)
    for a, b, c in zip(found, expected, truth, strict=True):
        if a is not None and b is not None and not b._is_zerotensor():
            compare(a, b, c, kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["sort", "topk", "median", "nanmedian", "kthvalue", "unique"])
def test_nan_counts_as_largest(torch: Any, name: str, kind: Any) -> None:
    """NumPy's own order of bfloat16 leaves what is around a NaN unsorted."""
    values = [3.0, float("nan"), -1.0, 2.0, float("nan"), 0.5]
    further = {"topk": (4,), "kthvalue": (4,)}.get(name, ())
    ours = function_of(name)(Tensor(np.asarray(values).astype(kind.numpy_dtype), AS_IS), *further)
    theirs = getattr(torch, name)(torch.tensor(values).to(getattr(torch, kind.name)), *further)
    found, expected = flatten(ours)[0], [theirs] if torch.is_tensor(theirs) else theirs
    np.testing.assert_array_equal(found.float().array, expected[0].float().numpy())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_many_rows_are_gathered_in_single_precision(kind: Any) -> None:
    """A sum of ones in 16 bits stops growing; the gradient of a broadcast must not."""
    row = Tensor(np.zeros(3, kind.numpy_dtype), AS_IS).requires_grad_()
    ones = Tensor(np.ones((4096, 3), kind.numpy_dtype), AS_IS)
    ((ones + row) * ones).backward(ones)
    assert row.grad is not None
    np.testing.assert_array_equal(row.grad.float().array, np.full(3, 4096.0, np.float32))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_second_order_keeps_the_type(kind: Any) -> None:
    """Where a graph is made of a rule, casts are recorded and gradients are of the leaf's type."""
    leaf = Tensor(np.asarray([0.5, -1.5]).astype(kind.numpy_dtype), AS_IS).requires_grad_()
    (first,) = grad(leaf.sigmoid().sum(), leaf, create_graph=True)
    (second,) = grad(first.sum(), leaf)
    assert first.dtype is kind and second.dtype is kind
    s = 1 / (1 + np.exp(-np.asarray([0.5, -1.5])))
    np.testing.assert_allclose(second.float().array, s * (1 - s) * (1 - 2 * s), rtol=2e-2)
