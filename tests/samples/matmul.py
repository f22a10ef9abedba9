"""Samples of the products."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


def complex_normal(rng: Generator, *size: int) -> np.ndarray:
    """Complex numbers with normal parts."""
    return rng.normal(size=size) + 1j * rng.normal(size=size)


@samples("matmul")
def _(rng: Generator) -> Iterator[Sample]:
    shapes = [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3,)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 1, 2, 3), (3, 3, 1)),
        ((1, 2, 2), (3, 2, 2)),
        ((2, 3, 1), (2, 1, 4)),
        ((2, 1, 3, 1), (3, 1, 4)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((2, 0, 3), (3, 2)),
        ((2, 2, 0), (0, 2)),
    ]
    for left, right in shapes:
        yield Sample((rng.normal(size=left), rng.normal(size=right)))
    yield Sample((complex_normal(rng, 2, 3), complex_normal(rng, 3, 2)))
    yield Sample((complex_normal(rng, 2, 2, 3), complex_normal(rng, 3)))
    yield Sample((complex_normal(rng, 3), complex_normal(rng, 2, 3, 2)))
    yield Sample((np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)))


@samples("mm")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=(3, 4))))
    yield Sample((complex_normal(rng, 2, 3), complex_normal(rng, 3, 1)))


@samples("bmm")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 3, 2))))
    yield Sample((np.zeros((0, 2, 3)), np.zeros((0, 3, 2))))


@samples("mv")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=3)))


@samples("dot", "vdot")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=4), rng.normal(size=4)))
    yield Sample((complex_normal(rng, 4), complex_normal(rng, 4)))
    yield Sample((np.zeros(0), np.zeros(0)))
    yield Sample((np.arange(3), np.arange(3)))


@samples("outer")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3), rng.normal(size=2)))
    yield Sample((complex_normal(rng, 3), rng.normal(size=2)))


@samples("outer_product")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3), rng.normal(size=2)), torch="outer")
    yield Sample((complex_normal(rng, 2), complex_normal(rng, 3)), torch="outer")
    yield Sample((rng.normal(size=0), rng.normal(size=2)), torch="outer")


@samples("inner")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3), rng.normal(size=3)))
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=(2, 2, 3))))
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=())))


@samples("addmm")
def _(rng: Generator) -> Iterator[Sample]:
    mat1, mat2 = rng.normal(size=(2, 3)), rng.normal(size=(3, 4))
    yield Sample((rng.normal(size=(2, 4)), mat1, mat2))
    yield Sample((rng.normal(size=4), mat1, mat2), {"beta": 0.5, "alpha": -2})
    yield Sample((rng.normal(size=()), mat1, mat2), {"alpha": 2.5})
    yield Sample((np.full((2, 4), np.nan), mat1, mat2), {"beta": 0})
    complex_operands = [complex_normal(rng, 2, 2) for _ in range(3)]
    yield Sample(tuple(complex_operands), {"alpha": 1 + 2j, "beta": 0.5j})
    whole = np.arange(4).reshape(2, 2)
    yield Sample((whole, whole, whole), {"alpha": 2})


@samples("addmv")
def _(rng: Generator) -> Iterator[Sample]:
    mat, vec = rng.normal(size=(2, 3)), rng.normal(size=3)
    yield Sample((rng.normal(size=2), mat, vec))
    yield Sample((rng.normal(size=1), mat, vec), {"beta": 0.5, "alpha": -2})


@samples("baddbmm")
def _(rng: Generator) -> Iterator[Sample]:
    batch1, batch2 = rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 3, 2))
    yield Sample((rng.normal(size=(2, 2, 2)), batch1, batch2))
    yield Sample((rng.normal(size=(2, 1)), batch1, batch2), {"beta": 0.5, "alpha": -2})


@samples("addbmm")
def _(rng: Generator) -> Iterator[Sample]:
    batch1, batch2 = rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 3, 2))
    yield Sample((rng.normal(size=(2, 2)), batch1, batch2))
    yield Sample((rng.normal(size=2), batch1, batch2), {"beta": 0.5, "alpha": -2})


@samples("addr")
def _(rng: Generator) -> Iterator[Sample]:
    vec1, vec2 = rng.normal(size=2), rng.normal(size=3)
    yield Sample((rng.normal(size=(2, 3)), vec1, vec2))
    yield Sample((rng.normal(size=3), vec1, vec2), {"beta": 0.5, "alpha": -2})


@samples("einsum")
def _(rng: Generator) -> Iterator[Sample]:
    equations = [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk", (2, 3), (3, 4)),
        ("ij,jk->ki", (2, 3), (3, 4)),
        ("ba", (2, 3)),
        ("ij->", (2, 3)),
        ("ij->j", (2, 3)),
        ("ii", (3, 3)),
        ("ii->i", (3, 3)),
        ("iij->ji", (2, 2, 3)),
        ("iii->i", (2, 2, 2)),
        ("i,j->ij", (2,), (3,)),
        ("i,i->i", (3,), (3,)),
        ("i,i", (1,), (3,)),
        ("ij,ij->i", (2, 1), (2, 3)),
        ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
        ("bij,bjk->bik", (1, 2, 2), (3, 2, 2)),
        ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
        ("...i->...", (2, 3)),
        ("...", (2, 3)),
        ("i...,i->...", (3, 2), (3,)),
        ("...j,jk->k", (3, 2), (2, 2)),
        ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)),
        ("a,b,c,d->dcab", (2,), (1,), (2,), (3,)),
        ("bn,anm,bm->ba", (2, 3), (2, 3, 2), (2, 2)),
        ("ij,kl->", (2, 2), (2, 3)),
        ("ij,ik,il->jkl", (2, 2), (2, 1), (2, 3)),
        ("ii,jj->ij", (2, 2), (3, 3)),
        (",", (), ()),
        ("->", ()),
        ("i,->i", (3,), ()),
        ("ij,jk", (0, 3), (3, 2)),
        ("iJ,jJ->ij", (2, 3), (2, 3)),
    ]
    for equation, *shapes in equations:
        yield Sample((equation, *[rng.normal(size=shape) for shape in shapes]))
    yield Sample(("ij , jk -> ik", [rng.normal(size=(2, 2)), rng.normal(size=(2, 2))]))
    yield Sample(("bi,bij->bj", complex_normal(rng, 2, 2), complex_normal(rng, 2, 2, 2)))
    yield Sample((rng.normal(size=(2, 3)), [0, 1], rng.normal(size=(3, 2)), [1, 30], [30, 0]))
    yield Sample((rng.normal(size=(2, 3)), [..., 1], rng.normal(size=3), [1]))
    yield Sample(("ij,jk", np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2)))


@samples("tensordot")
def _(rng: Generator) -> Iterator[Sample]:
    a, b = rng.normal(size=(2, 3, 2)), rng.normal(size=(3, 2, 2))
    yield Sample((a, b))
    yield Sample((a, b, ([1, 0], [0, -1])))
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=(3, 2))), {"dims": 1})
    yield Sample((rng.normal(size=2), rng.normal(size=3)), {"dims": 0})
    yield Sample((rng.normal(size=(1, 2)), rng.normal(size=(3, 2)), ([0], [0])))


@samples("kron")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2)), rng.normal(size=(1, 3))))
    yield Sample((rng.normal(size=(2, 2)), rng.normal(size=3)))
    yield Sample((rng.normal(size=2), rng.normal(size=())))
    yield Sample((rng.normal(size=()), rng.normal(size=())))
    yield Sample((rng.normal(size=(2, 1, 3)), complex_normal(rng, 2, 2)))
    yield Sample((rng.normal(size=(2, 0)), rng.normal(size=(3, 2))))


@samples("cross")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3), rng.normal(size=3)))
    yield Sample((rng.normal(size=(3, 3)), rng.normal(size=(3, 3))))
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=(1, 3)), -1))
    yield Sample((complex_normal(rng, 2, 3), complex_normal(rng, 2, 3)))


@samples("linalg_cross")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.cross"
    yield Sample((rng.normal(size=(3, 3)), rng.normal(size=(3, 3))), torch=path)
    yield Sample((rng.normal(size=(3, 2)), rng.normal(size=(3, 2))), {"dim": 0}, torch=path)


@samples("linalg_vecdot")
def _(rng: Generator) -> Iterator[Sample]:
    path = "linalg.vecdot"
    yield Sample((rng.normal(size=3), rng.normal(size=(2, 3))), torch=path)
    yield Sample((complex_normal(rng, 3, 2), complex_normal(rng, 3, 2)), {"dim": 0}, torch=path)


@samples("linalg_multi_dot")
def _(rng: Generator) -> Iterator[Sample]:
    matrices = [rng.normal(size=shape) for shape in ((2, 4), (4, 1), (1, 3))]
    yield Sample((matrices,), torch="linalg.multi_dot")
    vector, matrix = rng.normal(size=2), rng.normal(size=(2, 2))
    yield Sample(([vector, matrix, vector],), torch="linalg.multi_dot")
    yield Sample(([matrix, vector],), torch="linalg.multi_dot")


@samples("chain_matmul")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample(tuple(rng.normal(size=shape) for shape in ((2, 4), (4, 1), (1, 3), (3, 2))))
    yield Sample((rng.normal(size=(2, 3)),))


@samples("contract")
def _(rng: Generator) -> Iterator[Sample]:
    def contracted(a: Any, b: Any, left: str, right: str, out: str) -> Any:
        return importlib.import_module("torch").einsum(f"{left},{right}->{out}", a, b)

    x, y = rng.normal(size=(2, 3)), rng.normal(size=(3, 4))
    yield Sample((x, y, "ij", "jk", "ik"), torch=contracted)
    yield Sample((x, y, "ij", "jk", "kji"), torch=contracted)
    z = complex_normal(rng, 2, 3)
    yield Sample((z, complex_normal(rng, 3, 2), "ij", "ji", ""), torch=contracted)


BATCHES = (((5,), (5,)), ((), (5,)), ((5,), ()), ((2, 1), (5,)))  # of matrices on either side


@samples("turned_product")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(4, 3)), rng.normal(size=(4, 2))), torch=lambda a, b: a.T @ b)
    yield Sample((complex_normal(rng, 4, 3), complex_normal(rng, 4, 2)), torch=lambda a, b: a.T @ b)
    for first, second in BATCHES:
        yield Sample(
            (rng.normal(size=(*first, 4, 3)), rng.normal(size=(*second, 4, 2))),
            torch=lambda a, b: a.mT @ b,
        )


@samples("rows_product")
def _(rng: Generator) -> Iterator[Sample]:
    for few in (4, 65):  # NumPy's product of so many rows goes another way
        yield Sample(
            (rng.normal(size=(few, 3)), rng.normal(size=(2, 3))), torch=lambda a, b: a @ b.T
        )
    yield Sample((complex_normal(rng, 4, 3), complex_normal(rng, 2, 3)), torch=lambda a, b: a @ b.T)
    for first, second in BATCHES:
        yield Sample(
            (rng.normal(size=(*first, 4, 3)), rng.normal(size=(*second, 2, 3))),
            torch=lambda a, b: a @ b.mT,
        )


@samples("addbmm_")
def _(rng: Generator) -> Iterator[Sample]:
    batch1, batch2 = rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 3, 2))
    yield Sample(
        (rng.normal(size=(2, 2)), batch1, batch2), torch="Tensor.addbmm_", differentiate=False
    )
