"""torch.utils._traceback: where a program is, kept briefly and told later."""

import traceback
from typing import Self

from adjoint.compat.torch_tree._C._profiler import gather_traceback, symbolize_tracebacks


class CapturedTraceback:
    """Where a program was when `extract` was called."""

    __slots__ = ("skip", "tb")

    def __init__(self, tb: object, skip: int = 0) -> None:
        self.tb = tb
        self.skip = skip

    def cleanup(self) -> None:
        """Forget it."""
        self.tb = None

    def summary(self) -> traceback.StackSummary:
        """The calls, the outermost first."""
        if self.tb is None:
            return traceback.StackSummary()
        frames = symbolize_tracebacks([self.tb])[0][self.skip :]  # type: ignore[list-item]
        return traceback.StackSummary.from_list(
            [(each["filename"], each["line"], each["name"], None) for each in reversed(frames)]
        )

    @classmethod
    def extract(cls, *, script: bool = False, cpp: bool = False, skip: int = 0) -> Self:
        """Where the caller is, without so many of the innermost calls."""
        return cls(gather_traceback(python=True, script=script, cpp=cpp), skip + 1)

    def format(self) -> list[str]:
        """The calls as text, as Python prints them."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: "list[CapturedTraceback]") -> list[list[str]]:
        """The same of several."""
        return [each.format() for each in tbs]
