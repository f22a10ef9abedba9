"""Special functions for NumPy: SciPy's, or a loop of the wheel where it has one."""

import functools
from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace

MOST_POWER = 32  # that is taken by products


class SpecialKernels(Namespace):
    """What NumPy's namespace answers about functions by SciPy's names."""

    def airy(self, place: Any, slope: bool) -> Any:
        if place.dtype.char not in "fd":
            return None
        return _special("airy")(place)[slope]

    def special(self, name: str) -> Any:
        loop = written(name) if name == "zeta" else None
        return _special(name) if loop is None else functools.partial(_by_loop, loop, name)


def _by_loop(loop: Any, name: str, order: Any, place: Any) -> Any:
    """zeta by a loop, where the order is one whole number and all places are positive."""
    usual = np.ndim(order) == 0 and 1 < order <= MOST_POWER and order == int(order)
    floats = type(place) is np.ndarray and place.dtype.char in "fd"
    if not usual or not floats or not np.all(place > 0):
        return _special(name)(order, place)
    return loop(place.dtype.type(order), place)


def _special(name: str) -> Any:
    """A function of SciPy's."""
    try:
        import scipy.special
    except ImportError as error:
        raise ImportError(f"{name} needs SciPy's kernels: pip install 'adjoint[scipy]'") from error
    return getattr(scipy.special, name)
