"""torch.masked.MaskedTensor: what counts, what comes of it, and gradients, as PyTorch has them."""

import copy
import pickle

import pytest

import adjoint.compat.torch as compat

pytestmark = pytest.mark.filterwarnings(
    "ignore:The PyTorch API of MaskedTensors", "ignore:It is not recommended.*data.detach"
)

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
KNOWN = [[True, False, True], [False, True, False]]


def made(library, requires_grad=False, data=ROWS, mask=KNOWN):
    masked = library.masked
    return masked.masked_tensor(library.tensor(data), library.tensor(mask), requires_grad)


def shown(value):
    """What counts of a masked tensor, and where; of several in turn."""
    if isinstance(value, (tuple, list)):
        return [shown(each) for each in value]
    data, mask = value.get_data().detach(), value.get_mask()
    rounded = [None if number is None else round(number, 5) for number in _flat(data, mask)]
    return str(data.dtype).rpartition(".")[2], tuple(data.shape), rounded


def _flat(data, mask):
    counting = mask.reshape(-1).tolist()
    return [n if known else None for n, known in zip(data.reshape(-1).tolist(), counting)]


CALLS = {
    "unary": lambda x, t: [x.exp(), -x, abs(x), x.clamp(1, 3), x.round()],
    "numbers": lambda x, t: [x + 1, 1 + x, x * 2, 1 / x, x**2, x / 2, x > 2, x == x],
    "tensors": lambda x, t: [x + x, x * t.ones(2, 3), t.ones(2, 3) * x, x * t.ones(3), x - x],
    "two": lambda x, t: [t.maximum(x, x), t.atan2(x, x), t.fmod(x, x), t.isnan(x)],
    "shapes": lambda x, t: [x.t(), x.view(-1), x.reshape(3, 2), x.flatten(), x.unsqueeze(0)],
    "parts": lambda x, t: [x[0], x[:, 1], x[[0, 1]], x.select(0, 1), x.narrow(0, 0, 1)],
    "several": lambda x, t: [*x.chunk(2), *x.split(1), t.cat([x, x]), t.stack([x, x])],
    "windows": lambda x, t: [x.unfold(1, 2, 1), x[None].expand(2, 2, 3)],
    "types": lambda x, t: [x.double(), x.to(t.float64), x.detach(), x.clone(), x.contiguous()],
    "sum": lambda x, t: [x.sum(), x.sum(0), t.sum(x, 1), x.sum(dim=1, keepdim=True)],
    "mean": lambda x, t: [x.mean(), x.mean(0), t.mean(x, 1)],
    "extremes": lambda x, t: [x.amax(), x.amin(0), x.argmax(), x.argmin(1), x.prod(1)],
    "spread": lambda x, t: [x.var(), x.std(), x.var(1)[:1]],
    "all": lambda x, t: [(x > 1).all(), (x > 1).all(0)],
    "softmax": lambda x, t: [x.softmax(0), t.softmax(x, 1)],
    "where": lambda x, t: [t.where(t.tensor(KNOWN), x, 0.0), t.where(t.tensor(KNOWN), x, x)],
    "like": lambda x, t: [t.ones_like(x)],
    "copies": lambda x, t: [copy.deepcopy(x), pickle.loads(pickle.dumps(x))],
    "in place": lambda x, t: [x.add_(1), x.mul_(x)],
}


@pytest.mark.parametrize("calls", CALLS)
def test_results_are_those_of_pytorch(calls, torch):
    ours, theirs = (CALLS[calls](made(library), library) for library in (compat, torch))
    assert all(isinstance(each, compat.masked.MaskedTensor) for each in ours)
    assert shown(ours) == shown(theirs)


