"""Programs that run eagerly and compiled, and must come to the same."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor

Step = Callable[[], Any]


def values(result: Any) -> list[Any]:
    """The numbers of a result: of a tensor, or of several."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(p.detach().double() if isinstance(p, Tensor) else p) for p in parts]


def assert_alike(
    make: Callable[[], Step], steps: int = 10, programs: int = 1, tolerance: float = 1e-5
) -> Any:
    """Make a step twice, run one eagerly and one compiled, and compare all that they answer."""
    adjoint.manual_seed(1)
    eager = make()
    adjoint.manual_seed(2)
    expected = [values(eager()) for _ in range(steps)]
    adjoint.manual_seed(1)
    compiled = adjoint.compile(make())
    adjoint.manual_seed(2)
    found = [values(compiled()) for _ in range(steps)]
    assert compiled.count == programs, f"{compiled.count} programs were made"
    for mine, theirs in zip(found, expected, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return compiled
