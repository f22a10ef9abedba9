"""What a declaration says for others to read: its public names, and how they treat it.

How it is computed and differentiated is in op.py; docs/adding_an_op.md lists all options.
"""

from collections.abc import Iterator
from typing import Any

# The public modules that hold what is declared; a method's home is Tensor.
HOMES = ("adjoint", "fft", "linalg", "nn.functional", "special")
METHOD = "Tensor"
_KNOWN = frozenset({None, METHOD, *HOMES})
AUTOCAST = (None, "narrow", "float32", "widest")


class Declaration:
    """The public side of an op or a composite."""

    __slots__ = (
        "also",
        "autocast",
        "function",
        "home",
        "inplace_function",
        "method",
        "name",
        "native",
        "numpy",
        "overwrites",
        "without",
    )

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        """Take what is said here out of the options."""
        self.name = name
        self.function: Any = None
        self.home: str | None = options.pop("home", "adjoint")
        self.method: bool = options.pop("method", self.home in {"adjoint", METHOD})
        self.also: list[str] = options.pop("also", "").split()
        self.inplace_function = options.get("inplace") == "function"
        self.overwrites: bool = options.pop("overwrites", False)
        self.numpy: str | bool = options.pop("numpy", "")
        self.autocast: str | None = options.pop("autocast", None)
        self.native: str = options.pop("native", "")
        self.without: dict[str, Any] = options.pop("without", {})
        for home in (self.home, *[self.place_of(word)[0] for word in self.also]):
            if home not in _KNOWN:
                raise TypeError(f"{name}: no home {home!r}; there are {', '.join(HOMES)}")
        if self.autocast not in AUTOCAST:
            raise TypeError(f"{name}: autocast={self.autocast!r} is none of {AUTOCAST}")

    def is_news(self) -> bool:
        """Whether it may have its name: a program's ops stand beside those that adjoint has."""
        known = DECLARED.get(self.name)
        if known is None or not known.is_own():
            return True
        if self.is_own():
            raise TypeError(f"{self.name} is declared twice")
        return False

    def is_own(self) -> bool:
        """Whether it is adjoint's own."""
        return str(self.function.__module__).startswith("adjoint.")

    def is_public(self) -> bool:
        """Whether users can call it."""
        return self.home is not None or self.method or bool(self.also)

    @property
    def own(self) -> str:
        """Its name at home: linalg_inv is linalg.inv."""
        return self.name.removeprefix(f"{self.home}_")

    def place_of(self, word: str) -> tuple[str | None, str]:
        """Where a word of `also` puts it: another home, another name at home, or both."""
        if word in HOMES:
            return word, self.own
        home, _, name = word.rpartition(".")
        return home or self.home, name

    def names(self) -> list[str]:
        """Its names at home and, if it is a method, on Tensor."""
        return [self.own, *[word for word in self.also if word not in HOMES and "." not in word]]

    def places(self) -> Iterator[tuple[str, str]]:
        """All its public names, each after the home it has there."""
        if self.method:
            for name in self.names():
                yield METHOD, name
        for home, name in [(self.home, self.own), *map(self.place_of, self.also)]:
            if home is not None:
                yield home, name

    def inplace_places(self) -> Iterator[tuple[str, str]]:
        """The public names of its in-place form."""
        homes = [METHOD] if self.method else []
        if self.inplace_function:
            homes.append("adjoint" if self.home == METHOD else str(self.home))
            homes += ["nn.functional"] if self.overwrites and self.home == "adjoint" else []
        for name in self.names():
            for home in homes:
                yield home, f"{name}_"

    def numpy_names(self) -> list[str]:
        """NumPy's functions that take what it takes, but for the names of keywords."""
        if isinstance(self.numpy, str):
            return self.numpy.split()
        return [self.own if self.home == "adjoint" else f"{self.home}.{self.own}"]


DECLARED: dict[str, Declaration] = {}
