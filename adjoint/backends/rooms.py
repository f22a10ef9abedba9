"""Memory for what is soon thrown away: pages that are new take longer than most work on them."""

import importlib
import importlib.util
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

KEPT = 1 << 19  # elements that a thread keeps of each name
LINE = 64  # bytes of a line of the cache
_rooms = threading.local()


def _told_address(array: Any) -> int:
    """Where the first element of an array lies."""
    pointer: int = array.__array_interface__["data"][0]
    return pointer


_PAGES = "adjoint.backends.pages"  # which the pure package has not
pages: Any = importlib.import_module(_PAGES) if importlib.util.find_spec(_PAGES) else None
address: Callable[[Any], int] = _told_address if pages is None else pages.address


def _aligned(size: int, dtype: Any) -> Any:
    """New memory that begins with a line of the cache: vectors then don't lie across two."""
    room = np.empty(size * dtype.itemsize + LINE, np.uint8)
    start = -address(room) % LINE
    return room[start : start + size * dtype.itemsize].view(dtype)


def rooms_of(dtype: Any) -> Callable[[str, Any], Any]:
    """A function that gives room for a shape; what it held is lost when it is asked again."""
    kind = dtype.char

    def room(name: str, shape: Any) -> Any:
        size = math.prod(shape)
        if size > KEPT:
            return _aligned(size, dtype).reshape(shape)
        key = name + kind
        kept = _rooms.__dict__.get(key)
        if kept is None:
            kept = _rooms.__dict__[key] = _aligned(KEPT, dtype)
        return kept[:size].reshape(shape)

    return room
