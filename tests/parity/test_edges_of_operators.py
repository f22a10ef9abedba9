"""Odd arguments of operators: what PyTorch answers or refuses is answered or refused."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint.compat.torch as compat

KINDS = ("bool", "int32", "uint8", "float32", "complex64")
FACTORS = (True, False, 2, 2.5, 1.0, -2.7, 1e20, 1j)
INF, NAN = math.inf, math.nan


def square(torch: Any, kind: str) -> Any:
    """A matrix of two rows."""
    return torch.tensor([[1, 1], [0, 1]]).to(getattr(torch, kind))


WITH_FACTOR = {
    "add": lambda t, x, f: t.add(x, x, alpha=f),
    "add a number": lambda t, x, f: t.add(x, 3, alpha=f),
    "add to bools": lambda t, x, f: t.add(square(t, "bool"), x, alpha=f),
    "add_": lambda t, x, f: x.add_(x.clone(), alpha=f),
    "sub_": lambda t, x, f: x.sub_(x.clone(), alpha=f),
    "rsub": lambda t, x, f: t.rsub(x, x, alpha=f),
    "addcmul": lambda t, x, f: t.addcmul(x, x, x, value=f),
    "addcmul_": lambda t, x, f: x.addcmul_(x.clone(), x.clone(), value=f),
    "addmm alpha": lambda t, x, f: t.addmm(x, x, x, alpha=f),
    "addmm beta": lambda t, x, f: t.addmm(x, x, x, beta=f),
    "addmv": lambda t, x, f: t.addmv(x[0], x, x[0], alpha=f),
    "baddbmm": lambda t, x, f: t.baddbmm(x[None], x[None], x[None], beta=f),
    "addbmm": lambda t, x, f: t.addbmm(x, x[None], x[None], alpha=f),
    "addr alpha": lambda t, x, f: t.addr(x, x[0], x[0], alpha=f),
    "addr beta": lambda t, x, f: t.addr(x, x[0], x[0], beta=f),
    "index_add": lambda t, x, f: t.index_add(x, 0, t.tensor([1, 0]), x, alpha=f),
    "lerp": lambda t, x, f: t.lerp(x, x + x, f),
}


def outcome(torch: Any, call: Callable[[Any], Any]) -> Any:
    """Data types, shapes and values of what a call answers, or the class of its error."""
    try:
        answer = call(torch)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    several = answer if isinstance(answer, tuple | list) else [answer]
    return [
        (str(each.dtype).rpartition(".")[2], tuple(each.shape), each.tolist()) for each in several
    ]


def same(torch: Any, call: Callable[[Any], Any]) -> None:
    """The same answer or error on both sides, and a warning on both or none."""
    seen = []
    for library in (torch, compat):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = outcome(library, call)
        # Sums and products that overflow warn as NumPy's do.
        own = [each for each in caught if each.category is not RuntimeWarning]
        seen.append((found, bool(own)))
    (theirs, warned), (ours, warns) = seen
    assert warns == warned
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    for one, other in zip(ours, theirs, strict=True):
        assert one[:2] == other[:2]
        np.testing.assert_allclose(one[2], other[2], rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", WITH_FACTOR)
@pytest.mark.parametrize("kind", KINDS)
def test_factors_fit_the_result(torch: Any, name: str, kind: str) -> None:
    """A factor of a higher kind is refused, or cut off where PyTorch does; bools are for bools."""
    for factor in FACTORS:
        same(torch, lambda t, f=factor: WITH_FACTOR[name](t, square(t, kind), f))


WRITING = {
    "fill_": lambda t, x, v: x.fill_(v),
    "fill_diagonal_": lambda t, x, v: x.fill_diagonal_(v),
    "full": lambda t, x, v: t.full((2,), v, dtype=x.dtype),
    "index_fill": lambda t, x, v: x.index_fill(0, t.tensor([0]), v),
    "masked_fill": lambda t, x, v: x.masked_fill(x > 0, v),
    "pad": lambda t, x, v: t.nn.functional.pad(x, (1, 0), value=v),
    "scatter": lambda t, x, v: x.scatter(0, t.tensor([[0, 1]]), v),
    "setitem": lambda t, x, v: (x.__setitem__(0, v), x)[1:],
    "setitem of places": lambda t, x, v: (x.__setitem__(t.tensor([0]), v), x)[1:],
}


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("kind", ["int32", "uint8", "int64", "bool"])
def test_integers_are_not_written_what_they_cannot_hold(torch: Any, name: str, kind: str) -> None:
    """nan, infinities and floats beyond the limits are refused; others lose their fraction."""
    for value in (NAN, INF, 1e20, -1e20, -1.5, -3, 2.7, 300, 300.0):
        same(torch, lambda t, v=value: WRITING[name](t, square(t, kind), v))


RUNS = {
    "rows": ([3, 2], {"lengths": [2, 0, 1], "axis": 0}),
    "columns": ([3, 4], {"lengths": [[2, 0, 2], [1, 3, 0], [4, 0, 0]], "axis": 1}),
    "last columns": ([3, 4], {"lengths": [[2, 2], [1, 3], [4, 0]], "axis": -1}),
    "between offsets": ([3, 4], {"offsets": [[0, 2, 4], [1, 1, 3], [0, 4, 4]], "axis": 1}),
    "not all": ([3, 4], {"lengths": [[2, 1], [1, 0], [0, 3]], "axis": 1, "unsafe": True}),
    "in the middle": ([2, 3, 4], {"lengths": [[2, 1], [3, 0]], "axis": 1}),
}


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("initial", [None, 2.0, 5.0])
def test_runs_with_nans_and_ties(torch: Any, reduce: str, initial: float | None) -> None:
    """A nan has the gradient of its run, and what a run starts from takes none of a tie's."""

    def call(t: Any) -> Any:
        data = t.tensor([1.0, 2.0, NAN, 4.0, 5.0, 5.0, 5.0, 0.0, 3.0, NAN, NAN], requires_grad=True)
        lengths = t.tensor([2, 3, 0, 3, 1, 2])
        found = t.segment_reduce(data, reduce, lengths=lengths, initial=initial)
        return [found.detach(), *t.autograd.grad(found.sum(), data)]

    same(torch, call)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("name", RUNS)
