"""The windows of torch.signal, and spectra of pieces of a signal, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.creation.factories import tensor
from adjoint.device import device as as_device, get_default_device
from adjoint.dtypes import FLOAT, get_default_dtype
from adjoint.ops.arranging.arrange import pad
from adjoint.ops.arranging.conversion import strided
from adjoint.ops.arranging.shape import unsqueeze
from adjoint.ops.arranging.strided import as_strided
from adjoint.ops.elementwise.arithmetic import mul
from adjoint.ops.signals.fft import fft_rfft

_WAVES: Final = ("blackman", "general_cosine", "general_hamming", "hamming", "hann", "nuttall")
# Those that are computed even of a single number.
_ALWAYS: Final = ("cosine", "exponential", "gaussian")


def window(name: str, count: int, options: dict[str, Any], sym: bool, *parameters: Any) -> Any:
    """A window that has passed its checks."""
    place = {
        "dtype": options.get("dtype") or get_default_dtype(),
        "layout": strided,
        "device": as_device(options.get("device") or get_default_device()),
        "pin_memory": False,
    }
    with asking() as ask:
        if count == 0:
            found = ask("empty", [0], **place)
        elif count == 1 and name not in _ALWAYS:
            found = ask("ones", [1], **place)
        else:
            steps = _waves if name in _WAVES else _STEPS[name]
            found = steps(ask, count, count - 1 if sym else count, place, *parameters)
    return found.requires_grad_() if options.get("requires_grad") else found


def _line(ask: Steps, count: int, place: Any, start: float, step: float) -> Any:
    """Numbers a step apart."""
    return ask("linspace", start * step, (start + count - 1) * step, count, **place)


def _lifted(ask: Steps, place: Any, data: Any) -> Any:
    with unseen():
        made = tensor(data, dtype=place["dtype"], device=place["device"])
    return ask("lift_fresh", made)


def _waves(ask: Steps, count: int, last: int, place: Any, weights: Any) -> Any:
    turns = _line(ask, count, place, 0.0, 2 * math.pi / last)
    heights = _lifted(ask, place, [(-1) ** i * weight for i, weight in enumerate(weights)])
    numbers = {key: value for key, value in place.items() if key != "layout"}
    order = ask("arange", len(weights), **numbers)
    heights = ask("unsqueeze", heights, -1)
    waves = ask("cos", ask("mul", ask("unsqueeze", order, -1), turns))
    return ask("sum", ask("mul", heights, waves), [0])


def _exponential(
    ask: Steps, count: int, last: int, place: Any, center: float | None, tau: float
) -> Any:
    middle = (last if count > 1 else 0) / 2 if center is None else center
    distance = ask("abs", _line(ask, count, place, -middle, 1 / tau))
    return ask("exp", ask("neg", distance))


def _cosine(ask: Steps, count: int, last: int, place: Any) -> Any:
    whole = last + 1 if count > 1 else 1
    return ask("sin", _line(ask, count, place, 0.5, math.pi / whole))


def _gaussian(ask: Steps, count: int, last: int, place: Any, std: float) -> Any:
    middle = (last if count > 1 else 0) / 2
    places = _line(ask, count, place, -middle, 1 / (std * math.sqrt(2)))
    return ask("exp", ask("neg", ask("pow", places, 2)))


def _bartlett(ask: Steps, count: int, last: int, place: Any) -> Any:
    step = 2 / last
    line = ask("linspace", -1, -1 + (count - 1) * step, count, **place)
    return ask("rsub", ask("abs", line), 1)


def _kaiser(ask: Steps, count: int, last: int, place: Any, beta: float) -> Any:
    height = _lifted(ask, place, beta)
    start = ask("neg", height)
    step = ask("div", ask("mul", height, 2.0), last)
    end = ask("minimum", height, ask("add", start, ask("mul", step, count - 1)))
    places = ask("linspace", start, end, count, **place)
    square = ask("mul", height, height)
    root = ask("sqrt", ask("sub", square, ask("pow", places, 2)))
    bell = ask("i0", root)
    return ask("div", bell, ask("i0", height))


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """The spectra of pieces of a signal, where windows are as long as those."""
    whole = win_length in (None, n_fft) and (window is None or tuple(window.shape) == (n_fft,))
    known = whole and input.ndim in (1, 2) and input.dtype.category == FLOAT
    hop = n_fft // 4 if hop_length is None else hop_length
    side = n_fft // 2 if center else 0
    length = input.shape[-1] + 2 * side if known else 0
    if not known or not return_complex or onesided is False or align_to_window is not None:
        return NotImplemented
    if hop < 1 or not 0 < n_fft <= length:
        return NotImplemented
    signal = input
    if center:
        front = [1] * (3 - input.ndim)
        padded = pad(input.view((*front, *input.shape)), (side, side), pad_mode)
        signal = padded.view((*input.shape[:-1], length))
    signal = signal if input.ndim == 2 else unsqueeze(signal, 0)
    rows, step = signal.stride()
    size = (signal.shape[0], 1 + (length - n_fft) // hop, n_fft)
    pieces = as_strided(signal, size, (rows, hop * step, step))
    if window is not None:
        pieces = mul(pieces, window)
    spectra = fft_rfft(pieces, norm="ortho" if normalized else None).transpose_(1, 2)
    return spectra if input.ndim == 2 else spectra.squeeze_(0)


FUNCTIONS: Final[dict[str, Any]] = {"stft": stft}
_STEPS: Final[dict[str, Any]] = {
    "exponential": _exponential,
    "cosine": _cosine,
    "gaussian": _gaussian,
    "bartlett": _bartlett,
    "kaiser": _kaiser,
}
