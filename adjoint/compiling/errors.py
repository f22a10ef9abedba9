"""What can't be compiled, said with the line of the user's program."""

import os
import traceback
from pathlib import Path
from typing import Any

from adjoint import backends

_OWN = str(Path(backends.__file__).parent.parent)
_STANDARD = str(Path(os.__file__).parent)
_COMPILED = f"adjoint{os.sep}"  # how the frames of compiled modules name their files


class CompileError(RuntimeError):
    """A function, or what it was called with, can't be compiled."""


class EagerError(CompileError):
    """What a function does is decided by values again and again: it runs eagerly as it is."""


class LaterError(CompileError):
    """A function can be compiled at a later call."""


class StatelessError(LaterError):
    """An optimizer has no state yet, which an eager step makes."""


class AgainError(Exception):
    """A trace has learned what it should have known before: it is made again."""


class OutdatedError(Exception):
    """A program does not fit what it is called with: another must be made."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def line_of(error: BaseException) -> str:
    """The innermost line of the user's program that an error passed through."""
    libraries = tuple(f"/{name}/" for name in backends.libraries() if name != "adjoint")
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        name = frame.filename
        if name.startswith((_OWN, _COMPILED)) or any(part in name for part in libraries):
            continue
        if name.startswith(("<frozen", _STANDARD)) and "site-packages" not in name:
            continue
        found = f'file "{name}", line {frame.lineno}, in {frame.name}: {frame.line}'
    return found


def untraceable(name: str, error: BaseException, reason: Any, function: Any) -> CompileError:
    """The error for a value that Python reads while a function is traced."""
    code = getattr(function, "__code__", None)
    begins = code and f'file "{code.co_filename}", line {code.co_firstlineno}, in {code.co_name}'
    where = line_of(error) or begins
    kind = type(error) if isinstance(error, CompileError) else CompileError
    return kind(
        f"{name} can't be compiled: {reason}"
        + (f"\n  at {where}" if where else "")
        + "\n  Values are known when the compiled program runs, not while it is traced. Compute "
        "with tensors (where, clamp, masks of a fixed shape), do this outside of the compiled "
        "function, or let it run eagerly with compile(..., fallback=True)."
    )
