"""torch.library's private way to undo what was registered."""

import contextlib
from collections.abc import Iterator

from adjoint.library import Library, scoped


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library; what is defined or registered inside, through it or beside it, is undone."""
    with scoped(), Library(ns, kind, dispatch_key) as library:
        yield library
