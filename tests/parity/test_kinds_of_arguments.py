"""Arguments of another kind than a function takes: the same class of error as PyTorch's."""

import numpy as np
import pytest

import adjoint.compat.torch as compat

CALLS = {
    "a number for a tensor": lambda t, x: t.complex(x, 2),
    "a list for a tensor": lambda t, x: t.mul([1.5], x),
    "no elements for a tensor": lambda t, x: t.cumsum([], 0),
    "a name for a weight": lambda t, x: t.nn.functional.layer_norm(x, (3,), "weight"),
    "a number for a weight": lambda t, x: t.nn.functional.conv1d(x[None], 3),
    "a list for a bias": lambda t, x: t.nn.functional.conv1d(x[None], t.ones(1, 2, 1), [1.0]),
    "a number among tensors": lambda t, x: t.cat([x, 1]),
    "a number to broadcast": lambda t, x: t.broadcast_tensors(x, 1),
    "a number to prepend": lambda t, x: t.diff(x, 1, 0, 3),
    "a name for a dimension": lambda t, x: t.cumsum(x, "rows"),
    "a tensor for a dimension": lambda t, x: t.cumprod(x, t.ones(2, 3)),
    "a tensor for a flag": lambda t, x: t.searchsorted(x[0], x, right=t.ones(2)),
    "a tensor for requires_grad": lambda t, x: t.ones(2, requires_grad=t.ones(2)),
    "None for requires_grad": lambda t, x: t.ones(2, requires_grad=None),
    "a window of names": lambda t, x: t.nn.functional.max_pool2d(x[None], "window"),
    "a window of parts": lambda t, x: t.nn.functional.avg_pool2d(x[None], (1.5, 1.5)),
    "a step of a tensor": lambda t, x: t.nn.functional.max_pool2d(x[None], 1, t.ones(2, 3)),
    "a number for a norm": lambda t, x: t.fft.fft(x, norm=2),
    "a name for keepdim": lambda t, x: t.sum(x, 0, keepdim="text"),
    "a number for keepdim": lambda t, x: x.mean(0, 1),
    "a part for keepdim": lambda t, x: t.linalg.vector_norm(x, 2, 0, 0.5),
    "None for keepdim": lambda t, x: t.argmax(x, 0, None),
    "NumPy's truth for keepdim": lambda t, x: t.sum(x, 0, np.bool_(True)),
    "a tensor for upper": lambda t, x: t.linalg.cholesky(x @ x.T, upper=t.tensor(True)),
    "a number for descending": lambda t, x: t.sort(x, 0, 1),
    "a list for training": lambda t, x: t.nn.functional.dropout(x, 0.5, []),
    "a number for ceil_mode": lambda t, x: t.nn.functional.max_pool2d(x[None], 1, ceil_mode=1),
    "a name for ceil_mode": lambda t, x: t.nn.functional.avg_pool2d(x[None], 1, ceil_mode="yes"),
    "a number for inplace": lambda t, x: t.nn.functional.relu(x, inplace=1),
    "a name for return_indices": lambda t, x: t.nn.functional.max_pool2d(
        x[None], 1, return_indices="yes"
    ),
    "a number for full": lambda t, x: t.nn.functional.gaussian_nll_loss(x, x, x.abs() + 1, 1),
    "a number for unique's order": lambda t, x: t.unique(x, 1),
    "a number for equal_nan": lambda t, x: t.allclose(x, x, equal_nan=1),
    "a name for align_corners": lambda t, x: t.nn.functional.interpolate(
        x[None, None], 4, mode="bilinear", align_corners="yes"
    ),
    "a mode that is a list": lambda t, x: t.div(x, x, rounding_mode=["floor"]),
}


def outcome(library, call):
    """The class of the error, or None."""
    try:
        call(library, library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    except Exception as error:  # any error is an outcome to be compared
        return type(error).__name__
    return None


@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name, torch):
    assert outcome(compat, CALLS[name]) == outcome(torch, CALLS[name])


def test_the_argument_is_named():
    with pytest.raises(TypeError, match=r"complex\(\): argument 'imag' must be a Tensor, not int"):
        compat.complex(compat.ones(2), 2)


# ---- numbers without a derivative ----

NUMBERS = {
    "elu": lambda F, x, t: F.elu(x, t),
    "elu by name": lambda F, x, t: F.elu(x, alpha=t),
    "leaky_relu": lambda F, x, t: F.leaky_relu(x, t),
    "softplus": lambda F, x, t: F.softplus(x, t),
    "threshold": lambda F, x, t: F.threshold(x, t, 1.0),
    "hardtanh": lambda F, x, t: F.hardtanh(x, -1.0, t),
    "softshrink": lambda F, x, t: F.softshrink(x, t),
    "rrelu": lambda F, x, t: F.rrelu(x, 0.1, t),
    "dropout": lambda F, x, t: F.dropout(x, t),
    "layer_norm": lambda F, x, t: F.layer_norm(x, (4,), None, None, t),
    "group_norm": lambda F, x, t: F.group_norm(x, 3, None, None, t),
    "pad": lambda F, x, t: F.pad(x, (1, 1), value=t),
    "attention": lambda F, x, t: F.scaled_dot_product_attention(x, x, x, scale=t),
    "logit": lambda F, x, t: x.logit(t),
    "nan_to_num": lambda F, x, t: x.nan_to_num(t),
    "isclose": lambda F, x, t: x.isclose(x, t),
    "add": lambda F, x, t: x.add(x, alpha=t),
    "new_full": lambda F, x, t: x.new_full((2,), t),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_no_tensors_whose_gradient_would_be_lost(name, torch):
    for library in (compat, torch):
        F = library.nn.functional
        x = library.ones(2, 3, 4, requires_grad=True)
        with pytest.raises(TypeError):
            NUMBERS[name](F, x, library.tensor(0.25, requires_grad=True))
        NUMBERS[name](F, x, library.tensor(0.25))


FACTORIES = {
    "full": lambda lib, t: lib.full((2,), t),
    "full_like": lambda lib, t: lib.full_like(lib.ones(2), t),
    "arange": lambda lib, t: lib.arange(t),
    "scalar_tensor": lambda lib, t: lib.scalar_tensor(t),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_take_no_such_numbers_either(name, torch):
    for library in (compat, torch):
        t = library.tensor(3.0, requires_grad=True)
        with pytest.raises(TypeError):
            FACTORIES[name](library, t)
        assert FACTORIES[name](library, t.detach()).requires_grad is False
        assert library.linspace(0, t, 2).tolist() == [0.0, 3.0]