LOSSES = {
    "sum": lambda x, t: x.sum(),
    "mean of rows": lambda x, t: x.mean(1).sum(),
    "prod": lambda x, t: x.prod(),
    "amax": lambda x, t: x.amax(),
    "square": lambda x, t: (x * x).sum(),
    "quotient": lambda x, t: (1 / x).sum(),
    "softmax": lambda x, t: (x.softmax(1) * x).sum(),
    "logarithm": lambda x, t: x.log().sum(),
    "transposed": lambda x, t: (x.t() * 2).sum(),
    "joined": lambda x, t: t.cat([x, x]).sum(),
    "data": lambda x, t: x.get_data().sum(),
    "filled": lambda x, t: (x.to_tensor(5.0) * 2).sum(),
    "variance": lambda x, t: x.var(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_masked_and_those_of_pytorch(loss, torch):
    found = []
    for library in (compat, torch):
        leaf = made(library, requires_grad=True)
        LOSSES[loss](leaf, library).backward()
        assert library.masked.is_masked_tensor(leaf.grad)
        found.append(shown(leaf.grad))
    assert found[0] == found[1]


def test_what_pytorch_refuses_is_answered_where_it_has_a_meaning():
    held = made(compat)
    assert shown((2 - held).relu())[2] == [1.0, None, 0.0, None, 0.0, None]
    assert shown(held.var(0, unbiased=False))[2] == [0.0, 0.0, 0.0]
    assert shown(held.permute(1, 0)) == shown(held.t())


def test_a_part_has_the_gradient_0_elsewhere():
    leaf = made(compat, requires_grad=True)
    leaf[0].sum().backward()
    assert shown(leaf.grad)[2] == [1.0, None, 1.0, None, 0.0, None]


def test_what_does_not_count_spoils_no_gradient():
    data, mask = [-1.0, 0.0, 500.0], [True, True, False]
    leaf = made(compat, True, data, mask)
    other = made(compat, True, [1.0, 1.0, 1.0], [False, False, True])
    compat.where(compat.tensor(mask), leaf.exp(), other).sum().backward()
    assert shown(leaf.grad)[2] == [0.36788, 1.0, None]
    assert shown(other.grad)[2] == [None, None, 1.0]


def test_history_is_kept_by_as_masked_tensor_alone():
    data = compat.tensor([1.0, 2.0], requires_grad=True)
    mask = compat.tensor([True, False])
    kept = compat.masked.as_masked_tensor(data, mask)
    (kept * kept).sum().backward()
    assert shown(data.grad)[2] == [2.0, None]
    with pytest.warns(UserWarning, match="not recommended"):
        leaf = compat.masked.masked_tensor(data, mask)
    assert not leaf.requires_grad
    assert leaf.is_leaf


def test_the_data_is_copied():
    data = compat.zeros(2)
    held = compat.masked.masked_tensor(data, compat.tensor([True, True]))
    data += 1
    assert held.get_data().tolist() == [0.0, 0.0]


def test_it_prints_as_pytorchs(torch):
    values = [[[1.0, 2.5], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    known = [[[True, False], [False, True]], [[False, False], [True, True]]]
    for data, mask in ((values, known), (ROWS, KNOWN), ([1, 2], [True, False]), (3.0, True)):
        assert repr(made(compat, data=data, mask=mask)) == repr(made(torch, data=data, mask=mask))


@pytest.mark.parametrize(
    ("data", "mask"),
    [
        ([1.0], [1.0]),
        ([1.0, 2.0], [True]),
        ([[1.0]], [True]),
        ([1j], [True]),
    ],
)
def test_what_does_not_fit_is_refused_as_by_pytorch(data, mask, torch):
    with pytest.raises((TypeError, ValueError)) as theirs:
        made(torch, data=data, mask=mask)
    with pytest.raises(theirs.type):
        made(compat, data=data, mask=mask)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda x: x + made(compat, mask=[[False] * 3] * 2)),
        (TypeError, lambda x: x @ x.t()),
        (TypeError, lambda x: x.max()),
        (TypeError, lambda x: compat.cat([x, compat.ones(2, 3)])),
        (TypeError, lambda x: compat.ones(2, 3).add_(x)),
        (TypeError, lambda x: compat.masked.masked_tensor(x, compat.tensor(KNOWN))),
        (RuntimeError, lambda x: x.tolist()),
        (RuntimeError, lambda x: made(compat, requires_grad=True).add_(1)),
    ],
)
def test_what_has_no_meaning_is_refused(error, call):
    with pytest.raises(error):
        call(made(compat))
