"""Context managers that no signal leaves half done, for what is no setting of a context.

For settings there is `Scope` (in `context`), which costs less.
"""

from typing import Any

from adjoint._base import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Held:
    """Inside, a variable has another value: a context variable, or what has such methods.

    The manager keeps nothing of an entry, so it may be entered in several places at once. As with
    Scope, what is left to chance is the start of `__exit__`, if this class is interpreted.
    """

    __slots__ = ()

    def _variable(self) -> Any:
        """What has another value, with `get` and `set`."""
        raise NotImplementedError

    def _inside(self, before: Any) -> Any:
        """The value inside: of a tuple, one with the manager added."""
        return (*before, self)

    def _outside(self, now: Any) -> Any:
        """The value after it, from the one at its end; this changes nothing."""
        return now[:-1]

    def _given(self) -> Any:
        """What `as` gives."""
        return self

    def _left(self) -> None:
        """Called when the value was put back, and if that is interrupted once more."""

    def __enter__(self) -> Any:
        variable = self._variable()
        before = variable.get()
        inside = self._inside(before)
        given = self._given()
        try:
            variable.set(inside)
        except BaseException:  # what a signal's handler raises after the call
            variable.set(before)
            raise
        return given

    def __exit__(self, *error: object) -> None:
        found: list[Any] = []
        try:
            put_back(self, found)
        except BaseException:
            put_back(self, found)
            raise
        try:
            self._left()
        except BaseException:
            self._left()
            raise


def put_back(held: Held, found: list[Any]) -> None:
    """Put the value back, which is found once; until all is done, this may be done again."""
    variable = held._variable()  # noqa: SLF001  # a part of Held that is called twice
    if not found:
        found.append(held._outside(variable.get()))  # noqa: SLF001
    variable.set(found[0])


class Attribute:
    """An attribute of an object, as a variable."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def get(self) -> Any:
        """What it is."""
        return getattr(self.owner, self.name)

    def set(self, value: Any) -> None:
        """Let it be something else."""
        setattr(self.owner, self.name, value)
