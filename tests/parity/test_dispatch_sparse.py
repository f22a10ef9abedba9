"""What a mode sees of conversions between layouts, and of `Tensor(...)`: PyTorch's operations."""

import importlib

import numpy as np
import pytest

MAKES = {
    "by sizes": lambda torch, x: torch.Tensor(2, 3),
    "by no sizes": lambda torch, x: torch.Tensor(),
    "by a size": lambda torch, x: torch.Tensor(x.size()),
    "of numbers": lambda torch, x: torch.Tensor([1.0, 2.0]),
    "of an array": lambda torch, x: torch.Tensor(np.ones(2, "float32")),
    "of integers": lambda torch, x: torch.LongTensor([1, 2]),
}
CONVERSIONS = {
    "to_sparse": lambda torch, x: x.to_sparse(),
    "to_sparse by rows": lambda torch, x: x.to_sparse(1),
    "to_sparse_csr": lambda torch, x: x.to_sparse_csr(),
    "to_sparse_csc": lambda torch, x: x.to_sparse_csc(),
    "there and back": lambda torch, x: x.to_sparse().to_dense(),
    "csr and back": lambda torch, x: x.to_sparse_csr().to_dense(),
    "between layouts": lambda torch, x: x.to_sparse().to_sparse_csr().to_sparse(),
    "values": lambda torch, x: x.to_sparse().values(),
    "values of rows": lambda torch, x: x.to_sparse_csr().values(),
    "a product": lambda torch, x: x.to_sparse() @ x,
    "a sum": lambda torch, x: x.to_sparse() + x.to_sparse(),
}


def seen(library, function):
    """The names that a mode sees, and what the function answers."""
    log = []
    dispatch = importlib.import_module(f"{library.__name__}.utils._python_dispatch")

    class Log(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(str(func))
            return func(*args, **(kwargs or {}))

    x = library.tensor([[1.0, 0.0], [2.0, 3.0]])
    with Log():
        answer = function(library, x)
    return log, answer


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("name", [*MAKES, *CONVERSIONS])
def test_a_mode_sees_the_same(torch, name):
    compat = importlib.import_module("adjoint.compat.torch")
    function = {**MAKES, **CONVERSIONS}[name]
    (ours, found), (theirs, expected) = (seen(each, function) for each in (compat, torch))
    assert ours == theirs
    assert (tuple(found.shape), found.layout == compat.strided) == (
        tuple(expected.shape),
        expected.layout == torch.strided,
    )
    if "size" not in name:
        assert found.to_dense().tolist() == expected.to_dense().tolist()


CHANGED = {
    "to_dense": lambda torch, w: w.to_sparse().to_dense() * 3,
    "values": lambda torch, w: w.to_sparse().values() ** 2,
    "a new one": lambda torch, w: torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], w[0]).to_dense(),
    "joined": lambda torch, w: (
        torch.sparse_coo_tensor([[1, 0, 1]], w[1]).coalesce().to_dense() ** 2
    ),
    "rows": lambda torch, w: w.to_sparse_csr().to_dense() ** 2,
    "rows of values": lambda torch, w: w.to_sparse_csr().values() ** 2,
    "unmasked": lambda torch, w: w.to_sparse().to_dense(masked_grad=False) * 2,
    "masked": lambda torch, w: (w * 2).sparse_mask(w.detach().to_sparse()).to_dense() ** 2,
}


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("name", CHANGED)
def test_gradients_under_a_mode(torch, name):
    compat = importlib.import_module("adjoint.compat.torch")

    def gradient(library, w):
        leaf = (w.new_tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]])).requires_grad_()
        return library.autograd.grad(CHANGED[name](library, leaf).sum(), leaf)[0].to_dense()

    log, found = seen(compat, gradient)
    _, expected = seen(torch, gradient)
    assert found.tolist() == expected.tolist()
    assert all(hasattr(torch.ops.aten, each.split(".")[1]) for each in log)


def test_a_mode_that_answers_otherwise_is_heeded():
    compat = importlib.import_module("adjoint.compat.torch")
    dispatch = importlib.import_module("adjoint.compat.torch.utils._python_dispatch")

    class Doubles(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            return found * 2 if func is compat.ops.aten._to_dense.default else found

    sparse = compat.eye(2).to_sparse()
    with Doubles():
        assert sparse.to_dense().tolist() == [[2, 0], [0, 2]]
        with Doubles():
            assert sparse.to_dense().tolist() == [[4, 0], [0, 4]]
    assert sparse.to_dense().tolist() == [[1, 0], [0, 1]]
