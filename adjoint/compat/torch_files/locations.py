"""What memory is called in files by the place it is at, and how it gets to a place of that name."""

import bisect
from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.device import CPU, device


class Package(NamedTuple):
    """What a program says of a kind of place: a name for memory there, and how memory gets there.

    Both functions answer None where it is another place.
    """

    priority: int
    tag: Callable[[Any], str | None]
    restore: Callable[[Any, str], Any]


def _tag(storage: Any) -> str:
    return str(storage.device)


def _restore(storage: Any, location: str) -> Any:
    try:
        target = device(location)
    except RuntimeError:
        return None  # it may be a place of the program's own
    return storage if storage.device == target == CPU else storage.to(device=target)


_packages: list[Package] = [Package(20, _tag, _restore)]


def register_package(
    priority: int,
    tagger: Callable[[Any], str | None],
    deserializer: Callable[[Any, str], Any],
) -> None:
    """Let files have places of a program's own; those of a lower number are asked first."""
    bisect.insort(_packages, Package(priority, tagger, deserializer), key=lambda one: one.priority)


def location_tag(storage: Any) -> str:
    """The name of the place that memory is at."""
    for package in _packages:
        found = package.tag(storage)
        if found:
            return found
    raise RuntimeError(f"no place is known for the memory of a {type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The memory at the place of a name."""
    for package in _packages:
        found = package.restore(storage, location)
        if found is not None:
            return found
    raise RuntimeError(f"there is no place for memory that is tagged with {location!r}")
