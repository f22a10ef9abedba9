"""Samples of older forms of factorizations, and of approximate ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


def _torch() -> Any:
    import torch

    return torch


def complex_normal(rng: Generator, *shape: int) -> Any:
    """Complex numbers with normal parts."""
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@samples("lu")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 3)),))
    yield Sample((rng.normal(size=(2, 3, 2)),))
    yield Sample((complex_normal(rng, 2, 2), True, True))
    yield Sample((np.ones((2, 3, 3)), True, True), differentiate=False)


@samples("linalg_lu_factor_ex")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.lu_factor_ex"
    yield Sample((rng.normal(size=(3, 3)),), torch=path)
    yield Sample((complex_normal(rng, 2, 2, 2),), torch=path)
    yield Sample((np.ones((2, 3, 3)),), torch=path, differentiate=False)


@samples("first_zero_pivot")
def _(rng: Generator) -> Iterator[Sample]:
    def pivot(packed: Any) -> Any:
        return _torch().linalg.lu_factor_ex(packed).info

    yield Sample((np.stack([np.eye(3), np.zeros((3, 3)), np.diag([1.0, 0, 1])]),), torch=pivot)
    yield Sample((np.zeros((2, 0, 0)),), torch=pivot)


@samples("lu_solve")
def _(rng: Generator) -> Iterator[Sample]:
    pivots = np.array([3, 3, 3], dtype="int32")
    yield Sample((rng.normal(size=(3, 2)), rng.normal(size=(3, 3)), pivots))
    yield Sample((complex_normal(rng, 3, 1), complex_normal(rng, 3, 3), pivots))


@samples("triangular_solve")
def _(rng: Generator) -> Iterator[Sample]:
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    for upper in (True, False):
        for transpose in (True, False):
            yield Sample((B, A, upper, transpose))
            yield Sample((B, A), {"upper": upper, "transpose": transpose, "unitriangular": True})
    yield Sample((rng.normal(size=(2, 3, 1)), A))
    yield Sample((complex_normal(rng, 2, 1), complex_normal(rng, 2, 2), False, True))


@samples("geqrf")
def _(rng: Generator) -> Iterator[Sample]:
    for shape in ((3, 3), (4, 2), (2, 3), (2, 3, 2)):
        yield Sample((rng.normal(size=shape),), differentiate=False)
    yield Sample((complex_normal(rng, 3, 2),), differentiate=False)


@samples("ormqr")
def _(rng: Generator) -> Iterator[Sample]:
    def product(A: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
        """By the whole of Q, since PyTorch has no derivative by the reflections."""
        torch = _torch()
        rows, count = A.shape[-2], tau.shape[-1]
        Q = torch.eye(rows, dtype=A.dtype)
        for place in range(count):
            vector = A[..., place : place + 1].tril(-1 - place) + Q.new_zeros(rows, 1)
            vector = vector + torch.eye(rows, dtype=A.dtype)[:, place : place + 1]
            Q = Q - Q @ vector @ vector.mH * tau[..., place, None, None]
        Q = Q.mH if transpose else Q
        return Q @ other if left else other @ Q

    for transpose in (False, True):
        A, tau, B = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=(3, 2))
        yield Sample((A, tau, B), {"transpose": transpose}, torch=product)
        yield Sample((A, tau, B.T, False, transpose), torch=product)
        yield Sample((A, tau, B, True, transpose), differentiate=False)
        mixed = complex_normal(rng, 3, 2), complex_normal(rng, 2), complex_normal(rng, 3, 1)
        yield Sample((*mixed, True, transpose), torch=product)


@samples("svd_lowrank")
def _(rng: Generator) -> Iterator[Sample]:
    def lowrank(*args: Any, **kwargs: Any) -> Any:
        return _torch().svd_lowrank(*args, **kwargs)

    for shape in ((4, 3), (3, 4), (2, 4, 3)):
        yield Sample((rng.normal(size=shape), 3), torch=lowrank, compare_values=False)
    A = rng.normal(size=(4, 3))
    yield Sample((A, 3, 1, rng.normal(size=(4, 3))), torch=lowrank, compare_values=False)
    yield Sample((A,), torch=lowrank, compare_values=False)


@samples("pca_lowrank")
def _(rng: Generator) -> Iterator[Sample]:
    for options in ({}, {"center": False}, {"q": 2, "niter": 1}):
        yield Sample((rng.normal(size=(4, 3)),), options, compare_values=False)


@samples("lobpcg")
def _(rng: Generator) -> Iterator[Sample]:
    for shape, options in (((3, 3), {}), ((2, 6, 6), {"k": 2, "largest": False})):
        A = rng.normal(size=shape)
        A = A @ np.swapaxes(A, -1, -2)
        yield Sample((A,), options, compare_values=False, differentiate=False)


def _symmetric(rng: Generator, *shape: int) -> Any:
    matrix = rng.normal(size=shape)
    return matrix + matrix.swapaxes(-1, -2)


@samples("linalg_ldl_factor")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.ldl_factor"
    for shape in ((4, 4), (2, 5, 5), (0, 0)):
        yield Sample((_symmetric(rng, *shape),), torch=path, differentiate=False)
    hermitian = {"hermitian": True}
    yield Sample((complex_normal(rng, 4, 4),), hermitian, torch=path, differentiate=False)
    yield Sample((complex_normal(rng, 4, 4),), torch=path, differentiate=False)


@samples("linalg_ldl_factor_ex")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.ldl_factor_ex"
    yield Sample((_symmetric(rng, 2, 4, 4),), torch=path, differentiate=False)
    yield Sample((np.zeros((3, 3)),), torch=path, differentiate=False)


@samples("ldl_factors")
def _(rng: Generator) -> Iterator[Sample]:
    def factors(A: Any, hermitian: bool) -> Any:
        return _torch().linalg.ldl_factor_ex(A, hermitian=hermitian)

    yield Sample((_symmetric(rng, 6, 6), False), torch=factors, differentiate=False)
    yield Sample((complex_normal(rng, 2, 4, 4), True), torch=factors, differentiate=False)


_LD = np.tril(np.array([[2.0, 0, 0], [0.5, -1, 0], [0.25, 0.75, 3]]))
_PIVOTS = (np.array([1, 2, 3], "int32"), np.array([-3, -3, 3], "int32"))


@samples("linalg_ldl_solve")
def _(rng: Generator) -> Iterator[Sample]:
    for pivots in _PIVOTS:
        right = rng.normal(size=(3, 2))
        yield Sample((_LD, pivots, right), torch="linalg.ldl_solve", differentiate=False)


@samples("ldl_solved")
def _(rng: Generator) -> Iterator[Sample]:
    def solved(LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
        return _torch().linalg.ldl_solve(LD, pivots, B, hermitian=hermitian)

    for pivots in _PIVOTS:
        for hermitian in (False, True):
            right = complex_normal(rng, 3, 2)
            sample = (_LD.astype(complex), pivots, right, hermitian)
            yield Sample(sample, torch=solved, differentiate=False)


@samples("solve_adjoint")
def _(rng: Generator) -> Iterator[Sample]:
    def solved(factors: Any, pivots: Any, B: Any) -> Any:
        return _torch().linalg.lu_solve(factors.mT.contiguous(), pivots + 1, B, adjoint=True)

    pivots = np.array([2, 1, 2], "int32")
    for kind in ("complex128", "float64"):
        factors = complex_normal(rng, 3, 3) + 2 * np.eye(3)
        sides = (factors, complex_normal(rng, 3, 2))
        factors, B = (side if kind == "complex128" else side.real.copy() for side in sides)
        yield Sample((factors, pivots, B), torch=solved, differentiate=False)