def test_runs_along_any_axis(torch: Any, name: str, reduce: str) -> None:
    """The runs of every batch, with the gradient of their elements."""
    shape, options = RUNS[name]

    def call(t: Any) -> Any:
        data = t.arange(1.0, math.prod(shape) + 1).cos().reshape(shape).requires_grad_()
        given = {k: t.tensor(v) if isinstance(v, list) else v for k, v in options.items()}
        found = t.segment_reduce(data, reduce, **given)
        return [found.detach(), *t.autograd.grad(t.nan_to_num(found, 0.0, 0.0, 0.0).sum(), data)]

    same(torch, call)


SMALL = [1e-30 + 2e-30j, 1e-20j, 0.3 + 0.1j, 1e30 + 1e30j, -1 + 1e30j, -0.5 + 0.4j, -1.5 - 2j]
QUOTIENTS = {
    "floor_divide": lambda t, x, y: t.floor_divide(x, y),
    "fmod": lambda t, x, y: t.fmod(x, y),
    "remainder": lambda t, x, y: x % y,
    "trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_bools_have_no_whole_quotients(torch: Any, name: str) -> None:
    """Two bools are refused, a bool and a number are not."""
    for first in ([True, True], [3, 4]):
        for second in ([True, True], [True, False], [2.0, 3.0]):
            same(torch, lambda t, a=first, b=second: QUOTIENTS[name](t, t.tensor(a), t.tensor(b)))


@pytest.mark.parametrize("kind", ["int64", "uint8", "complex64", "float16"])
@pytest.mark.parametrize(
    "name", ["floor_divide_", "remainder_", "fmod_", "lt_", "ge_", "clamp_min_", "relu_", "add_"]
)
def test_changes_in_place_refuse_what_functions_do(torch: Any, name: str, kind: str) -> None:
    """Integers by 0, and an order of complex numbers."""
    for second in ([2, 1, 0], [2, 1, 1]):

        def call(t: Any, second: Any = second) -> Any:
            x, y = (t.tensor(each).to(getattr(t, kind)) for each in ([1, 5, -3], second))
            return getattr(x, name)(*() if name == "relu_" else (y,))

        same(torch, call)


ACTIVATIONS = """
    relu relu6 leaky_relu elu selu celu gelu softplus logsigmoid hardtanh hardswish hardsigmoid
    hardshrink softshrink rrelu silu mish
"""
ORDERED = {
    **{
        name: lambda t, x, name=name: getattr(t.nn.functional, name)(x)
        for name in ACTIVATIONS.split()
    },
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0.1, 0.0),
    "prelu": lambda t, x: t.nn.functional.prelu(x, x[:1, 0]),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x[None], 2),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x[None], 2, return_indices=True)[0],
    "adaptive_max_pool1d": lambda t, x: t.nn.functional.adaptive_max_pool1d(x[None], 1),
    "scatter_reduce": lambda t, x: x.scatter_reduce(0, t.zeros(4, 4).long(), x, "amin"),
    "searchsorted": lambda t, x: t.searchsorted(x, x),
    "soft_margin_loss": lambda t, x: t.nn.functional.soft_margin_loss(x, x),
}


