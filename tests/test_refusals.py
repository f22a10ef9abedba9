"""Calls that PyTorch refuses are refused here with the same kind of exception."""

from collections.abc import Callable
from typing import Any

import pytest

import adjoint

torch = pytest.importorskip("torch")

# Each takes the library and a vector of five numbers of it.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "frexp of integers": lambda lib, x: lib.frexp(x.long()),
    "frexp of complex numbers": lambda lib, x: lib.frexp(x + 0j),
    "nextafter of integers": lambda lib, x: lib.nextafter(x.long(), x.long()),
    "igamma of integers": lambda lib, x: lib.igamma(x.long(), x.long()),
    "igammac of integers": lambda lib, x: lib.igammac(x.long(), x.long()),
    "unravel floats": lambda lib, x: lib.unravel_index(x, (5,)),
    "unravel into negative sizes": lambda lib, x: lib.unravel_index(x.long(), (-5,)),
    "unravel into words": lambda lib, x: lib.unravel_index(x.long(), ("a",)),
    "combinations of a matrix": lambda lib, x: lib.combinations(x.reshape(1, 5)),
    "negative combinations": lambda lib, x: lib.combinations(x, -1),
    "nonzero_static of negative size": lambda lib, x: lib.nonzero_static(x, size=-1),
    "a source of another size": lambda lib, x: lib.as_strided_scatter(x, x, (2,), (1,)),
    "slope of order 3": lambda lib, x: lib.gradient(x, edge_order=3),
    "slope along one dim twice": lambda lib, x: lib.gradient(x, dim=(0, 0)),
    "slope along no dim": lambda lib, x: lib.gradient(x, dim=3),
    "spacings for other dims": lambda lib, x: lib.gradient(x, spacing=[1.0, 2.0]),
    "slope of one sample": lambda lib, x: lib.gradient(x[:1]),
    "slope of order 2 of two samples": lambda lib, x: lib.gradient(x[:2], edge_order=2),
    "slope of bools": lambda lib, x: lib.gradient(x > 0),
    "histogram of integers": lambda lib, x: lib.histogram(x.long(), 3),
    "no bins": lambda lib, x: lib.histogram(x, 0),
    "a range in disorder": lambda lib, x: lib.histogram(x, 2, range=(3.0, 1.0)),
    "half a range": lambda lib, x: lib.histogram(x, 2, range=(1.0,)),
    "a range that is not finite": lambda lib, x: lib.histogram(x * float("nan"), 2),
    "a range besides edges": lambda lib, x: lib.histogram(x, x, range=(0.0, 1.0)),
    "edges in a matrix": lambda lib, x: lib.histogram(x, x.reshape(1, 5)),
    "edges of another type": lambda lib, x: lib.histogram(x, x.double()),
    "too few weights": lambda lib, x: lib.histogram(x, 2, weight=x[:1]),
    "weights of another type": lambda lib, x: lib.histogram(x, 2, weight=x.double()),
    "points in a vector": lambda lib, x: lib.histogramdd(x, [2]),
    "bins for other variables": lambda lib, x: lib.histogramdd(x.reshape(5, 1), [2, 2]),
    "unknown reduction": lambda lib, x: lib.segment_reduce(x, "other", lengths=x.long()),
    "runs left open": lambda lib, x: lib.segment_reduce(x, "sum"),
    "runs of other lengths": lambda lib, x: lib.segment_reduce(x, "sum", lengths=x.long()),
    "runs of integers": lambda lib, x: lib.segment_reduce(x.long(), "sum", lengths=lib.tensor([5])),
    "trials of integers": lambda lib, x: lib.binomial(x.long(), x),
    "trials of two types": lambda lib, x: lib.binomial(x.double(), x),
    "slice of a number": lambda lib, x: lib.slice_copy(x[0]),
    "slice by no step": lambda lib, x: lib.slice_copy(x, step=0),
    "in place on a leaf": lambda lib, x: x.requires_grad_().mvlgamma_(1),
    "renorm of a vector in place": lambda lib, x: x.renorm_(2, 0, 1.0),
    "words for reductions": lambda lib, x: lib.hinge_embedding_loss(x, x, 1.0, "mean"),
}


def refusal(library: Any, call: Callable[[Any, Any], Any]) -> type[BaseException]:
    """What a call raises."""
    with pytest.raises(Exception) as caught:  # which one is what is compared
        call(library, library.tensor([1.0, 2.0, 3.0, 4.0, 6.0]))
    return caught.type


@pytest.mark.parametrize("name", CALLS)
def test_refusals(name: str) -> None:
    """The same exception."""
    assert refusal(adjoint, CALLS[name]) is refusal(torch, CALLS[name])


@pytest.mark.parametrize("name", ["histogram", "geqrf", "binomial", "igamma"])
def test_derivatives_that_do_not_exist(name: str) -> None:
    """The result is recorded, and backward says that there is no derivative."""
    for library in (adjoint, torch):
        x = library.ones(2, 2, requires_grad=True)
        rest = (x,) if name in ("binomial", "igamma") else ()
        result = getattr(library, name)(x, *rest)
        first = result[0] if isinstance(result, tuple) else result
        with pytest.raises(RuntimeError, match="not implemented"):
            first.sum().backward()


def test_inplace_forms_keep_the_history() -> None:
    """The gradient of an in-place renorm or mvlgamma is that of the function."""
    for name, rest in (("renorm", (2, 0, 1.0)), ("mvlgamma", (2,))):
        found = []
        for suffix in ("", "_"):
            leaf = adjoint.tensor([[1.5, 2.5], [3.5, 4.5]], requires_grad=True)
            (getattr(leaf * 1.0, name + suffix)(*rest) ** 2).sum().backward()
            found.append(leaf.grad.tolist())
        assert found[0] == found[1]
