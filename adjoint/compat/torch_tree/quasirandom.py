"""torch.quasirandom: points that fill a cube more evenly than random ones."""

import warnings
from typing import Any

from adjoint.backends.sobol import points
from adjoint.creation.from_memory import from_numpy
from adjoint.dtypes import get_default_dtype
from adjoint.tensors.tensor import Tensor


class SobolEngine:
    """Sobol's sequence; scrambled, each seed gives another one, and not PyTorch's."""

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"SobolEngine: dimension must be 1 to {self.MAXDIM}, is {dimension}")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._points = points(dimension, scramble, seed)

    @property
    def num_generated(self) -> int:
        """How many points were drawn or left out."""
        return int(self._points.num_generated)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Any:
        """The next n points, as rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # SciPy's, that n is no power of 2
            drawn = self._points.random(n)
        double: Any = from_numpy(drawn)
        found = double.to(dtype or get_default_dtype())
        if out is None:
            return found
        target: Any = out
        return target.resize_as_(found).copy_(found)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Any:
        """The next 2**m points, if as many were drawn before that all are balanced."""
        whole = self.num_generated + 2**m
        if whole & (whole - 1):
            raise ValueError(
                f"{self.num_generated} points and 2**{m} more are no power of 2, for which Sobol's "
                "points are balanced; draw() draws any number"
            )
        return self.draw(2**m, out, dtype)

    def fast_forward(self, n: int) -> "SobolEngine":
        """Leave out n points."""
        self._points.fast_forward(n)
        return self

    def reset(self) -> "SobolEngine":
        """Begin again."""
        self._points.reset()
        return self

    def __repr__(self) -> str:
        scramble = ", scramble=True" if self.scramble else ""
        seed = "" if self.seed is None else f", seed={self.seed}"
        return f"SobolEngine(dimension={self.dimension}{scramble}{seed})"
