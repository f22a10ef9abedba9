"""Functions on each tensor of a list: places, names and what is refused, as PyTorch has them."""

import numpy as np
import pytest

import adjoint.compat.torch as compat

CALLS = {
    "value by place": lambda t, x, y: t._foreach_addcmul(x, y, y, 2.0),
    "value by name": lambda t, x, y: t._foreach_addcmul(x, y, y, value=2.0),
    "a value each": lambda t, x, y: t._foreach_addcdiv(x, y, y, [2.0, 3.0]),
    "values by name": lambda t, x, y: t._foreach_addcdiv(x, y, y, scalars=[2.0, 3.0]),
    "values in a tensor": lambda t, x, y: t._foreach_addcmul(x, y, y, t.tensor([2.0, 3.0])),
    "in place": lambda t, x, y: t._foreach_addcdiv_(x, y, y, 2),
    "a number's powers": lambda t, x, y: t._foreach_pow(2.0, x),
    "exponents by name": lambda t, x, y: t._foreach_pow(x, exponent=[2.0, 1.0]),
    "the largest": lambda t, x, y: t._foreach_max(x),
    "sums of powers": lambda t, x, y: t._foreach_powsum(x, 3),
    "products": lambda t, x, y: t._foreach_mm([x[0][None]], [y[0][:, None]]),
    "a number by name": lambda t, x, y: t._foreach_add(x, scalar=1.0),
    "tensors by name": lambda t, x, y: t._foreach_add(x, other=y, alpha=2),
    "one tensor for all": lambda t, x, y: t._foreach_add(x, t.tensor(1.0), alpha=2),
    "a weight by name": lambda t, x, y: t._foreach_lerp(x, y, weight=0.5),
    "a weight each": lambda t, x, y: t._foreach_lerp(x, tensors1=y, weights=y),
    "copies": lambda t, x, y: t._foreach_copy_(x, src=y, non_blocking=True),
    "a bound each": lambda t, x, y: t._foreach_maximum(x, scalars=[1.5, 5.0]),
    "another length": lambda t, x, y: t._foreach_add(x, [y[0]]),
    "no tensors": lambda t, x, y: t._foreach_add([], []),
    "nothing beside them": lambda t, x, y: t._foreach_add(x),
    "an unknown name": lambda t, x, y: t._foreach_add(x, nonsense=3),
}


def outcome(library, call):
    """The values a call answers, whether it answers the list itself, or its error's class."""
    x, y = (
        [library.from_numpy(np.array(values)) for values in ([1.0, 4.0 + i], [9.0 - i])]
        for i in range(2)
    )
    try:
        answer = call(library, x, y)
    except Exception as error:  # any error is an outcome to be compared
        return type(error).__name__
    return type(answer).__name__, answer is x, [each.tolist() for each in answer]


@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name, torch):
    assert outcome(compat, CALLS[name]) == outcome(torch, CALLS[name])
