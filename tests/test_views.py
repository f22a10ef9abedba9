"""Views share memory, versions and history with their base.

Expectations written out run everywhere; the comparisons with PyTorch need it installed.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import grad, inference_mode, no_grad
from adjoint.tensors.tensor import AS_IS, Tensor

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch, the oracle, is not installed")

View = Callable[[Any], Any]

# Views of a (3, 4) tensor, in words both libraries understand.
VIEWS: dict[str, View] = {
    "view": lambda x: x.view(2, 6),
    "view_as": lambda x: x.view_as(x.reshape(12)),
    "reshape": lambda x: x.reshape(4, 3),
    "reshape_as": lambda x: x.reshape_as(x.reshape(12)),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (2, 2)),
    "ravel": lambda x: x.ravel(),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "transpose": lambda x: x.transpose(0, 1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "permute": lambda x: x.permute(1, 0),
    "movedim": lambda x: x.movedim(0, 1),
    "expand": lambda x: x.expand(3, 4),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(1, 2),
    "item": lambda x: x[1, 2],
    "row": lambda x: x[-1],
    "slice": lambda x: x[1:, ::2],
    "new dimension": lambda x: x[:, None, 1:3],
    "ellipsis": lambda x: x[..., 1],
    "all": lambda x: x[...],
    "diagonal": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (5, 2), 1),
    "tensor_split": lambda x: x.tensor_split(2)[1],
    "hsplit": lambda x: x.hsplit(2)[0],
    "view of a view": lambda x: x[1:].t()[::2],
    "deep view": lambda x: x.reshape(2, 2, 3)[1].t().unsqueeze(0)[:, 1:, 0],
    "diagonal of a view": lambda x: x[:, 1:].diagonal().unsqueeze(0),
    "strides of a view": lambda x: x[1].as_strided((2, 2), (2, 1), 4),
}
MULTI_VIEWS: dict[str, View] = {
    "unbind": lambda x: x.unbind(),
    "iteration": lambda x: tuple(x),
    "split": lambda x: x.split(2),
    "split sizes": lambda x: x.split([1, 2]),
    "chunk": lambda x: x.chunk(2, 1),
}
# Overlapping in memory: they can be read, not written.
OVERLAPPING: dict[str, View] = {
    "expand": lambda x: x[:1].expand(3, 4),
    "broadcast_to": lambda x: x.broadcast_to((2, 3, 4)),
    "strides": lambda x: x.as_strided((3, 3), (0, 1)),
}


def array() -> Any:
    return np.arange(1.0, 13.0).reshape(3, 4)


def weights(shape: Any) -> Any:
    return np.random.default_rng(5).normal(size=tuple(shape))


@pytest.mark.parametrize("name", VIEWS)
def test_memory_is_shared_both_ways(name: str) -> None:
    x = Tensor(array(), AS_IS)
    view = VIEWS[name](x)
    assert np.shares_memory(view.array, x.array)
    assert view._is_view() and view._base is x
    before = view.array.copy()
    x.add_(100.0)
    assert np.array_equal(view.array, before + 100)
    view.mul_(0.0)
    assert (x.array == 0).sum() == view.array.size
    view[...] = 7.0
    assert (x.array == 7).sum() == view.array.size


@pytest.mark.parametrize("name", MULTI_VIEWS)
def test_pieces_share_memory(name: str) -> None:
    x = Tensor(array(), AS_IS)
    for piece in MULTI_VIEWS[name](x):
        assert np.shares_memory(piece.array, x.array) and piece._base is x
        piece.mul_(0.0)
    assert not x.array.any()


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_memory_is_not_written(name: str) -> None:
    x = Tensor(array(), AS_IS)
    view = OVERLAPPING[name](x)
    assert np.shares_memory(view.array, x.array)
    with pytest.raises(RuntimeError, match="single memory location"):
        view.add_(1.0)
    assert np.array_equal(x.array, array())
    assert x._version == 0


REWRITING: dict[str, Any] = {
    "masked_fill_": lambda lib, x, i: x.masked_fill_(x > 1, 5.0),
    "masked_fill_, a part": lambda lib, x, i: x.masked_fill_(
        lib.tensor([[True, False, False], [False, False, True]]), 5.0
    ),
    "index_fill_": lambda lib, x, i: x.index_fill_(0, i, 5.0),
    "index_put_": lambda lib, x, i: x.index_put_((i,), lib.tensor(5.0)),
    "index_put_, added": lambda lib, x, i: x.index_put_((i, i), lib.ones(2), accumulate=True),
    "x[i] = 5": lambda lib, x, i: x.__setitem__(i, 5.0),
    "x[x > 1] = 5": lambda lib, x, i: x.__setitem__(x > 1, 5.0),
    "threshold_": lambda lib, x, i: lib.nn.functional.threshold_(x, 1.0, 7.0),
    "index_add_": lambda lib, x, i: x.index_add_(0, i, lib.ones(2, 3)),
}


@pytest.mark.parametrize("name", REWRITING)
def test_changes_of_expanded_tensors(torch: Any, name: str) -> None:
    found = []
    for lib in (adjoint, torch):
        base = lib.arange(3.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                REWRITING[name](lib, base.expand(2, 3), lib.tensor([0, 1]))
            except RuntimeError:
                found.append("refused")
            else:
                found.append((base.tolist(), {each.category for each in caught}))
    assert found[0] == found[1]


def test_changes_of_expanded_tensors_are_not_recorded() -> None:
    expanded = (adjoint.arange(3.0, requires_grad=True) * 1).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        expanded.masked_fill_(adjoint.tensor([[True, False, False], [False, False, True]]), 5.0)


def test_copies_do_not_share() -> None:
    x = Tensor(array(), AS_IS)
    index = Tensor(np.array([0, 1, 2]), AS_IS)
    copies = [
        x[index],
        x[[0, 1, 2]],
        x[x > 0],
        x.flip(0),
        x.flip(()),
        x.roll(0),
        x.rot90(0),
        x.repeat(1, 1),
        x.tril(9),
        x.index_select(0, index),
        x.masked_fill(x < 0, 0.0),
        x.diag(),
        adjoint.ops.find_function("cat")([x]),
        adjoint.ops.find_function("pad")(x, ()),
        adjoint.ops.find_function("fill")(x, 1.0),
        x.t().reshape(12),
        x.select_scatter(x[0], 0, 0),
    ]
    for copy in copies:
        assert not np.shares_memory(copy.array, x.array)
        assert copy._base is None


# ---- gradients ----


def outcome(make: Any, where: Any, function: Any) -> tuple[Any, Any]:
    """The value and gradient of a function of one (3, 4) leaf."""
    x = make(array()).requires_grad_()
    result = function(x)
    (gradient,) = where.grad([result], [x])
    return result, gradient


def same(function: Callable[[Any], Any]) -> None:
    """A function, that ends in a sum, has PyTorch's value and gradient."""
    ours = outcome(adjoint.tensor, adjoint.autograd, function)
    theirs = outcome(torch.tensor, torch.autograd, function)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.array, other.detach().numpy(), rtol=1e-12)


