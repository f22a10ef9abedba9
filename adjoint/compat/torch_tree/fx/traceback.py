"""torch.fx.traceback: what is noted at nodes about where they come from."""

import contextlib
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

_meta: ContextVar[dict[str, Any] | None] = ContextVar("adjoint_fx_node_meta", default=None)


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """As a context: what set_stack_trace and annotate say is kept."""
    token = _meta.set({} if enable else None)
    try:
        yield
    finally:
        _meta.reset(token)


def has_preserved_node_meta() -> bool:
    """Whether it is kept just now."""
    return _meta.get() is not None


def get_current_meta() -> dict[str, Any]:
    """What is said of nodes that are made now."""
    return _meta.get() or {}


def set_stack_trace(stack: list[str]) -> None:
    """Say where nodes that are made now come from."""
    kept = _meta.get()
    if kept is not None and stack:
        kept["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """As a context: say something of the nodes that are made in it, in meta["custom"]."""
    kept = _meta.get() or {}
    token = _meta.set({**kept, "custom": {**kept.get("custom", {}), **annotation_dict}})
    try:
        yield
    finally:
        _meta.reset(token)


def format_stack() -> list[str]:
    """Where the program is, or what set_stack_trace said."""
    kept = get_current_meta()
    if "stack_trace" in kept:
        return [kept["stack_trace"]]
    return traceback.format_list(traceback.extract_stack()[:-1])
