"""Convolutions of many channels, whose windows become rows, against those of few."""

import itertools
from typing import Any

import numpy as np
import pytest

from adjoint.backends import convolution
from adjoint.backends.convolution import Layout
from adjoint.backends.numpy import NumpyNamespace

XP = NumpyNamespace(np)
SIZES = (7, 9)
PADDINGS = (((0, 0), (0, 0)), ((1, 1), (1, 2)), ((3, 0), (-1, 3)))
LAYOUTS = [
    Layout(kernel, stride, padding, dilation, groups)
    for kernel, stride, padding, dilation, groups in itertools.product(
        ((3, 3), (1, 2), (1, 1)), ((1, 1), (2, 1)), PADDINGS, ((1, 1), (1, 2)), (1, 2)
    )
]


def _products(layout: Layout) -> list[Any]:
    """The three products of one layout, of numbers that are the same each time."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(3, 4, *SIZES))
    weight = rng.normal(size=(6, 4 // layout.groups, *layout.kernel))
    grad = rng.normal(size=(3, 6, *layout.counts(SIZES)))
    found = [XP.convolve(images, weight, layout), XP.convolve_filters(images, grad, layout)]
    if min(map(min, layout.padding)) >= 0:
        found.append(XP.convolve_back(grad, weight, SIZES, layout))
    return found


@pytest.mark.parametrize("block", [1, 1 << 19])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: str([*vars(layout).values()]))
def test_rows_give_what_columns_give(
    layout: Layout, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolution, "MANY", 1 << 30)
    wanted = _products(layout)
    monkeypatch.setattr(convolution, "MANY", 1)
    monkeypatch.setattr(convolution, "ROWS", block)
    for one, other in zip(_products(layout), wanted, strict=True):
        assert one.flags.c_contiguous
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_the_adjoint_of_a_convolution_takes_windows_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding before that is longer than filters reach, and the only window lies within it."""
    layout = Layout((1,), (1,), ((2, -2),), (5,), 1)
    grad, weight = np.ones((1, 2, 1)), np.ones((2, 2, 1))
    monkeypatch.setattr(convolution, "MANY", 1 << 30)
    wanted = XP.convolve_back(grad, weight, (1,), layout)
    monkeypatch.setattr(convolution, "MANY", 1)
    np.testing.assert_array_equal(XP.convolve_back(grad, weight, (1,), layout), wanted)


def test_no_filters_of_many_channels() -> None:
    layout = Layout((3,), (1,), ((1, 1),), (1,), 1)
    assert XP.convolve(np.ones((2, 16, 5)), np.ones((0, 16, 3)), layout).shape == (2, 0, 5)