def weighted(x: Any) -> Any:
    """A sum that tells elements apart."""
    w = weights(x.shape)
    return (x * (Tensor(w, AS_IS) if isinstance(x, Tensor) else torch.tensor(w))).sum()


@needs_torch
@pytest.mark.parametrize("name", VIEWS)
def test_gradient_through_changed_view(name: str) -> None:
    def function(x: Any) -> Any:
        base = x * 2.0
        view = VIEWS[name](base)
        view.mul_(view.detach() + 1.0)
        return weighted(base) + weighted(view)

    same(function)


@needs_torch
@pytest.mark.parametrize("name", VIEWS)
def test_gradient_through_changed_base(name: str) -> None:
    def function(x: Any) -> Any:
        base = x * 2.0
        view = VIEWS[name](base)
        base.mul_(x)
        return weighted(view) + weighted(view * view)

    same(function)


@needs_torch
@pytest.mark.parametrize("name", VIEWS)
def test_gradient_into_written_view(name: str) -> None:
    def function(x: Any) -> Any:
        base = x * 2.0
        other = base[0, 0] * 3.0
        before = VIEWS[name](base)
        VIEWS[name](base)[...] = other
        return weighted(base * base) + weighted(before)

    same(function)


@needs_torch
@pytest.mark.parametrize("name", [*OVERLAPPING, "windows"])
def test_gradient_of_overlapping_memory(name: str) -> None:
    views = {**OVERLAPPING, "windows": lambda x: x.unfold(1, 3, 1)}

    def function(x: Any) -> Any:
        base = x * 2.0
        view = views[name](base)
        base.mul_(3.0)
        return weighted(view)

    same(function)


