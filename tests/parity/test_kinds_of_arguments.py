"""Arguments of another kind than a function takes: the same class of error as PyTorch's."""

import functools

import numpy as np
import pytest

import adjoint.compat.torch as compat

CALLS = {
    "a number for a tensor": lambda t, x: t.complex(x, 2),
    "a list for a tensor": lambda t, x: t.mul([1.5], x),
    "no elements for a tensor": lambda t, x: t.cumsum([], 0),
    "a name for a weight": lambda t, x: t.nn.functional.layer_norm(x, (3,), "weight"),
    "a number for a weight": lambda t, x: t.nn.functional.conv1d(x[None], 3),
    "a list for a bias": lambda t, x: t.nn.functional.conv1d(x[None], t.ones(1, 2, 1), [1.0]),
    "a number among tensors": lambda t, x: t.cat([x, 1]),
    "a number to broadcast": lambda t, x: t.broadcast_tensors(x, 1),
    "a number to prepend": lambda t, x: t.diff(x, 1, 0, 3),
    "a name for a dimension": lambda t, x: t.cumsum(x, "rows"),
    "a tensor for a dimension": lambda t, x: t.cumprod(x, t.ones(2, 3)),
    "a tensor for a flag": lambda t, x: t.searchsorted(x[0], x, right=t.ones(2)),
    "a tensor for requires_grad": lambda t, x: t.ones(2, requires_grad=t.ones(2)),
    "None for requires_grad": lambda t, x: t.ones(2, requires_grad=None),
    "a window of names": lambda t, x: t.nn.functional.max_pool2d(x[None], "window"),
    "a window of parts": lambda t, x: t.nn.functional.avg_pool2d(x[None], (1.5, 1.5)),
    "a step of a tensor": lambda t, x: t.nn.functional.max_pool2d(x[None], 1, t.ones(2, 3)),
    "a number for a norm": lambda t, x: t.fft.fft(x, norm=2),
    "a name for keepdim": lambda t, x: t.sum(x, 0, keepdim="text"),
    "a number for keepdim": lambda t, x: x.mean(0, 1),
    "a part for keepdim": lambda t, x: t.linalg.vector_norm(x, 2, 0, 0.5),
    "None for keepdim": lambda t, x: t.argmax(x, 0, None),
    "NumPy's truth for keepdim": lambda t, x: t.sum(x, 0, np.bool_(True)),
    "a tensor for upper": lambda t, x: t.linalg.cholesky(x @ x.T, upper=t.tensor(True)),
    "a number for descending": lambda t, x: t.sort(x, 0, 1),
    "a list for training": lambda t, x: t.nn.functional.dropout(x, 0.5, []),
    "a number for ceil_mode": lambda t, x: t.nn.functional.max_pool2d(x[None], 1, ceil_mode=1),
    "a name for ceil_mode": lambda t, x: t.nn.functional.avg_pool2d(x[None], 1, ceil_mode="yes"),
    "a number for inplace": lambda t, x: t.nn.functional.relu(x, inplace=1),
    "a name for return_indices": lambda t, x: t.nn.functional.max_pool2d(
        x[None], 1, return_indices="yes"
    ),
    "a number for full": lambda t, x: t.nn.functional.gaussian_nll_loss(x, x, x.abs() + 1, 1),
    "a number for unique's order": lambda t, x: t.unique(x, 1),
    "a number for equal_nan": lambda t, x: t.allclose(x, x, equal_nan=1),
    "a name for align_corners": lambda t, x: t.nn.functional.interpolate(
        x[None, None], 4, mode="bilinear", align_corners="yes"
    ),
    "a mode that is a list": lambda t, x: t.div(x, x, rounding_mode=["floor"]),
    "NumPy's truth for greatest keepdim": lambda t, x: t.argmax(x, 0, np.bool_(True)),
    "NumPy's truth for requires_grad": lambda t, x: x.requires_grad_(np.bool_(True)),
    "NumPy's truth for a count": lambda t, x: x.chunk(np.bool_(True)),
    "a number for requires_grad": lambda t, x: setattr(x, "requires_grad", 1),
    "a tensor for copy": lambda t, x: x.to(t.float64, copy=t.tensor(True)),
    "a tensor for non_blocking": lambda t, x: x.to(t.float64, t.tensor(True)),
    "a tensor for accumulate": lambda t, x: x.put_(t.tensor([0]), t.ones(1), t.tensor(True)),
    "a tensor for include_self": lambda t, x: x.scatter_reduce_(
        0, t.tensor([[0]]), x, "sum", include_self=t.tensor(True)
    ),
    "a vector for a length": lambda t, x: x.chunk(t.tensor([2])),
    "a vector for a size": lambda t, x: x.topk(t.tensor([2])),
    "a vector for a value": lambda t, x: t.full((2,), t.tensor([2.0])),
    "an array for a size": lambda t, x: x.topk(np.array(2)),
    "an array for a dimension": lambda t, x: x.cumsum(np.array(0)),
    "an array for a factor": lambda t, x: x.add(x, alpha=np.array(2.0)),
    "an array for eps": lambda t, x: t.nn.functional.layer_norm(x, (3,), eps=np.array(0.1)),
    "an array for an end": lambda t, x: t.arange(np.array(3)),
    "nothing for a factor": lambda t, x: x.add(x, alpha=None),
    "nothing for an order": lambda t, x: t.dist(x, x, None),
    "nothing for a value": lambda t, x: x.fill_(None),
    "nothing for a masked value": lambda t, x: x.masked_fill_(x > 1, None),
    "nothing for an operand": lambda t, x: t.eq(x, None),
    "nothing for a choice": lambda t, x: t.where(x > 1, None, 1.0),
    "a text for a choice": lambda t, x: t.where(x > 1, x, "1"),
    "a text for a value": lambda t, x: x.fill_("2"),
    "nothing, compared": lambda t, x: x == None,  # noqa: E711
    "a number for unsafe pieces": lambda t, x: x.unsafe_split(t.tensor(2.0)),
    "a name for a scale": lambda t, x: t.nn.functional.interpolate(x[None], scale_factor="2"),
    "an array for a scale": lambda t, x: t.nn.functional.interpolate(
        x[None], scale_factor=np.array(2.0)
    ),
    "a truth for a condition": lambda t, x: t.where(True, 1, 2),
    "a number for a question": lambda t, x: t.is_nonzero(3),
    "a number for istft's center": lambda t, x: t.istft(
        t.stft(x[0], 2, center=1, return_complex=True), 2, center=1
    ),
    "complex numbers for a window": lambda t, x: t.hann_window(4, dtype=t.complex64),
    "whole numbers for a window": lambda t, x: t.hann_window(4, dtype=t.int32),
    "a name for a start": lambda t, x: x.narrow(0, "1", 1),
    "a truth for a start": lambda t, x: x.narrow(0, True, 1),
    "no number for a deviation": lambda t, x: t.normal(0.0, np.nan, (2,)),
    "no number for a scale": lambda t, x: x.cauchy_(0.0, np.nan),
    "no number for a rate": lambda t, x: x.exponential_(np.nan),
    "no number for a spread": lambda t, x: x.log_normal_(0.0, np.nan),
    "no number for a distance": lambda t, x: t.cdist(x, x, np.nan),
    "no number for an order": lambda t, x: x.renorm(np.nan, 0, 1.0),
    "no number for a norm": lambda t, x: x.renorm(2, 0, np.nan),
    "no number for a tolerance": lambda t, x: t.allclose(x, x, atol=np.nan),
    "no number for delta": lambda t, x: t.nn.functional.huber_loss(x, x, delta=np.nan),
    "a mean with a gradient and a size": lambda t, x: t.normal(
        t.tensor(2.0, requires_grad=True), 0.0, (2,)
    ),
    "nothing for antialias": lambda t, x: t.nn.functional.interpolate(
        x[None], scale_factor=2, antialias=None
    ),
    "64 bits and a sign": lambda t, x: x.long().fill_(2**63),
    "64 bits and a sign, masked": lambda t, x: x.long().masked_fill(x > 1, 2**63),
    "64 bits and a sign, by index": lambda t, x: x.long().index_fill(0, t.tensor([0]), 2**63),
    "70 bits": lambda t, x: x.long() + 2**70,
}


