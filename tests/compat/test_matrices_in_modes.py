"""Linear algebra that modes and classes below autograd look at: what is refused, who is asked."""

import pytest

from adjoint.compat import torch
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode


class Log(TorchDispatchMode):
    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


SINGULAR = {
    "solve": lambda a: torch.linalg.solve(a, torch.ones(2, 2)),
    "solve a vector": lambda a: torch.linalg.solve(a, torch.ones(2)),
    "inv": torch.linalg.inv,
    "cholesky": torch.linalg.cholesky,
    "inv of a batch": lambda a: torch.linalg.inv(torch.stack([torch.eye(2), a])),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_matrix_that_cannot_be_done_is_refused_under_a_mode(name):
    matrix = torch.zeros(2, 2)
    with Log() as log, pytest.raises(torch.linalg.LinAlgError):
        SINGULAR[name](matrix)
    assert log.seen[-1] == "aten._linalg_check_errors.default"


class Held(torch.Tensor):
    """A tensor that holds another, and calls on it."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def bare(value):
            return value.held if isinstance(value, cls) else value

        answer = func(*map(bare, args), **{k: bare(v) for k, v in (kwargs or {}).items()})
        if isinstance(answer, (tuple, list)):
            return type(answer)(cls(each) for each in answer)
        return cls(answer) if isinstance(answer, torch.Tensor) else answer


PROGRAMS = {
    "solve": lambda a: torch.linalg.solve(a, a),
    "det": torch.linalg.det,
    "slogdet": lambda a: torch.linalg.slogdet(a)[1],
    "cholesky": torch.linalg.cholesky,
    "eigh": lambda a: torch.linalg.eigh(a)[0],
    "svd": lambda a: torch.linalg.svd(a)[1],
    "qr": lambda a: torch.linalg.qr(a)[1].abs(),
    "norm": lambda a: torch.linalg.vector_norm(a, dim=1),
    "pinv": torch.linalg.pinv,
    "lu": lambda a: torch.linalg.lu(a)[1] + torch.linalg.lu(a)[2],
    "lu_unpack": lambda a: torch.lu_unpack(*torch.linalg.lu_factor(a))[2],
    "lstsq": lambda a: torch.linalg.lstsq(a, a * 2)[0],
    "triangular_solve": lambda a: torch.triangular_solve(a, a)[0],
    "cdist": lambda a: torch.cdist(a, a * 3),
    "cosine_similarity": lambda a: torch.cosine_similarity(a, a * a),
    "cov": torch.cov,
    "nuclear norm": lambda a: torch.linalg.norm(a, "nuc"),
    "cond": torch.linalg.cond,
    "renorm": lambda a: torch.renorm(a, 2, 0, 1.0),
    "cumprod": lambda a: a.cumprod(1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_class_that_holds_a_matrix_gets_its_gradient(name):
    numbers = [[4.0, 1.0], [1.0, 3.0]]
    plain = torch.tensor(numbers, requires_grad=True)
    (expected,) = torch.autograd.grad(PROGRAMS[name](plain).sum(), plain)
    held = Held(torch.tensor(numbers)).requires_grad_()
    (found,) = torch.autograd.grad(PROGRAMS[name](held).sum(), held)
    torch.testing.assert_close(found.held, expected)
