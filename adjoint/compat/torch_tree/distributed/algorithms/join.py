"""torch.distributed.algorithms.join: processes with different numbers of batches."""

from typing import Any, Self


class JoinHook:
    """What a process that is done does while others go on: there are no others."""

    def main_hook(self) -> None:
        """Called while others go on."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all are done."""


class Joinable:
    """What takes part in a Join."""


class Join:
    """Inside, processes may have different numbers of batches; afterwards hooks are called."""

    def __init__(self, joinables: list[Any], enable: bool = True, **options: Any) -> None:
        if not joinables:
            raise ValueError("Join: there is nothing to join")
        self._hooks = [joinable.join_hook(**options) for joinable in joinables] if enable else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        for hook in self._hooks if kind is None else ():
            hook.post_hook(is_last_joiner=True)

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Say that this process goes on: nobody waits for it."""
