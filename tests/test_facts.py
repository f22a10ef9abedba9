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
def test_as_strided_in_place_without_history(library: Any) -> None:
    """The same where nothing is recorded: values, versions, refusals; a view shows the change."""
    x = library.arange(12.0)
    for size, stride, offset in (
        ((2, 2), (1, 2), 3),
        ((3,), (4,), None),
        ((2, 1, 2), (0, 9, 1), 0),
    ):
        whole = library.arange(12.0)
        assert whole.as_strided_(size, stride, offset) is whole
        np.testing.assert_array_equal(
            whole.numpy(), library.as_strided(x, size, stride, offset).numpy()
        )
        assert whole._version == 1
    with pytest.raises(RuntimeError, match="single memory location"):
        whole.add_(1)
    part = x[2:8]
    part.as_strided_((2, 2), (2, 1))
    part.fill_(7.0)
    np.testing.assert_array_equal(x.numpy(), [0, 1, 7, 7, 7, 7, 6, 7, 8, 9, 10, 11])
    for size, stride, offset in (((3,), (6,), 0), ((2,), (1,), 11), ((2, 2), (1,), 0)):
        with pytest.raises(RuntimeError):
            library.arange(12.0).as_strided_(size, stride, offset)


@both
def test_renorm_in_place_counts_a_change(library: Any) -> None:
    """Even where no row is too long."""
    x = library.tensor([[3.0, 4.0], [0.3, 0.4]])
    for version, rows in ((1, [[0.6, 0.8], [0.3, 0.4]]), (2, [[0.6, 0.8], [0.3, 0.4]])):
        assert x.renorm_(2, 0, 1.0) is x
        np.testing.assert_allclose(x.numpy(), rows, rtol=1e-6)
        assert x._version == version


@both
def test_a_row_divides_all_rows_in_place(library: Any) -> None:
    """Whether there are few or many, of memory of its own or the tensor's."""
    for count, width in ((258, 387), (7, 3), (12, 5000), (4, 0)):
        x = library.arange(float(count * width)).reshape(count, width) + 1
        row = library.arange(float(width)) + 1
        expected = x / row
        np.testing.assert_array_equal(x.div_(row).numpy(), expected.numpy())
    x = library.arange(12.0).reshape(4, 3) + 1
    expected = x / x[1]
    np.testing.assert_array_equal(x.div_(x[1].clone()).numpy(), expected.numpy())


@both
def test_a_gradient_of_16_bits_passes_through_a_sum(library: Any) -> None:
    """It is the same for both terms, but for alpha, which is rounded once."""
    for kind in (library.float16, library.bfloat16):
        x = library.tensor([1.0, 2.0]).to(kind).requires_grad_()
        y = library.tensor([[1.0, 3.0], [5.0, 7.0]]).to(kind).requires_grad_()
        grad = library.tensor([[1.0, 0.1], [2.0, 0.3]]).to(kind)
        given = library.autograd.grad(library.add(y, x), (y, x), grad)
        assert given[0].dtype is kind and given[1].dtype is kind
        np.testing.assert_array_equal(given[0].float().numpy(), grad.float().numpy())
        np.testing.assert_array_equal(given[1].float().numpy(), grad.sum(0).float().numpy())
        scaled = library.autograd.grad(library.add(x, y, alpha=3), y, grad)[0]
        np.testing.assert_array_equal(scaled.float().numpy(), (grad * 3).float().numpy())


@both
def test_copies_have_memory_of_their_own(library: Any) -> None:
    """What is written to a copy is not seen in its source."""
    x = library.zeros(2, 2)
    library.transpose_copy(x, 0, 1).fill_(1.0)
    for part in library.unbind_copy(x):
        part.fill_(1.0)
    x.narrow_copy(0, 0, 1).fill_(1.0)
    assert x.sum() == 0