def outcome(library, call):
    """The class of the error, or None."""
    try:
        call(library, library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    except Exception as error:  # any error is an outcome to be compared
        return type(error).__name__
    return None


@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name, torch):
    assert outcome(compat, CALLS[name]) == outcome(torch, CALLS[name])


def test_the_argument_is_named():
    with pytest.raises(TypeError, match=r"complex\(\): argument 'imag' must be a Tensor, not int"):
        compat.complex(compat.ones(2), 2)


# ---- numbers without a derivative ----

NUMBERS = {
    "elu": lambda F, x, t: F.elu(x, t),
    "elu by name": lambda F, x, t: F.elu(x, alpha=t),
    "leaky_relu": lambda F, x, t: F.leaky_relu(x, t),
    "softplus": lambda F, x, t: F.softplus(x, t),
    "threshold": lambda F, x, t: F.threshold(x, t, 1.0),
    "hardtanh": lambda F, x, t: F.hardtanh(x, -1.0, t),
    "softshrink": lambda F, x, t: F.softshrink(x, t),
    "rrelu": lambda F, x, t: F.rrelu(x, 0.1, t),
    "dropout": lambda F, x, t: F.dropout(x, t),
    "layer_norm": lambda F, x, t: F.layer_norm(x, (4,), None, None, t),
    "group_norm": lambda F, x, t: F.group_norm(x, 3, None, None, t),
    "pad": lambda F, x, t: F.pad(x, (1, 1), value=t),
    "attention": lambda F, x, t: F.scaled_dot_product_attention(x, x, x, scale=t),
    "logit": lambda F, x, t: x.logit(t),
    "nan_to_num": lambda F, x, t: x.nan_to_num(t),
    "isclose": lambda F, x, t: x.isclose(x, t),
    "add": lambda F, x, t: x.add(x, alpha=t),
    "new_full": lambda F, x, t: x.new_full((2,), t),
    "nan_to_num, infinities": lambda F, x, t: x.nan_to_num(0.0, t, t),
    "bernoulli": lambda F, x, t: x.detach().bernoulli(t),
    "norm": lambda F, x, t: x.norm(t),
    "dist": lambda F, x, t: x.dist(x, t),
    "renorm": lambda F, x, t: x.renorm(2, 0, t),
    "std": lambda F, x, t: x.std(0, correction=t),
    "var": lambda F, x, t: x.var(0, correction=t),
    "histc": lambda F, x, t: x.detach().histc(4, 0.0, t),
    "uniform_": lambda F, x, t: x.detach().uniform_(0.0, t),
    "normal_": lambda F, x, t: x.detach().normal_(0.0, t),
    "log_normal_": lambda F, x, t: x.detach().log_normal_(t),
    "cauchy_": lambda F, x, t: x.detach().cauchy_(t),
    "exponential_": lambda F, x, t: x.detach().exponential_(t),
    "geometric_": lambda F, x, t: x.detach().geometric_(t),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_no_tensors_whose_gradient_would_be_lost(name, torch):
    for library in (compat, torch):
        F = library.nn.functional
        x = library.ones(2, 3, 4, requires_grad=True)
        with pytest.raises(TypeError):
            NUMBERS[name](F, x, library.tensor(0.25, requires_grad=True))
        NUMBERS[name](F, x, library.tensor(0.25))


FACTORIES = {
    "full": lambda lib, t: lib.full((2,), t),
    "full_like": lambda lib, t: lib.full_like(lib.ones(2), t),
    "arange": lambda lib, t: lib.arange(t),
    "scalar_tensor": lambda lib, t: lib.scalar_tensor(t),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_take_no_such_numbers_either(name, torch):
    for library in (compat, torch):
        t = library.tensor(3.0, requires_grad=True)
        with pytest.raises(TypeError):
            FACTORIES[name](library, t)
        assert FACTORIES[name](library, t.detach()).requires_grad is False
        assert library.linspace(0, t, 2).tolist() == [0.0, 3.0]


MATRICES = {
    "lstsq": lambda lib, x, t: lib.linalg.lstsq(x, x, rcond=t).solution,
    "gradient": lambda lib, x, t: lib.gradient(x, spacing=t)[0],
    "sampled_addmm": lambda lib, x, t: lib.sparse.sampled_addmm(
        x.to_sparse_csr(), x, x, beta=t, alpha=t
    ).to_dense(),
    "sspaddmm": lambda lib, x, t: lib.sspaddmm(
        x.to_sparse(), x.to_sparse(), x, beta=t, alpha=t
    ).to_dense(),
}


@pytest.mark.parametrize("name", MATRICES)
def test_bounds_distances_and_factors_are_none_either(name, torch):
    answers = []
    for library in (compat, torch):
        x = library.tensor([[2.0, 1.0], [1.0, 3.0]])
        with pytest.raises(TypeError):
            MATRICES[name](library, x, library.tensor(0.25, requires_grad=True))
        answers.append(MATRICES[name](library, x, library.tensor(0.25, dtype=library.float64)))
    ours, theirs = answers
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-5)


WRITES = {
    "fill_": lambda x, value: x.fill_(value),
    "index_fill_": lambda x, value: x.index_fill_(0, type(x)([1]).long(), value),
    "masked_fill_": lambda x, value: x.masked_fill_(x > 1, value),
    "x[0] = value": lambda x, value: x.__setitem__(0, value),
}


@pytest.mark.parametrize("name", WRITES)
def test_whole_numbers_take_no_value_whose_gradient_they_would_lose(name, torch):
    for library in (compat, torch):  # which refuses as soon as the numbers are used
        x = library.arange(4)
        with pytest.raises(RuntimeError):
            WRITES[name](x, library.tensor(1.5, requires_grad=True))
            x.sum().backward()
        WRITES[name](library.arange(4), library.tensor(1.5))
    x = compat.arange(4)
    with pytest.raises(RuntimeError, match="can't have the gradient"):
        WRITES[name](x, compat.tensor(1.5, requires_grad=True))
    assert x.tolist() == [0, 1, 2, 3]
    assert x.copy_(compat.ones(4, requires_grad=True)).tolist() == [1] * 4


def test_chances_drawn_by_have_the_gradient_0(torch):
    for library in (compat, torch):
        chance = library.tensor(0.5, requires_grad=True)
        drawn = library.ones(3).bernoulli_(chance)
        assert type(drawn.grad_fn).__name__ == "BernoulliBackward1"
        drawn.sum().backward()
        assert chance.grad.item() == 0.0


def test_scale_factors_are_no_tensors(torch):
    for library in (compat, torch):
        x = library.ones(1, 1, 4)
        with pytest.raises(TypeError):
            library.nn.functional.interpolate(x, scale_factor=library.tensor(2.0), mode="linear")


# ---- whole numbers, NumPy's numbers, and tensors that stand for one ----

WHOLE = {
    "chunk": lambda t, x, n: t.chunk(x, n),
    "roll": lambda t, x, n: t.roll(x, n),
    "split": lambda t, x, n: t.split(x, n),
    "split lengths": lambda t, x, n: t.split(x, [n, 2]),
    "sum_to_size": lambda t, x, n: x.sum_to_size(n, 1),
    "layer_norm": lambda t, x, n: t.nn.functional.layer_norm(x, (n,)),
    "adaptive pool": lambda t, x, n: t.nn.functional.adaptive_avg_pool1d(x[None], n),
    "one_hot": lambda t, x, n: t.nn.functional.one_hot(x.long(), n),
    "diag_embed": lambda t, x, n: t.diag_embed(x, n),
    "matrix_power": lambda t, x, n: t.linalg.matrix_power(x @ x.T, n),
    "polygamma": lambda t, x, n: t.polygamma(n, x + 1),
    "empty_permuted": lambda t, x, n: t.empty_permuted((1, 2), (1, n)).shape,
}


@pytest.mark.parametrize("value", [1.5, "x"])
@pytest.mark.parametrize("name", WHOLE)
def test_parts_are_no_whole_numbers(name, value, torch):
    call = WHOLE[name]
    for library in (compat, torch):
        with pytest.raises(TypeError):
            call(library, library.zeros(3, 3), value)


@pytest.mark.parametrize("name", ["chunk", "one_hot", "diag_embed", "matrix_power", "polygamma"])
def test_truth_is_no_whole_number(name, torch):
    for library in (compat, torch):
        with pytest.raises(TypeError):
            WHOLE[name](library, library.zeros(3, 3), True)


TRUTHS = {
    "zeros": lambda t, x: t.zeros(True, 2),
    "zeros, listed": lambda t, x: t.zeros([True, 2]),
    "zeros, at the end": lambda t, x: t.zeros(2, True),
    "new_zeros": lambda t, x: x.new_zeros(True),
    "rand": lambda t, x: t.rand(True, 2) * 0,
    "view": lambda t, x: x.view(True, 9),
    "reshape": lambda t, x: x.reshape((True, 9)),
    "reshape, at the end": lambda t, x: x.reshape(9, True),
    "repeat": lambda t, x: x.repeat(True, 2),
    "roll": lambda t, x: x.roll(True),
    "split": lambda t, x: x.split(True)[0],
    "split, sizes": lambda t, x: x.split([True, 2])[0],
    "size": lambda t, x: t.tensor(x.size(True)),
    "stride": lambda t, x: t.tensor(x.stride(True)),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x[None], True),
    "avg_pool2d, stride": lambda t, x: t.nn.functional.avg_pool2d(x[None], 1, True),
    "max_pool2d, at the end": lambda t, x: t.nn.functional.max_pool2d(x[None], (2, True)),
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x[None], True),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[None], t.ones(1, 3, 1), stride=True),
    "sum over a truth's tensor": lambda t, x: x.sum(t.tensor(True)),
    "split by a tensor of sizes": lambda t, x: x.split(t.tensor([1, 2]))[0],
    "split by a tensor of a part": lambda t, x: x.split(t.tensor(2.0))[0],
    "size of a vector": lambda t, x: x.size(t.tensor([1])),
    "histogramdd": lambda t, x: t.histogramdd(x[:, :2], [t.tensor(3), t.tensor([4])]).hist,
    "histogramdd, edges": lambda t, x: t.histogramdd(x[:, :1], [t.ones(2).double()]).hist,
}


