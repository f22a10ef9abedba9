"""L-BFGS: steps along an approximation of Newton's direction, with or without a line search."""

from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.autograd.grad_mode import enable_grad, no_grad
from adjoint.call.context import current
from adjoint.dtypes import COMPLEX, category_of
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import cat, reshape
from adjoint.ops.elementwise.complex_numbers import view_as_real
from adjoint.optim.optimizer import Closure, Optimizer, Params, check_non_negative
from adjoint.optim.writes import Undo
from adjoint.tensors.tensor import Tensor

Evaluate = Callable[[Any], "Point"]

CURVED = 1e-10  # less curvature than this says nothing about the Hessian
SUFFICIENT = 1e-4  # the share of the predicted decrease that a line search asks for
FLATTER = 0.9  # the share of the slope that may be left


class Point(NamedTuple):
    """A place on the line of search: how far, the loss there, its gradient, and its slope."""

    at: Any
    loss: float
    grad: Any
    slope: Any


class LBFGS(Optimizer):
    """Limited-memory BFGS; closure is called several times a step. One parameter group only."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_non_negative(lr=lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups), "
                f"but got {len(self.param_groups)} groups"
            )

    # ---- all parameters as one vector ----

    @property
    def _params(self) -> list[Any]:
        params: list[Any] = self.param_groups[0]["params"]
        return params

    def _flat_grad(self) -> Any:
        """The gradients of all parameters in one vector; zeros where there is none."""
        parts = []
        for param in self._params:
            grad = clone(param).zero_() if param.grad is None else param.grad.to_dense()
            parts.append(_real(grad).reshape(-1))
        return cat(parts, 0)

    def _move(self, distance: Any, direction: Any) -> None:
        """Add distance * direction to the parameters."""
        start = 0
        factor = float(distance)
        for param in self._params:
            view = _real(param)
            size = view.array.size
            view.add_(direction[start : start + size].reshape(view.shape), alpha=factor)
            start += size

    # ---- the step ----

    @no_grad()
    def step(self, closure: Closure) -> Any:  # type: ignore[override]  # it needs one
        """Iterate until nothing is left to gain, or max_iter or max_eval is reached.

        If it fails or is interrupted, parameters and state are as they were before.
        """
        search = self.param_groups[0]["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError(
                f"only 'strong_wolfe' is supported as line_search_fn, got {search!r}"
            )
        tracing = current().tracing
        if tracing is not None:
            tracing.refuse_program(
                "LBFGS decides by values how often it calls its closure; compile the closure"
            )
        undo = Undo()
        for param in self._params:
            undo.tensor(param)
        undo.mapping(self.state)
        for state in self.state.values():
            undo.mapping(state)
            for value in state.values():
                if isinstance(value, list):
                    undo.sequence(value)
        try:
            return self._iterate(enable_grad()(closure), search)
        except BaseException:
            undo.run()
            raise

    def _iterate(self, evaluate: Closure, search: str | None) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            self._turn(state, grad)
            direction = state["d"]
            loss_before = state["prev_loss"] = loss
            state["t"] = self._first_distance(state, grad)
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            spent = 0
            if search is not None:
                start = Point(0, loss, grad, slope)
                allowed = group["max_eval"] - evaluations
                found, spent = self._searched(evaluate, state["t"], direction, start, allowed)
                state["t"], loss, grad = found.at, found.loss, found.grad
                self._move(state["t"], direction)
            else:
                self._move(state["t"], direction)
                if iteration != group["max_iter"]:
                    loss, spent = float(evaluate()), 1
                    grad = self._flat_grad()
            evaluations += spent
            state["func_evals"] += spent
            if evaluations >= group["max_eval"] or self._settled(state, grad, loss, loss_before):
                break
        return first_loss

    def _settled(self, state: dict[str, Any], grad: Any, loss: float, before: float) -> bool:
        """Whether the gradient, the last step or the gain has become negligible."""
        group = self.param_groups[0]
        tolerance = group["tolerance_change"]
        return bool(
            grad.abs().max() <= group["tolerance_grad"]
            or (state["d"] * state["t"]).abs().max() <= tolerance
            or abs(loss - before) < tolerance
        )

    def _first_distance(self, state: dict[str, Any], grad: Any) -> Any:
        """How far to go at first: the learning rate, less at the very first step."""
        lr = self.param_groups[0]["lr"]
        if isinstance(lr, Tensor):
            lr = reshape(lr, ())
        return min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr

    def _turn(self, state: dict[str, Any], grad: Any) -> None:
        """Find the next direction, from what the last step has shown of the curvature."""
        if state["n_iter"] == 1:
            state.update(d=-grad, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            state["prev_flat_grad"] = grad
            return
        self._learn(state, grad)
        state["d"] = _newton(state, grad, self.param_groups[0]["history_size"])
        state["prev_flat_grad"] = grad

    def _learn(self, state: dict[str, Any], grad: Any) -> None:
        """Keep the last step and the change of gradient it brought, if that is a curve."""
        change = grad - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curve = change.dot(step)
        if not curve > CURVED:
            return
        histories = (state["old_dirs"], state["old_stps"], state["ro"])
        for history, value in zip(histories, (change, step, 1.0 / curve)):
            if len(history) == self.param_groups[0]["history_size"]:
                history.pop(0)
            history.append(value)
        state["H_diag"] = curve / change.dot(change)

    def _searched(
        self, evaluate: Closure, first: Any, direction: Any, start: Point, allowed: int
    ) -> tuple[Point, int]:
        """The strong Wolfe line search, and how many evaluations it took."""
        here = [param.clone() for param in self._params]

        def look(at: Any) -> Point:
            self._move(at, direction)
            loss = float(evaluate())
            grad = self._flat_grad()
            for param, value in zip(self._params, here):
                param.copy_(value)
            return Point(at, loss, grad, grad.dot(direction))

        return strong_wolfe(look, first, start, float(direction.abs().max()), allowed)


def _real(tensor: Any) -> Any:
    """A tensor with its complex numbers as pairs."""
    return view_as_real(tensor) if category_of(tensor.array.dtype) == COMPLEX else tensor


def _newton(state: dict[str, Any], grad: Any, history_size: int) -> Any:
    """The inverse Hessian that the history stands for, times -grad: the two-loop recursion."""
    changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
    shares = state.setdefault("al", [None] * history_size)
    vector = -grad
    for i in reversed(range(len(changes))):
        shares[i] = steps[i].dot(vector) * inverse[i]
        vector.add_(changes[i], alpha=-float(shares[i]))
    vector = vector * state["H_diag"]
    for i in range(len(changes)):
        vector.add_(steps[i], alpha=float(shares[i] - changes[i].dot(vector) * inverse[i]))
    return vector


def cubic_minimum(one: Point, two: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes is least, kept within bounds."""
    low, high = bounds or ((one.at, two.at) if one.at <= two.at else (two.at, one.at))
    bend = one.slope + two.slope - 3 * (one.loss - two.loss) / (one.at - two.at)
    square = bend**2 - one.slope * two.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square.sqrt()
    left, right = (one, two) if one.at <= two.at else (two, one)
    share = (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    return min(max(right.at - (right.at - left.at) * share, low), high)


def strong_wolfe(
    look: Evaluate, first: Any, start: Point, longest: float, allowed: int, tolerance: float = 1e-9
) -> tuple[Point, int]:
    """A point with enough decrease and a flat enough slope; and the number of evaluations."""
    bracket, done, evaluations = _bracketed(look, first, start, allowed)
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    stalled = False
    while not done and evaluations <= allowed:
        if abs(bracket[1].at - bracket[0].at) * longest < tolerance:
            break
        at, stalled = _within(bracket, cubic_minimum(bracket[0], bracket[1]), stalled)
        point = look(at)
        evaluations += 1
        target = start.loss + SUFFICIENT * at * start.slope
        if point.loss > target or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if abs(point.slope) <= -FLATTER * start.slope:
            done = True
        elif point.slope * (bracket[high].at - bracket[low].at) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    return bracket[low], evaluations


def _bracketed(
    look: Evaluate, first: Any, start: Point, allowed: int
) -> tuple[list[Point], bool, int]:
    """Go further until a good point is found, or two with one between them."""
    before, point = start, look(first)
    for tries in range(allowed):
        target = start.loss + SUFFICIENT * point.at * start.slope
        if point.loss > target or (tries > 1 and point.loss >= before.loss):
            return [before, point], False, tries + 1
        if abs(point.slope) <= -FLATTER * start.slope:
            return [point], True, tries + 1
        if point.slope >= 0:
            return [before, point], False, tries + 1
        bounds = (point.at + 0.01 * (point.at - before.at), point.at * 10)
        further = cubic_minimum(before, point, bounds)
        before, point = point, look(further)
    return [start, point], False, max(allowed, 0) + 1


def _within(bracket: list[Point], at: Any, stalled: bool) -> tuple[Any, bool]:
    """The next place to look: not too near the ends of a bracket twice in a row."""
    ends = (bracket[0].at, bracket[1].at)
    low, high = min(ends), max(ends)
    margin = 0.1 * (high - low)
    if min(high - at, at - low) >= margin:
        return at, False
    if stalled or at >= high or at <= low:
        return (high - margin if abs(at - high) < abs(at - low) else low + margin), False
    return at, True
