"""Spectra over time: what is refused, and that a signal comes back."""

from typing import Any

import numpy as np
import pytest

import adjoint

torch = pytest.importorskip("torch")
both = pytest.mark.parametrize("library", [adjoint, torch], ids=["adjoint", "torch"])
SIGNAL = np.random.default_rng(0).normal(size=16)


@both
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"return_complex": True, "hop_length": 0},
        {"return_complex": True, "win_length": 5},
        {"return_complex": True, "window": np.ones(3)},
        {"return_complex": True, "align_to_window": True},
        {"return_complex": True, "onesided": True, "window": np.ones(4) + 0j},
    ],
)
def test_refused_pieces(library: Any, options: dict[str, Any]) -> None:
    """Lengths that do not fit, and questions left open."""
    if "window" in options:
        options = {**options, "window": library.tensor(options["window"])}
    with pytest.raises(RuntimeError):
        library.stft(library.tensor(SIGNAL), 4, **options)


@both
def test_refused_signals(library: Any) -> None:
    """Of integers, of three dimensions, or shorter than a piece."""
    signal = library.tensor(SIGNAL)
    for refused in (signal.long(), signal.reshape(1, 1, -1)):
        with pytest.raises(RuntimeError):
            library.stft(refused, 4, return_complex=True)
    with pytest.raises(RuntimeError):
        library.stft(signal, 20, center=False, return_complex=True)
    with pytest.raises(NotImplementedError):
        library.stft(signal, 4, pad_mode="other", return_complex=True)


@both
@pytest.mark.parametrize(
    "options",
    [
        {"hop_length": 5},
        {"win_length": 9},
        {"onesided": False},
        {"return_complex": True, "onesided": True},
        {"window": np.ones(3)},
        {"window": np.ones(4) + 0j},
        {"center": False, "window": np.array([0.0, 0.5, 1.0, 0.5])},
    ],
)
def test_refused_spectra(library: Any, options: dict[str, Any]) -> None:
    """Those that no signal has, or not one alone."""
    spectra = library.stft(library.tensor(SIGNAL), 4, return_complex=True)
    if "window" in options:
        options = {**options, "window": library.tensor(options["window"])}
    with pytest.raises(RuntimeError):
        library.istft(spectra, 4, **options)
    with pytest.raises(RuntimeError):
        library.istft(spectra.real, 4)


@both
@pytest.mark.parametrize("normalized", [True, False])
def test_round_trip(library: Any, normalized: bool) -> None:
    """istft undoes stft."""
    window = library.hann_window(8, dtype=library.float64)
    given = {"hop_length": 2, "window": window, "normalized": normalized}
    spectra = library.stft(library.tensor(SIGNAL), 8, return_complex=True, **given)
    back = library.istft(spectra, 8, **given, length=16)
    np.testing.assert_allclose(back.numpy(), SIGNAL, atol=1e-12)


def test_beyond_the_signal() -> None:
    """There are zeros, and a warning."""
    spectra = adjoint.stft(adjoint.tensor(SIGNAL), 8, return_complex=True)
    with pytest.warns(UserWarning, match="last 4 samples"):
        longer = adjoint.istft(spectra, 8, length=24)
    np.testing.assert_array_equal(longer.numpy()[-4:], 0)
    assert longer.numpy()[-5] != 0
