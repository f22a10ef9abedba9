"""Subclasses of Tensor."""

from typing import ClassVar

import pytest

import adjoint


class Kept(adjoint.Tensor):
    """Inherits Tensor's way: results are of this class."""


class Deeper(Kept):
    """A subclass of a subclass."""


class Other(adjoint.Tensor):
    """Unrelated to Kept."""


class Plain(adjoint.Tensor):
    """Takes part as a plain tensor."""

    __torch_function__ = None


class Logged(adjoint.Tensor):
    """Notes what it takes part in."""

    calls: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, types, len(args), kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Deaf(adjoint.Tensor):
    """Knows no operation."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Wrapper(adjoint.Tensor):
    """Has a __new__ and an __init__ of its own."""

    def __new__(cls, data, note):
        return adjoint.Tensor._make_subclass(cls, data, True)

    def __init__(self, data, note):
        super().__init__()
        self.note = note


@pytest.fixture
def kept():
    return adjoint.tensor([1.0, 2.0]).as_subclass(Kept).requires_grad_()


def test_results_keep_the_class(kept):
    assert type(kept * 2) is Kept
    assert type(2 + kept) is Kept
    assert type(adjoint.exp(kept)) is Kept
    assert type(kept.sum()) is Kept
    assert type(kept[0]) is Kept
    assert type(adjoint.stack([kept, kept])) is Kept
    assert [type(t) for t in kept.unbind()] == [Kept, Kept]
    assert type(kept.shape) is adjoint.Size


def test_gradients_flow(kept):
    (kept * kept).sum().backward()
    assert kept.grad.tolist() == [2, 4]
    assert type(kept.grad) is adjoint.Tensor


def test_classes_mix(kept):
    assert type(kept + adjoint.ones(2)) is Kept
    assert type(adjoint.ones(2) + kept) is Kept
    deeper = adjoint.ones(2).as_subclass(Deeper)
    assert type(kept + deeper) is Deeper
    assert type(deeper + kept) is Deeper
    with pytest.raises(TypeError, match="Kept' and 'Other"):
        kept + adjoint.ones(2).as_subclass(Other)


def test_override_sees_calls():
    x = adjoint.ones(2).as_subclass(Logged)
    Logged.calls.clear()
    y = adjoint.sin(x)
    x.sum(dim=0)
    x + 1
    assert [call[0] for call in Logged.calls] == ["sin", "sum", "add"]
    assert Logged.calls[1] == ("sum", (Logged,), 1, {"dim": 0})
    assert type(y) is Logged


def test_override_may_decline():
    with pytest.raises(TypeError, match="Deaf"):
        adjoint.ones(2).as_subclass(Deaf) + 1


def test_opting_out():
    x = adjoint.ones(2).as_subclass(Plain)
    assert type(x) is Plain
    assert type(x * 2) is adjoint.Tensor


def test_an_error_leaves_the_class_as_it_was(kept):
    with pytest.raises(RuntimeError):
        kept + adjoint.ones(3)
    assert type(kept + 1) is Kept


def test_make_subclass():
    data = adjoint.ones(2)
    made = adjoint.Tensor._make_subclass(Kept, data)
    data.add_(1)
    assert made.tolist() == [2, 2]
    assert made._version == data._version
    assert made.is_leaf and not made.requires_grad
    wrapped = Wrapper(data, "mine")
    assert wrapped.note == "mine"
    assert wrapped.requires_grad
    assert wrapped.data_ptr() == data.data_ptr()


def test_as_subclass_keeps_history():
    x = adjoint.ones(2, requires_grad=True)
    y = (x * 3).as_subclass(Kept)
    assert y.grad_fn.name() == "AliasBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("kind", [int, 3])
def test_only_subclasses_of_tensor(kind):
    for make in (
        lambda: adjoint.Tensor._make_subclass(kind, adjoint.ones(2)),
        lambda: adjoint.ones(2).as_subclass(kind),
    ):
        with pytest.raises(TypeError, match="inherit"):
            make()


class Noted(adjoint.Tensor):
    """Hands what Tensor is made of to its __new__, and keeps the rest."""

    def __new__(cls, data, note):
        return super().__new__(cls, data)

    def __init__(self, data, note):
        self.note = note


class Silent(adjoint.Tensor):
    """Has an __init__ that does not call Tensor's."""

    def __init__(self, data):
        self.note = "set"


@pytest.mark.parametrize("make", [lambda x: Noted(x, "set"), Silent])
@pytest.mark.parametrize("data", [[1.0, 2.0], adjoint.tensor([1.0, 2.0])])
def test_new_makes_the_tensor_whatever_init_does(make, data):
    made = make(data)
    assert made.note == "set"
    assert made.tolist() == [1.0, 2.0]
    assert type(made + 1) is type(made)
    assert len({made, make(data)}) == 2


def test_init_need_not_repeat_the_data():
    class Repeated(adjoint.Tensor):
        def __init__(self, data):
            super().__init__()

    assert Repeated([1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [adjoint.Tensor, Kept])
def test_a_tensor_of_a_tensor_is_a_view_with_its_history(kind):
    leaf = adjoint.ones(2, requires_grad=True)
    made = kind(leaf * 2)
    made.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
    base = adjoint.zeros(2)
    view = kind(base)
    assert view._base is base
    view[0] = 5
    assert base.tolist() == [5.0, 0.0]
    assert base._version == 1


def test_converting_methods_are_seen():
    seen = []

    class Seen(adjoint.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    made = adjoint.ones(2).as_subclass(Seen)
    assert type(made.to(adjoint.float64)) is Seen
    made.double()
    made / 2
    made[0]
    tensor = adjoint.Tensor
    assert seen == [tensor.to, tensor.double, tensor.div, tensor.__getitem__]
