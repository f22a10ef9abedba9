"""Spectra of a signal over time: transforms of short pieces of it that overlap."""

import warnings
from typing import Any

from adjoint.call.arguments import holds_complex
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.annotations import Value
from adjoint.ops.arranging.arrange import constant_pad_nd, pad
from adjoint.ops.arranging.shape import expand, narrow, select, transpose, unsqueeze
from adjoint.ops.arranging.strided import folded, unfold
from adjoint.ops.elementwise.complex_numbers import view_as_real
from adjoint.ops.op import composite
from adjoint.ops.signals.fft import fft_fft, fft_ifft, fft_irfft, fft_rfft
from adjoint.tensors.concrete import has_values


def _lengths(
    name: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Any
) -> tuple[int, int]:
    """The lengths of a hop and of the window, checked."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop < 1:
        raise RuntimeError(f"{name}(): expected hop_length > 0, but got {hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}(): expected 0 < win_length <= n_fft, but got {length}, {n_fft}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{name}(): expected a 1D window of win_length={length} elements, got shape "
            f"{list(window.shape)}"
        )
    return hop, length


def _centred(window: Any, n_fft: int) -> Any:
    """The window with zeros on both sides, as long as the transform."""
    left = (n_fft - window.shape[0]) // 2
    return constant_pad_nd(window, (left, n_fft - window.shape[0] - left), 0)


def _one_sided(name: str, onesided: bool | None, mixed: bool) -> bool:
    """Whether a spectrum stops at its middle: by default that of real pieces does."""
    if onesided and mixed:
        raise RuntimeError(f"{name}(): Cannot have onesided output if window or input is complex")
    return not mixed if onesided is None else onesided


@composite
def stft(
    input: Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Value:
    """The spectra of pieces of n_fft samples, hop_length apart: frequency by time.

    With center=True a piece lies around its time; the signal is continued at both ends for that.
    """
    mixed = holds_complex(input) or (window is not None and holds_complex(window))
    if return_complex is None and not mixed:
        raise RuntimeError("stft(): give return_complex for a real signal; True is what is wanted")
    if center and align_to_window is not None:
        raise RuntimeError("stft(): align_to_window should only be set when center=False")
    if category_of(input.dtype) < FLOAT or input.ndim not in (1, 2):
        raise RuntimeError(
            f"stft(): expected a 1D or 2D tensor of floating point or complex values, got "
            f"{input.dtype} of shape {list(input.shape)}"
        )
    hop, length = _lengths("stft", n_fft, hop_length, win_length, window)
    signal = input if input.ndim == 2 else unsqueeze(input, 0)
    if center:
        sides = (n_fft // 2, n_fft // 2)
        signal = select(pad(unsqueeze(signal, 0), sides, pad_mode), 0, 0)
    elif align_to_window:
        left = (n_fft - length) // 2
        signal = constant_pad_nd(signal, (left, n_fft - length - left), 0)
    if not 0 < n_fft <= signal.shape[1]:
        raise RuntimeError(f"stft(): expected 0 < n_fft <= {signal.shape[1]}, but got {n_fft}")
    pieces = unfold(signal, 1, n_fft, hop)
    if window is None and length < n_fft:
        window = input.new_ones((length,)).detach()
    if window is not None:
        pieces = pieces * _centred(window, n_fft)
    transform = fft_rfft if _one_sided("stft", onesided, mixed) else fft_fft
    spectra = transpose(transform(pieces, norm="ortho" if normalized else None), 1, 2)
    spectra = spectra if input.ndim == 2 else select(spectra, 0, 0)
    return spectra if return_complex or return_complex is None else view_as_real(spectra)


def _pieces(spectra: Any, n_fft: int, half: bool, normalized: bool, as_complex: bool) -> Any:
    """The pieces of a signal, batch by time by samples, from their spectra."""
    norm = "ortho" if normalized else None
    turned = transpose(spectra, 1, 2)
    if as_complex:
        return fft_ifft(turned, norm=norm)
    return fft_irfft(turned if half else narrow(turned, 2, 0, n_fft // 2 + 1), n_fft, norm=norm)


@composite
def istft(
    input: Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Value:
    """The signal whose pieces have these spectra, best in the sense of least squares."""
    if not holds_complex(input):
        raise RuntimeError(
            "istft(): expected a complex tensor, as stft answers; see view_as_complex"
        )
    hop, width = _lengths("istft", n_fft, hop_length, win_length, window)
    if hop > width:
        raise RuntimeError(f"istft(): expected 0 < hop_length <= win_length, got {hop}, {width}")
    mixed = window is not None and holds_complex(window)
    if mixed and not return_complex:
        raise RuntimeError("istft(): Complex windows are incompatible with return_complex=False")
    half = input.ndim > 1 and input.shape[-2] != n_fft if onesided is None else onesided
    if half and return_complex:
        raise RuntimeError("istft(): Cannot have onesided input and return_complex=True")
    if input.ndim not in (2, 3) or 0 in input.shape:
        raise RuntimeError(
            f"istft(): expected a tensor of 2 or 3 dimensions that is not empty, got shape "
            f"{list(input.shape)}"
        )
    rows = n_fft // 2 + 1 if half else n_fft
    if input.shape[-2] != rows:
        raise RuntimeError(
            f"istft(): expected the frequency dimension (3rd to the last) to have {rows} entries "
            f"for n_fft={n_fft} and onesided={half}, got {input.shape[-2]}"
        )
    spectra = input if input.ndim == 3 else unsqueeze(input, 0)
    pieces = _pieces(spectra, n_fft, half, normalized, return_complex)
    if window is None:
        window = pieces.new_ones((width,)).detach()
    signal = _overlapped(pieces, _centred(window, n_fft), hop, center, length)
    return signal if input.ndim == 3 else select(signal, 0, 0)


def _overlapped(pieces: Any, window: Any, hop: int, center: bool, length: int | None) -> Any:
    """The pieces, weighted by the window, added up and divided by the sum of squared weights."""
    batch, count, n_fft = pieces.shape
    total = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    kept = max(min(end, total) - start, 0)
    weights = expand(unsqueeze(window * window, 0), count, n_fft)
    added = folded(pieces * window, (batch, total), 1, n_fft, hop)
    envelope = narrow(folded(weights, (total,), 0, n_fft, hop), 0, start, kept)
    if kept and has_values(envelope) and bool((envelope.detach().abs() < 1e-11).any()):
        raise RuntimeError(
            "istft(): the windows leave samples of the signal uncovered (window overlap add min is "
            "0); choose another window or a shorter hop_length"
        )
    signal = narrow(added, 1, start, kept) / envelope
    if length is not None and end > total:
        warnings.warn(
            f"istft(): the spectra say nothing of the last {end - total} samples; they are zero",
            stacklevel=4,
        )
        signal = constant_pad_nd(signal, (0, end - total), 0)
    return signal
