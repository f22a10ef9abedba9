"""What expressions that PyTorch's own tests try answer, or the type of the error that they raise.

Values, data types, shapes and strides are PyTorch's; the words of an error are adjoint's own.
"""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint.compat.torch as compat

INDICES = """
x.index_copy(0, i32, o); x.index_copy(0, i16, o); x.index_add(0, u8, o); x.index_add(0, i32, o)
x.index_select(0, u8); x.index_reduce(0, i16, o, "prod"); x.gather(0, i16); x.gather(0, i32)
x.scatter(0, i16, 2.0); x.scatter_reduce(0, i16, o, "prod"); x.take(i32); x.put(i32, o); x.take(i)
x[i16]; x[i, i16]; x[i16[0]]; x[np.array([1], np.int16)]; x.index_put((i16,), o); x[[i16, i16]]
x.index_fill(0, i32, 2); x.index_fill(0, i.reshape(1, 1), 2); x.index_fill(0, i, 1j)
(x > 1).index_fill(0, i, 1j); (x > 1).index_fill(0, i, 2.5); x.index_add(0, i + 2, o)
x.index_add(0, i - 2, o); m.index_add(0, i + 5, m[:1])
t.ones(0, 3).index_select(1, i + 4); t.ones(2, 0).index_select(0, i + 4); m.index_select(0, i + 4)
t.ones(0).index_select(0, i); t.where(u8 == 1, o, 2.0); t.where(u8, o, 2.0)
t.repeat_interleave(i32); t.repeat_interleave(i16); t.repeat_interleave(x, i16)
t.ops.aten.index.Tensor(x, []); put(x, True, i); put(x, False, i); put(x, (True, 0), i)
t.ones(4).index_put_((t.tensor([0, -1, 0]),), t.ones(3), accumulate=True)
t.ones(4).index_put_((t.tensor([0, -1, 4]),), t.ones(3), accumulate=True)
s.index_select(0, t.tensor([-1, 0])).to_dense(); s.index_select(1, t.tensor([2, -1, 0])).to_dense()
s.index_select(0, i + 4); s.index_select(0, i - 9); s.index_select(0, i32); s.unsqueeze(-4)
s.unsqueeze(3); s.unsqueeze(-3).to_dense(); s._coalesced_(False).is_coalesced()
t.sparse_coo_tensor([[0]], [1.0], (2,))._coalesced_(False).is_coalesced()
"""

SPARSE = """
t.empty_like(s, layout=t.sparse_csr).layout; t.empty_like(s.to_sparse_csr(), layout=t.sparse_csc)
t.zeros_like(s.to_sparse_csr(), layout=t.strided); t.zeros_like(s, layout=t.strided)
t.zeros_like(s, memory_format=t.preserve_format); t.zeros_like(s, device="meta").device
t.zeros_like(s, dtype=t.float64).to_dense(); t.from_numpy(np.ones(9).view(np.uint8)[3:3].view("f4"))
t.from_numpy(np.lib.stride_tricks.as_strided(np.ones(9), (3,), (12,)))
"""

MAKING = """
t.block_diag(); t.randint(0.5, size=(2,)); t.randint(5.0, size=(2,)); t.randint(True, size=(2,))
t.randint(5, 1.5, size=(2,)); t.randint(high=t.tensor(5), size=(2,)).dtype
t.zeros(2, out=t.empty(2), layout=t.sparse_coo); t.zeros(2, out=t.empty(2), device="meta")
t.tensor([math.nan, 0, 2**63 - 1, -(2**63) - 1], dtype=t.bool); t.tensor([0, 2**63])
t.tensor([-1, 2**63])
t.tensor([1, 2**63 + 1], dtype=t.uint64); t.tensor([0, 2**64], dtype=t.float32)
t.tensor([0, 2**63], dtype=t.int8); t.empty(2, dtype=t.float16).random_(0, 70000)
t.empty(2, dtype=t.float16).random_(2999, 3000); t.empty(2, dtype=t.float16).random_(2999, 3001)
t.empty(2).random_(2**30 + 1, 2**30 + 2); t.randint(0, 70000, (2,), dtype=t.float16)
t.int32.to_complex(); t.bool.to_complex(); t.float16.to_complex(); t.set_num_threads(2**63)
t.empty(1, 2).dim_order(ambiguity_check="x")
"""

