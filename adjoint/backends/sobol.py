"""Sobol's points, which SciPy makes where it is installed."""

import importlib
from typing import Any


def points(dimension: int, scramble: bool, seed: int | None) -> Any:
    """SciPy's sequence of points in the unit cube of so many dimensions."""
    try:
        library = importlib.import_module("scipy.stats.qmc")
    except ImportError as error:
        raise ImportError("Sobol's points are made by SciPy; install scipy") from error
    return library.Sobol(dimension, scramble=scramble, bits=30, rng=seed)
