"""Samples of solvers, decompositions and norms."""

import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.dtypes import float64
from adjoint.testing import Sample, samples
from tests.samples.matmul import complex_normal

Generator = np.random.Generator


def _square(rng: Generator) -> list[np.ndarray]:
    """Square matrices with inverses: one, a batch, a complex one, a single element."""
    real, batch = rng.normal(size=(3, 3)), rng.normal(size=(2, 2, 2))
    return [real, batch, complex_normal(rng, 2, 2), rng.normal(size=(1, 1))]


def _tall_and_wide(rng: Generator) -> list[np.ndarray]:
    """Matrices of full rank: square, tall, wide, a batch, complex ones."""
    shapes = [(3, 3), (3, 2), (2, 3), (2, 3, 2)]
    real = [rng.normal(size=shape) for shape in shapes]
    return [*real, complex_normal(rng, 3, 2), complex_normal(rng, 2, 3), complex_normal(rng, 2, 2)]


def _hermitian(rng: Generator) -> list[np.ndarray]:
    """Hermitian positive definite matrices."""
    made = []
    for matrix in _square(rng):
        adjoint = np.conj(np.swapaxes(matrix, -2, -1))
        made.append(matrix @ adjoint + np.eye(matrix.shape[-1]))
    return made


@samples("linalg_inv")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), torch="linalg.inv")
    yield Sample((np.zeros((0, 0)),), torch="linalg.inv")
    yield Sample((np.zeros((0, 2, 2)),), torch="linalg.inv")


@samples("inverse", "det", "slogdet", "matrix_exp", "pinverse")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,))


@samples("logdet")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in (*_hermitian(rng), complex_normal(rng, 3, 3)):
        yield Sample((matrix,))
    yield Sample((-np.eye(3),), differentiate=False)
    yield Sample((np.zeros((2, 2)),), differentiate=False)


@samples("linalg_inv_ex")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), torch="linalg.inv_ex")
    yield Sample(
        (np.stack([np.zeros((2, 2)), np.eye(2)]),),
        differentiate=False,
        compare_values=False,
        torch="linalg.inv_ex",
    )


@samples("linalg_det")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), torch="linalg.det")
    yield Sample((np.zeros((0, 0)),), differentiate=False, torch="linalg.det")


@samples("linalg_slogdet")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), torch="linalg.slogdet")
    yield Sample((np.zeros((2, 2)),), differentiate=False, torch="linalg.slogdet")


@samples("linalg_pinv")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.pinv"
    for matrix in _tall_and_wide(rng):
        yield Sample((matrix,), torch=path)
    for matrix in _hermitian(rng):
        yield Sample((matrix,), {"hermitian": True}, torch=path)
    for shape in ((2, 0), (0, 3)):
        yield Sample((np.zeros(shape),), differentiate=False, torch=path)
    uneven = np.diag([3.0, 1.0, 1e-3])
    yield Sample((uneven, 1e-2), differentiate=False, torch=path)
    yield Sample((uneven,), {"rtol": 0.5}, differentiate=False, torch=path)
    yield Sample((uneven,), {"atol": 1.5}, differentiate=False, torch=path)
    yield Sample((uneven,), {"atol": 0.1, "rtol": 0.5}, differentiate=False, torch=path)
    batch = np.stack([uneven, uneven])
    yield Sample((batch,), {"atol": np.array([0.1, 2.0])}, differentiate=False, torch=path)


@samples("linalg_solve")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.solve"
    A, batch = rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 3))
    for B in (rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=(2, 3, 1))):
        yield Sample((A, B), torch=path)
    for B in (rng.normal(size=3), rng.normal(size=(2, 3)), rng.normal(size=(3, 2))):
        yield Sample((batch, B), torch=path)
    yield Sample((A, rng.normal(size=(2, 3))), {"left": False}, torch=path)
    yield Sample((complex_normal(rng, 2, 2), complex_normal(rng, 2, 1)), torch=path)
    yield Sample(
        (complex_normal(rng, 2, 2), complex_normal(rng, 3, 2, 2)), {"left": False}, torch=path
    )
    yield Sample((A, np.zeros((3, 0))), torch=path)


@samples("linalg_solve_ex")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.solve_ex"
    yield Sample((rng.normal(size=(3, 3)), rng.normal(size=3)), torch=path)
    yield Sample((rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 2))), torch=path)
    yield Sample((rng.normal(size=(2, 2)), rng.normal(size=(3, 2))), {"left": False}, torch=path)
    zero = np.zeros((2, 2))
    yield Sample((zero, zero), differentiate=False, compare_values=False, torch=path)