NUMBERS = """
x.add(x, alpha=t.tensor(2.0)); x.add(x, alpha=t.tensor([2.0])); x.add(x, alpha=wanted())
x.clone().add_(x, alpha=wanted()); m.addmm(m, m, beta=wanted()); m.addmm(m, m, beta=t.tensor(2.0))
m.addcmul(m, m, value=wanted()); m.addcdiv(m, m, value=t.tensor([2.0]))
x.masked_fill(x > 1, wanted())
t.nn.functional.elu(x, alpha=wanted()); t.trapezoid(m, dx=1j); t.cumulative_trapezoid(m, dx=1j)
t._foreach_addcmul([x], [x], [x], t.tensor(2.0))
t._foreach_addcmul([x], [x], [x], value=t.tensor(2.0))
t._foreach_addcmul([x], [x], [x], t.tensor([2.0])); t._foreach_mul([x], t.tensor([2.0]))
t._foreach_mul([x], t.tensor(2.0)); t.linalg.householder_product(m, t.ones(2, dtype=t.int32))
t.linalg.pinv(m, rtol=t.tensor(1j)); t.linalg.matrix_rank(m, tol=t.tensor(1j))
t.linalg.lstsq(t.full((1, 1), 2.0), t.ones(1, 1), rcond=1.0, driver="gelsd")[0]
t.linalg.lstsq(t.full((1, 1), 2.0), t.ones(1, 1), rcond=1.0, driver="gelss")[0]
t.isposinf(o, out=t.empty(1, dtype=t.uint8)); t.signbit(o, out=t.empty(1, dtype=t.uint8))
t.all(o, out=t.empty(1, dtype=t.uint8)); t.special.zeta(x, m[0]); t.special.i1e(x) > 0; t.stack([])
t.cat([])
"""

RESULTS = """
t.nonzero(m); t.nonzero(m, out=none.long()); m.nonzero(as_tuple=True); t.where(m > 2); t.argwhere(o)
t.sqrt(m.mT, out=none); t.add(m[0], m.mT, out=none); t.mul(images, images, out=none)
t.matmul(m.mT, m, out=none); t.permute_copy(m, (1, 0), out=none)
t.histogram(o, 3, range=(0.0, 1.0))[1]; t.histogram(o.double(), 7, range=(0.0, 1.0))[1]
t.histogram(o, 20, range=(-3.0, 1.0))[1]; t.histogramdd(t.ones(5, 0), [])[0]
t.histogramdd(t.ones(5, 0), [], density=True)[0]; t.logaddexp(ends, ends)
t.logaddexp(ends, ends + 1j); t.logaddexp(ends, ends.flip(0)); t.logcumsumexp(ends[:3], 0)
t.logcumsumexp(ends[3:5], 0)
"""


def lines(text: str) -> list[str]:
    return [each for each in text.replace("\n", ";").split(";") if each.strip()]


