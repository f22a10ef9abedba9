"""16-bit floats are computed with in float32 and rounded once, so they are as near as PyTorch's."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat
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


# ---- functions made of several ops ----


def _resized(mode: str, size: int, **options: Any) -> Any:
    dims = {"linear": 1, "trilinear": 3}.get(mode, 2)
    if mode != "area":
        options["align_corners"] = False

    def call(library: Any, images: Any) -> Any:
        return library.nn.functional.interpolate(images, (size,) * dims, mode=mode, **options)

    return call, [(2, 3, *(8,) * dims)]


def _padded(mode: str) -> Any:
    return lambda library, x: library.nn.functional.pad(x, (3, 2, 4, 3), mode), [(2, 3, 6, 6)]


def _attended(**options: Any) -> Any:
    def call(library: Any, query: Any, key: Any, value: Any, *mask: Any) -> Any:
        attention = library.nn.functional.scaled_dot_product_attention
        return attention(query, key, value, *mask, **options)

    heads = 2 if options.get("enable_gqa") else 4
    shapes = [(2, 4, 10, 16), (2, heads, 10, 16), (2, heads, 10, 16)]
    return call, shapes


def _cell(name: str, gates: int) -> Any:
    def call(library: Any, input: Any, state: Any, other: Any, *weights: Any) -> Any:
        states = (state, other) if name == "lstm_cell" else state + other * 0
        return getattr(library, name)(input, states, *weights)

    shapes = [(4, 16), (4, 8), (4, 8), (8 * gates, 16), (8 * gates, 8), (8 * gates,), (8 * gates,)]
    return call, shapes


MADE_OF_SEVERAL = {
    **{
        f"interpolate {mode} to {size}": _resized(mode, size)
        for mode in ("linear", "bilinear", "bicubic", "trilinear", "area")
        for size in (11, 5)
    },
    "interpolate antialias": _resized("bicubic", 5, antialias=True),
    **{f"pad {mode}": _padded(mode) for mode in ("constant", "reflect", "replicate", "circular")},
    "attention": _attended(),
    "attention causal": _attended(is_causal=True),
    "attention with shared heads": _attended(enable_gqa=True),
    "lstm_cell": _cell("lstm_cell", 4),
    "gru_cell": _cell("gru_cell", 3),
    "rnn_tanh_cell": _cell("rnn_tanh_cell", 1),
    "rnn_relu_cell": _cell("rnn_relu_cell", 1),
    "linear": (
        lambda library, x, weight, bias: library.nn.functional.linear(x, weight, bias),
        [(2, 7, 16), (9, 16), (9,)],
    ),
    "addmm": (
        lambda library, x, a, b: library.addmm(x, a, b),
        [(1, 9), (7, 16), (16, 9)],
    ),
    "addmv": (lambda library, x, a, b: library.addmv(x, a, b), [(7,), (7, 16), (16,)]),
    "baddbmm": (lambda library, x, a, b: library.baddbmm(x, a, b), [(9,), (3, 7, 16), (3, 16, 9)]),
    "baddbmm of parts": (
        lambda library, a, b: library.baddbmm(
            library.arange(189).reshape(3, 7, 9).to(a.dtype) / 4, a, b, beta=0.2
        ),
        [(3, 7, 16), (3, 16, 9)],
    ),
    "weighted bags": (
        lambda library, weight, weights: library.nn.functional.embedding_bag(
            library.arange(8).reshape(2, 4), weight, mode="sum", per_sample_weights=weights
        ),
        [(9, 5), (2, 4)],
    ),
    "interpolate nearest": (
        lambda library, x: library.nn.functional.interpolate(x, scale_factor=3),
        [(1, 1, 2, 2, 2)],
    ),
    "cummax": (lambda library, x: library.cummax(x, 1)[0], [(4, 40)]),
    "gather": (lambda library, x: x.gather(1, library.arange(120).reshape(3, 40) % 4), [(3, 4)]),
    "scatter_add": (
        lambda library, x, y: x.scatter_add(1, library.arange(120).reshape(3, 40) % 4, y),
        [(3, 4), (3, 40)],
    ),
    "scatter_reduce": (
        lambda library, x, y: x.scatter_reduce(
            1, library.arange(120).reshape(3, 40) % 4, y, "mean", include_self=False
        ),
        [(3, 4), (3, 40)],
    ),
    "max_pool2d": (lambda library, x: library.nn.functional.max_pool2d(x, 5, 1), [(2, 3, 9, 9)]),
    "windows": (lambda library, x: x.unfold(0, 6, 1), [(40, 5)]),
    "soft_margin_loss": (
        lambda library, x: library.nn.functional.soft_margin_loss(
            x, library.ones(5, 9, dtype=x.dtype) * 0.75
        ),
        [(5, 9)],
    ),
    "poisson_nll_loss": (
        lambda library, x, y: library.nn.functional.poisson_nll_loss(x, y),
        [(5, 9), (5, 9)],
    ),
    "addbmm": (lambda library, x, a, b: library.addbmm(x, a, b), [(7, 9), (3, 7, 16), (3, 16, 9)]),
    "batch_norm by known statistics": (
        lambda library, x, weight, bias: library.nn.functional.batch_norm(
            x, library.full_like(bias, 0.5), library.full_like(bias, 1.5), weight, bias
        ),
        [(4, 3, 6), (3,), (3,)],
    ),
    "grid_sample": (
        lambda library, images, grid: library.nn.functional.grid_sample(
            images, grid / 2, align_corners=False
        ),
        [(2, 3, 6, 6), (2, 5, 5, 2)],
    ),
}


def units_off(found: Any, exact: Any, kind: Any) -> float:
    """How many units of the largest value's last place a result is away from the exact one."""
    a, b = (np.asarray(each.detach().double().numpy()) for each in (found, exact))
    return float(np.abs(a - b).max() / spacing(np.abs(b).max(), kind))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", MADE_OF_SEVERAL)
