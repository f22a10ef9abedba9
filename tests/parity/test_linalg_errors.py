"""What is refused: both libraries raise, and of the same kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.fft
import adjoint.linalg
from adjoint.autograd.entry_points import grad
from adjoint.ops import find_function
from adjoint.tensors.tensor import AS_IS, Tensor

torch = pytest.importorskip("torch")

SQUARE = np.eye(3)
TALL = np.ones((4, 3))
ZERO = np.zeros((2, 2))
WHOLE = np.ones((2, 2), dtype="int64")
SINGLE = np.ones((3, 3), dtype="float32")
VECTOR = np.ones(3)

# name, arguments, keywords
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("matmul", (TALL, TALL), {}),
    ("chain_matmul", (), {}),
    ("einsum", (". ..", VECTOR), {}),
    ("einsum", (VECTOR, [-1]), {}),
    ("einsum", (VECTOR, [52]), {}),
    ("linalg.vector_norm", (VECTOR, 1j), {}),
    ("linalg.matrix_norm", (SQUARE,), {"dim": (0,)}),
    ("linalg.householder_product", (VECTOR, VECTOR), {}),
    ("ormqr", (SQUARE[None], np.ones((2, 3)), SQUARE[None]), {}),
    ("ormqr", (SQUARE[None], np.ones((1, 3)), np.ones((2, 3, 3))), {}),
    ("lu_unpack", (SQUARE, np.array([0, 2, 3], "int32")), {}),
    ("lu_unpack", (SQUARE, np.array([1, 2, 4], "int32")), {}),
    ("linalg.lu_solve", (SQUARE, np.array([0, 2, 3], "int32"), SQUARE), {}),
    ("linalg.ldl_solve", (SQUARE, np.array([0, 2, 3], "int32"), SQUARE), {}),
    ("linalg.ldl_solve", (SQUARE, np.array([4, 2, 3], "int32"), SQUARE), {}),
    ("matmul", (SQUARE, SINGLE), {}),
    ("matmul", (np.array(1.0), SQUARE), {}),
    ("mm", (SQUARE, VECTOR), {}),
    ("mm", (SQUARE, TALL), {}),
    ("mm", (SQUARE, SINGLE), {}),
    ("bmm", (SQUARE, SQUARE), {}),
    ("bmm", (np.ones((2, 3, 4)), np.ones((3, 4, 2))), {}),
    ("mv", (TALL, np.ones(4)), {}),
    ("mv", (TALL, TALL), {}),
    ("dot", (VECTOR, SQUARE), {}),
    ("dot", (VECTOR, np.ones(2)), {}),
    ("dot", (VECTOR, VECTOR.astype("float32")), {}),
    ("vdot", (VECTOR, np.ones(2)), {}),
    ("outer", (VECTOR, SQUARE), {}),
    ("inner", (TALL, np.ones(4)), {}),
    ("addmm", (np.ones(2), SQUARE, SQUARE), {}),
    ("addmm", (SINGLE, SQUARE, SQUARE), {}),
    ("addmm", (SQUARE, SQUARE, TALL), {}),
    ("addmv", (VECTOR, TALL, VECTOR), {}),
    ("baddbmm", (SQUARE, np.ones((2, 3, 3)), np.ones((4, 3, 3))), {}),
    ("addr", (SQUARE, SQUARE, VECTOR), {}),
    ("einsum", ("ij,jk", SQUARE, TALL), {}),
    ("einsum", ("ij,jk", SQUARE, SINGLE), {}),
    ("einsum", ("ij", VECTOR), {}),
    ("einsum", ("ij->ik", SQUARE), {}),
    ("einsum", ("i->ii", VECTOR), {}),
    ("einsum", ("ij,j->", SQUARE), {}),
    ("einsum", ("i.j->i", SQUARE), {}),
    ("einsum", ("ij->i->j", SQUARE), {}),
    ("einsum", ("a1", SQUARE), {}),
    ("einsum", ("ij",), {}),
    ("tensordot", (SQUARE, SQUARE, 3), {}),
    ("tensordot", (TALL, SQUARE, ([0], [0])), {}),
    ("cross", (ZERO, ZERO), {}),
    ("cross", (VECTOR, SQUARE), {}),
    ("linalg.cross", (TALL.T, TALL.T), {}),
    ("linalg.vecdot", (VECTOR, VECTOR.astype("float32")), {}),
    ("linalg.multi_dot", ([SQUARE],), {}),
    ("linalg.multi_dot", ([SQUARE, TALL],), {}),
    ("chain_matmul", (SQUARE, VECTOR), {}),
    ("cdist", (SQUARE, ZERO), {}),
    ("linalg.inv", (TALL,), {}),
    ("linalg.inv", (VECTOR,), {}),
    ("linalg.inv", (WHOLE,), {}),
    ("linalg.inv", (SQUARE.astype("float16"),), {}),
    ("linalg.inv", (ZERO,), {}),
    ("inverse", (ZERO,), {}),
    ("linalg.inv_ex", (ZERO,), {"check_errors": True}),
    ("linalg.det", (TALL,), {}),
    ("linalg.det", (WHOLE,), {}),
    ("linalg.slogdet", (TALL,), {}),
    ("logdet", (TALL,), {}),
    ("linalg.solve", (ZERO, ZERO), {}),
    ("linalg.solve", (TALL, TALL), {}),
    ("linalg.solve", (SQUARE, ZERO), {}),
    ("linalg.solve", (SQUARE, ZERO), {"left": False}),
    ("linalg.solve", (SQUARE, SINGLE), {}),
    ("linalg.solve_triangular", (SQUARE, VECTOR), {"upper": True}),
    ("linalg.lstsq", (TALL, np.ones((5, 2))), {}),
    ("linalg.lstsq", (TALL, TALL.astype("float32")), {}),
    ("linalg.lstsq", (TALL, TALL), {"driver": "other"}),
    ("linalg.cholesky", (-SQUARE,), {}),
    ("linalg.cholesky", (TALL,), {}),
    ("linalg.cholesky_ex", (-SQUARE,), {"check_errors": True}),
    ("linalg.qr", (TALL, "other"), {}),
    ("linalg.qr", (VECTOR,), {}),
    ("linalg.eigh", (TALL,), {}),
    ("linalg.eigh", (SQUARE, "X"), {}),
    ("linalg.eigvalsh", (TALL,), {}),
    ("linalg.eig", (TALL,), {}),
    ("linalg.eig", (np.full((2, 2), np.nan),), {}),
    ("linalg.svd", (VECTOR,), {}),
    ("linalg.svd", (np.full((2, 2), np.nan),), {}),
    ("linalg.norm", (VECTOR, "fro"), {}),
    ("linalg.norm", (np.ones((2, 2, 2)), 2), {}),
    ("linalg.norm", (WHOLE,), {}),
    ("linalg.norm", (SQUARE, "other"), {}),
    ("linalg.matrix_norm", (SQUARE, 3), {}),
    ("linalg.matrix_norm", (VECTOR,), {}),
    ("linalg.matrix_norm", (SQUARE,), {"dim": (0, 0)}),
    ("linalg.vector_norm", (WHOLE,), {}),
    ("linalg.vector_norm", (SQUARE, "other"), {}),
    ("linalg.vector_norm", (np.ones(0), np.inf), {}),
    ("linalg.vector_norm", (np.ones((0, 2)), -1, 0), {}),
    ("linalg.cond", (TALL, 1), {}),
    ("linalg.matrix_rank", (VECTOR,), {}),
    ("linalg.matrix_rank", (TALL,), {"hermitian": True}),
    ("linalg.matrix_exp", (TALL,), {}),
    ("linalg.matrix_exp", (WHOLE,), {}),
    ("linalg.matrix_power", (TALL, 2), {}),
    ("linalg.matrix_power", (SQUARE, 1.5), {}),
    ("linalg.matrix_power", (ZERO, -1), {}),
    ("linalg.tensorinv", (np.ones((2, 3, 6)),), {"ind": 1}),
    ("linalg.tensorinv", (np.ones((2, 3, 6)),), {"ind": 0}),
    ("linalg.pinv", (WHOLE,), {}),
    ("fft.fft", (SQUARE, 0), {}),
    ("fft.fft", (SQUARE, -1), {}),
    ("fft.fft", (SQUARE,), {"dim": 2}),
    ("fft.fft", (SQUARE,), {"norm": "other"}),
    ("fft.fft", (np.array(1.0),), {}),
    ("fft.fft", (SQUARE.astype("float16"),), {}),
    ("fft.rfft", (SQUARE.astype("complex128"),), {}),
    ("fft.ihfft", (SQUARE.astype("complex128"),), {}),
    ("fft.irfft", (np.ones((3, 1)),), {}),
    ("fft.fft2", (VECTOR,), {}),
    ("fft.fft2", (SQUARE, (2,)), {}),
    ("fft.fftn", (SQUARE,), {"dim": (0, 0)}),
    ("fft.fftn", (SQUARE, (3, 3, 3)), {}),
    ("fft.rfftn", (SQUARE,), {"dim": ()}),
    ("fft.fftfreq", (-1,), {}),
]


def ours(name: str) -> Callable[..., Any]:
    """adjoint's function with this path."""
    home, _, last = name.rpartition(".")
    if home:
        found: Any = getattr(getattr(adjoint, home), last)
    else:
        found = find_function(name)
    assert callable(found)
    return found


