"""Single calls on tensors that answer, or refuse, what PyTorch's do: values, types and errors."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint

torch = pytest.importorskip("torch")


def shown(value: Any) -> Any:
    """A result that can be compared: type, shape and elements of tensors, in any structure."""
    if isinstance(value, tuple | list):
        return [shown(element) for element in value]
    if isinstance(value, adjoint.Tensor | torch.Tensor):
        kind = str(value.dtype).rpartition(".")[2]
        return kind, tuple(value.shape), np.round(np.array(value.tolist()), 5).tolist()
    return value


def outcome(call: Callable[[Any], Any], library: Any) -> Any:
    """What a call answers, or the type of its error: ours may be a narrower one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(call(library))
        except Exception as error:
            return type(error)


def changed(t: Any, change: Callable[[Any], None], *values: Any, **options: Any) -> Any:
    """A tensor after a statement that changes it."""
    tensor = t.tensor(list(values), **options)
    change(tensor)
    return tensor


def put(index: Any, value: Any) -> Callable[[Any], None]:
    """The statement tensor[index] = value."""
    return lambda tensor: tensor.__setitem__(index, value)


def part(name: str, value: Any) -> Callable[[Any], None]:
    """The statement tensor.name = value."""
    return lambda tensor: setattr(tensor, name, value)


def bytes_(t: Any, *values: int) -> Any:
    """A tensor of uint8."""
    return t.tensor(values, dtype=t.uint8)


def grid(t: Any) -> Any:
    """A tensor of shape (2, 3)."""
    return t.arange(6.0).reshape(2, 3)


def index_put(t: Any, tensor: Any, indices: Any, accumulate: bool = False) -> Any:
    """index_put with None for a whole dimension, which PyTorch takes in the operator only."""
    call = torch.ops.aten.index_put if t is torch else adjoint.Tensor.index_put
    return call(tensor, indices, t.tensor(9.0), accumulate)


def slopes(t: Any, function: Callable[..., Any], *values: Any) -> Any:
    """The gradients of a function's sum, by doubles."""
    leaves = [t.tensor(value, dtype=t.float64, requires_grad=True) for value in values]
    return t.autograd.grad(function(*leaves).sum(), leaves)


def sampled(t: Any, padding: str, align: bool) -> Any:
    """The slope of grid_sample where its places are on the border."""
    images = [[[[float(4 * row + column) for column in range(4)] for row in range(4)]]]
    places = [[[[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.3, 1.0]]]]

    def function(x: Any, grid: Any) -> Any:
        options = {"padding_mode": padding, "align_corners": align}
        return t.nn.functional.grid_sample(x, grid, **options)

    return slopes(t, function, images, places)


def ignored(t: Any, loss: str, **options: Any) -> Any:
    """A loss none of whose targets counts, and how it moves."""

    def function(x: Any) -> Any:
        return getattr(t.nn.functional, loss)(x, t.tensor([-100, -100]), **options)

    return t.func.jvp(function, (t.ones(2, 3),), (t.ones(2, 3),))


def resized(t: Any, mode: str, size: int) -> Any:
    """An image of bytes in another size."""
    image = t.arange(48, dtype=t.uint8).reshape(1, 3, 4, 4) * 5
    return t.nn.functional.interpolate(image, (size, size), mode=mode, align_corners=False)


BESSEL = (
    "airy_ai bessel_j0 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
)
POLYNOMIALS = (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w "
    "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
    "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
    "shifted_chebyshev_polynomial_w"
)


