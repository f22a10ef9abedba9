"""What a fake function may ask for: sizes that depend on values it can't see."""

from contextvars import ContextVar
from typing import Any

from adjoint.backends import NoValuesError
from adjoint.call.held import Held


class FakeImplCtx(Held):
    """The context of a fake function, which runs inside it; get_ctx() answers it."""

    def _variable(self) -> Any:
        """See Held."""
        return _contexts

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


class KnownSizesOnly(FakeImplCtx):
    """The same for a call on the device meta, whose results have no other sizes."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Refused."""
        raise NoValuesError(f"{self.name}: a size of the result depends on values")


_contexts: ContextVar[tuple[FakeImplCtx, ...]] = ContextVar("adjoint_fake", default=())


def get_ctx() -> FakeImplCtx | None:
    """The context of the fake function that is being run; None outside of one."""
    contexts = _contexts.get()
    return contexts[-1] if contexts else None