def theirs(name: str) -> Callable[..., Any]:
    """PyTorch's function with this path."""
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
    return found


def converted(make: Callable[[np.ndarray], Any], value: Any) -> Any:
    """Arguments with tensors in the place of arrays."""
    if isinstance(value, np.ndarray):
        return make(value)
    if isinstance(value, list):
        return [converted(make, element) for element in value]
    return value


def raised(function: Callable[..., Any], args: Any, kwargs: Any) -> BaseException:
    with pytest.raises(Exception) as info:
        function(*args, **kwargs)
    return info.value


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
@pytest.mark.filterwarnings("ignore")
def test_same_kind_of_error(name: str, args: Any, kwargs: Any) -> None:
    expected = raised(theirs(name), [converted(torch.tensor, a) for a in args], kwargs)
    got = raised(
        ours(name), [converted(lambda a: Tensor(a.copy(), AS_IS), a) for a in args], kwargs
    )
    if isinstance(expected, torch.linalg.LinAlgError):
        assert isinstance(got, adjoint.linalg.LinAlgError)
    else:
        assert type(got) in (type(expected), adjoint.linalg.LinAlgError), got
        assert isinstance(got, type(expected))


def test_shape_errors_name_both_shapes() -> None:
    for name in ("matmul", "mm"):
        with pytest.raises(RuntimeError) as info:
            ours(name)(Tensor(np.ones((2, 3)), AS_IS), Tensor(np.ones((4, 5)), AS_IS))
        message = str(info.value)
        assert "2, 3" in message
        assert "4, 5" in message


