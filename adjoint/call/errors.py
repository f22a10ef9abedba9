"""Errors of array libraries as PyTorch's types, naming the op and what it was given."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from adjoint._base import signal_handlers
from adjoint.backends import NoValuesError, libraries
from adjoint.call.argument_types import misplaced

if TYPE_CHECKING:
    from adjoint.ops.op import Op


def complaint(op: "Op", arrays: list[Any], error: Exception) -> Exception:
    """The library's error in PyTorch's type, naming the op and what it was given.

    It is raised by itself, without "from": a new error does not show what it translates, and one
    that is passed on keeps its own cause.
    """
    if isinstance(error, NoValuesError):
        given = ", ".join(described(a) for a in arrays[: max(op.required, 1)])
        return named(NoValuesError(f"{op.name}({given}): {error.reason}"))
    if not _is_of_kernel(op, error):
        return error
    kinds = getattr(op.forward, "__annotations__", {})
    wrong = misplaced(op.name, kinds, _each_given(op, arrays), error)
    if wrong is not None:
        return named(wrong)
    if isinstance(error, (NotImplementedError, ImportError)):
        return error
    given = ", ".join(described(a) for a in arrays[: max(op.required, 1)])
    kind: type[Exception] = RuntimeError
    for known in (TypeError, IndexError):
        if isinstance(error, known):
            kind = known
    text = str(error)
    if "could not be broadcast together" in text or "shape-mismatch" in text:
        text = "the shapes can't be broadcast together; sizes must be equal or 1, from the last on"
    elif isinstance(error, RuntimeError) and (
        type(error) is not RuntimeError or text.startswith(op.name)
    ):
        return error
    elif "boolean array indexing assignment" in text:
        kind, text = RuntimeError, "the values do not have the shape of what the mask picks"
    elif "not supported for the input types" in text:
        kind, text = NotImplementedError, "not implemented for this data type"
    elif "matmul: Input operand" in text or "not aligned" in text:
        text = "the inner sizes of the two matrices differ"
    return named(kind(f"{op.name}({given}): {text}"))


def _each_given(op: "Op", arrays: list[Any]) -> Iterator[tuple[str, Any]]:
    """The arguments beside the names of their parameters; one name for all that follow a star."""
    for i, (parameter, value) in enumerate(zip(op.parameters, arrays)):
        for each in value if i == op.star and isinstance(value, (list, tuple)) else (value,):
            yield parameter, each


def named(made: Exception) -> Exception:
    """An error that stands for another, which it does not show."""
    made.__suppress_context__ = True  # what "from None" would do, if mypyc did not drop it
    return made


def _is_of_kernel(op: "Op", error: Exception) -> bool:
    """Whether a kernel raised this, and not code that came between, such as a signal's handler."""
    own = _package(getattr(op.forward, "__module__", None))
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        package = _package(frame.f_globals.get("__name__"))
        if package == own != "adjoint":
            if frame.f_code in signal_handlers():
                return False
        elif package not in libraries() and package not in sys.stdlib_module_names:
            return False
        trace = trace.tb_next
    return True


def _package(module: Any) -> str:
    return str(module).partition(".")[0]


def described(value: Any) -> str:
    """An argument in an error message."""
    shape = getattr(value, "shape", None)
    if shape is None:
        text = repr(value)
        return text if len(text) < 60 else text[:57] + "..."
    return f"{value.dtype}{list(shape)}"
