"""Windows and closed ranges against PyTorch's."""

from typing import Any

import numpy as np
import pytest

import adjoint

torch = pytest.importorskip("torch")
NAMES = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
every_window = pytest.mark.parametrize("name", NAMES)
both = pytest.mark.parametrize("library", [adjoint, torch], ids=["adjoint", "torch"])


def same(name: str, *args: Any, **options: Any) -> None:
    """The same values and data type as PyTorch's."""
    ours = getattr(adjoint, name)(*args, **options)
    kinds = {key: getattr(torch, value.name) for key, value in options.items() if key == "dtype"}
    theirs = getattr(torch, name)(*args, **{**options, **kinds})
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    tolerance = 1e-12 if ours.dtype == adjoint.float64 else 1e-6
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), tolerance, tolerance)


@every_window
@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(name: str, length: int, periodic: bool) -> None:
    """Of any length, periodic or symmetric."""
    same(name, length, periodic)
    same(name, length, periodic=periodic, dtype=adjoint.float64)


def test_parameters_of_windows() -> None:
    """By position and by name."""
    same("hamming_window", 4, True, 0.6)
    same("hamming_window", 5, False, alpha=0.6, beta=0.3)
    same("kaiser_window", 5, False, 3.0)
    same("kaiser_window", 5, True, beta=0.0, dtype=adjoint.float64)


@every_window
def test_refused_windows(name: str) -> None:
    """As PyTorch refuses them."""
    for library in (adjoint, torch):
        window = getattr(library, name)
        with pytest.raises(RuntimeError):
            window(-1)
        with pytest.raises(RuntimeError, match="floating point"):
            window(3, dtype=library.int64)
        with pytest.raises(TypeError):
            window(2.5)
        with pytest.raises(TypeError):
            window(3, out=library.zeros(3))
        assert window(3, requires_grad=True).requires_grad


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "bounds", [(1, 4), (1, 4, 0.5), (0, 2.3), (4, 1, -1), (0, 0.35, 0.1), (2, 2)]
)
def test_range(bounds: tuple[float, ...]) -> None:
    """The end is included where a step hits it, and floats are the default."""
    same("range", *bounds)
    same("range", *bounds, dtype=adjoint.float64)


@both
@pytest.mark.filterwarnings("ignore")
def test_refused_ranges(library: Any) -> None:
    """No step, or one that leads away from the end."""
    for bounds in ((4, 1), (0, 1, 0), (0, float("inf"))):
        with pytest.raises(RuntimeError):
            library.range(*bounds)
    with pytest.raises(TypeError):
        library.range(3)


@both
def test_range_is_deprecated(library: Any) -> None:
    """It warns."""
    with pytest.warns(UserWarning, match="deprecated"):
        library.range(0, 1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda F, x, w: F.conv2d(x, w, padding=2.5), r"conv2d\(\): padding .* got 2.5"),
        (lambda F, x, w: F.conv2d(x, w, stride=[1.5, 1]), r"conv2d\(\): stride .* got \[1.5, 1\]"),
        (lambda F, x, w: F.max_pool2d(x, 2.5), r"max_pool2d\(\): kernel_size .* got 2.5"),
        (lambda F, x, w: adjoint.nn.Conv2d(1, 1, 2.5), r"Conv2d\(\): a size .* got 2.5"),
    ],
)
def test_sizes_that_are_no_whole_numbers_are_named(call, said):
    with pytest.raises(TypeError, match=said):
        call(adjoint.nn.functional, adjoint.ones(1, 1, 4, 4), adjoint.ones(1, 1, 2, 2))
