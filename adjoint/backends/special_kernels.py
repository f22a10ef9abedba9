"""Special functions for NumPy: SciPy's, or a loop of the wheel where it has one."""

import functools
from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace
from adjoint.backends.pieces import by_pieces
from adjoint.backends.shared_rows import by_parts

BY_PIECES = frozenset(("j0", "j1", "y0", "y1", "erfcx", "log_ndtr"))
MOST_POWER = 32  # that is taken by products


class SpecialKernels(Namespace):
    """What NumPy's namespace answers about functions by SciPy's names."""

    def airy(self, place: Any, slope: bool) -> Any:
        if place.dtype.char not in "fd":
            return None
        return by_pieces(_airy_slope if slope else _airy, place)

    def special(self, name: str) -> Any:
        if name == "ndtri":
            return _ndtri
        if name in BY_PIECES:
            return functools.partial(by_pieces, _special(name))
        loop = written(name) if name in _LOOPS else None
        if loop is not None:
            return functools.partial(_LOOPS[name], loop, name)
        return functools.partial(by_parts, _special(name))


def _airy(place: Any) -> Any:
    return _special("airy")(place)[0]


def _airy_slope(place: Any) -> Any:
    return _special("airy")(place)[1]


def _ndtri(numbers: Any) -> Any:
    """By pieces for floats: those above one half are as far from it as others below."""
    function = _special("ndtri")
    if type(numbers) is not np.ndarray or numbers.dtype != np.float32:
        return by_parts(function, numbers)
    below = by_pieces(function, np.minimum(numbers, 1 - numbers))
    return np.copysign(below, numbers - np.float32(0.5))


def _incomplete_gamma(loop: Any, name: str, order: Any, place: Any) -> Any:
    """By a loop for floats, which answers NaN where SciPy is to compute."""
    if any(type(each) is not np.ndarray or each.dtype != np.float32 for each in (order, place)):
        return by_parts(_special(name), order, place)
    out = np.atleast_1d(loop(order, place))
    unknown = np.isnan(out)
    if unknown.any():
        orders, places = np.broadcast_arrays(order, place)
        shown = unknown.reshape(orders.shape)
        out[unknown] = _special(name)(orders[shown], places[shown])
    return out.reshape(np.broadcast_shapes(order.shape, place.shape))


def _zeta(loop: Any, name: str, order: Any, place: Any) -> Any:
    """By a loop, where the order is one whole number and all places are positive."""
    usual = np.ndim(order) == 0 and 1 < order <= MOST_POWER and order == int(order)
    floats = type(place) is np.ndarray and place.dtype.char in "fd"
    if not usual or not floats or not np.all(place > 0):
        return by_parts(_special(name), order, place)
    return loop(place.dtype.type(order), place)


_LOOPS = {"zeta": _zeta, "gammainc": _incomplete_gamma, "gammaincc": _incomplete_gamma}


def _special(name: str) -> Any:
    """A function of SciPy's."""
    try:
        import scipy.special
    except ImportError as error:
        raise ImportError(f"{name} needs SciPy's kernels: pip install 'adjoint[scipy]'") from error
    return getattr(scipy.special, name)
