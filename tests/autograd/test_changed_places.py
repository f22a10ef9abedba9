"""Results that a node keeps, of several: places have no history of their own."""

import re

import numpy as np
import pytest

import adjoint
from adjoint.testing import (
    Tensor,
    all_functions,
    as_array,
    direction_like,
    flatten,
    function_of,
    generator,
    open_call,
    samples_of,
)

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


def weighed(name, sample, change=None):
    """Gradients of all results, one of which is changed before; None if there is one result."""
    call, arrays = open_call(function_of(name), sample)
    leaves = [adjoint.from_numpy(array.copy("K")).requires_grad_() for array in arrays]
    adjoint.manual_seed(0)
    results = [each for each in flatten(call(*leaves)) if isinstance(each, Tensor)]
    live = [each for each in results if each.requires_grad]
    if len(results) < 2 or not live or not leaves:
        return None
    rng = generator(name)
    weights = [adjoint.from_numpy(direction_like(rng, as_array(each))) for each in live]
    roots = [each * 1 for each in live]
    if change is not None:
        with adjoint.no_grad():
            shown = results[change]
            if shown.dtype is adjoint.bool:
                shown.logical_not_()
            else:
                shown.add_(1)
    found = adjoint.autograd.grad(roots, leaves, weights, allow_unused=True)
    return len(results), [None if each is None else as_array(each) for each in found]


@pytest.mark.parametrize("name", all_functions())
def test_a_changed_result_changes_no_gradient_in_silence(name):
    for sample in samples_of(name):
        if not sample.differentiate:
            continue
        expected = weighed(name, sample)
        for number in range(0 if expected is None else expected[0]):
            try:
                found = weighed(name, sample, number)
            except RuntimeError as error:
                assert re.search("inplace|single memory location", str(error))
            else:
                np.testing.assert_equal(found[1], expected[1])
