"""torch.optim.lbfgs' private line search, in the form that other optimisers call it."""

from collections.abc import Callable
from typing import Any

from adjoint.optim.lbfgs import Point, cubic_minimum, strong_wolfe


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Any], tuple[float, Any]],
    x: Any,
    t: Any,
    d: Any,
    f: float,
    g: Any,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Any, Any, int]:
    """The loss and gradient at the point found, how far it is, and the number of evaluations."""
    if (c1, c2) != (1e-4, 0.9):
        raise NotImplementedError(f"_strong_wolfe: c1 and c2 are 1e-4 and 0.9, not {c1} and {c2}")

    def look(at: Any) -> Point:
        loss, grad = obj_func(x, at, d)
        return Point(at, loss, grad.clone(), grad.dot(d))

    start = Point(0, f, g.clone(), gtd)
    found, evaluations = strong_wolfe(
        look, t, start, float(d.abs().max()), max_ls, tolerance_change
    )
    return found.loss, found.grad, found.at, evaluations


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Where the cubic through two points with their slopes is least, kept within bounds."""
    return cubic_minimum(Point(x1, f1, None, g1), Point(x2, f2, None, g2), bounds)