@pytest.mark.parametrize("name", ORDERED)
def test_complex_numbers_have_no_order(torch: Any, name: str) -> None:
    """What compares numbers refuses complex ones, and what does not takes them."""
    for factor in (1 + 0.3j, 1.0):
        same(torch, lambda t, f=factor: ORDERED[name](t, (t.arange(16.0).view(4, 4) - 5) / 7 * f))


LONELY = {
    "polygamma as a method, by name": lambda t: t.ones(2).polygamma(n=1),
    "where as a method, by name": lambda t: t.ones(2).where(
        condition=t.tensor([True, False]), other=3
    ),
    "clamp_min of complex": lambda t: t.clamp_min(t.tensor([1j]), 0),
    "clamp_max of complex": lambda t: t.clamp_max(t.tensor([1j]), t.tensor([1j])),
    "foreach maximum of complex": lambda t: t._foreach_maximum([t.tensor([1j])], 1.0),
    "ldexp": lambda t: [
        t.ldexp(t.tensor(x), t.tensor(n))
        for x in ([1e-30, 0.0, INF, NAN, 3.0], [3e38, 1e-45, 1.0, -1.5, 7.0])
        for n in ([200, 300, -300, 2, -1000], [-260, 277, -149, 127, 10**6])
    ],
    "ldexp of doubles": lambda t: t.ldexp(
        t.tensor([1e-300, 5e-324, 1.5], dtype=t.float64), t.tensor([2000, 2097, -1074])
    ),
    "ldexp of halves": lambda t: t.ldexp(
        t.tensor([6e-8, 60000.0, 1.5], dtype=t.float16), t.tensor([39, -39, -24])
    ),
    "ldexp_": lambda t: t.tensor([1e-30, 0.0]).ldexp_(t.tensor([200, 300])),
    "ldexp by complex": lambda t: t.ldexp(t.tensor([1.0]), t.tensor([1j])),
    "ldexp by bools": lambda t: t.ldexp(t.tensor([1.0]), t.tensor([True])),
    "log1p": lambda t: t.log1p(t.tensor(SMALL, dtype=t.complex128)),
    "exp2": lambda t: t.exp2(t.tensor([complex(INF, 0), complex(-INF, 0), 1 + 2j])),
    "round": lambda t: t.round(t.tensor([1.5 + 1j])),
    "hash": lambda t: t.hash_tensor(t.tensor([[1, 2], [3, 4]]), None, keepdim=True),
    **{
        f"cond {shape} {p}": lambda t, s=shape, p=p: t.linalg.cond(t.ones(s), p)
        for shape in ((0, 0), (2, 0, 3), (0, 3, 2))
        for p in (None, 1, 2, -2, -INF, "fro", "nuc", 3)
    },
    "histc without a width": lambda t: t.histc(t.full((3,), t.finfo(t.float32).min), 4),
    "histc of the largest": lambda t: t.histc(t.full((3,), t.finfo(t.float64).max), 4).sum(),
    "histogram into other counts": lambda t: t.histogram(
        t.ones(2), 1, out=(t.zeros(1, dtype=t.float64), t.zeros(2))
    ),
    "histogram into other edges": lambda t: t.histogram(
        t.ones(2), 1, out=(t.zeros(1), t.zeros(2, dtype=t.float64))
    ),
    "cov of one sample": lambda t: t.cov(t.ones(3, 1)),
    "cov of little weight": lambda t: t.cov(t.ones(3, 2), aweights=t.tensor([0.0, 1.0])),
    "isclose of large integers": lambda t: t.isclose(
        t.tensor(2**53), t.tensor(2**53 + 1), rtol=0, atol=0
    ),
    "arange without room": lambda t: t.arange(2**62),
    "arange of a large float": lambda t: t.arange(0, 1e30),
    "nll_loss of a number": lambda t: t.nn.functional.nll_loss(
        t.ones(()), t.ones(1).long(), reduction="none"
    ),
    "sizes times a number": lambda t: t.ones(t.Size([1, 2]) * 2 + (3,) * t.Size([2]).numel()),
    "lstsq whose rank is full": lambda t: t.linalg.lstsq(
        t.tensor([[2.0, 1.0], [1.0, 0.5], [0.0, 3.0]]), t.ones(3, 2), rcond=0.9, driver="gels"
    )[:2],
    **{
        f"lstsq of low rank by {driver}": lambda t, d=driver: t.linalg.lstsq(
            t.ones(4, 3), t.arange(8.0).view(4, 2), driver=d
        )[1:3]
        for driver in ("gelsd", "gelss", "gelsy")
    },
    "cond of integers": lambda t: t.linalg.cond(t.ones(0, 0, dtype=t.int64)),
    "cond of a vector": lambda t: t.linalg.cond(t.ones(0)),
    "cond of complex": lambda t: t.linalg.cond(t.ones(0, 0, dtype=t.complex64)),
}


