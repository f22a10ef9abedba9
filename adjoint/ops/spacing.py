"""Equally spaced numbers, rounded as PyTorch rounds them."""

from typing import Any

from adjoint.backends.numpy import host as np

_WIDER = {"float32": np.float64, "float64": np.longdouble}


def spaced(start: Any, end: Any, steps: int, numpy_dtype: Any) -> Any:
    """Numbers from start to end, rounded once for the step and once each; None of other types."""
    wide: Any = _WIDER.get(numpy_dtype.name)
    if wide is None or steps < 2:
        return None
    with np.errstate(all="ignore"):
        first, last = numpy_dtype.type(start), numpy_dtype.type(end)
        step = wide((last - first) / numpy_dtype.type(steps - 1))
        places = np.arange(steps)
        # Counted from both ends, so that the last number is exactly `end`.
        rising, falling = first + step * places, last - step * (steps - 1 - places)
        return np.where(places < steps // 2, rising, falling).astype(numpy_dtype)