CASES: dict[str, list[Callable[[Any], Any]]] = {
    "numbers wrap around in operators of small integers": [
        lambda t: bytes_(t, 232, 1) == 1000,
        lambda t: bytes_(t, 1, 2) + 1000,
        lambda t: 1000 - bytes_(t, 1, 2),
        lambda t: bytes_(t, 1, 2) - (-1),
        lambda t: bytes_(t, 1, 2) * 1000,
        lambda t: bytes_(t, 1, 2).remainder(1000),
        lambda t: bytes_(t, 1, 2).floor_divide(1000),
        lambda t: bytes_(t, 1, 2) & 1001,
        lambda t: bytes_(t, 1, 2).add_(1000),
        lambda t: t.tensor([1, 2], dtype=t.int8) + 200,
        lambda t: t.tensor([1, 2], dtype=t.int32) + 2**40,
        lambda t: t.tensor([1, 2]) + 2**70,
    ],
    "numbers elsewhere must fit": [
        lambda t: bytes_(t, 1, 2) ** 1000,
        lambda t: bytes_(t, 1, 2).masked_fill(t.tensor([True, False]), 1000),
        lambda t: changed(t, put(0, 1000), 1, 2, dtype=t.uint8),
        lambda t: changed(t, put(0, -1), 1, 2, dtype=t.uint8),
        lambda t: bytes_(t, 1, 2).clamp(max=-1),
        lambda t: bytes_(t, 1, 2).clamp(max=300),
        lambda t: t.where(t.tensor([True, False]), bytes_(t, 1, 2), 300),
        lambda t: t.where(t.tensor([True, False]), bytes_(t, 1, 2), -1),
        lambda t: bytes_(t, 1, 2).fill_(300),
    ],
    "indices": [
        lambda t: grid(t)[bytes_(t, 0, 1)],
        lambda t: grid(t)[t.tensor(1, dtype=t.uint8)],
        lambda t: grid(t)[t.tensor(0, dtype=t.uint8)],
        lambda t: t.tensor(3.0)[t.tensor(1, dtype=t.uint8)],
        lambda t: t.arange(50.0)[[range(i, i + 3) for i in range(32)]],
        lambda t: t.arange(50.0)[[range(i, i + 3) for i in range(31)]],
        lambda t: index_put(t, grid(t), [None, t.tensor([0, 2])]),
        lambda t: index_put(t, grid(t)[None], [None, grid(t) > 2]),
        lambda t: index_put(t, grid(t), [None, t.tensor([0, 0])], True),
        lambda t: grid(t).take_along_dim(t.tensor([[0], [1]]), 1),
        lambda t: grid(t).take_along_dim(t.tensor([[0], [1]], dtype=t.int32), 1),
        lambda t: grid(t).take_along_dim(t.tensor([[True], [False]]), 1),
    ],
    "pieces": [
        lambda t: grid(t).narrow(1, t.tensor(1), 2),
        lambda t: grid(t).narrow(1, t.tensor(1, dtype=t.int32), 2),
        lambda t: grid(t).narrow(1, t.tensor([1]), 2),
        lambda t: grid(t).narrow(1, t.tensor(1.0), 2),
        lambda t: grid(t).narrow(1, 1.0, 2),
        lambda t: t.tensor_split(grid(t), t.tensor([1]), 1),
        lambda t: t.tensor_split(grid(t), t.tensor(1.5)),
        lambda t: t.tensor_split(grid(t), t.tensor([[1]])),
        lambda t: t.tensor_split(grid(t), bytes_(t, 1)),
        lambda t: t.tensor_split(grid(t), 1.5),
        lambda t: grid(t)[:, ::2].ravel().is_contiguous(),
        lambda t: t.ones(()).ravel(),
        lambda t: t.broadcast_shapes(1.5),
        lambda t: tuple(t.broadcast_shapes((2, 1), 3)),
    ],
    "joined and arranged": [
        *[
            lambda t, name=name: getattr(t, name)(t.ones(3))
            for name in ("hstack", "vstack", "dstack", "column_stack")
        ],
        lambda t: grid(t).roll((), ()),
        lambda t: t.repeat_interleave(t.ones(2, 2, dtype=t.int64)),
        lambda t: t.repeat_interleave(repeats=t.tensor([1, 0, 2])),
        lambda t: t.repeat_interleave(repeats=t.tensor([1, 0, 2]), output_size=3),
        lambda t: t.repeat_interleave(),
        lambda t: t.meshgrid(),
    ],
    "complex numbers": [
        lambda t: changed(t, part("real", 3.0), 1j, 2j),
        lambda t: changed(t, part("imag", t.tensor([3.0, 4.0])), 1j, 2j),
        lambda t: changed(t, part("real", t.tensor([3.0, 4.0])), 1.0, 2.0),
        lambda t: changed(t, part("imag", 1.0), 1.0, 2.0),
        lambda t: changed(t, part("T", 1.0), 1.0, 2.0),
        lambda t: t.view_as_complex(t.ones(2, 4).T),
        lambda t: t.polar(t.ones(2, dtype=t.int32), t.ones(2, dtype=t.int32)),
        lambda t: t.polar(t.ones(2), t.zeros(2)),
        lambda t: float(t.tensor(1j)),
        lambda t: int(t.tensor(1j)),
        lambda t: complex(t.tensor(1j)),
        lambda t: t.linspace(0, 1j, 3, dtype=t.float32),
        lambda t: t.floor(t.tensor([1j])),
    ],
    "out= of another type": [
        *[
            lambda t, name=name, kind=kind: getattr(t, name)(
                t.tensor([1.5, 2.5]), out=t.empty(2, dtype=getattr(t, kind))
            )
            for name in ("neg", "floor", "ceil", "round", "trunc", "frac", "sign", "sin", "sqrt")
            for kind in ("float32", "float64", "complex64")
        ],
        lambda t: t.nonzero(t.ones(2), out=t.empty(0)),
        lambda t: t.nonzero(t.ones(2), out=t.empty(0, dtype=t.int64)),
        lambda t: t.all(grid(t), 0, out=t.empty(3)),
        lambda t: t.all(grid(t) > 0, 0, out=t.empty(3, dtype=t.uint8)),
        lambda t: t.max(grid(t), 0, out=(t.empty(3), t.empty(3))),
        lambda t: t.max(grid(t), 0, out=(t.empty(3), t.empty(3, dtype=t.int64))),
        lambda t: t.cumsum(grid(t), 0, dtype=t.float64, out=t.empty(2, 3)),
        lambda t: t.sum(bytes_(t, 1, 2), 0, out=t.empty((), dtype=t.uint8)),
    ],
    "rows of numbers into out= of another shape": [
        lambda t: changed(t, lambda x: t.arange(4, out=x[:, 1:]), [0, 0, 0], [0, 0, 0]),
        lambda t: changed(t, lambda x: t.linspace(0, 3, 4, out=x[:, 1:]), [0.0] * 3, [0.0] * 3),
        lambda t: changed(t, lambda x: t.logspace(0, 3, 4, out=x[:, 1:]), [0.0] * 3, [0.0] * 3),
        lambda t: changed(t, lambda x: t.range(0, 3, out=x[:, 1:]), [0.0] * 3, [0.0] * 3),
    ],
    "made of sizes and ranges": [
        lambda t: tuple(t.randint(3, size=(2, 1)).shape),
        lambda t: tuple(t.randint(1, 3, size=(2, 1)).shape),
        lambda t: t.randint(1, 3, (2, 1), size=(2, 1)),
        lambda t: t.empty(2, 4, 2**29, 2**29, dtype=t.float64),
        lambda t: t.empty(2).uniform_(-3e38, 3e38),
    ],
    "made of buffers": [
        lambda t: t.frombuffer(bytearray(b"\x01\x02"), dtype=t.uint8),
        lambda t: t.frombuffer(bytearray(), dtype=t.uint8),
        lambda t: t.frombuffer(bytearray(b"\x01\x02"), dtype=t.uint8, count=0),
        lambda t: t.frombuffer([1, 2], dtype=t.uint8),
        lambda t: (
            t.asarray(t.utils.dlpack.to_dlpack(t.ones(2)))
            if t is torch
            else t.asarray(t.to_dlpack(t.ones(2)))
        ),
        lambda t: t.asarray(np.float64(0.5), copy=False),
        lambda t: t.asarray(np.float64(0.5)),
    ],
    "operators that know nothing of the other": [
        *[
            lambda t, name=name: getattr(t.ones(2, dtype=t.int64), f"__i{name}__")(object())
            for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "lshift")
        ],
        lambda t: 3 in t.tensor([1, 2, 3]),
        lambda t: "a" in t.tensor([1, 2, 3]),
        lambda t: None in t.tensor([1, 2, 3]),
        lambda t: reversed(grid(t)),
        lambda t: reversed(t.tensor(1)),
    ],
    "digits": [
        lambda t: t.float_power(t.tensor([2.5]), 1.1),
        lambda t: t.float_power(2, t.tensor([3])),
        lambda t: t.hardshrink(t.tensor([1, 0.5, 0.3, 0.6], dtype=t.bfloat16), 0.3),
        lambda t: t.nan_to_num(t.tensor([float("inf"), float("nan")], dtype=t.bfloat16)),
        lambda t: t.heaviside(t.tensor([1j]), t.tensor([1j])),
        lambda t: t.tensor([3, 4]).mvlgamma_(1),
        lambda t: t.tensor([3.0, 4.0]).mvlgamma_(1),
    ],
    "matrices": [
        lambda t: t.addmm(*[t.ones(2, 2, dtype=t.bfloat16)] * 3, beta=0.5, alpha=0.2),
        lambda t: t.addmv(
            t.ones(2, dtype=t.bfloat16), t.ones(2, 2, dtype=t.bfloat16), t.ones(2, dtype=t.bfloat16)
        ),
        lambda t: t.ones(2, 3).triu(-(2**63)),
        lambda t: t.ones(2, 3).tril(2**62),
        lambda t: t.ones(2, 3).tril(-1),
        lambda t: t.linalg.lu_factor_ex(t.tensor([[1.0, 2.0], [3.0, 4.0]])),
        lambda t: t.linalg.lu_factor_ex(t.zeros(2, 2)),
        lambda t: t.linalg.lu_factor_ex(t.zeros(2, 2), check_errors=True),
        lambda t: t.linalg.inv_ex(t.eye(2), out=(t.empty(0), t.empty(0, dtype=t.int32))).inverse,
        lambda t: t.max(grid(t), 0, out=(t.empty(0), t.empty(0, dtype=t.int64))).indices,
    ],
    "values": [
        lambda t: slopes(
            t, lambda v: t.index_fill(v * 0, 0, t.tensor([0, 0, 1]), v[1]), [1.0, 2.0]
        ),
        *[
            lambda t, p=padding, a=align: sampled(t, p, a)
            for padding in ("zeros", "border", "reflection")
            for align in (True, False)
        ],
        lambda t: t.nn.functional.rms_norm(t.tensor([[1 + 2j, 3 - 1j, 0.5j]]), (3,)),
        lambda t: t.sgn(t.tensor([0, 3, 255], dtype=t.uint8)),
        lambda t: t.sign(t.tensor([float("nan"), 2.0])),
        lambda t: t.lgamma(t.tensor([float("-inf"), float("inf")])),
        lambda t: t.arange(3.1, dtype=t.int32),
        *[
            lambda t, m=mode, n=size: resized(t, m, n)
            for mode in ("bilinear", "bicubic")
            for size in (3, 7)
        ],
        lambda t: t.arange(10.0)[3:].detach().as_strided((2,), (1,)),
        lambda t: t.arange(10.0)[3:].detach().as_strided((2,), (1,), 1),
        lambda t: t.tensor([[True, True], [False, True]]).sum_to_size(1, 2),
        lambda t: ignored(t, "cross_entropy"),
        lambda t: ignored(t, "nll_loss"),
        lambda t: ignored(t, "cross_entropy", weight=t.ones(3)),
        lambda t: t.histc(t.tensor([-2.703125], dtype=t.float16), 100, -10, 0),
        lambda t: t.histogramdd(t.tensor([[0.0], [2.5]]), [t.tensor([1.0, 3.0, 2.0])]).hist,
    ],
    "accepted": [
        lambda t: t.polygamma(1, t.tensor([1.0, 2.0]), out=t.empty(2)),
        lambda t: t.where(t.tensor([True]), t.ones(1), t.zeros(1), out=t.empty(1)),
        lambda t: t.tensor(2.0).index_reduce(0, t.tensor(0), t.tensor(3.0), "prod"),
        lambda t: t.zeros(2, 3).addbmm_(t.ones(2, 1, 2), t.ones(2, 2, 3)),
        lambda t: [t.add(2, 3), t.mul(2, 3.5), t.sub(2, 1)],
        lambda t: [t.div(-7, 2, rounding_mode=mode) for mode in (None, "floor", "trunc")],
        lambda t: [t.div(7.5, 2, rounding_mode=mode) for mode in ("floor", "trunc")],
        lambda t: t.searchsorted(t.tensor([]), t.tensor([1.0, 2.0])),
        lambda t: t.searchsorted(t.tensor([1.0]), t.tensor([])),
        lambda t: t.take_along_dim(t.tensor([[1, 2], [3, 4]]), t.tensor([[-1, 0]]), 1),
        lambda t: t.nn.functional.batch_norm(t.zeros(0, 3), t.zeros(3), t.ones(3), training=True),
        lambda t: t.nn.functional.batch_norm(t.zeros(0, 3, 2, 2), t.zeros(3), t.ones(3)),
        lambda t: t.nn.functional.avg_pool2d(t.ones(1, 1, 4, 4), 2, stride=()),
        *[
            lambda t, s=shape: t.nn.functional.gaussian_nll_loss(
                t.ones(4, 3), t.zeros(4, 3), t.full(s, 2.0)
            )
            for shape in ((4, 3), (4, 1), (1, 3), (4,), (3,), (1, 1), ())
        ],
        lambda t: [t.tensor(2) ** t.tensor(-2), t.tensor([1, -1, 2, 0]) ** t.tensor(-2)],
        lambda t: t.Tensor.polygamma(t.tensor([1.0]), 1),
        lambda t: t.bernoulli(t.tensor([1.0, 0.0]), out=t.zeros(2, dtype=t.int64)),
        lambda t: t.diff(t.tensor([True, False]), out=t.zeros(1)),
        lambda t: t.inner(t.tensor(2.0), t.tensor([3.0]), out=t.zeros(1, dtype=t.float64)),
        lambda t: t.lu(t.eye(2), out=(t.zeros(2, 2, dtype=t.int64), t.zeros(2))),
    ],
    "refused": [
        lambda t: t.tensor([1, 2]).masked_fill(t.tensor([True, False]), 1j),
        lambda t: t.stft(t.ones(8), 4, window=t.ones(4).half(), return_complex=True),
        lambda t: changed(t, lambda x: t.add(x[:-1], 1, out=x[1:]), 0.0, 1.0, 2.0),
        lambda t: changed(t, lambda x: t.sin(x, out=x), 0.0, 1.0, 2.0),
        lambda t: t.sin(2.0),
        lambda t: t.add("a", t.ones(2)),
        lambda t: t.mm(2.0, t.ones(2, 2)),
        lambda t: t.atleast_1d("a"),
        lambda t: t.nn.functional.pad([1, 2], (1, 1)),
        lambda t: t.zeros(3).index_put((t.tensor([0]),), t.ones(1, dtype=t.float64)),
        lambda t: t.nn.functional.batch_norm(t.ones(3, 2), None, None, training=True, eps=0.0),
        lambda t: t.nn.functional.batch_norm(t.ones(3, 2), t.zeros(2), t.ones(2), eps=-1.0),
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.zeros(2, 3), ignore_index=1),
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.zeros(2, 1)),
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.zeros(3, 3)),
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3, 4), t.zeros(2, 3, dtype=t.int64)),
        lambda t: t.nn.HuberLoss(delta=1j),
        lambda t: t.nn.LSTMCell(4, 3)(t.ones(2, 4), (t.ones(1, 2, 3),) * 2),
        lambda t: t.nansum(t.ones(2), out=t.zeros((), dtype=t.int64)),
        lambda t: t.normal(t.ones(2, 3), 1.0, out=t.zeros(0)),
        lambda t: t.nonzero(t.ones(2), as_tuple=True, out=t.zeros(0, dtype=t.int64)),
        lambda t: t.narrow_copy(t.ones(2), 1, 0, 1),
        lambda t: t.hash_tensor(t.zeros(0)),
        lambda t: t.hash_tensor(t.zeros(0, 2), 0),
        lambda t: t.linalg.ldl_factor(t.ones(2, 3)),
        lambda t: t.linalg.ldl_solve(t.eye(2), t.ones(2), t.ones(2, 1)),
        lambda t: t.linalg.ldl_solve(t.eye(2), t.ones(2, dtype=t.int32), t.ones(3, 1)),
    ],
    "once missing": [
        lambda t: [getattr(t.special, name)(t.tensor([0.5])) for name in BESSEL.split()],
        lambda t: [getattr(t.special, name)(t.tensor([0.5]), 3) for name in POLYNOMIALS.split()],
        lambda t: t.linalg.vander(t.tensor([1.0, 2.0, 3.0])),
        lambda t: t.empty_permuted((2, 3), (1, 0)).stride(),
        lambda t: t.embedding_bag(t.ones(3, 2), t.tensor([0, 1, 2]), t.tensor([0, 1]))[0],
        lambda t: [t.unsafe_chunk(t.ones(4), 2), t.unsafe_split(t.ones(4), 2)],
        lambda t: t.cat([t.ones(2, 3).t(), t.ones(2, 3).t()]).view(-1),
        lambda t: t.stack([t.ones(2, 3).t(), t.ones(2, 3).t()]).view(-1),
        lambda t: t.ones(2, 3, 4).transpose(0, 2).sum(1).view(-1),
        lambda t: t.hash_tensor(t.arange(6.0).reshape(2, 3), 1, keepdim=True),
        lambda t: t.linalg.ldl_factor_ex(t.tensor([[0.0, 1.0], [1.0, 0.0]])),
    ],
    "statistics": [
        lambda t: t.cov(grid(t)[:1]),
        lambda t: t.cov(grid(t)),
        lambda t: t.corrcoef(grid(t)[:1]),
        lambda t: t.histc(t.ones(3, dtype=t.int32), 4, 5, 1),
        lambda t: t.histc(t.ones(3), 4, 5, 1),
        lambda t: t.bincount(t.ones(3)),
        lambda t: t.var(t.ones(3), correction=5),
    ],
}


