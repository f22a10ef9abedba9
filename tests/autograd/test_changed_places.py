"""Places that a node keeps: the result of whole numbers, which has no history of its own."""

import pytest

import adjoint

PLACES = {
    "max": lambda x: x.max(1),
    "median": lambda x: x.median(1),
    "mode": lambda x: x.mode(1),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "sort": lambda x: x.sort(1),
    "topk": lambda x: x.topk(2, 1),
    "cummax": lambda x: x.cummax(1),
    "adaptive_max_pool1d": lambda x: adjoint.nn.functional.adaptive_max_pool1d(
        x, 2, return_indices=True
    ),
    "frexp": adjoint.frexp,
    "lu_factor": lambda x: adjoint.linalg.lu_factor(x[:, :2] + 9 * adjoint.eye(2)),
}


@pytest.fixture(params=PLACES)
def recorded(request):
    x = adjoint.arange(8.0).reshape(2, 4).requires_grad_()
    return x, *PLACES[request.param](x)


def test_a_change_is_refused(recorded):
    _, values, places = recorded
    places.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        values.sum().backward()


def test_a_change_of_a_view_is_refused(recorded):
    _, values, places = recorded
    places[:1].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        values.sum().backward()


def test_what_is_not_changed_is_used(recorded):
    x, values, places = recorded
    places.clone().zero_()
    values.sum().backward()
    assert x.grad.any()
