"""torch.fx.passes.infra.pass_manager: passes over a graph, run one after the other."""

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from adjoint.compat.torch_tree.fx.passes.infra.pass_base import PassResult

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]
logger = logging.getLogger(__name__)


def _name(function: Any) -> str:
    return function.__name__ if inspect.isfunction(function) else type(function).__name__


def pass_result_wrapper(fn: Pass) -> Pass:
    """A function that changes a module in place as one that answers a PassResult."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: Any) -> PassResult:
        found = fn(gm)
        if isinstance(found, PassResult):
            return found
        return PassResult(gm if found is None else found, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """Whether of two passes the first may be run before the second: not `that` before `this`."""

    def holds(a: Pass, b: Pass) -> bool:
        return a is not that or b is not this

    return holds


def _checked(function: Pass, found: Any) -> PassResult:
    """What a pass has answered, if it is a result."""
    if isinstance(found, PassResult):
        return found
    raise TypeError(
        f"the pass {_name(function)} returned a {type(found).__name__}, not a PassResult: wrap it "
        "in pass_result_wrapper()"
    )


class PassManager:
    """Runs passes, in an order that constraints allow, as often as `steps` says."""

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """One more pass, the last."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """One more constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check: Callable[..., Any]) -> None:
        """What is called with the module before the passes, and after each if that is wanted."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager.add_checks: a check takes one argument, the module")
        self.check = check  # type: ignore[method-assign]  # as PyTorch's does

    def check(self, module: Any) -> None:
        """Nothing, until there are checks."""

    def validate_constraints(self) -> None:
        """Refuse an order of the passes that a constraint does not allow."""
        if self._validated:
            return
        for place, first in enumerate(self.passes):
            for second in self.passes[place + 1 :]:
                if not all(constraint(first, second) for constraint in self.constraints):
                    raise RuntimeError(
                        f"a constraint does not allow {_name(first)} before {_name(second)}: "
                        "change the order, or call solve_constraints()"
                    )
        self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that the constraints allow."""
        left, ordered = list(self.passes), []
        while left:
            free = [each for each in left if not any(self._is_after(each, o) for o in left)]
            if not free:
                names = ", ".join(map(_name, left))
                raise RuntimeError(f"the constraints allow no order of these passes: {names}")
            ordered.append(free[0])
            left.remove(free[0])
        self.passes = ordered
        self._validated = True

    def _is_after(self, one: Pass, other: Pass) -> bool:
        """Whether a pass may not be run before another."""
        return one is not other and not all(holds(one, other) for holds in self.constraints)

    def __call__(self, module: Any) -> PassResult:
        """Run the passes, again while they change something and there are steps left."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            module, modified = self._once(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _once(self, module: Any) -> tuple[Any, bool]:
        """Run each pass once."""
        changed = False
        for place, each in enumerate(self.passes):
            logger.debug("Running pass %r", _name(each))
            try:
                found = _checked(each, each(module))
            except Exception as error:
                before = [_name(earlier) for earlier in self.passes[:place]]
                raise Exception(  # noqa: TRY002  # the kind that PyTorch raises
                    f"the pass {_name(each)!r} failed, after these: {before}: {error}"
                ) from error
            module, changed = found.graph_module, changed or found.modified
            if hasattr(module, "recompile"):
                module.recompile()
            if self.run_checks_after_each_pass:
                self.check(module)
        return module, changed