@pytest.mark.parametrize("name", LONELY)
def test_single_calls(torch: Any, name: str) -> None:
    """Each as PyTorch answers it."""
    same(torch, LONELY[name])


def test_ldexp_derives_by_powers_that_are_no_integers() -> None:
    """PyTorch's gradient computes 2 ** other in integers, where 2 ** 100 and 2 ** -3 are 0."""
    x = compat.tensor([1e-30, 2.0], requires_grad=True)
    compat.ldexp(x, compat.tensor([100, -3])).sum().backward()
    assert x.grad.tolist() == [2.0**100, 0.125]


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "eq", "matmul", "atan2", "rsub"])
def test_operands_have_the_names_of_numpy(torch: Any, name: str) -> None:
    """x1, x and a are the input, x2 is the other one."""
    for first in ("x1", "x", "a", "input"):
        for second in ("x2", "other"):
            given = {first: [1.0, 2.0], second: [3.0, 4.0]}
            same(torch, lambda t, g=given: getattr(t, name)(**{k: t.tensor(g[k]) for k in g}))
    same(torch, lambda t: t.add(x1=t.ones(2), input=t.ones(2), other=t.ones(2)))


@pytest.mark.parametrize("name", ["sum", "exp", "argmax", "flatten", "clone", "sort"])
def test_the_input_has_the_names_of_numpy(torch: Any, name: str) -> None:
    """Of functions of one tensor, too, those that are composed of others among them."""
    for word in ("x", "a", "x1"):
        same(torch, lambda t, w=word: [*tuple_of(getattr(t, name)(**{w: t.tensor([1.0, 0.5])}))])


def tuple_of(answer: Any) -> Any:
    """Several results, or one."""
    return answer if isinstance(answer, tuple) else (answer,)


@pytest.mark.parametrize(
    ("name", "option"),
    [("leaky_relu", "negative_slope"), ("elu", "alpha"), ("celu", "alpha")],
)
def test_negative_slopes_are_derived_in_place_too(torch: Any, name: str, option: str) -> None:
    """PyTorch's forms that change nothing give these gradients; those in place it refuses."""
    values = [-2.0, -0.1, 0.5, 3.0]
    x = compat.tensor(values, requires_grad=True)
    changed = getattr(compat.nn.functional, f"{name}_")(x * 1, **{option: -0.5})
    changed.sum().backward()
    t = torch.tensor(values, requires_grad=True)
    getattr(torch.nn.functional, name)(t, **{option: -0.5}).sum().backward()
    np.testing.assert_allclose(x.grad, t.grad, rtol=1e-6)


def test_numpy_decides_whether_overflows_are_warned_of() -> None:
    big = compat.tensor([3e38])
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert (big * 10).item() == np.inf
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (big * 10).item() == (big + big).item() == np.inf


