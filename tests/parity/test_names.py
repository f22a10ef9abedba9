"""Names that stand for what is elsewhere, or for nothing to choose: as PyTorch has them."""

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.nn.attention import SDPBackend, sdpa_kernel
from tests.parity.test_layers import close


@pytest.mark.parametrize("name", ["e", "inf", "nan", "newaxis", "pi"])
def test_constants(torch: Any, name: str) -> None:
    """Constants of the top level."""
    ours, theirs = getattr(adjoint, name), getattr(torch, name)
    assert type(ours) is type(theirs)
    assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))


def test_newaxis(torch: Any) -> None:
    """A new dimension by its name."""
    for library in (adjoint, torch):
        assert tuple(library.ones(2, 3)[:, library.newaxis].shape) == (2, 1, 3)


@pytest.mark.parametrize("name", ["log_softmax", "logsumexp", "softmax"])
def test_special(torch: Any, name: str) -> None:
    """Functions that torch.special has too, by position and by name."""
    array = np.random.default_rng(0).normal(size=(3, 4))
    found = []
    for library in (adjoint, torch):
        x = library.tensor(array, requires_grad=True)
        function = getattr(library.special, name)
        options = {} if name == "logsumexp" else {"dtype": library.float64}
        plain = x.detach().float() if options else x.detach()  # which dtype makes double again
        results = [function(x, 1), function(plain, dim=0, **options)]
        (results[0] * results[0]).sum().backward()
        found.append([*results, x.grad])
    for a, b in zip(*found, strict=True):
        close(a, b)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_gamma(torch: Any, name: str) -> None:
    """The incomplete gamma functions under SciPy's names."""
    a, x = np.random.default_rng(0).uniform(0.5, 3, size=(2, 3))
    found = []
    for library in (adjoint, torch):
        order, leaf = library.tensor(a), library.tensor(x, requires_grad=True)
        out = getattr(library.special, name)(order, leaf)
        out.sum().backward()
        found.append([out, leaf.grad])
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)


def test_kernels_of_attention(torch: Any) -> None:
    """A choice of kernels is accepted around attention, as a context and as a decorator."""
    theirs = torch.nn.attention.SDPBackend.__members__
    assert {name: int(kind) for name, kind in theirs.items()} == {
        name: kind.value for name, kind in SDPBackend.__members__.items()
    }
    array = np.random.default_rng(0).normal(size=(2, 3, 4))
    found = []
    for library, attention in ((adjoint, adjoint.nn.attention), (torch, torch.nn.attention)):
        x = library.tensor(array)
        math_only = attention.sdpa_kernel([attention.SDPBackend.MATH], set_priority=True)
        attend = library.nn.functional.scaled_dot_product_attention
        with attention.sdpa_kernel(attention.SDPBackend.MATH) as settings:
            out = attend(x, x, x)
        assert settings == {}
        found.append([out, math_only(attend)(x, x, x)])
        for wrong in ("MATH", (attention.SDPBackend.MATH,)):
            with pytest.raises(AssertionError), attention.sdpa_kernel(wrong):
                pass
    for a, b in zip(*found, strict=True):
        close(a, b)


def test_kernels_are_kernels() -> None:
    """What is in a list is looked at too; PyTorch takes numbers, and chooses nothing."""
    with pytest.raises(AssertionError, match="got int"), sdpa_kernel([1]):  # type: ignore[list-item]
        pass