@pytest.mark.parametrize("topic", CASES)
def test_calls(topic: str) -> None:
    """Every call of a topic does what PyTorch's does."""
    for number, call in enumerate(CASES[topic]):
        ours, theirs = outcome(call, adjoint), outcome(call, torch)
        if isinstance(theirs, type) and isinstance(ours, type):
            assert issubclass(ours, theirs) or issubclass(theirs, ours), (number, ours, theirs)
        elif theirs != theirs or ours != theirs:
            assert str(ours) == str(theirs), (number, ours, theirs)


WARNINGS: list[Callable[[Any], Any]] = [
    lambda t: grid(t)[bytes_(t, 0, 1)],
    lambda t: t.var(t.ones(1)),
    lambda t: t.std_mean(t.ones(3), correction=3),
    lambda t: t.frombuffer(b"\x01", dtype=t.uint8),
    lambda t: t.add(t.ones(2), 1, out=t.ones(3)),
]


@pytest.mark.parametrize("number", range(len(WARNINGS)))
def test_warnings(number: int) -> None:
    """What PyTorch warns of, adjoint warns of: each time, where PyTorch does so once."""
    with pytest.warns(UserWarning):
        WARNINGS[number](adjoint)


def test_the_slope_of_sinc_is_finite() -> None:
    """At 0, and so near to it that the square vanishes."""
    x = adjoint.tensor([0.0, 1e-200, 0.5], dtype=adjoint.float64, requires_grad=True)
    adjoint.sinc(x).sum().backward()
    theirs = torch.tensor([0.0, 1e-200, 0.5], dtype=torch.float64, requires_grad=True)
    torch.sinc(theirs).sum().backward()
    assert np.allclose(x.grad.tolist(), theirs.grad.tolist())