@needs_torch
def test_gradient_of_several_changes() -> None:
    def function(x: Any) -> Any:
        base = x * 2.0
        column, row = base[:, 1], base[1]
        inner = row[1:3]
        column.mul_(3.0)
        inner.add_(column[0])
        base[0] = inner.repeat(2)
        row.add_(base[2] * 2.0)
        return weighted(base) + weighted(column) + weighted(row) + weighted(inner)

    same(function)


@needs_torch
def test_gradient_into_a_tensor_that_needed_none() -> None:
    def function(x: Any) -> Any:
        base = x.detach() * 2.0
        view = base[1]
        view.mul_(x[0])
        return weighted(base) + weighted(view)

    same(function)


@needs_torch
def test_second_order_through_a_change() -> None:
    def function(library: Any, x: Any) -> Any:
        base = x * x
        base[1:].t()[1].mul_(x[0, 0])
        (first,) = library.grad([weighted(base * base)], [x], create_graph=True)
        return library.grad([weighted(first)], [x])[0]

    ours = function(adjoint.autograd, Tensor(array(), AS_IS).requires_grad_())
    theirs = function(torch.autograd, torch.tensor(array()).requires_grad_())
    np.testing.assert_allclose(ours.array, theirs.numpy(), rtol=1e-12)


def test_gradient_written_out() -> None:
    x = Tensor(np.array([1.0, 2.0, 3.0]), AS_IS).requires_grad_()
    y = x * 2.0
    y[1:].mul_(10.0)
    (gradient,) = grad([y.sum()], [x])
    assert gradient.tolist() == [2.0, 20.0, 20.0]