@pytest.mark.parametrize("name", TRUTHS)
def test_truths_and_tensors_for_sizes(name, torch):
    answers = []
    for library in (compat, torch):
        try:
            answers.append(TRUTHS[name](library, library.arange(9.0).view(3, 3)).tolist())
        except Exception as error:  # any error is an outcome to be compared
            answers.append(type(error).__name__)
    assert answers[0] == answers[1]


SECTIONS = {
    "max": lambda t, x, n: t.max(x, n).indices,
    "min": lambda t, x, n: x.min(n).values,
    "tensor_split": lambda t, x, n: t.tensor_split(x, n)[0],
    "hsplit": lambda t, x, n: t.hsplit(x, n)[0],
    "histogram": lambda t, x, n: t.histogram(x, n).hist,
    "hash_tensor": lambda t, x, n: t.hash_tensor(x, n),
    "matrix_power": lambda t, x, n: t.linalg.matrix_power(x, n),
    "polygamma": lambda t, x, n: t.polygamma(n, x),
    "softplus": lambda t, x, n: t.nn.functional.softplus(x, n),
    "quantile": lambda t, x, n: t.quantile(x, n),
    "pca_lowrank": lambda t, x, n: t.pca_lowrank(x, n)[1],
    "multi_margin_loss": lambda t, x, n: t.nn.functional.multi_margin_loss(x, t.tensor([0, 1]), n),
}


