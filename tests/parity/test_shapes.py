"""Functions of shapes alone, compared with PyTorch."""

import pytest

import adjoint


@pytest.mark.parametrize(
    "shapes", [(), ((2, 1), (3,)), (3, (2, 1)), ((0,), (1,)), ((5, 1, 4), (6, 1))]
)
def test_broadcast_shapes(torch, shapes):
    found = adjoint.broadcast_shapes(*shapes)
    assert isinstance(found, adjoint.Size)
    assert tuple(found) == tuple(torch.broadcast_shapes(*shapes))


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((-1,),), ((2, 3), (2, 2))])
def test_shapes_that_do_not_broadcast(torch, shapes):
    with pytest.raises((RuntimeError, ValueError)) as expected:
        torch.broadcast_shapes(*shapes)
    with pytest.raises(expected.type):
        adjoint.broadcast_shapes(*shapes)