def test_several_steps_are_rounded_once(torch: Any, name: str, kind: Any) -> None:
    """Values and gradients are those of double precision, but for the last rounding."""
    call, shapes = MADE_OF_SEVERAL[name]
    rng = generator(name)
    values = [rng.normal(size=shape).astype(kind.numpy_dtype) for shape in shapes]
    leaves = [Tensor(value, AS_IS).requires_grad_() for value in values]
    exact = [torch.tensor(value.astype(np.float64)).requires_grad_() for value in values]
    ours, theirs = flatten(call(adjoint, *leaves)), flatten(call(torch, *exact))
    assert all(result.dtype is kind for result in ours)
    assert max(units_off(a, b, kind) for a, b in zip(ours, theirs, strict=True)) <= 0.51
    weights = [rng.normal(size=tuple(b.shape)).astype(kind.numpy_dtype) for b in theirs]
    found = grad(ours, leaves, [Tensor(weight, AS_IS) for weight in weights])
    wanted = torch.autograd.grad(
        theirs, exact, [torch.tensor(weight.astype(np.float64)) for weight in weights]
    )
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype is kind
        assert not np.any(b.numpy()) or units_off(a, b, kind) <= 0.51


WITH_NUMBERS = {
    "product": lambda t, x: x * 0.3137,
    "reversed product": lambda t, x: 0.3137 * x,
    "quotient": lambda t, x: x / 0.3137,
    "rounded quotient": lambda t, x: t.div(x, 0.3137, rounding_mode="floor"),
    "with a tensor of no dimension": lambda t, x: x * t.tensor(0.3137),
    "in place": lambda t, x: x.clone().mul_(0.3137).div_(1.7),
    "gradient": lambda t, x: t.autograd.grad((x.requires_grad_() * 0.3137).sum(), x)[0],
    "sum": lambda t, x: x + 0.3137,
    "difference": lambda t, x: 0.3137 - x,
    "remainder": lambda t, x: t.remainder(x, 0.3137),
    "maximum": lambda t, x: x.clamp(-0.3137, 0.3137),
    "comparison": lambda t, x: x > 0.3137,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_numbers(torch: Any, name: str, kind: Any) -> None:
    """To the last bit: which numbers are rounded to 16 bits before, and which are not."""
    values = generator(name).normal(size=3001).astype(np.float32)
    ours = WITH_NUMBERS[name](adjoint, adjoint.tensor(values).to(kind))
    theirs = WITH_NUMBERS[name](torch, torch.tensor(values).to(getattr(torch, kind.name)))
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_array_equal(ours.detach().float().numpy(), theirs.detach().float().numpy())


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_gradients_of_sums_in_another_type_are_rounded_once(torch: Any, kind: str) -> None:
    found = []
    for library in (torch, adjoint):
        x = library.ones(40).to(getattr(library, kind)).requires_grad_()
        total = x.cumsum(0, dtype=library.bfloat16)
        total.backward((library.arange(40) * 0.17).to(library.bfloat16))
        found.append(x.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_gradients_from_results_are_rounded_once(torch: Any, name: str, kind: Any) -> None:
    rng = generator(name)
    slope, scores = (rng.normal(size=(5, 30)).astype(kind.numpy_dtype) for _ in range(2))
    probable = getattr(compat, name.removeprefix("_").removesuffix("_backward_data"))
    result = probable(Tensor(scores, AS_IS), 1)
    found = getattr(compat.ops.aten, name)(Tensor(slope, AS_IS), result, 1, kind)
    exact = [torch.tensor(np.asarray(each, np.float64)) for each in (slope, result.array)]
    wanted = getattr(torch.ops.aten, name)(*exact, 1, torch.float64)
    assert found.dtype is kind
    assert units_off(found, wanted, kind) <= 0.51


def test_three_matrices_of_one_size_are_multiplied_from_the_left() -> None:
    a, b, c = (Tensor(generator(name).normal(size=(6, 6)), AS_IS) for name in "abc")
    ours = adjoint.linalg.multi_dot([a, b, c])
    assert ours.tolist() == ((a @ b) @ c).tolist() != (a @ (b @ c)).tolist()
    d = (a + b).contiguous()
    assert adjoint.linalg.multi_dot([a, b, c, d]).tolist() == (a @ (b @ (c @ d))).tolist()