@pytest.mark.parametrize("kind", ["int64", "int32", "float64"])
@pytest.mark.parametrize("name", SECTIONS)
def test_numbers_of_numpy_stand_for_pythons(name, kind, torch):
    answers = []
    for library in (compat, torch):
        x = library.tensor([[0.5, 2.0], [3.0, 0.25]])
        try:
            answer = SECTIONS[name](library, x, np.dtype(kind).type(1))
        except TypeError:
            answers.append(None)
        else:
            answers.append((str(answer.dtype).rpartition(".")[2], answer.tolist()))
    ours, theirs = answers
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)


@pytest.mark.parametrize("value", [2, 2.0])
def test_a_tensor_of_whole_numbers_keeps_the_type(value, torch):
    for library in (compat, torch):
        x = library.ones(3)
        assert library.nn.functional.softplus(x, library.tensor(value)).dtype is library.float32
        assert library.nn.functional.softshrink(x, library.tensor(value)).dtype is library.float32


PLACED = {
    "scatter": lambda t, x, n: x.scatter(0, t.tensor([[1]]), n),
    "normal, of means": lambda t, x, n: t.normal(x, 0 * n),
    "normal, of deviations": lambda t, x, n: t.normal(n, 0 * x),
    "normal, of a tensor": lambda t, x, n: t.normal(t.tensor(2.0), 0 * n, (2,)),
    "masked.std": lambda t, x, n: t.masked.std(x, 0, unbiased=0 * n),
    "sum": lambda t, x, n: x.sum([np.array(1)]),
}


