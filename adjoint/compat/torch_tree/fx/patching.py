"""Changes of classes and modules for the time of a trace."""

from typing import Any, Self

_ABSENT = object()


class Patches:
    """As a context: what was changed through it is afterwards as it was."""

    def __init__(self) -> None:
        self._undone: list[tuple[Any, str, Any, bool]] = []

    def __enter__(self) -> Self:
        return self

    def item(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Change a name of a module, given by its dictionary."""
        self._undone.append((names, name, names.get(name, _ABSENT), True))
        names[name] = value

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Change an attribute of a class."""
        self._undone.append((owner, name, vars(owner).get(name, _ABSENT), False))
        setattr(owner, name, value)

    def __exit__(self, *exc: object) -> None:
        for owner, name, before, is_item in reversed(self._undone):
            if is_item and before is _ABSENT:
                del owner[name]
            elif is_item:
                owner[name] = before
            elif before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
