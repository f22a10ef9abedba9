"""Errors of array libraries reach the user as one error, in the compiled package and the pure one.

Each is raised while the library's own is handled; its traceback must not tell of that one.
"""

import re
import sys
import traceback

import pytest

import adjoint
from adjoint.nn import functional

MATRIX = adjoint.ones(2, 3)
BROADCAST = "the shapes can't be broadcast together; sizes must be equal or 1, from the last on"
NO_DIMENSION = "Dimension out of range (expected to be in range of [-2, 1], but got 5)"


def in_inference_mode():
    with adjoint.inference_mode():
        return adjoint.ones(2) + adjoint.ones(3)


# What is called, the type of its error, and the message.
CALLS = {
    "two tensors": (
        lambda: adjoint.ones(2) + adjoint.ones(3),
        RuntimeError,
        f"add(float32[2], float32[3]): {BROADCAST}",
    ),
    "two tensors, recorded": (
        lambda: adjoint.ones(2, requires_grad=True) * adjoint.ones(3),
        RuntimeError,
        f"mul(float32[2], float32[3]): {BROADCAST}",
    ),
    "the general path": (
        in_inference_mode,
        RuntimeError,
        f"add(float32[2], float32[3]): {BROADCAST}",
    ),
    "another data type": (
        lambda: adjoint.ones(2).half() + adjoint.ones(3).half(),
        RuntimeError,
        f"add(float16[2], float16[3]): {BROADCAST}",
    ),
    "a product of matrices": (
        lambda: MATRIX @ MATRIX,
        RuntimeError,
        "matmul(float32[2, 3], float32[2, 3]): the inner sizes of the two matrices differ",
    ),
    "three tensors": (
        lambda: adjoint.addcmul(adjoint.ones(2), adjoint.ones(3), adjoint.ones(2)),
        RuntimeError,
        f"addcmul(float32[2], float32[3], float32[2]): {BROADCAST}",
    ),
    "a reduction": (
        lambda: MATRIX.sum(5),
        IndexError,
        f"sum(float32[2, 3]): {NO_DIMENSION}",
    ),
    "an index": (
        lambda: MATRIX[5],
        IndexError,
        "select(float32[2, 3], 0, 5): index 5 is out of bounds for dimension 0 with size 2",
    ),
    "an index tensor": (
        lambda: MATRIX.take(adjoint.tensor([100])),
        IndexError,
        "pick(float32[6], (array([100]),)): index 100 is out of bounds for axis 0 with size 6",
    ),
    "a view": (
        lambda: MATRIX.view(7),
        RuntimeError,
        "view_shape(float32[2, 3], (7,)): shape '[7]' is invalid for input of size 6",
    ),
    "a layer": (
        lambda: functional.linear(MATRIX, adjoint.ones(2, 2)),
        RuntimeError,
        "linear(float32[2, 3], float32[2, 2]): the last dimension of input, of shape [2, 3], ",
    ),
    "in place": (
        lambda: adjoint.ones(2).add_(adjoint.ones(3)),
        RuntimeError,
        f"add(float32[2], float32[3]): {BROADCAST}",
    ),
    "in place, an op of its own": (
        lambda: adjoint.ones(2).copy_(adjoint.ones(3)),
        RuntimeError,
        "copy(float32[2], float32[3]): could not broadcast input array from shape (3,) into shape ",
    ),
    "in place, three tensors": (
        lambda: MATRIX.clone().addmm_(MATRIX, MATRIX),
        RuntimeError,
        "addmm(float32[2, 3], float32[2, 3], float32[2, 3]): the inner sizes of the two ",
    ),
    "in place, integers": (
        lambda: adjoint.tensor([2]).floor_divide_(adjoint.tensor([0])),
        RuntimeError,
        "floor_divide(int64[1], int64[1]): ZeroDivisionError: an integer division by zero",
    ),
    "in place, a view": (
        lambda: MATRIX.clone().transpose_(0, 5),
        IndexError,
        f"transpose(float32[2, 3], 0, 5): {NO_DIMENSION}",
    ),
    "through a mask": (
        lambda: MATRIX.clone().masked_fill_(adjoint.ones(2) > 0, 1.0),
        RuntimeError,
        f"masked_fill(float32[2, 3], bool[2], 1.0): {BROADCAST}",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_translated_error_hides_what_it_translates(name):
    call, kind, message = CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert type(error) is kind
    assert str(error).startswith(message)
    assert error.__cause__ is None
    assert error.__context__ is not None
    assert error.__suppress_context__
    shown = "".join(traceback.format_exception(error))
    assert shown.count("Traceback (most recent call last)") == 1
    assert shown.count("During handling of the above exception") == 0


def test_an_error_that_is_passed_on_is_shown_as_it_was_raised():
    with pytest.raises(NotImplementedError) as caught:
        adjoint.bitwise_and(MATRIX, MATRIX)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not error.__suppress_context__


def test_an_error_that_is_passed_on_keeps_its_cause(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match=re.escape("adjoint[scipy]")) as caught:
        adjoint.special.zeta(MATRIX, MATRIX)
    error = caught.value
    assert isinstance(error.__cause__, ImportError)
    shown = "".join(traceback.format_exception(error))
    assert shown.count("the direct cause of the following exception") == 1
    assert shown.count("During handling of the above exception") == 0