@pytest.mark.parametrize("value", [np.int64(3), np.float32(3), 3])
@pytest.mark.parametrize("name", PLACED)
def test_numbers_of_numpy_among_tensors(name, value, torch):
    ours, theirs = (
        PLACED[name](t, t.tensor([[0.5, 2.0], [3.0, 0.25]]), value) for t in (compat, torch)
    )
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)


COUNTED = {
    "celu": lambda t, x, n: t.nn.functional.celu(x, n),
    "add": lambda t, x, n: x.add(x, alpha=n),
    "addr": lambda t, x, n: t.addr(x, x[0], x[0], beta=n, alpha=n),
    "margin_ranking_loss": lambda t, x, n: t.nn.functional.margin_ranking_loss(
        x.long(), x.long(), x.long(), n, reduction="none"
    ),
    "layer_norm": lambda t, x, n: t.nn.functional.layer_norm(x, (2,), eps=n),
    "logit": lambda t, x, n: x.logit(n),
    "LayerNorm": lambda t, x, n: t.nn.LayerNorm(2 * n)(x) if type(n) is np.int64 else x,
    "ZeroPad1d": lambda t, x, n: t.nn.ZeroPad1d(n)(x) if type(n) is np.int64 else x,
    "Unflatten": lambda t, x, n: t.nn.Unflatten(n, (2, 1))(x) if type(n) is np.int64 else x,
}


