"""Stop at the first value that should not be: NaN, infinity, or a number beyond a limit.

While it is on, each node keeps the traceback of the call that made it, and the node, if any, whose
backward made that call. The check itself is the engine's, after each step (`Anomaly.inspect`).
"""

import sys
import traceback
import warnings
from typing import Any

from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.autograd.graph_task import current_task
from adjoint.autograd.hooks import wrapped
from adjoint.backends import quiet
from adjoint.call.context import Scope, Settings, current, replaced, set_current
from adjoint.call.errors import described
from adjoint.call.promotion import unwrapped
from adjoint.dtypes import FLOAT, category_of
from adjoint.tensors.core import TensorCore, backend_of
from adjoint.tensors.upper import upper

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
]

TRACEBACK = "traceback_"
PARENT = "parent_"


class Anomaly:
    """What counts as an anomaly, and what is said when one is found."""

    def __init__(self, check_nan: bool, check_inf: bool, limit: float | None) -> None:
        self.check_nan = check_nan
        self.check_inf = check_inf
        self.limit = limit

    def fault_in(self, array: Any) -> str | None:
        """What is wrong with the values of an array, or None."""
        if category_of(array.dtype) < FLOAT or not array.size:
            return None
        xp = backend_of(array).xp
        with quiet():
            if self.check_nan and bool(xp.isnan(array).any()):
                return "nan values"
            if self.check_inf and bool(xp.isinf(array).any()):
                return "infinite values"
            if self.limit is not None:
                largest = float(xp.absolute(array).max())
                if largest > self.limit:
                    return f"values up to {largest:.4g}, beyond the limit of {self.limit:.4g},"
        return None

    def inspect(self, node: Any, results: list[Any]) -> None:
        """Refuse what a node has answered, if something is wrong with it."""
        tracing = current().tracing
        if tracing is not None:
            tracing.ask(self.inspect, (node, [wrapped(result) for result in results]), None)
            return
        for number, result in enumerate(results):
            if result is None:
                continue
            fault = "nan values" if self.check_nan and _seen_nan(result) else None
            fault = fault or self.fault_in(_values(result))
            if fault is not None:
                raise RuntimeError(
                    f"Function '{node.name()}' returned {fault} in its {number}th output."
                )

    def note(self, node: Any) -> None:
        """Keep where a node was made, and in the backward of which node."""
        frame = sys._getframe(1)  # noqa: SLF001  # there is no public way to a caller's frame
        node.metadata[TRACEBACK] = traceback.format_stack(frame)
        task = current_task()
        if task is not None and task.current is not None:
            node.metadata[PARENT] = task.current

    def report(self, node: Any) -> None:
        """Warn with the traceback of the forward call of a node that failed, and of its parents."""
        _warn(f"Error detected in {node.name()}. {_forward_of(node, 'caused the error')}")
        parent = node.metadata.get(PARENT)
        while parent is not None:
            _warn(
                f"\n\nPrevious calculation was induced by {parent.name()}. "
                + _forward_of(parent, "induced the previous calculation")
            )
            parent = parent.metadata.get(PARENT)


def _values(result: Any) -> Any:
    """The array of a gradient; of a sparse one that of its elements."""
    if isinstance(result, TensorCore):
        sparse = result.layer is not None and result.layer.sparse
        return result.layer.elements.array if sparse else result.array
    return result


def _seen_nan(result: Any) -> bool:
    """Whether modes that look on are told of a gradient that is no number; without any, False."""
    if not current().modes or upper.seen_below is None:
        return False
    found = upper.seen_below("_is_any_true", upper.seen_below("isnan", wrapped(result)))
    return bool(found.one_number())


def _warn(text: str) -> None:
    """Warn; where warnings are errors, print it, so that the error at hand is the one raised."""
    try:
        warnings.warn(text, stacklevel=3)
    except Warning as raised:
        sys.stderr.write(f"Warning: {raised}\n")


