"""torch.library: its private way to undo what was registered, and libraries that are not there."""

import contextlib
from collections.abc import Iterator
from typing import Any

from adjoint import library as own
from adjoint.compat.uncompiled import unchanged
from adjoint.library import Library, scoped
from adjoint.library.custom_op import REGISTRY


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library; what is defined or registered inside, through it or beside it, is undone."""
    with scoped(), Library(ns, kind, dispatch_key) as library:
        yield library


def register_fake(op: Any, func: Any = None, /, **options: Any) -> Any:
    """What adjoint.library does; nothing for an op of a compiled library, none of which is there.

    Packages say so when they are imported, before anyone needs their ops.
    """
    if isinstance(op, str):
        start = f"{op.partition('::')[0]}::"
        if not any(name.startswith(start) for name in REGISTRY):
            return unchanged(func)
    return own.register_fake(op, func, **options)