@samples("linalg_solve_triangular")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.solve_triangular"
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    for upper in (True, False):
        for left in (True, False):
            for unit in (True, False):
                options = {"upper": upper, "left": left, "unitriangular": unit}
                yield Sample((A, B), options, torch=path)
    yield Sample((A, rng.normal(size=(2, 3, 1))), {"upper": True}, torch=path)
    yield Sample(
        (complex_normal(rng, 2, 2), complex_normal(rng, 2, 1)), {"upper": False}, torch=path
    )


@samples("linalg_lstsq")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.lstsq"
    for A, B in (((4, 3), (4, 2)), ((2, 3), (2, 1)), ((4, 2), (4,)), ((2, 3, 2), (2, 3, 1))):
        arguments = rng.normal(size=A), rng.normal(size=B)
        yield Sample(arguments, torch=path)
        for driver in ("gelsd", "gels", "gelss", "gelsy"):
            yield Sample(arguments, {"driver": driver}, torch=path)
    yield Sample((complex_normal(rng, 3, 2), complex_normal(rng, 3, 1)), torch=path)


def _on_triangle(name: str, place: int) -> Callable[..., Any]:
    """PyTorch's function of a factor's triangle: it gives a gradient to the other one too."""

    def call(*args: Any, upper: bool = False) -> Any:
        import torch

        factor = (torch.triu if upper else torch.tril)(args[place])
        return getattr(torch, name)(*args[:place], factor, upper=upper)

    return call


@samples("cholesky_solve")
def _(rng: Generator) -> Iterator[Sample]:
    L, B = np.tril(rng.normal(size=(3, 3))), rng.normal(size=(3, 2))
    function = _on_triangle("cholesky_solve", 1)
    yield Sample((B, L), torch=function)
    yield Sample((B, L.T.copy()), {"upper": True}, torch=function)
    yield Sample((complex_normal(rng, 2, 1), np.tril(complex_normal(rng, 2, 2))), torch=function)


@samples("cholesky_inverse")
def _(rng: Generator) -> Iterator[Sample]:
    L = np.tril(rng.normal(size=(3, 3)))
    function = _on_triangle("cholesky_inverse", 0)
    yield Sample((L,), torch=function)
    yield Sample((L.T.copy(),), {"upper": True}, torch=function)


@samples("linalg_diagonal")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 3))
    yield Sample((x,), torch="linalg.diagonal")
    yield Sample((x,), {"offset": 1, "dim1": 0, "dim2": 2}, torch="linalg.diagonal")


@samples("linalg_tensorinv")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2, 4)),), torch="linalg.tensorinv")
    yield Sample((rng.normal(size=(4, 2, 2)), 1), torch="linalg.tensorinv")


@samples("linalg_tensorsolve")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.tensorsolve"
    yield Sample((rng.normal(size=(2, 2, 4)), rng.normal(size=(2, 2))), torch=path)
    yield Sample((rng.normal(size=(4, 2, 2)), rng.normal(size=(2, 2)), (0,)), torch=path)


@samples("linalg_matrix_power")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        for n in (0, 1, 2, 3, 5, -1, -2):
            yield Sample((matrix, n), torch="linalg.matrix_power")
    yield Sample((np.arange(4).reshape(2, 2), 3), torch="linalg.matrix_power")


@samples("matrix_power")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2)), 3))


@samples("linalg_matrix_exp")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), torch="linalg.matrix_exp")
        yield Sample((matrix * 3,), torch="linalg.matrix_exp")
    scales = np.array([0.01, 1.0, 10.0])[:, None, None]
    yield Sample((rng.normal(size=(3, 2, 2)) * scales,), torch="linalg.matrix_exp")
    yield Sample((np.zeros((0, 0)),), differentiate=False, torch="linalg.matrix_exp")


# ---- decompositions ----


@samples("linalg_cholesky")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _hermitian(rng):
        yield Sample((matrix,), torch="linalg.cholesky")
        yield Sample((matrix,), {"upper": True}, torch="linalg.cholesky")
    yield Sample((np.zeros((0, 2, 2)),), torch="linalg.cholesky")


@samples("cholesky")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _hermitian(rng):
        yield Sample((matrix,))
        yield Sample((matrix, True))