def put(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target


def names(lib: Any) -> dict[str, Any]:
    """What an expression can refer to, made anew for each."""
    inf = math.inf
    ends = [complex(-inf, 4), complex(-inf, 1), 1.2 + 2.1j, complex(inf, 0), complex(inf, 1)]
    ends += [complex(math.nan, 2), complex(1, math.nan), complex(-inf, inf)]
    return {
        "t": lib,
        "np": np,
        "math": math,
        "put": put,
        "x": lib.tensor([1.0, 2.0, 3.0]),
        "o": lib.tensor([2.0]),
        "m": lib.tensor([[1.0, 2.0], [3.0, 5.0]]),
        "i": lib.tensor([1]),
        "i32": lib.tensor([1], dtype=lib.int32),
        "i16": lib.tensor([1], dtype=lib.int16),
        "u8": lib.tensor([1], dtype=lib.uint8),
        "s": lib.sparse_coo_tensor([[0, 1, 2], [1, 0, 2]], [1.0, 2.0, 4.0], (3, 3)).coalesce(),
        "none": lib.empty(0),
        "wanted": lambda: lib.tensor(2.0, requires_grad=True),
        "images": lib.ones(2, 3, 4, 5).contiguous(memory_format=lib.channels_last),
        "ends": lib.tensor(ends, dtype=lib.complex128),
    }


def plain(result: Any) -> Any:
    """A result that can be compared; NaN is equal to itself."""
    if isinstance(result, (tuple, list)):
        return [plain(part) for part in result]
    if not hasattr(result, "stride"):
        return str(result).rpartition(".")[2]
    kind = str(result.dtype).rpartition(".")[2]
    return (tuple(result.shape), result.stride(), kind, str(result.tolist()))


def outcome(lib: Any, expression: str) -> Any:
    """The plain result, or the type of the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(expression.strip(), names(lib)))
        except Exception as error:
            return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


@pytest.mark.parametrize("expression", lines(INDICES + SPARSE + MAKING + NUMBERS + RESULTS))
def test_as_pytorch(torch: Any, expression: str) -> None:
    assert outcome(compat, expression) == outcome(torch, expression)


@pytest.mark.parametrize("kind", ["bool", "uint8", "uint16", "float16", "float32"])
def test_numbers_for_tests_are_brought_to_what_a_type_can_hold(torch: Any, kind: str) -> None:
    bounds = [(-9, 9), (300, 400), (-9, -2), (5, 5), (math.nan, 1), (-math.inf, math.inf)]
    for low, high in bounds:
        found = []
        for lib in (compat, torch):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    options = {"dtype": getattr(lib, kind), "device": "cpu"}
                    made = lib.testing.make_tensor(300, low=low, high=high, **options).double()
                    found.append(bool(made.isfinite().all() and (made.max() <= high).all()))
                except (ValueError, OverflowError) as error:
                    found.append(type(error))
        assert found[0] == found[1], (low, high)


def test_half_precision_draws_no_integer_outside_its_bounds(torch: Any) -> None:
    """An integer that a type does not have is rounded, but not up to the bound itself."""
    for lib in (compat, torch):
        with pytest.warns(UserWarning):
            drawn = lib.empty(2000, dtype=lib.float16).random_(0, 2999)
        assert drawn.max() < 2999


class Exporter:
    """An object that knows the older protocol of DLPack alone."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        return self.tensor.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()


EXCHANGES = {
    "an array": lambda t: t.from_dlpack(np.ones(2)),
    "a copy": lambda t: t.from_dlpack(np.ones(2), copy=True),
    "a device": lambda t: t.from_dlpack(np.ones(2), device="cpu", copy=False),
    "no memory": lambda t: t.from_dlpack(np.ones(2), device="meta"),
    "an exporter": lambda t: t.as_tensor(Exporter(t.ones(2, 3).t())),
    "a number": lambda t: t.from_dlpack(Exporter(t.tensor(3))),
    "history": lambda t: t.from_dlpack(t.ones(2, requires_grad=True)),
    "sparse": lambda t: t.ones(2, 2).to_sparse().__dlpack__(),
    "a stream": lambda t: t.ones(2).__dlpack__(stream=0),
    "no stream": lambda t: t.ones(2).__dlpack__(stream=object()),
    "an old one": lambda t: t.ones(2).__dlpack__(stream=-1) is None,
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_exchanges_of_memory(torch: Any, name: str) -> None:
    found = []
    for lib in (compat, torch):
        try:
            found.append(plain(EXCHANGES[name](lib)))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


def test_memory_of_others_may_be_written(torch: Any) -> None:
    for lib in (compat, torch):
        for export in (lib.utils.dlpack.to_dlpack, Exporter):
            owner = lib.zeros(3)
            seen = lib.from_dlpack(export(owner))
            seen[0] = 5.0
            assert owner.tolist() == [5.0, 0.0, 0.0]
            del owner
            assert seen.tolist() == [5.0, 0.0, 0.0]


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3])
def test_tangents_of_renorm_in_place(torch: Any, p: float) -> None:
    found = []
    for lib in (compat, torch):
        values = lib.arange(12.0, dtype=lib.float64).reshape(3, 4) - 5
        with lib.autograd.forward_ad.dual_level():
            dual = lib.autograd.forward_ad.make_dual(values, values.cos()) * 1
            dual.renorm_(p, 0, 3.0)
            found.append(lib.autograd.forward_ad.unpack_dual(dual).tangent.numpy())
    assert np.allclose(*found)


@pytest.mark.parametrize("order", ["C", "F"])
def test_adding_at_a_few_places(torch: Any, order: str) -> None:
    """Only those places are read and written, in whatever order the memory lies."""
    start = np.asarray(np.random.default_rng(0).normal(size=(40, 30)), order=order)
    rows, columns = [[-1, 3, 3], [0, 5, 39]], [2, -30, 2]
    found = []
    for lib in (compat, torch):
        for index in ((rows,), (rows, columns)):
            tensor = lib.from_numpy(start.copy(order="K"))
            places = [lib.tensor(each) for each in index]
            tensor.index_put_(places, lib.tensor(2.0, dtype=lib.float64), accumulate=True)
            found.append(tensor.numpy())
    assert np.allclose(found[0], found[2]) and np.allclose(found[1], found[3])