OWN_MEMORY = {
    "repeat_interleave": lambda t, x: x.repeat_interleave(1),
    "repeat_interleave of rows": lambda t, x: t.repeat_interleave(x.reshape(2, 2), 1, 0),
    "repeat_interleave of a number": lambda t, x: x[:1].repeat_interleave(3),
    "histogram": lambda t, x: t.histogram(t.ones(3), x)[1],
}


@pytest.mark.parametrize("name", OWN_MEMORY)
def test_results_have_memory_of_their_own(torch: Any, name: str) -> None:
    """A change of the result leaves the argument as it is."""
    for library in (torch, compat):
        x = library.arange(4.0)
        OWN_MEMORY[name](library, x).add_(1)
        assert x.tolist() == [0, 1, 2, 3]


def plane(t: Any, kind: Any) -> Any:
    """An image of two channels, of any kind."""
    return t.arange(1, 33).reshape(1, 2, 4, 4).to(kind)


# What numbers of some kinds have no kernel for in PyTorch: b are bools, i integers, c complex.
NOT_FOR = {
    **{
        name: ("c", lambda t, x, n=name: getattr(t.nn.functional, n)(x))
        for name in [
            "relu",
            "relu6",
            "elu",
            "celu",
            "selu",
            "gelu",
            "leaky_relu",
            "hardtanh",
            "hardswish",
            "hardsigmoid",
            "hardshrink",
            "softshrink",
            "softplus",
            "logsigmoid",
        ]
    },
    **{
        name: ("c", lambda t, x, n=name: getattr(t, n)(x))
        for name in ["erf", "erfc", "digamma", "logit", "deg2rad", "rad2deg", "unique_consecutive"]
    },
    **{
        name: ("b", lambda t, x, n=name: getattr(t, n)(x))
        for name in ["abs", "ceil", "floor", "round", "trunc"]
    },
    "relu_": ("c", lambda t, x: t.relu_(x)),
    "relu of bools": ("b", lambda t, x: t.relu(x)),
    "floor_": ("b", lambda t, x: x.floor_()),
    "xlogy": ("c", lambda t, x: t.xlogy(x, x)),
    "clamp": ("b", lambda t, x: t.clamp(x, x, x)),
    "matmul": ("b", lambda t, x: x @ x),
    "dot": ("b", lambda t, x: t.dot(x[0, 0, 0], x[0, 0, 0])),
    "linear": ("b", lambda t, x: t.nn.functional.linear(x, x[0, 0])),
    "trace": ("b", lambda t, x: x[0, 0].trace()),
    "conv2d": ("b", lambda t, x: t.nn.functional.conv2d(x, x)),
    "reflect": ("b", lambda t, x: t.nn.functional.pad(x[0], (1, 1), mode="reflect")),
    "max_pool2d": ("bc", lambda t, x: t.nn.functional.max_pool2d(x, 2)),
    "avg_pool2d": ("bc", lambda t, x: t.nn.functional.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d": ("bci", lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2)),
    "interpolate": ("c", lambda t, x: t.nn.functional.interpolate(x, 3)),
    "layer_norm": ("bci", lambda t, x: t.nn.functional.layer_norm(x, (4,))),
    "group_norm": ("bci", lambda t, x: t.nn.functional.group_norm(x, 1)),
    "instance_norm": ("c", lambda t, x: t.nn.functional.instance_norm(x)),
    "batch_norm": ("ci", lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True)),
    "local_response_norm": ("bc", lambda t, x: t.nn.functional.local_response_norm(x, 2)),
    "glu": ("bci", lambda t, x: t.nn.functional.glu(x)),
    "mse_loss": ("ci", lambda t, x: t.nn.functional.mse_loss(x, x)),
    "huber_loss": ("ci", lambda t, x: t.nn.functional.huber_loss(x, x)),
    "kl_div": ("ci", lambda t, x: t.nn.functional.kl_div(x, x, reduction="sum")),
    "cross_entropy": ("ci", lambda t, x: t.nn.functional.cross_entropy(x[0, 0], t.arange(4))),
    "nll_loss": ("ci", lambda t, x: t.nn.functional.nll_loss(x[0, 0], t.arange(4))),
    "cosine_similarity": ("c", lambda t, x: t.nn.functional.cosine_similarity(x, x)),
    "cdist": ("ci", lambda t, x: t.cdist(x, x)),
    "amax": (
        "c",
        lambda t, x: t.scatter_reduce(x[0, 0], 0, t.tensor([[0]]), x[0, 0], "amax"),
    ),
    "mean": (
        "b",
        lambda t, x: t.scatter_reduce(x[0, 0], 0, t.tensor([[0]]), x[0, 0], "mean"),
    ),
}
LETTERS = {"b": "bool", "i": "int32", "c": "complex64"}