@samples("linalg_cholesky_ex")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _hermitian(rng):
        yield Sample((matrix,), torch="linalg.cholesky_ex")
    failing = np.stack([np.eye(2), np.diag([1.0, -1.0]), -np.eye(2)])
    yield Sample((failing,), differentiate=False, compare_values=False, torch="linalg.cholesky_ex")


@samples("linalg_qr")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _tall_and_wide(rng):
        yield Sample((matrix,), torch="linalg.qr")
        yield Sample((matrix, "complete"), differentiate=False, torch="linalg.qr")
        yield Sample((matrix, "r"), differentiate=False, torch="linalg.qr")
    yield Sample((rng.normal(size=(2, 3)), "complete"), torch="linalg.qr")


@samples("qr")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 2)),))
    yield Sample((rng.normal(size=(3, 2)), False), differentiate=False)


@samples("linalg_householder_product")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.householder_product"
    yield Sample((rng.normal(size=(3, 2)), rng.normal(size=2)), torch=path)
    yield Sample((rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 2))), torch=path)
    yield Sample((complex_normal(rng, 3, 2), complex_normal(rng, 2)), torch=path)


@samples("orgqr")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 3)), rng.normal(size=2)))


@samples("linalg_lu")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _tall_and_wide(rng):
        yield Sample((matrix,), torch="linalg.lu")
    yield Sample((rng.normal(size=(2, 4, 4)),), differentiate=False, torch="linalg.lu")
    yield Sample((np.ones((3, 3)),), differentiate=False, torch="linalg.lu")


@samples("linalg_lu_factor", "lu_factors")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _tall_and_wide(rng):
        yield Sample((matrix,), torch="linalg.lu_factor")


@samples("lu_unpack")
def _(rng: Generator) -> Iterator[Sample]:
    pivots = np.array([3, 2], dtype="int32")
    yield Sample((rng.normal(size=(3, 2)), pivots))
    yield Sample((rng.normal(size=(2, 3)), np.array([2, 2], dtype="int32")))
    yield Sample((rng.normal(size=(3, 2)), pivots, False), differentiate=False)
    yield Sample((rng.normal(size=(3, 2)), pivots), {"unpack_pivots": False})


@samples("linalg_lu_solve")
def _(rng: Generator) -> Iterator[Sample]:
    pivots = np.array([3, 3, 3], dtype="int32")
    for left in (True, False):
        for adjoint in (True, False):
            options = {"left": left, "adjoint": adjoint}
            B = rng.normal(size=(3, 2) if left else (2, 3))
            yield Sample((rng.normal(size=(3, 3)), pivots, B), options, torch="linalg.lu_solve")
            factors = complex_normal(rng, 3, 3)
            yield Sample((factors, pivots, B + 1j), options, torch="linalg.lu_solve")


@samples("linalg_eigvalsh")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _hermitian(rng):
        for triangle in ("L", "U"):
            yield Sample((matrix, triangle), torch="linalg.eigvalsh")
    yield Sample(
        (rng.normal(size=(3, 3)), "U"),
        differentiate=False,
        torch="linalg.eigvalsh",
        without={"jax": "it takes the mean of both triangles"},
    )


def _has_no_phase(matrix: Any) -> bool:
    """Whether its vectors are real: those of complex ones may not count by themselves."""
    return matrix.dtype.kind != "c"


@samples("linalg_eigh")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _hermitian(rng):
        fixed = _has_no_phase(matrix)
        yield Sample((matrix,), compare_values=False, torch="linalg.eigh", differentiate=fixed)


@samples("linalg_eig")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):  # whose vectors are complex, of free phases
        yield Sample((matrix,), compare_values=False, torch="linalg.eig", differentiate=False)


@samples("linalg_eigvals")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), compare_values=False, torch="linalg.eigvals")


@samples("linalg_svd")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _tall_and_wide(rng):
        fixed = _has_no_phase(matrix)
        for full in (True, False):
            given = (matrix, full)
            yield Sample(given, compare_values=False, torch="linalg.svd", differentiate=fixed)


@samples("svd")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _tall_and_wide(rng):
        fixed = _has_no_phase(matrix)
        yield Sample((matrix,), compare_values=False, differentiate=fixed)
        yield Sample((matrix, False), compare_values=False, differentiate=fixed)
        yield Sample((matrix,), {"compute_uv": False})


@samples("eigenvalues")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _square(rng):
        yield Sample((matrix,), compare_values=False, differentiate=False, torch="linalg.eigvals")