def _forward_of(node: Any, did: str) -> str:
    """The traceback of the call that made a node, or its line, or that neither is known."""
    lines = node.metadata.get(TRACEBACK)
    if lines is not None:
        return f"Traceback of forward call that {did}:\n{''.join(lines)}"
    source = node.source()
    known = "" if source is None else f" The line that {did} is known all the same: {source}"
    return f"No forward pass information available: anomaly mode was off then.{known}"


class _ForwardCheck:
    """Sees every op of a context, and refuses results in which something is wrong."""

    def __init__(self, anomaly: Anomaly) -> None:
        self.anomaly = anomaly

    def __call__(self, op: Any, values: list[Any]) -> Any:
        result = op.run(values)
        for output in result if isinstance(result, (tuple, list)) else (result,):
            fault = self.anomaly.fault_in(output.array) if isinstance(output, TensorCore) else None
            if fault is not None:
                given = ", ".join(described(unwrapped(v)) for v in values)
                raise RuntimeError(f"{op.name}({given}) returned {fault} in the forward")
        return result


def _watching(outer: Settings, anomaly: Anomaly | None, forward: bool) -> dict[str, Any]:
    """What anomaly mode changes of the settings; without an anomaly it is switched off."""
    others = tuple(w for w in outer.watchers if not isinstance(w, _ForwardCheck))
    watchers = (*others, _ForwardCheck(anomaly)) if anomaly is not None and forward else others
    return {"anomaly": anomaly, "watchers": watchers}


class set_detect_anomaly(ContextDecorator, Scope):
    """Anomaly mode on or off: called, it sets the mode; in a `with`, it also restores it.

    A failed backward then warns with the traceback of the forward call that is at fault. With
    `check_nan`, NaN in the result of a backward step is such a failure; `check_inf` and `limit`
    (the largest magnitude allowed) are so for other values, and `forward` for results of ops.
    """

    def __init__(
        self,
        mode: bool,
        check_nan: bool = True,
        *,
        check_inf: bool = False,
        limit: float | None = None,
        forward: bool = False,
    ) -> None:
        self.settings = (mode, check_nan, check_inf, limit, forward)
        self._early = True
        self.before = current()
        anomaly = Anomaly(check_nan, check_inf, limit) if mode else None
        self.values = _watching(self.before, anomaly, forward)
        try:
            set_current(replaced(self.before, dict(self.values)))
        except BaseException:
            set_current(self.before)
            raise

    def clone(self) -> "set_detect_anomaly":
        """See ContextDecorator."""
        mode, check_nan, check_inf, limit, forward = self.settings
        return type(self)(mode, check_nan, check_inf=check_inf, limit=limit, forward=forward)

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("anomaly", "watchers")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(outer, dict(self.values))

    def _outside(self, now: Settings, outer: Settings) -> Settings:
        """See Scope."""
        return super()._outside(now, self.before)


class detect_anomaly(ContextDecorator, Scope):
    """Anomaly mode inside a `with` or a function, with a warning; see set_detect_anomaly."""

    def __init__(
        self,
        check_nan: bool = True,
        *,
        check_inf: bool = False,
        limit: float | None = None,
        forward: bool = False,
    ) -> None:
        self.settings = (check_nan, check_inf, limit, forward)
        warnings.warn(
            "Anomaly Detection has been enabled. It makes every step slower, and is meant for "
            "debugging alone.",
            stacklevel=2,
        )

    def clone(self) -> "detect_anomaly":
        """See ContextDecorator."""
        check_nan, check_inf, limit, forward = self.settings
        return type(self)(check_nan, check_inf=check_inf, limit=limit, forward=forward)

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("anomaly", "watchers")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        check_nan, check_inf, limit, forward = self.settings
        anomaly = Anomaly(check_nan, check_inf, limit)
        return replaced(outer, _watching(outer, anomaly, forward))


def is_anomaly_enabled() -> bool:
    """Whether the calling context is in anomaly mode."""
    return current().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN in the calling context, were it on."""
    anomaly = current().anomaly
    return anomaly is None or bool(anomaly.check_nan)