def test_qr_without_derivative() -> None:
    A = Tensor(np.random.default_rng(0).normal(size=(3, 2)), AS_IS).requires_grad_()
    for mode, names in (("complete", "complete"), ("r", "'r'")):
        R = adjoint.linalg.qr(A, mode).R
        with pytest.raises(RuntimeError, match=names):
            grad([R.sum()], [A])


@pytest.mark.parametrize("name", ["inv_ex", "solve_ex"])
def test_the_pivot_that_is_zero_is_named(name: str) -> None:
    matrices = np.stack([np.eye(3)] * 4)
    matrices[1, 1, 1] = matrices[2, 2, 2] = matrices[3, 0, 0] = 0
    infos = []
    for library in (adjoint, torch):
        made = library.tensor(matrices)
        arguments = (made,) if name == "inv_ex" else (made, made)
        infos.append(getattr(library.linalg, name)(*arguments).info.tolist())
    assert infos[0] == infos[1] == [0, 2, 3, 1]


@pytest.mark.parametrize("order", ["nuc", "fro", 1, -np.inf])
def test_the_condition_of_singular_matrices(order: Any) -> None:
    matrices = np.stack([np.eye(2), np.diag([1.0, 0.0])])
    ours, theirs = (each.linalg.cond(each.tensor(matrices), order) for each in (adjoint, torch))
    np.testing.assert_allclose(ours.tolist(), theirs.tolist())


def test_lists_name_the_dimensions_of_one_operand() -> None:
    for library in (adjoint, torch):
        assert library.einsum(library.ones(3), [0]).shape == (3,)
        assert library.einsum(library.ones(2, 3), (0, 1)).shape == (2, 3)
        assert library.einsum("i,j->ij", [library.ones(2), library.ones(3)]).shape == (2, 3)


