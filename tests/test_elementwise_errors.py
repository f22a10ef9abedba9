"""Bad input to elementwise ops raises what PyTorch raises."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.tensors.tensor import AS_IS

torch: Any = pytest.importorskip("torch")

BOOLS = np.array([True, False])
WHOLE = np.array([2, -3])
REALS = np.array([2.0, -3.0])
COMPLEX = np.array([1 + 2j, -1j])


def ours(values: Any) -> Any:
    return Tensor(np.array(values), AS_IS)


def theirs(values: Any) -> Any:
    return torch.tensor(values)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "bool subtraction": lambda make: make(BOOLS) - make(BOOLS),
    "bool subtraction in place": lambda make: make(BOOLS).sub_(make(BOOLS)),
    "bool negation": lambda make: -make(BOOLS),
    "bool power": lambda make: make(BOOLS) ** make(BOOLS),
    "bits of floats": lambda make: make(REALS) & make(REALS),
    "bits of a float and a number": lambda make: make(REALS) | 1,
    "bits of a complex number": lambda make: make(COMPLEX) ^ make(COMPLEX),
    "shift of floats": lambda make: make(REALS) << 1,
    "shift of bools": lambda make: make(BOOLS).bitwise_right_shift(make(BOOLS)),
    "not of floats": lambda make: make(REALS).bitwise_not(),
    "gcd of floats": lambda make: make(REALS).gcd(make(REALS)),
    "order of complex numbers": lambda make: make(COMPLEX) < make(COMPLEX),
    "maximum of complex numbers": lambda make: make(COMPLEX).maximum(make(COMPLEX)),
    "clamp of complex numbers": lambda make: make(COMPLEX).clamp(0),
    "sign of complex numbers": lambda make: make(COMPLEX).sign(),
    "clamp without bounds": lambda make: make(REALS).clamp(),
    "negative power of integers": lambda make: make(WHOLE) ** -1,
    "integer division by zero": lambda make: make(WHOLE) // 0,
    "integer remainder by zero": lambda make: make(WHOLE) % make(np.array([0, 1])),
    "truncated division by zero": lambda make: make(WHOLE).div(0, rounding_mode="trunc"),
    "unknown rounding": lambda make: make(REALS).div(2, rounding_mode="up"),
    "fractional alpha": lambda make: make(WHOLE).add(make(WHOLE), alpha=1.5),
    "complex alpha": lambda make: make(REALS).sub(make(REALS), alpha=1j),
    "lerp of integers": lambda make: make(WHOLE).lerp(make(WHOLE), 0.5),
    "addcdiv of integers": lambda make: make(WHOLE).addcdiv(make(WHOLE), make(WHOLE)),
    "fraction of integers": lambda make: make(WHOLE).frac(),
    "shapes": lambda make: make(np.ones((2, 3))) * make(np.ones(4)),
    "shape of the target": lambda make: make(REALS).add_(make(np.ones((3, 2)))),
    "float into integers": lambda make: make(WHOLE).add_(0.5),
    "quotient into integers": lambda make: make(WHOLE).div_(2),
    "root into integers": lambda make: make(WHOLE).sqrt_(),
    "integers into bools": lambda make: make(BOOLS).mul_(2),
    "complex into floats": lambda make: make(REALS).mul_(1j),
    "text": lambda make: make(REALS) + "a",
    "text as a bound": lambda make: make(REALS).mul("a"),
    "missing argument": lambda make: make(REALS).mul(),
    "unknown argument": lambda make: make(REALS).add(1, beta=2),
    "polygamma of negative order": lambda make: make(REALS).polygamma(-1),
    "mvlgamma of no dimension": lambda make: make(REALS).mvlgamma(0),
    "prelu with the wrong weights": lambda make: make(np.ones((2, 3))).prelu(make(REALS)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_raises_what_pytorch_raises(name: str) -> None:
    call = REFUSED[name]
    with pytest.raises(Exception) as expected:
        call(theirs)
    kind = RuntimeError if issubclass(expected.type, RuntimeError) else expected.type
    with pytest.raises(kind):
        call(ours)


def test_shape_mismatch_names_both_shapes() -> None:
    with pytest.raises(RuntimeError, match=r"add.*\[2, 3\].*\[4\]"):
        ours(np.ones((2, 3))) + ours(np.ones(4))


def test_refused_change_leaves_the_values() -> None:
    x = ours(WHOLE)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.mul_(0.5)
    assert x.tolist() == WHOLE.tolist()


@pytest.mark.parametrize("name", ["exp", "neg", "sigmoid"])
def test_out_with_grad_is_refused(name: str) -> None:
    x = ours(REALS).requires_grad_()
    with pytest.raises(RuntimeError, match="out=.*automatic differentiation"):
        adjoint.ops.find_function(name)(x, out=ours(REALS))
    y = theirs(REALS).requires_grad_()
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        getattr(torch, name)(y, out=theirs(REALS))


def test_out_is_filled() -> None:
    x, target = ours(REALS), ours(np.zeros(2))
    divide = adjoint.ops.find_function("div")
    assert divide(x, 2, rounding_mode="floor", out=target) is target
    assert target.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("name", ["floor_divide", "heaviside"])
def test_derivatives_that_pytorch_refuses(name: str) -> None:
    for make, autograd in ((ours, adjoint.autograd), (theirs, torch.autograd)):
        x = make(REALS).requires_grad_()
        result = getattr(x, name)(make(REALS))
        assert result.requires_grad
        with pytest.raises(RuntimeError, match="not implemented"):
            autograd.backward([result], [make(REALS)])


@pytest.mark.parametrize("name", ["igamma", "igammac", "special.zeta"])
def test_a_derivative_that_is_missing_says_so_by_pytorchs_class(name):
    function = adjoint
    for part in name.split("."):
        function = getattr(function, part)
    x = adjoint.full((3,), 2.5, dtype=adjoint.float64, requires_grad=True)
    y = adjoint.full((3,), 1.5, dtype=adjoint.float64)
    pytest.importorskip("scipy")
    with pytest.raises(NotImplementedError, match="by its first argument is not implemented"):
        function(x, y).sum().backward()


def test_the_slope_of_copysign_keeps_nan() -> None:
    slopes = []
    for library in (torch, adjoint):
        x = library.tensor([float("nan"), 0.0, 2.0, -2.0], requires_grad=True)
        library.copysign(x, -1.0).sum().backward()
        slopes.append(str(x.grad.tolist()))
    assert slopes[0] == slopes[1]