@pytest.mark.parametrize("name", NOT_FOR)
def test_kinds_that_functions_are_not_for(torch: Any, name: str) -> None:
    """Refused with an error of PyTorch's class; in floats they answer."""
    letters, call = NOT_FOR[name]
    for letter in letters:
        kind = LETTERS[letter]
        with pytest.raises(RuntimeError):
            call(torch, plane(torch, getattr(torch, kind)))
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call(compat, plane(compat, getattr(compat, kind)))
    call(compat, plane(compat, compat.float32) / 40)


def test_the_mean_of_complex_images(torch: Any) -> None:
    """Which one size of windows is, as is the margin of complex numbers."""
    for call in (
        lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
        lambda t, x: t.nn.functional.soft_margin_loss(x / 40, x / 40),
    ):
        ours, theirs = (call(t, plane(t, t.complex64)) for t in (compat, torch))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


SINGULAR = {
    "lu_factor": lambda t, x: t.linalg.lu_factor(x),
    "lu_factor_ex": lambda t, x: t.linalg.lu_factor_ex(x),
    "lu_factor_ex checked": lambda t, x: t.linalg.lu_factor_ex(x, check_errors=True),
    "linalg.lu": lambda t, x: t.linalg.lu(x),
    "lu_factor of a batch": lambda t, x: t.linalg.lu_factor(t.stack([t.eye(*x.shape), x])),
    "vmap": lambda t, x: t.vmap(t.linalg.lu_factor)(x[None]),
}


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3), (0, 0)])
def test_factors_of_singular_matrices(torch: Any, name: str, shape: Any) -> None:
    """lu_factor refuses them, the others answer."""
    same(torch, lambda t: SINGULAR[name](t, t.ones(*shape)))
    same(torch, lambda t: SINGULAR[name](t, t.eye(*shape)))


