"""Where in the user's program something was made.

What is kept is a code object and the place of an instruction in it, never a frame, which would
keep every variable of its function alive; the line is found when someone asks.
"""

import linecache
import os
import sys
import warnings
from bisect import bisect_right
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from adjoint import _base

# Compiled functions have no frame: there the first frame is the caller's own.
INTERPRETED: Final[bool] = __file__.endswith(".py")
_PACKAGE: Final[str] = str(Path(_base.__file__).parent) + os.sep
frame_at: Final[Any] = sys._getframe  # noqa: SLF001  # there is no public way to a caller's frame


class Trail:
    """Whether places are kept, and the code of the last one: it need not be judged again."""

    def __init__(self) -> None:
        self.enabled = True
        self.code: Any = None
        self.modules = False  # whether a module was ever called


trail: Final[Trail] = Trail()


# The modules whose calls are under way in a context: a weak reference to the innermost, and the
# same of what is around it; None outside of all.
calls: Final[ContextVar[tuple[Any, Any] | None]] = ContextVar("adjoint_modules", default=None)


def modules_of(call: tuple[Any, Any] | None) -> list[Any]:
    """The modules of a call, the outermost first; none if one of them is gone."""
    found: list[Any] = []
    while call is not None:
        found.append(call[0]())
        call = call[1]
    return [] if None in found else found[::-1]


def module_path(modules: list[Any]) -> str:
    """Where in the outermost of these modules the innermost is, such as 'encoder.0.linear'.

    Empty for the outermost itself, and outside of all. A module that its caller does not contain
    is named by its class, in angle brackets.
    """
    parts: list[str] = []
    for outer, inner in pairwise(modules):
        part = f"<{type(inner).__name__}>"
        for path, module in outer.named_modules():
            if module is inner:
                part = path
                break
        if part:
            parts.append(part)
    return ".".join(parts)


class Source(NamedTuple):
    """A line of the user's program."""

    filename: str
    lineno: int
    function: str

    @property
    def text(self) -> str:
        """The line itself, as far as its file can be read."""
        return linecache.getline(self.filename, self.lineno).strip()

    def __str__(self) -> str:
        text = self.text
        where = f'file "{self.filename}", line {self.lineno}, in {self.function}'
        return f"{where}: {text}" if text else where


def user_frame(depth: int) -> Any:
    """The innermost frame outside this package; None if there is none, or it is switched off.

    In the interpreter it lies at least `depth` frames below this function.
    """
    if not trail.enabled:
        return None
    try:
        frame = frame_at(depth) if INTERPRETED else frame_at()
    except ValueError:  # called by C code, with no Python below
        return None
    code = frame.f_code
    if code is not trail.code:
        while code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
            if frame is None:
                return None
            code = frame.f_code
        trail.code = code
    return frame


def warn(message: str) -> None:
    """Warn at the line of the user's program that is under way, however deep in here it is found.

    Levels of the stack can't say which that is: compiled functions have none.
    """
    frame = user_frame(2)
    if frame is None:
        warnings.warn(message, stacklevel=2)
        return
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})  # where Python keeps what it has shown
    module = names.get("__name__")
    file = frame.f_code.co_filename
    warnings.warn_explicit(message, UserWarning, file, frame.f_lineno, module, registry)


class Lines:
    """The lines of a code object by instruction."""

    def __init__(self, code: Any) -> None:
        self.code = code
        self.starts: list[int] = []
        self.numbers: list[int | None] = []
        for start, _, number in code.co_lines():
            self.starts.append(start)
            self.numbers.append(number)

    def at(self, instruction: int) -> Source:
        """The line of an instruction."""
        place = bisect_right(self.starts, instruction) - 1
        number = self.numbers[place] if place >= 0 else None
        line = self.code.co_firstlineno if number is None else number
        return Source(self.code.co_filename, line, self.code.co_qualname)


class Places:
    """Finds the lines of many instructions: the table of each code object is read once."""

    def __init__(self) -> None:
        self.tables: dict[int, Lines] = {}  # by the id of the code, which a table keeps alive

    def locate(self, code: Any, instruction: int) -> Source | None:
        """The line of an instruction; None if no place was kept."""
        if code is None:
            return None
        table = self.tables.get(id(code))
        if table is None:
            table = self.tables[id(code)] = Lines(code)
        return table.at(instruction)


def locate(code: Any, instruction: int) -> Source | None:
    """The line of one instruction; None if no place was kept."""
    return None if code is None else Lines(code).at(instruction)


def is_provenance_enabled() -> bool:
    """Whether nodes and in-place changes note the line of the user's program that made them."""
    return trail.enabled


def set_provenance_enabled(mode: bool) -> bool:
    """Have lines noted or not, in the whole process; what it was is returned."""
    before = trail.enabled
    trail.enabled = bool(mode)
    return before
