"""Pickles and copies."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as torch


class Special(adjoint.Tensor):
    """A subclass that pickle can find."""


class Says(Special):
    """A subclass that says what is pickled of it."""

    def __getstate__(self):
        return self.note, self.__dict__


class SaysBoth(Says):
    """A subclass that takes it, too."""

    def __setstate__(self, state):
        note, self.__dict__ = state
        self.note, self.unsaid = note, None


class SaysAttributes(Special):
    """A subclass whose state is attributes."""

    def __getstate__(self):
        return {**self.__dict__, "unsaid": None}


def round_trip(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    x = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.tolist() == x.tolist()
    assert y.requires_grad and y.is_leaf
    assert y.dtype is x.dtype


@pytest.mark.parametrize("kind", adjoint.dtypes.ALL, ids=str)
def test_every_data_type(kind):
    x = adjoint.ones(2, dtype=kind)
    assert round_trip(x).dtype is kind
    assert round_trip(kind) is kind


def test_history_is_not_pickled():
    x = adjoint.ones(2, requires_grad=True)
    y = round_trip(x * 2)
    assert y.is_leaf and y.requires_grad
    x.grad = adjoint.ones(2)
    assert round_trip(x).grad is None


def test_a_view_is_stored_alone():
    base = adjoint.zeros(1000, 1000)
    assert len(pickle.dumps(base[0, :3])) < 2000


def test_attributes_and_class_are_kept():
    x = adjoint.tensor([1.0]).as_subclass(Special)
    x.note = "mine"
    for y in (round_trip(x), copy.copy(x), copy.deepcopy(x)):
        assert type(y) is Special
        assert y.note == "mine"


@pytest.mark.parametrize("kind", [SaysBoth, SaysAttributes])
def test_a_class_says_what_is_pickled_of_it(kind):
    x = adjoint.tensor([1.0]).as_subclass(kind)
    x.note, x.unsaid = "mine", "lost"
    assert x.add_(1).tolist() == [2.0]
    saved = io.BytesIO()
    torch.save(x, saved)
    saved.seek(0)
    for y in (round_trip(x), copy.copy(x), torch.load(saved, weights_only=False)):
        assert type(y) is kind and y.tolist() == [2.0]
        assert y.note == "mine" and getattr(y, "unsaid", None) is None
    saved.seek(0)
    with torch.serialization.safe_globals([kind]):
        assert torch.load(saved).note == "mine"


def test_a_state_that_is_no_attributes_needs_a_class_that_takes_it():
    x = adjoint.tensor([1.0]).as_subclass(Says)
    x.note = "mine"
    with pytest.raises(AttributeError):
        round_trip(x)


def test_hooks_are_missed():
    x = adjoint.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="will not be serialized"):
        pickle.dumps(x)
    y = adjoint.ones(2, requires_grad=True)

    def dispensable(grad):
        return grad

    dispensable.__torch_unserializable__ = True
    y.register_hook(dispensable)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(y)


def test_copy_shares_memory():
    x = adjoint.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert y.requires_grad


def test_deepcopy():
    x = adjoint.ones(2, requires_grad=True)
    x.grad = adjoint.full((2,), 3.0)
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert first.data_ptr() != x.data_ptr()
    assert first.requires_grad
    assert first.grad.tolist() == [3, 3]
    assert first.grad is not x.grad


def test_deepcopy_keeps_the_order_in_memory():
    x = adjoint.zeros(3, 2).permute(1, 0).detach()
    assert copy.deepcopy(x).stride() == (1, 2)


def test_deepcopy_keeps_what_is_shared():
    """Views, in whatever order they come, and the same memory without history."""
    x = adjoint.arange(6.0).reshape(2, 3)
    given = [x[:, 1], x, x.detach(), x.T, x.view(adjoint.int32), x[1]]
    copies = copy.deepcopy(given)
    copies[1].add_(1)
    assert [each.stride() for each in copies] == [each.stride() for each in given]
    assert [each.storage_offset() for each in copies] == [1, 0, 0, 0, 0, 3]
    assert copies[0].tolist() == [2, 5]
    assert copies[2].tolist() == copies[3].T.tolist() == copies[1].tolist()
    assert copies[4].view(adjoint.float32).tolist() == copies[1].tolist()
    assert copies[5].tolist() == [4, 5, 6]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_deepcopy_refuses_history():
    x = adjoint.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)


def test_numpy_arrays_inside():
    x = adjoint.ones(2)
    x.note = np.arange(3)
    assert round_trip(x).note.tolist() == [0, 1, 2]


def test_an_array_that_was_unpickled_is_like_any_other():
    """NumPy gives it a data type object of its own, by which calls would not be cut short."""
    array = pickle.loads(pickle.dumps(np.linspace(0.5, 3.0, 7)))
    assert array.dtype is not np.dtype(float)
    usual = adjoint.linspace(0.5, 3.0, 7, dtype=adjoint.float64)
    for make in (adjoint.tensor, adjoint.as_tensor, adjoint.from_numpy):
        assert make(array).array.dtype is np.dtype(float)
    again = pickle.loads(pickle.dumps(usual))
    assert again.array.dtype is np.dtype(float)
    assert adjoint.equal(again.lgamma(), usual.lgamma())  # by the same loop