def test_the_largest_norm_as_a_tensor() -> None:
    for library in (adjoint, torch):
        most, values = library.tensor(1.0), library.ones(2, 3)
        shrunk = library.renorm(values, 2, 1, most)
        assert values.renorm_(2, 1, most).tolist() == shrunk.tolist()


def test_cholesky_ex_of_matrices_that_are_nearly_singular() -> None:
    rows = np.random.default_rng(0).normal(size=(1000, 3, 2)).astype("float32")
    found = adjoint.linalg.cholesky_ex(adjoint.tensor(rows @ rows.swapaxes(-1, -2)))
    failed = found.info.numpy() > 0
    assert 0 < failed.sum() < len(rows)
    assert (np.isnan(found.L.numpy()).any((-2, -1)) == failed).all()


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
def test_cholesky_of_matrices_that_are_not_numbers(kind: str) -> None:
    matrices = np.stack([np.eye(3, dtype=kind)] * 4)
    matrices[1, 1, 1] = matrices[2, 2, 0] = matrices[3, 0, 2] = np.nan
    infos = [each.linalg.cholesky_ex(each.tensor(matrices)).info for each in (adjoint, torch)]
    assert infos[0].tolist() == infos[1].tolist() == [0, 2, 3, 0]
    for library in (adjoint, torch):
        for name in ("cholesky", "pinv", "matrix_rank"):
            with pytest.raises(library.linalg.LinAlgError):
                getattr(library.linalg, name)(library.tensor(matrices[1]))


SINGULAR = [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 4.0, 5.0]]
TRIANGLES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "lower": lambda t, A, B: t.linalg.solve_triangular(A, B, upper=False),
    "upper": lambda t, A, B: t.linalg.solve_triangular(A.mT, B, upper=True),
    "right": lambda t, A, B: t.linalg.solve_triangular(A, B.mT, upper=False, left=False),
    "unit": lambda t, A, B: t.linalg.solve_triangular(A, B, upper=False, unitriangular=True),
    "batch": lambda t, A, B: t.linalg.solve_triangular(
        t.stack([A, t.eye(3).to(A.dtype)]), B, upper=False
    ),
    "cholesky_solve": lambda t, A, B: t.cholesky_solve(B, A),
    "triangular_solve": lambda t, A, B: t.triangular_solve(B, A, upper=False).solution,
}


@pytest.mark.parametrize("kind", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", TRIANGLES)
@pytest.mark.filterwarnings("ignore:.*triangular_solve is deprecated")
def test_singular_triangles_have_infinite_solutions(name: str, kind: str) -> None:
    found: list[Any] = []
    for library in (adjoint, torch):
        A = library.tensor(SINGULAR).to(getattr(library, kind))
        B = library.tensor([[2.0, 1.0], [1.0, 0.0], [0.0, 7.0]]).to(A.dtype)
        found.append(TRIANGLES[name](library, A, B).numpy())
    ours, theirs = found
    if kind == "complex128":  # whose infinities are conventions
        ours, theirs = (np.where(np.isfinite(each), each, np.nan) for each in found)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("upper", [True, False])
def test_no_inverse_of_a_singular_factor(upper: bool) -> None:
    for library in (adjoint, torch):
        with pytest.raises(library.linalg.LinAlgError):
            library.cholesky_inverse(library.tensor(SINGULAR), upper=upper)


@pytest.mark.parametrize("kind", ["logdet", "slogdet"])
def test_determinants_that_have_no_logarithm(kind: str) -> None:
    """Below 0 it is NaN, and has no gradient; at 0 the gradient is not a number, and no error."""
    found: list[Any] = []
    for library in (adjoint, torch):
        matrices = [[[1.0, 2], [3, 4]], [[2, 1], [1, 3]], [[1, 2], [2, 4]]]
        x: Any = library.tensor(matrices, dtype=library.float64, requires_grad=True)
        result = library.logdet(x) if kind == "logdet" else library.linalg.slogdet(x)[1]
        result.sum().backward()
        np.testing.assert_array_equal(np.isfinite(x.grad[2].numpy()), False)
        found.append([result.detach().numpy(), x.grad[:2].numpy()])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