@samples("hermitian_eigenvalues")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _hermitian(rng):
        for triangle in "LU":
            yield Sample((matrix, triangle), differentiate=False, torch="linalg.eigvalsh")


@samples("eigenpairs")
def _(rng: Generator) -> Iterator[Sample]:
    def part(A: Any, count: int, largest: bool) -> Any:
        values, vectors = _torch().linalg.eigh(A)
        if largest:
            values, vectors = values.flip(-1), vectors.flip(-1)
        return values[..., :count], vectors[..., :count]

    for matrix in _hermitian(rng):
        for largest in (True, False):
            count = min(2, len(matrix))
            yield Sample((matrix, count, largest), compare_values=False, torch=part)


@samples("linalg_svdvals")
def _(rng: Generator) -> Iterator[Sample]:
    for matrix in _tall_and_wide(rng):
        yield Sample((matrix,), torch="linalg.svdvals")


# ---- norms ----


@samples("linalg_vector_norm")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.vector_norm"
    x = rng.normal(size=(3, 4))
    for order in (2, 1, 0, 3, 0.5, -1, -2.5, 1.5, math.inf, -math.inf):
        yield Sample((x, order), torch=path)
        yield Sample((x, order, 1, True), torch=path)
        yield Sample((complex_normal(rng, 2, 3), order, (0,)), torch=path)
    yield Sample((x, 2, (0, -1)), {"keepdim": True}, torch=path)
    yield Sample((rng.normal(size=()),), torch=path)
    yield Sample((np.zeros((0, 3)), 2, 0), torch=path)
    yield Sample((np.zeros((2, 3)), 2, 1), second_order=False, torch=path)
    yield Sample((np.array([[1.0, -1.0, 1.0], [0.0, 2.0, -2.0]]), math.inf, 1), torch=path)
    yield Sample((x.astype("float32"),), {"dtype": float64}, torch=path)


@samples("linalg_matrix_norm")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.matrix_norm"
    x = rng.normal(size=(2, 3, 2))
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        yield Sample((x, order), torch=path)
        yield Sample((x, order, (0, -1), True), torch=path)
        yield Sample((complex_normal(rng, 2, 2), order), torch=path)
    yield Sample((x, 1, (2, 0)), torch=path)
    yield Sample((x,), torch=path)


@samples("linalg_norm")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.norm"
    x, y = rng.normal(size=(3, 2)), rng.normal(size=3)
    yield Sample((rng.normal(size=(2, 2, 2)),), torch=path)
    yield Sample((x,), {"keepdim": True}, torch=path)
    for order in ("fro", "nuc", 1, 2, math.inf):
        yield Sample((x, order), torch=path)
        yield Sample((x, order), {"keepdim": True}, torch=path)
    for order in (1, 2, 3, 0, -math.inf):
        yield Sample((y, order), torch=path)
        yield Sample((x, order, 0), torch=path)
    yield Sample((rng.normal(size=(2, 2, 2)), "fro", (0, 2)), torch=path)
    yield Sample((x, None, (0, 1)), torch=path)
    yield Sample((x, 3, (0,), True), torch=path)


@samples("linalg_cond")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.cond"
    for matrix in _square(rng)[:3]:
        for order in (None, 2, -2, "nuc"):
            yield Sample((matrix, order), torch=path)
        for order in (1, -1, "fro", math.inf, -math.inf):  # PyTorch's backward fails here
            yield Sample((matrix, order), differentiate=False, torch=path)
    yield Sample((rng.normal(size=(3, 2)),), torch=path)
    yield Sample((np.zeros((2, 2)), 1), differentiate=False, torch=path)


@samples("linalg_matrix_rank")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.matrix_rank"
    for matrix in _tall_and_wide(rng):
        yield Sample((matrix,), torch=path)
    for matrix in _hermitian(rng):
        yield Sample((matrix,), {"hermitian": True}, torch=path)
    uneven = np.diag([3.0, 1.0, 0.0])
    yield Sample((uneven,), torch=path)
    yield Sample((uneven, 2.0), torch=path)
    yield Sample((uneven,), {"rtol": 0.5}, torch=path)
    yield Sample((uneven,), {"atol": 2.0}, torch=path)
    yield Sample((np.zeros((0, 2)),), torch=path)


