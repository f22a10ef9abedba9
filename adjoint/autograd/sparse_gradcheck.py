"""Sparse arguments of gradcheck: it sees their elements, and the function puts them in place."""

from collections.abc import Callable
from typing import Any

from adjoint.backends import backend_of
from adjoint.ops.arranging.conversion import sparse_coo
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.sparse.layers import layout_of, sparse_of
from adjoint.ops.sparse.parts import (
    coalesce,
    dense,
    elements_of,
    from_coordinates,
    to_layout,
    with_elements,
)
from adjoint.ops.sparse.patterns import indices_of
from adjoint.tensors.tensor import AS_IS, Tensor


def _pattern(tensor: Any, masked: bool) -> Any:
    """A sparse tensor with each place once; if not `masked`, with all places there are."""
    whole = tensor.detach()
    kind = layout_of(whole)
    if masked:
        return coalesce(whole) if kind is sparse_coo else whole
    full = dense(whole)
    xp, shape = backend_of(full.array).xp, tuple(full.shape)
    places = Tensor(indices_of(xp, xp.arange(full.array.size), shape), AS_IS)
    return to_layout(from_coordinates(reshape(full, (-1,)), places, shape, True), kind)


def by_elements(
    func: Callable[..., Any], arguments: tuple[Any, ...], masked: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the elements of sparse arguments in place of these; its results are dense."""
    patterns = {
        i: _pattern(each, masked)
        for i, each in enumerate(arguments)
        if isinstance(each, Tensor) and sparse_of(each) is not None
    }
    if not patterns:
        return func, arguments

    def of_elements(*given: Any) -> Any:
        whole = [
            with_elements(each, patterns[i]) if i in patterns else each
            for i, each in enumerate(given)
        ]
        answer = func(*whole)
        return _dense(answer, masked)

    inner = [
        elements_of(patterns[i]).clone().requires_grad_(each.requires_grad)
        if i in patterns
        else each
        for i, each in enumerate(arguments)
    ]
    return of_elements, tuple(inner)


def _dense(answer: Any, masked: bool) -> Any:
    if isinstance(answer, tuple | list):
        return tuple(_dense(each, masked) for each in answer)
    return dense(answer, masked) if sparse_of(answer) is not None else answer
