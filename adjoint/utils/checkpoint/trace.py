"""Watching the calls of a region: a log of them, for the error that says where two runs differ."""

from collections.abc import Callable
from typing import Any

from adjoint.autograd.provenance import locate, user_frame
from adjoint.call.context import Scope, Settings, replaced
from adjoint.tensors.tensor import Tensor


class Watcher(Scope):
    """A context manager inside which `call` sees and makes every call of an op.

    It may be entered by several threads at once, and again by one that is inside.
    """

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("watchers",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(outer, {"watchers": (*outer.watchers, self.watching())})

    def watching(self) -> Callable[[Any, list[Any]], Any]:
        """What sees the calls of one entry."""
        return self.call

    def call(self, op: Any, values: list[Any]) -> Any:
        """Make a call, of arguments in the order of op's parameters; op may be an in-place form."""
        return op.run(values)


class Trace(Watcher):
    """The calls of one run, and where in the user's program they were made."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label
        self.calls: list[tuple[str, str]] = []

    def __enter__(self) -> Any:
        self.calls = []
        return super().__enter__()

    def call(self, op: Any, values: list[Any]) -> Any:
        """Note the call, with what came in and out of it."""
        given = ", ".join(_shown(value) for value in values if not _is_default(value))
        text, where, index = f"{op.name}({given})", _caller(), len(self.calls)
        self.calls.append((text, where))  # first, for a call that does not come back
        result = op.run(values)
        self.calls[index] = (f"{text} -> {_shown(result)}", where)
        return result

    def compared(self, other: "Trace") -> str:
        """Both logs, and the first call in which they differ."""
        lines = ["(You see the calls of both runs because of debug=True.)"]
        for i, (mine, theirs) in enumerate(zip(self.calls, other.calls)):
            if mine[0] != theirs[0]:
                lines.append(f"They differ from call {i} on: {mine[0]} became {theirs[0]}")
                break
        else:
            lines.append(f"The first {min(len(self.calls), len(other.calls))} calls are the same.")
        for trace in (self, other):
            lines.append(f"Calls of the {trace.label}:")
            lines += [f"  {i}: {text}, {where}" for i, (text, where) in enumerate(trace.calls)]
        return "\n".join(lines)


def _is_default(value: Any) -> bool:
    return value is None or value is False


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_shown(element) for element in value)}]"
    text = repr(value)
    return text if len(text) < 40 else text[:37] + "..."


def _caller() -> str:
    """The innermost line outside this package."""
    frame = user_frame(1)
    return "a line unknown" if frame is None else str(locate(frame.f_code, frame.f_lasti))