OVERLAPPING_OPERANDS: dict[str, Any] = {
    "y[1:] = y[:-1]": lambda lib, y, i: y.__setitem__(slice(1, None), y[:-1]),
    "y[:] = y": lambda lib, y, i: y.__setitem__(slice(None), y),
    "y[:3] = y[0]": lambda lib, y, i: y.__setitem__(slice(3), y[0]),
    "y[0:1] = y[None, 1:2]": lambda lib, y, i: y.__setitem__(slice(1), y[None, 1:2]),
    "y[i] = y": lambda lib, y, i: y.__setitem__(i, y[:3]),
    "y[i] = y[0]": lambda lib, y, i: y.__setitem__(i, y[0]),
    "y[y > 0] = y[0]": lambda lib, y, i: y.__setitem__(y > 0, y[0]),
    "y[y > 0] = y": lambda lib, y, i: y.__setitem__(y > -1, y),
    "i[i] = 1": lambda lib, y, i: i.__setitem__(i, 1),
    "mask[mask] = False": lambda lib, y, i: (i > 0).__setitem__(i > 0, False),
    "index_add_": lambda lib, y, i: y.index_add_(0, i, y[:3]),
    "index_add_, apart": lambda lib, y, i: y[:3].index_add_(0, i, y[3:]),
    "index_copy_": lambda lib, y, i: y.index_copy_(0, i, y[:3]),
    "index_fill_": lambda lib, y, i: i.index_fill_(0, i, 1),
    "index_put_": lambda lib, y, i: y.index_put_((i,), y[:3]),
    "scatter_": lambda lib, y, i: y.scatter_(0, i, y),
    "scatter_add_": lambda lib, y, i: y.scatter_add_(0, i, y),
    "scatter, out": lambda lib, y, i: lib.scatter(y, 0, i, lib.ones(3), out=y),
    "put_": lambda lib, y, i: y.put_(i, y[:3]),
    "gather, index": lambda lib, y, i: lib.gather(i.clone(), 0, i, out=i),
    "gather, input": lambda lib, y, i: lib.gather(y[:3], 0, i, out=y[:3]),
    "stack": lambda lib, y, i: lib.stack([y[:3], y[3:]], out=y.view(2, 3)),
    "cross": lambda lib, y, i: lib.cross(y[:3], y[3:], dim=0, out=y[:3]),
    "cumsum": lambda lib, y, i: lib.cumsum(y[:5], 0, out=y[1:]),
    "cumsum, same": lambda lib, y, i: lib.cumsum(y, 0, out=y),
    "sort": lambda lib, y, i: lib.sort(y[:3], out=(y[1:4], i)),
    "transposed add_": lambda lib, y, i: y[:4].view(2, 2).t().add_(y[:4].view(2, 2)),
    "transposed copy_": lambda lib, y, i: y[:4].view(2, 2).t().copy_(y[:4].view(2, 2)),
    "transposed out": lambda lib, y, i: lib.exp(y[:4].view(2, 2), out=y[:4].view(2, 2).t()),
    "turned": lambda lib, y, i: y.view(1, 2, 3).permute(2, 0, 1).add_(y.view(3, 1, 2)),
    "more of it": lambda lib, y, i: y.add_(y[:1]),
    "every second": lambda lib, y, i: y[::2].add_(y[1:4]),
    "a broadcast copy": lambda lib, y, i: y.copy_(y[:1]),
}


@pytest.mark.parametrize("name", OVERLAPPING_OPERANDS)
def test_operands_that_share_what_is_written(torch: Any, name: str) -> None:
    found = []
    for lib in (adjoint, torch):
        y, i = lib.arange(6.0), lib.tensor([0, 1, 2])
        try:
            OVERLAPPING_OPERANDS[name](lib, y, i)
        except RuntimeError as error:
            assert "memory" in str(error)
            found.append("refused")
        else:
            found.append([y.tolist(), i.tolist()])
    assert found[0] == found[1]