@pytest.mark.parametrize("value", [np.bool_(True), np.int64(1), np.complex128(1), 1, 1.0])
@pytest.mark.parametrize("name", COUNTED)
def test_numbers_in_the_place_of_parts(name, value, torch):
    answers = []
    for library in (compat, torch):
        try:
            answer = COUNTED[name](library, library.tensor([[0.5, 2.0], [3.0, 0.25]]), value)
        except Exception as error:  # any error is an outcome to be compared
            answers.append((type(error).__name__, None))
        else:
            answers.append((str(answer.dtype).rpartition(".")[2], answer.tolist()))
    ours, theirs = answers
    if (name, type(value)) == ("add", np.complex128):  # a real number all the same
        assert (ours[0], theirs[0]) == ("float32", "RuntimeError")
        return
    assert ours[0] == theirs[0]
    if theirs[1] is not None:
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)


@pytest.mark.parametrize("eps", [0.1, 0.5, 0.8, 1.0])
def test_bounds_of_logit_that_cross(eps, torch):
    points = [-1.0, 0.0, 0.05, 0.4, 0.9, 1.0, float("nan")]
    ours, theirs = (t.tensor(points).logit(eps).tolist() for t in (compat, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_list_is_no_factor(torch):
    for library in (compat, torch):
        with pytest.raises(TypeError):
            library.ones(2).add(library.ones(2), alpha=[2.0])


# ---- complex numbers in the place of real ones ----

REAL = {
    "elu": lambda t, x, z: t.nn.functional.elu(-x, z),
    "leaky_relu": lambda t, x, z: t.nn.functional.leaky_relu(-x, z),
    "softplus": lambda t, x, z: t.nn.functional.softplus(x, z),
    "threshold": lambda t, x, z: t.nn.functional.threshold(-x, z, 1.0),
    "hardshrink": lambda t, x, z: t.nn.functional.hardshrink(x, z),
    "logit": lambda t, x, z: t.logit(x, z),
    "histc": lambda t, x, z: t.histc(x, 2, 0, z),
    "var": lambda t, x, z: t.var(x, 0, correction=z),
    "addmm": lambda t, x, z: t.addmm(x, x, x, beta=z, alpha=z),
    "addcmul": lambda t, x, z: t.addcmul(x, x, x, value=z),
    "index_add": lambda t, x, z: x.index_add(0, t.tensor([1, 0]), x, alpha=z),
    "index_fill": lambda t, x, z: x.index_fill(0, t.tensor([1]), z),
    "full": lambda t, x, z: t.full((2,), z, dtype=x.dtype),
    "fill_": lambda t, x, z: x.clone().fill_(z),
    "masked_fill": lambda t, x, z: x.masked_fill(x > 1, z),
    "masked_fill by a tensor": lambda t, x, z: x.masked_fill(x > 1, t.tensor(z)),
    "scatter": lambda t, x, z: x.scatter(0, t.tensor([[0, 1]]), z),
    "constant_pad_nd": lambda t, x, z: t.constant_pad_nd(x, (1, 1), z),
    "arange": lambda t, x, z: t.arange(z),
    "lerp": lambda t, x, z: t.lerp(x, -x, z),
    "lerp by a tensor": lambda t, x, z: t.lerp(x, -x, t.tensor(z)),
}


@pytest.mark.parametrize("z", [1.5 + 0j, 0.5j])
@pytest.mark.parametrize("name", REAL)
def test_complex_numbers_count_as_real_without_an_imaginary_part(name, z, torch):
    answers = []
    for library in (compat, torch):
        try:
            answer = REAL[name](library, library.tensor([[0.5, 2.0], [3.0, 0.25]]), z)
        except Exception as error:  # any error is an outcome to be compared
            answers.append(type(error).__name__)
        else:
            answers.append((str(answer.dtype).rpartition(".")[2], answer.tolist()))
    ours, theirs = answers
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
    else:
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)


def test_a_complex_weight_of_one_number_reaches_all_gradients():
    x, end, w = (compat.tensor(v, requires_grad=True) for v in (1.0, 3.0, 2j))
    result = compat.lerp(x, end, w)
    assert result.item() == 1 + 4j
    result.real.backward()
    assert (x.grad.item(), end.grad.item(), w.grad.item()) == (1.0, 0.0, 2 + 0j)


LISTED = {
    "as_strided": lambda t, x, c: x.as_strided(c(2, 3), c(4, 1)),
    "expand": lambda t, x, c: x.expand(*c(2, 3, 4)),
    "flip": lambda t, x, c: x.flip(c(1, 0)),
    "amax": lambda t, x, c: x.amax(c(1, 0)),
    "sum": lambda t, x, c: x.sum(c(1, 0)),
    "squeeze_": lambda t, x, c: x[:1].clone().squeeze_(c(0)),
    "permute": lambda t, x, c: x.permute(c(1, 0)),
    "repeat": lambda t, x, c: x.repeat(c(1, 2)),
    "reshape": lambda t, x, c: x.reshape(c(2, 6)),
    "view": lambda t, x, c: x.view(*c(2, 6)),
    "roll": lambda t, x, c: x.roll(c(1, 2), c(1, 0)),
    "pad": lambda t, x, c: t.nn.functional.pad(x, c(1, 2)),
    "zeros": lambda t, x, c: t.zeros(c(1, 2)),
    "fft2": lambda t, x, c: t.fft.fft2(x, c(2, 2)).real,
    "one dimension": lambda t, x, c: x.sum(c(1)[0]),
    "one dimension of two": lambda t, x, c: x.softmax(c(1)[0]),
}
WHOLE_NUMBERS = {
    "tensors": lambda t, *v: [t.tensor(a) for a in v],
    "tensors of one element": lambda t, *v: [t.tensor([a]) for a in v],
    "bytes": lambda t, *v: [t.tensor(a, dtype=t.uint8) for a in v],
    "a truth at the end": lambda t, *v: [*v[:-1], True],
    "parts": lambda t, *v: [t.tensor(float(a)) for a in v],
}


@pytest.mark.parametrize("numbers", WHOLE_NUMBERS)
@pytest.mark.parametrize("name", LISTED)
def test_tensors_among_sizes_and_dimensions(name, numbers, torch):
    answers = []
    for library in (compat, torch):
        c = functools.partial(WHOLE_NUMBERS[numbers], library)
        try:
            answers.append(LISTED[name](library, library.arange(12.0).view(3, 4), c).tolist())
        except Exception as error:  # any error is an outcome to be compared
            answers.append(type(error).__name__)
    if isinstance(answers[0], str) or isinstance(answers[1], str):
        assert answers[0] == answers[1]
    else:
        np.testing.assert_allclose(*answers, rtol=1e-6)


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_dimension_of_extremes_may_be_a_tensor(name, torch):
    """By its name, or with keepdim; alone it is another operand."""
    for library in (compat, torch):
        x, one = library.tensor([[0.0, 2.0], [4.0, 3.0]]), library.tensor(1)
        expected = getattr(x, name)(1).indices.tolist()
        assert getattr(library, name)(x, dim=one).indices.tolist() == expected
        assert getattr(x, name)(one, False)[1].tolist() == expected
        assert getattr(x, name)(one).shape == (2, 2)
        with pytest.raises(TypeError):
            getattr(library, name)(x, dim=one.double())


@pytest.mark.parametrize("value", ["True", "a tensor"])
def test_truths_are_margins(value, torch):
    answers = []
    for library in (compat, torch):
        margin = library.tensor(True) if value == "a tensor" else True
        F, x, y = library.nn.functional, library.arange(6.0).view(2, 3), library.tensor([1, -1])
        answers.append(
            [
                F.cosine_embedding_loss(x, x + 1, y, margin=margin).item(),
                F.hinge_embedding_loss(x[:, 0], y, margin=margin).item(),
                F.multi_margin_loss(x, y.abs(), margin=margin).item(),
            ]
        )
    np.testing.assert_allclose(*answers, rtol=1e-5)