DRAWN = {
    "bernoulli": lambda t, x: t.bernoulli(x),
    "bernoulli p": lambda t, x: t.bernoulli(x, 1.0),
    "bernoulli_": lambda t, x: x.bernoulli_(1.0),
    "poisson": lambda t, x: t.poisson(x) * 0,
    "geometric_": lambda t, x: x.geometric_(0.5) * 0,
    "cauchy_": lambda t, x: x.cauchy_() * 0,
    "log_normal_": lambda t, x: x.log_normal_() * 0,
    "exponential_": lambda t, x: x.exponential_() * 0,
    "uniform_": lambda t, x: x.uniform_() * 0,
    "normal_": lambda t, x: x.normal_() * 0,
    "random_": lambda t, x: x.random_(1, 2),
    "randint": lambda t, x: t.randint(1, 2, (2,), dtype=x.dtype),
    "randint_like": lambda t, x: t.randint_like(x, 1, 2),
    "randperm": lambda t, x: t.randperm(1, dtype=x.dtype),
    "normal": lambda t, x: t.normal(x, 0.0),
    "normal of deviations": lambda t, x: t.normal(0.0, x) * 0,
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.5) * 0,
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("kind", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
def test_kinds_of_numbers_that_are_drawn(torch: Any, name: str, kind: str) -> None:
    """A sampler refuses what PyTorch's does: most complex numbers, and whole ones where not."""
    same(torch, lambda t: DRAWN[name](t, t.ones(2).to(getattr(t, kind))))


SPACED = {
    "both": lambda t, f: t.vmap(lambda a, b: f(a, b, 5))(t.arange(3.0), t.arange(3.0) + 4),
    "the end": lambda t, f: t.vmap(lambda b: f(1, b, 4))(t.arange(3.0)),
    "whole numbers": lambda t, f: t.vmap(lambda b: f(0, b, 4, dtype=t.int64))(t.arange(3.0)),
    "one": lambda t, f: t.vmap(lambda b: f(b, 2, 1))(t.arange(3.0)),
    "none": lambda t, f: t.vmap(lambda b: f(b, 2, 0, dtype=t.float64))(t.arange(3.0)),
    "a row": lambda t, f: f(t.tensor([1.0]), 3, 4),
}


@pytest.mark.parametrize("name", SPACED)
@pytest.mark.parametrize("function", ["linspace", "logspace"])
def test_spaced_numbers_between_tensors(torch: Any, name: str, function: str) -> None:
    """The ends may be a batch, and no rows."""
    same(torch, lambda t: SPACED[name](t, getattr(t, function)))


EXPANDED = {
    "fill_": lambda t, x: x.fill_(2),
    "fill_ by a tensor": lambda t, x: x.fill_(t.tensor(2.0)),
    "zeros": lambda t, x: t.zeros(3, 3, out=x),
    "ones": lambda t, x: t.ones(3, 3, out=x),
    "full": lambda t, x: t.full((3, 3), 2.0, out=x),
    "rand": lambda t, x: t.rand(3, 3, out=x),
    "copy_": lambda t, x: x.copy_(t.ones(3)),
    "bernoulli_": lambda t, x: x.bernoulli_(1.0),
    "masked_fill_": lambda t, x: x.masked_fill_(x > 1, 0.0),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_one_place_for_several_elements(torch: Any, name: str) -> None:
    """One number may be written to them; what may differ is refused, or warned of."""
    same(torch, lambda t: EXPANDED[name](t, t.arange(3.0).expand(3, 3)))


MASKED = {
    "itself": lambda t, x: x.masked_fill_(x, False),
    "turned": lambda t, x: x.T.masked_fill_(x, False),
    "shifted": lambda t, x: x[1:].masked_fill_(x[:-1], False),
    "a row": lambda t, x: x.masked_fill_(x[:1], False),
    "an element for a value": lambda t, x: x.masked_fill_(~x, x[1, 1]),
}


@pytest.mark.parametrize("name", MASKED)
def test_masks_that_lie_in_what_is_filled(torch: Any, name: str) -> None:
    """Read where they are written, or refused."""
    same(torch, lambda t: MASKED[name](t, t.tensor([[True, False], [True, True]])))


@pytest.mark.parametrize("kind", ["bool", "int32", "float16", "complex64"])
def test_numbers_of_numpy_as_factors_and_types(torch: Any, kind: str) -> None:
    """A float of NumPy's is a float: no factor of integers, and known to result_type."""
    for value in (np.int8(2), np.float16(2.5), np.float32(2.5)):
        same(torch, lambda t, v=value: t.add(square(t, kind), square(t, kind), alpha=v))
        same(torch, lambda t, v=value: t.zeros(1, dtype=t.result_type(square(t, kind), v)))


LAID_OUT = {
    "repeat": lambda t, x: x.repeat(1, 1, 1),
    "sort": lambda t, x: x.sort(1)[0],
    "places of sort": lambda t, x: x.sort(0)[1],
    "argsort": lambda t, x: x.argsort(2, descending=True),
    "msort": lambda t, x: x.msort(),
    "take": lambda t, x: x.take(t.arange(6).reshape(2, 3).T),
    "masked_select": lambda t, x: x.masked_select(x > 3),
    "dropout": lambda t, x: t.nn.functional.dropout(x) * 0,
    "dropout of repeated": lambda t, x: t.nn.functional.dropout(x[:1].expand(4, 2, 3)) * 0,
    "broadcast_tensors": lambda t, x: t.broadcast_tensors(x, x[:1])[1],
    "real": lambda t, x: x.cfloat().real,
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_how_results_lie_in_memory(torch: Any, name: str) -> None:
    """As PyTorch's, and views where PyTorch's are."""

    def facts(t: Any) -> Any:
        found = LAID_OUT[name](t, t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1))
        return found.stride(), found._is_view(), found.tolist()

    assert facts(compat) == facts(torch)


def test_what_changes_nothing_answers_the_tensor_itself(torch: Any) -> None:
    """The real part of real numbers, and the broadcast to a tensor's own shape."""
    for t in (compat, torch):
        x = t.ones(2, requires_grad=True)
        assert x.real is x is t.real(x)
        assert t.broadcast_tensors(x, x)[0] is x


REFUSED = {
    "linear, three dimensions": lambda t: t.nn.functional.linear(t.ones(2, 3), t.ones(2, 2, 3)),
    "linear, a number": lambda t: t.nn.functional.linear(t.ones(2, 3), t.tensor(1.0)),
    "index_copy_": lambda t: t.ones(3).index_copy_(0, t.tensor([0]), t.ones(1, 3)),
    "index_copy_, others": lambda t: t.ones(3, 3).index_copy_(0, t.tensor([0]), t.ones(1, 2)),
    "index_select of none": lambda t: t.ones(0, 3).index_select(0, t.tensor([0])),
    "index_select": lambda t: t.ones(2, 3).index_select(0, t.tensor([5])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_classes_of_refusals(torch: Any, name: str) -> None:
    same(torch, REFUSED[name])


@pytest.mark.parametrize("p", [2, 3, 0.5, 1, -2, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "complex64"])
def test_norms_of_one_element(torch: Any, p: Any, kind: str) -> None:
    """Its size, of which no power is taken that might overflow."""
    for value in (1e30, -1e-30):
        for dim in (None, 1):
            same(
                torch,
                lambda t, v=value, d=dim: t.linalg.vector_norm(
                    t.tensor([[v]]).to(getattr(t, kind)), p, d
                ),
            )
    x = compat.tensor([-1e30, -1e-30], requires_grad=True)
    compat.linalg.vector_norm(x[None], p, 0).sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("pad", [(3, -6), (2, -5), (-6, 3), (-5, 2), (-3, 3), (3, -4)])
def test_borders_of_which_more_than_the_image_is_cut(torch: Any, mode: str, pad: Any) -> None:
    same(torch, lambda t: t.nn.functional.pad(t.arange(8.0).view(2, 4), pad, mode=mode))


def test_infinite_logits_have_infinite_losses(torch: Any) -> None:
    """And NaN where they mean what the target says."""
    same(
        torch,
        lambda t: t.nn.functional.binary_cross_entropy_with_logits(
            t.full((3,), np.inf), t.tensor([0.0, 0.5, 1.0]), reduction="none"
        ),
    )


def gradient(t: Any, call: Callable[[Any, Any], Any], values: Any) -> Any:
    """What a function answers, and its gradient."""
    x = t.tensor(values, requires_grad=True)
    answer = call(t, x)
    answer.sum().backward()
    return answer.detach(), x.grad


@pytest.mark.parametrize("size", [1e25, 1e-25, 0.0])
def test_deviations_whose_squares_are_out_of_range(torch: Any, size: float) -> None:
    """They are computed in doubles, and their gradient is not lost."""
    values = [[size, -3 * size, 2 * size], [1.0, 2.0, 4.0]]
    for call in (lambda t, x: x.std(1), lambda t, x: t.std_mean(x[0])[0]):
        same(torch, lambda t, c=call: gradient(t, c, values))


NAN_SLOPES = {
    "huber_loss": lambda t, x: t.nn.functional.huber_loss(x, t.zeros(3)),
    "smooth_l1_loss": lambda t, x: t.nn.functional.smooth_l1_loss(t.zeros(3), x),
    "logit": lambda t, x: t.logit(x, eps=0.1),
}


@pytest.mark.parametrize("name", NAN_SLOPES)
def test_slopes_of_nan_are_nan(torch: Any, name: str) -> None:
    same(torch, lambda t: gradient(t, NAN_SLOPES[name], [np.nan, 0.5, 3.0]))


@pytest.mark.parametrize("kind", ["bool", "int64", "float16", "complex64"])
def test_kinds_of_chances(torch: Any, kind: str) -> None:
    """Floats; the real part of complex ones was taken in silence."""
    for shape in ((), (2,)):
        same(torch, lambda t, s=shape: t.ones(2).bernoulli_(t.ones(s).to(getattr(t, kind))))
    for p in (1j, [1.0], "1"):
        same(torch, lambda t, v=p: t.ones(2).bernoulli_(v))


@pytest.mark.parametrize("offset", [2**62, -(2**62), 2**31, 4, -4, 2])
def test_diagonals_far_away(torch: Any, offset: int) -> None:
    """They are empty."""
    same(torch, lambda t: t.ones(3, 4).diagonal(offset))
    same(torch, lambda t: t.diag(t.ones(3, 4), offset))
    same(torch, lambda t: gradient(t, lambda t, x: x.view(2, 2).diagonal(offset), [0.0] * 4))
