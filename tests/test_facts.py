"""Loops over elements in Python, and questions about tensors, against PyTorch's."""

from typing import Any

import numpy as np
import pytest

import adjoint

torch = pytest.importorskip("torch")
both = pytest.mark.parametrize("library", [adjoint, torch], ids=["adjoint", "torch"])


@both
def test_apply(library: Any) -> None:
    """Each element is replaced, in place, in the data type of the tensor."""
    whole = library.tensor([[1, 2], [3, 4]])
    assert whole.apply_(lambda value: value * 1.5) is whole
    assert whole.tolist() == [[1, 3], [4, 6]]
    turned = library.tensor([[1.0, 2.0], [3.0, 4.0]])
    turned.t().apply_(lambda value: -value)
    assert turned.tolist() == [[-1.0, -2.0], [-3.0, -4.0]]


@both
def test_map(library: Any) -> None:
    """Other tensors are broadcast to the one that is changed."""
    x = library.tensor([1.0, 2.0])
    assert x.map_(library.tensor(5.0), lambda a, b: a * b).tolist() == [5.0, 10.0]
    assert x.map2_(x, library.tensor([1.0, 0.0]), lambda a, b, c: a + b * c).tolist() == [
        10.0,
        10.0,
    ]


@both
def test_refused_loops(library: Any) -> None:
    """A Python function has no derivative, and answers numbers."""
    x, leaf = library.tensor([1.0, 2.0]), library.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        leaf.apply_(lambda value: value)
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        x.map_(leaf, lambda a, b: a)
    with pytest.raises(TypeError):
        x.map_(library.tensor([1, 2]), lambda a, b: a)
    with pytest.raises(TypeError):
        x.map_(3.0, lambda a, b: a)
    with pytest.raises(TypeError):
        x.apply_(lambda value: "a")
    assert x.tolist() == [1.0, 2.0]


@both
def test_to_dense(library: Any) -> None:
    """A dense tensor is itself."""
    x = library.tensor([1.0])
    assert x.to_dense() is x
    assert x.to_dense(library.float64).dtype == library.float64


@both
@pytest.mark.parametrize(
    ("shapes", "error"), [(((2,), (3,)), RuntimeError), (((-1,),), ValueError)]
)
def test_shapes_that_do_not_fit(library: Any, shapes: Any, error: type[Exception]) -> None:
    """A size can't be negative, nor differ from another unless one is 1."""
    with pytest.raises(error):
        library.broadcast_shapes(*shapes)


@both
def test_one_element_is_asked(library: Any) -> None:
    """Of several, or of none, it can't be said whether it is zero."""
    for several in ([1.0, 2.0], []):
        with pytest.raises(RuntimeError, match="ambiguous"):
            library.is_nonzero(library.tensor(several))


@both
def test_as_strided_in_place(library: Any) -> None:
    """The tensor itself shows its memory otherwise, and gradients follow."""
    leaf = library.arange(6.0).requires_grad_()
    x = leaf * 2
    assert library.as_strided_(x, (2, 2), (1, 1), 3) is x
    (x * x).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), [0, 0, 0, 24, 64, 40])
    with pytest.raises(RuntimeError):
        library.as_strided_(library.zeros(2), (3,), (1,))


@both
def test_copies_have_memory_of_their_own(library: Any) -> None:
    """What is written to a copy is not seen in its source."""
    x = library.zeros(2, 2)
    library.transpose_copy(x, 0, 1).fill_(1.0)
    for part in library.unbind_copy(x):
        part.fill_(1.0)
    x.narrow_copy(0, 0, 1).fill_(1.0)
    assert x.sum() == 0