def test_windows_written_out() -> None:
    x = Tensor(np.arange(4.0), AS_IS).requires_grad_()
    windows = x.unfold(0, 2, 1)
    assert windows.tolist() == [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    (gradient,) = grad([windows.sum()], [x])
    assert gradient.tolist() == [1.0, 2.0, 2.0, 1.0]


# ---- versions ----


@pytest.mark.parametrize("name", VIEWS)
def test_versions_are_shared(name: str) -> None:
    x = Tensor(array(), AS_IS)
    view = VIEWS[name](x)
    other = x[0]
    assert (x._version, view._version) == (0, 0)
    view.add_(1.0)
    x.add_(1.0)
    other[0] = 3.0
    assert (x._version, view._version, other._version) == (3, 3, 3)


def test_copies_have_versions_of_their_own() -> None:
    x = Tensor(array(), AS_IS)
    copy = x[[0]]
    x.add_(1.0)
    assert copy._version == 0


def test_saved_memory_changed_through_a_view_is_noticed() -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    y = x * 1.0
    row = y[0]
    z = y * y
    row.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad([z.sum()], [x])


def test_a_view_saves_nothing() -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    y = x * 1.0
    z = y.t()[1:].reshape(-1).unfold(0, 2, 1)
    y.mul_(2.0)
    (gradient,) = grad([z.sum()], [x])
    assert gradient.shape == (3, 4)


# ---- what is refused ----


@pytest.mark.parametrize("name", MULTI_VIEWS)
def test_pieces_refuse_changes(name: str) -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    y = x * 1.0
    piece = MULTI_VIEWS[name](y)[0]
    with pytest.raises(RuntimeError, match="multiple views"):
        piece.mul_(2.0)
    with pytest.raises(RuntimeError, match="multiple views"):
        piece[0] = 2.0
    assert np.array_equal(y.array, array())
    assert y._version == 0


def test_the_only_piece_refuses_changes_too() -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    for piece in ((x * 1.0).split(3)[0], (x * 1.0)[:1].unbind()[0], (x * 1.0).chunk(1)[0]):
        with pytest.raises(RuntimeError, match="multiple views"):
            piece.mul_(2.0)


def test_pieces_of_a_changed_base_are_refused() -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    y = x * 1.0
    piece = y.unbind()[0]
    y.mul_(2.0)
    with pytest.raises(RuntimeError, match="multiple views"):
        piece.sum()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.mul_(2.0),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x[0].mul_(2.0),
        lambda x: x.t()[1:].fill_(0.0),
        lambda x: x.masked_fill_(x > 3, 0.0),
        lambda x: x.index_fill_(0, Tensor(np.array([0]), AS_IS), 0.0),
        lambda x: x.zero_(),
    ],
)
def test_a_leaf_is_not_changed(change: Callable[[Any], Any]) -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        change(x)
    assert np.array_equal(x.array, array())
    assert x._version == 0
    with no_grad():
        change(x)
    assert not np.array_equal(x.array, array())
    assert x.is_leaf and x.requires_grad


def test_a_failed_change_changes_nothing() -> None:
    x = Tensor(array(), AS_IS)
    for change in (
        lambda: x.__setitem__(0, Tensor(np.ones(3), AS_IS)),
        lambda: x.__setitem__(9, 1.0),
        lambda: x.__setitem__(slice(None, None, -1), 1.0),
        lambda: x.index_copy_(0, Tensor(np.array([5]), AS_IS), Tensor(np.ones((1, 4)), AS_IS)),
        lambda: x[0].masked_fill_(Tensor(np.ones((3, 4), bool), AS_IS), 0.0),
    ):
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            change()
    assert np.array_equal(x.array, array())
    assert x._version == 0


# ---- modes ----


def test_a_view_made_under_no_grad_is_not_changed_outside() -> None:
    x = Tensor(array(), AS_IS).requires_grad_()
    y = x * 1.0
    with no_grad():
        view = y[0]
        view.mul_(2.0)
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(2.0)
    (gradient,) = grad([y.sum()], [x])
    assert gradient.tolist() == np.ones((3, 4)).tolist()


@needs_torch
def test_views_under_no_grad_as_pytorch() -> None:
    states = []
    for make, library in ((adjoint.from_numpy, adjoint.autograd), (torch.tensor, torch)):
        x = make(array()).requires_grad_()
        y = x * 1.0
        with library.no_grad():
            views = [x[0], y[0], y.t(), y[[0]], y.unbind()[0]]
        states.append([(v.requires_grad, v.is_leaf, v._is_view()) for v in views])
    assert states[0] == states[1]


def test_views_in_inference_mode() -> None:
    x = Tensor(array(), AS_IS)
    with inference_mode():
        made = x * 1.0
        view = made[0]
        view.mul_(2.0)
    assert view.is_inference() and made.array[0, 0] == 2.0
    with pytest.raises(RuntimeError, match="InferenceMode"):
        view.mul_(2.0)


# ---- other data types ----