@samples("cdist")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    for p in (2.0, 1.0, 3.0, math.inf):
        yield Sample((x, y, p), second_order=False)
    many = rng.normal(size=(27, 3))
    yield Sample((x, many))
    yield Sample((many, y, 2.0, "donot_use_mm_for_euclid_dist"))
    yield Sample((rng.normal(size=(2, 2, 1)), rng.normal(size=(3, 1))), second_order=False)
    yield Sample((x, y, 0.0), differentiate=False)


# ---- the ops behind the functions ----


def _torch() -> Any:
    return importlib.import_module("torch")


@samples("cholesky_lower")
def _(rng: Generator) -> Iterator[Sample]:
    for A in _hermitian(rng):
        yield Sample((A,), torch="linalg.cholesky")


@samples("cholesky_lower_ex")
def _(rng: Generator) -> Iterator[Sample]:
    def factored(A: Any, check_errors: bool = False) -> Any:
        return _torch().linalg.cholesky_ex(A, check_errors=check_errors)

    for A in _hermitian(rng):
        yield Sample((A,), torch=factored)
        yield Sample((A, True), torch=factored)


@samples("cofactors")
def _(rng: Generator) -> Iterator[Sample]:
    def cofactors(A: Any) -> Any:
        return A.det()[..., None, None] * A.inverse().mT

    for A in _square(rng):
        yield Sample((A,), torch=cofactors)


@samples("identity_like")
def _(rng: Generator) -> Iterator[Sample]:
    def identity(A: Any) -> Any:
        return A * 0 + _torch().eye(*A.shape[-2:], dtype=A.dtype)

    for A in _tall_and_wide(rng):
        yield Sample((A,), torch=identity)


@samples("lstsq_facts")
def _(rng: Generator) -> Iterator[Sample]:
    def facts(A: Any, rcond: Any = None) -> Any:
        linalg = _torch().linalg
        return linalg.matrix_rank(A, rtol=rcond), linalg.svdvals(A)

    for A in _tall_and_wide(rng):
        yield Sample((A,), torch=facts, differentiate=False)
    yield Sample((np.diag([1.0, 0.1, 0.01]), 0.05), torch=facts, differentiate=False)


@samples("permutation")
def _(rng: Generator) -> Iterator[Sample]:
    def permutation(pivots: Any, packed: Any) -> Any:
        return _torch().lu_unpack(packed, pivots, unpack_data=False)[0]

    pivots = np.array([2, 3, 3], dtype="int32")
    for pivot, packed in ((pivots, np.zeros((3, 3))), (pivots[:2], np.zeros((3, 2)))):
        yield Sample((pivot, packed), torch=permutation, differentiate=False)


@samples("without_phase")
def _(rng: Generator) -> Iterator[Sample]:
    for shape in ((3,), (2, 3)):
        yield Sample((rng.standard_normal(shape),), torch=lambda x: x.clone(), differentiate=False)


@samples("pseudo_inverse")
def _(rng: Generator) -> Iterator[Sample]:
    def inverse(A: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
        return _torch().linalg.pinv(A, atol=atol, rtol=rtol, hermitian=hermitian)

    for A in _tall_and_wide(rng):
        yield Sample((A,), torch=inverse)
    yield Sample((rng.normal(size=(2, 3)), 1e-3, 1e-2), torch=inverse)
    for A in _hermitian(rng):
        yield Sample((A, None, None, True), torch=inverse, second_order=False)


@samples("rank_of")
def _(rng: Generator) -> Iterator[Sample]:
    def rank(A: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
        return _torch().linalg.matrix_rank(A, atol=atol, rtol=rtol, hermitian=hermitian)

    for A in _tall_and_wide(rng):
        yield Sample((A,), torch=rank, differentiate=False)
    A = np.diag([1.0, 0.1, 0.01])
    yield Sample((A, 0.05), torch=rank, differentiate=False)
    yield Sample((A, None, 0.5, True), torch=rank, differentiate=False)


@samples("solve_with_info")
def _(rng: Generator) -> Iterator[Sample]:
    def solved(A: Any, B: Any, left: bool = True) -> Any:
        return _torch().linalg.solve_ex(A, B, left=left)

    for A in _square(rng):
        yield Sample((A, A + 1), torch=solved)
        yield Sample((A, A[..., :1, :], False), torch=solved)


@samples("solve_matrix")
def _(rng: Generator) -> Iterator[Sample]:
    def solved(A: Any, B: Any, left: bool = True) -> Any:
        return _torch().linalg.solve(A, B, left=left)

    for A in _square(rng):
        yield Sample((A, A + 1), torch=solved)
        yield Sample((A, A[..., :1, :], False), torch=solved)