def test_gradients_of_pairs_in_any_layout() -> None:
    """An expanded or transposed gradient of view_as_real is joined to complex numbers."""
    for library in (adjoint, torch):
        z = library.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        library.view_as_real(z).transpose(0, 1).sum().backward()
        assert z.grad.tolist() == [1 + 1j, 1 + 1j]


def test_products_bend_where_two_factors_are_zero() -> None:
    """The slope of x[0] x[1] x[2] along (1, 2, 3) bends by what is left; PyTorch has none there."""
    places, start = adjoint.tensor([0, 0, 0, 1]), adjoint.ones(2, dtype=adjoint.float64)
    for product in (
        lambda x: start.scatter_reduce(0, places, x, "prod"),
        lambda x: start.scatter_reduce(0, places, x, "prod", include_self=False),
        lambda x: start.index_reduce(0, places, x, "prod"),
    ):
        x = adjoint.tensor([0.0, 0.0, 3.0, 2.0], dtype=adjoint.float64, requires_grad=True)
        (slope,) = adjoint.autograd.grad(product(x).sum(), x, create_graph=True)
        along = (slope * adjoint.tensor([1.0, 2.0, 3.0, 4.0])).sum()
        assert adjoint.autograd.grad(along, x)[0].tolist() == [6.0, 3.0, 0.0, 0.0]