def test_view_by_dtype() -> None:
    x = Tensor(np.array([[1.0, 2.0]], np.float32), AS_IS)
    bits = x.view(adjoint.dtypes.int32)
    assert np.shares_memory(bits.array, x.array)
    assert bits.tolist() == [[0x3F800000, 0x40000000]]
    bits[0, 0] = 0
    assert x.tolist() == [[0.0, 2.0]]
    assert x.view(adjoint.dtypes.int64).shape == (1, 1)
    assert x.view(adjoint.dtypes.uint8).shape == (1, 8)
    with pytest.raises(RuntimeError):
        x[:, :1].view(adjoint.dtypes.float64)


def test_values_are_cast_to_the_tensor() -> None:
    whole = Tensor(np.zeros(3, np.int64), AS_IS)
    whole[0] = 2.7
    whole[1:] = Tensor(np.array([1.9, -1.9]), AS_IS)
    assert whole.tolist() == [2, 1, -1]
    single = Tensor(np.zeros(2, np.float32), AS_IS)
    single[single < 1] = Tensor(np.array(1.5), AS_IS)
    assert single.array.dtype == np.float32 and single.tolist() == [1.5, 1.5]
    with pytest.raises(RuntimeError, match="float64 for a tensor of .*float32"):
        single[[0, 1]] = Tensor(np.array([1.5, 2.5]), AS_IS)


@pytest.mark.parametrize("library", ["adjoint", "torch"])
def test_a_tensor_shown_otherwise(library):
    """unsqueeze_ and its like: the same memory and history in another shape."""
    lib = pytest.importorskip(library)
    x = lib.arange(6.0).reshape(2, 3).clone().requires_grad_()
    y = x * 1
    y.unsqueeze_(0).transpose_(1, 2)
    assert y.squeeze_(0) is y
    y.mul_(2)
    assert (tuple(y.shape), y._version) == ((3, 2), 4)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0.0, 8.0, 16.0], [24.0, 32.0, 40.0]]
    base = lib.zeros(2, 3)
    part = base[0]
    part.unsqueeze_(1).add_(1)
    assert base.tolist() == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    with pytest.raises(RuntimeError):
        x.t_()


@pytest.mark.parametrize("library", ["adjoint", "torch"])
def test_a_leaf_that_is_a_view_is_refused_too(library):
    lib = pytest.importorskip(library)
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.mul_(2)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_a_view_of_other_elements_turned_in_place_is_as_one_turned() -> None:
    """PyTorch gives the gradient of b.transpose_ untransposed here, which it calls a bug."""
    grads = []
    for turn in (lambda b: b.transpose(0, 1), lambda b: b.transpose_(0, 1)):
        x = adjoint.ones(3, 3, dtype=adjoint.complex64, requires_grad=True)
        b = turn(adjoint.view_as_real(x.clone()))
        b += 1
        b.backward(adjoint.arange(18.0).reshape(3, 3, 2))
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]
    assert grads[0][1][0] == 2 + 3j


def test_a_view_that_is_a_leaf_stays_one() -> None:
    base = adjoint.ones(2)
    view = base[:1].requires_grad_()
    base.mul_(2)
    (view * 3).sum().backward()
    assert view.is_leaf
    assert view.grad.tolist() == [3.0]


def test_the_node_of_a_view_changed_under_no_grad_is_refused() -> None:
    x = adjoint.ones(2, requires_grad=True)
    with no_grad():
        view = x[:1]
        view.mul_(2)
        assert (view * 2).tolist() == [4.0]
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            view.grad_fn  # noqa: B018
    for ask in (lambda: view.grad_fn, lambda: view.is_leaf, lambda: view * 2, lambda: view[0]):
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            ask()
    assert repr(view) == "tensor([2.], grad_fn=<Invalid>)"
    assert x.tolist() == [2.0, 1.0]


