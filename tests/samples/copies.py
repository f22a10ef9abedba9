"""Samples of the copies of views."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

# The arguments after a tensor of shape (2, 1, 3).
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "alias_copy": [()],
    "as_strided_copy": [((2, 2), (1, 2)), ((2,), (1,), 3)],
    "expand_copy": [((2, 4, 3),)],
    "narrow_copy": [(2, 1, 2), (-1, 0, 0)],
    "permute_copy": [((2, 0, 1),)],
    "select_copy": [(0, 1), (-1, -1)],
    "slice_copy": [(), (2, 1), (-1, 0, -1), (0, -5, 5), (2, None, None, 2)],
    "split_copy": [(1,), (2, -1)],
    "split_with_sizes_copy": [([1, 1],), ([1, 2], 2)],
    "squeeze_copy": [(), (1,), (0,)],
    "transpose_copy": [(0, 2)],
    "unbind_copy": [(), (-1,)],
    "unfold_copy": [(2, 2, 1)],
    "unsafe_chunk": [(2,), (2, -1)],
    "unsafe_split": [(1,), (2, -1)],
    "unsafe_split_with_sizes": [([1, 1],), ([1, 2], 2)],
    "unsqueeze_copy": [(0,), (-1,)],
    "view_copy": [((3, 2),)],
}


def _register(name: str, arguments: list[tuple[Any, ...]]) -> None:
    @samples(name)
    def _(rng: Generator) -> Iterator[Sample]:
        for rest in arguments:
            yield Sample((rng.normal(size=(2, 1, 3)), *rest))


for _name, _arguments in ARGUMENTS.items():
    _register(_name, _arguments)


@samples("t_copy")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),))


@samples("view_as_real_copy")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)) + 1j,))


@samples("view_as_complex_copy")
def _(rng: Generator) -> Iterator[Sample]:
    def copied(x: Any) -> Any:
        return importlib.import_module("torch").view_as_complex(x).clone()

    yield Sample((rng.normal(size=(3, 2)),), torch=copied)  # its own has no derivative


@samples("detach_copy")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 2)),), differentiate=False)


@samples("copied_pieces")
def _(rng: Generator) -> Iterator[Sample]:
    for rest in (((1, 1),), ((1, 2), -1)):
        yield Sample((rng.normal(size=(2, 1, 3)), *rest), torch="split_with_sizes_copy")
