"""torch._C._profiler: where a program is, kept briefly and told later."""

import sys
from types import CodeType
from typing import Any


class CapturedTraceback:
    """The places of calls, the innermost first: pieces of code, and how far each had come."""

    def __init__(self, places: list[tuple[CodeType, int]]) -> None:
        self.places = places


def gather_traceback(python: bool, script: bool, cpp: bool) -> CapturedTraceback:
    """Where the caller is; there are no frames but Python's."""
    places = []
    frame = sys._getframe(1) if python else None  # noqa: SLF001  # the only way to one frame
    while frame is not None:
        places.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return CapturedTraceback(places)


def symbolize_tracebacks(tracebacks: list[CapturedTraceback]) -> list[list[dict[str, Any]]]:
    """The names of functions, files and lines of each."""
    return [
        [
            {"name": code.co_name, "filename": code.co_filename, "line": line}
            for code, line in each.places
        ]
        for each in tracebacks
    ]