def test_bytes_are_read_only_where_elements_begin(torch: Any) -> None:
    """A view of another item size needs neighbours in memory, and places that are whole in both."""
    calls: list[Any] = [
        lambda t, x: x[1:5].view(t.float64),
        lambda t, x: x[2:6].view(t.float64),
        lambda t, x: x[1:5].view(t.complex64),
        lambda t, x: x.reshape(8, 3)[:, :2].view(t.float64),
        lambda t, x: x.reshape(8, 3)[:1, :2].view(t.float64),
        lambda t, x: x.reshape(6, 4)[:, :2].view(dtype=t.float64),
        lambda t, x: x.reshape(6, 4).T.view(t.float16),
        lambda t, x: x.reshape(6, 4).T.view(t.int32),
        lambda t, x: x[::2][:1].view(t.float16),
        lambda t, x: x[:2].expand(3, 2).view(t.float64),
    ]
    for number, call in enumerate(calls):
        found = []
        for library in (adjoint, torch):
            try:
                found.append(call(library, library.arange(24, dtype=library.float32)).tolist())
            except RuntimeError as error:
                found.append(type(error))
        assert found[0] == found[1], number


def test_elements_can_not_be_deleted(torch: Any) -> None:
    """As in PyTorch, it is a TypeError."""
    for library in (adjoint, torch):
        with pytest.raises(TypeError):
            del library.ones(3)[0]


# ---- strides ----

STRIDES: dict[str, Any] = {
    "new dimensions of one": lambda lib, x: x[0, 0].expand(1, 1, 4),
    "new dimensions, one of them of one": lambda lib, x: x[0, 0].expand(2, 1, 4),
    "slice_copy": lambda lib, x: lib.slice_copy(x.permute(2, 0, 1), 0, 0, 2),
    "t_copy": lambda lib, x: lib.t_copy(x[0]),
    "unbind_copy": lambda lib, x: lib.unbind_copy(x.permute(2, 0, 1))[0],
    "split_copy": lambda lib, x: lib.split_copy(x.permute(2, 0, 1), 2)[0],
}


@pytest.mark.parametrize("name", STRIDES)
def test_strides(torch: Any, name: str) -> None:
    shown = [STRIDES[name](lib, lib.arange(24.0).reshape(2, 3, 4)) for lib in (adjoint, torch)]
    assert shown[0].stride() == shown[1].stride()
    assert shown[0].is_contiguous() == shown[1].is_contiguous()


def test_pairs_begin_where_complex_numbers_can(torch: Any) -> None:
    for lib in (adjoint, torch):
        with pytest.raises(RuntimeError):
            lib.view_as_complex(lib.arange(8.0).as_strided((2, 2), (3, 1)))
        assert lib.view_as_complex(lib.arange(8.0).as_strided((2, 2), (4, 1))).tolist() == [
            1j,
            4 + 5j,
        ]


REFORMS: dict[str, Any] = {
    "unsqueeze_": lambda y: y.unsqueeze_(0),
    "t_": lambda y: y.t_(),
    "swapaxes_, twice": lambda y: y.unsqueeze_(0).swapaxes_(0, 2),
    "as_strided_": lambda y: y.as_strided_((3, 2), (1, 3)),
}
OLDER: dict[str, Any] = {
    "a column": lambda y: y[:, 0],
    "a row": lambda y: y[1],
    "turned": lambda y: y.T,
    "flat": lambda y: y.view(-1)[1:],
    "a view of a view": lambda y: y.view(3, 2)[1:].unsqueeze(0),
}


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("reform", REFORMS)
def test_views_from_before_their_base_was_reformed(torch: Any, reform: str, older: str) -> None:
    """They stay where they are in memory, and so do their gradients."""
    found = []
    for lib in (adjoint, torch):
        answers = []
        for change in (None, "view", "base"):
            leaf = lib.arange(6.0).reshape(2, 3).requires_grad_()
            y = leaf * 1
            z = OLDER[older](y)
            REFORMS[reform](y)
            if change is not None:
                (z if change == "view" else y).mul_(2)
            ((z * z).sum() + (y * 3).sum()).backward()
            answers.append((leaf.grad.tolist(), z.tolist(), y.tolist()))
        found.append(answers)
    assert found[0] == found[1]
