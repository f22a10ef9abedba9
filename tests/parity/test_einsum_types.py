"""einsum mixes data types where PyTorch does: where nothing is summed, sizes of 1 included."""

import pytest

import adjoint

CASES = [
    ("sr,rai->sai", (1, 1), (1, 4, 3)),
    ("sr,rai->sai", (2, 2), (2, 4, 3)),
    ("ij,jk->ik", (2, 3), (1, 2)),
    ("ij,ij->ij", (2, 2), (2, 2)),
    ("ij,ij->i", (2, 2), (2, 2)),
    ("ij,j->i", (2, 1), (1,)),
    ("ij,k->k", (2, 2), (3,)),
]


def answer(library, equation, *shapes):
    """The type and values of a product of both types, or the error."""
    one, other = library.ones(shapes[0]), library.ones(shapes[1]).double()
    try:
        found = library.einsum(equation, one, other)
    except RuntimeError as error:
        return type(error)
    return str(found.dtype).split(".")[-1], found.tolist()


@pytest.mark.parametrize("case", CASES)
def test_types_of_operands(case, torch):
    assert answer(adjoint, *case) == answer(torch, *case)
