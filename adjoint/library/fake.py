"""What a fake function may ask for: sizes that depend on values it can't see."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


class FakeImplCtx:
    """The context of a fake function; get_ctx() answers it."""

    def __init__(self) -> None:
        self.unknown: dict[int, tuple[int, int | None]] = {}

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size that only the values decide; it stands for any from min to max."""
        if min < 0:
            raise ValueError(f"new_dynamic_size: min must be greater than or equal to 0, got {min}")
        stand_in = 1009 + 2 * len(self.unknown)
        self.unknown[stand_in] = (min, max)
        return stand_in

    def fits(self, claimed: int, real: int) -> bool:
        """Whether a size is the one that was claimed, or one that it may stand for."""
        low, high = self.unknown.get(claimed, (claimed, claimed))
        return low <= real and (high is None or real <= high)


_current: ContextVar[FakeImplCtx | None] = ContextVar("adjoint_fake", default=None)


@contextlib.contextmanager
def fake_mode() -> Iterator[FakeImplCtx]:
    """Inside, a fake function is run."""
    context = FakeImplCtx()
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


def get_ctx() -> FakeImplCtx:
    """The context of the fake function that is being run."""
    context = _current.get()
    if context is None:
        raise RuntimeError("get_ctx: there is no context outside of a fake function")
    return context
