"""Where a tensor's array lives."""

from contextvars import ContextVar
from typing import Any

from adjoint.call.held import Held

_KNOWN = ("cpu", "cuda", "xla", "meta")


class device(Held):
    """A device type and its index: `device("cuda:0")`, `device("cuda", 0)`, `device("cpu")`.

    As a context, it is where factories make tensors that name no device of their own.
    """

    __slots__ = ("index", "type")

    def __init__(
        self, type: Any = None, index: int | None = None, *, device: Any = None
    ) -> None:  # PyTorch has both names for the first
        type = device if type is None else type
        if isinstance(type, self.__class__):
            self.type: str = type.type
            self.index: int | None = type.index
            return
        if isinstance(type, int):
            index = type
            type = "cuda"
        if not isinstance(type, str):
            raise TypeError(f"device: expected a name such as 'cpu' or 'cuda:0', got {type!r}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"device: index {index} given beside the name {type!r}")
            if not number.isdecimal():
                raise RuntimeError(f"device: {type!r} has no valid index; write it as 'cuda:0'")
            index = int(number)
        if name not in _KNOWN:
            raise RuntimeError(f"device: unknown type {name!r}; known are {', '.join(_KNOWN)}")
        if index is not None and index < 0:
            raise RuntimeError(f"device: the index must not be negative, got {index}")
        self.type, self.index = name, index

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + (
            ")" if self.index is None else f", index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (str(self),))

    def _variable(self) -> Any:
        """See Held."""
        return _defaults


CPU = device("cpu")

# The device set for the whole context, then those of the `with` statements it is inside of.
_defaults: ContextVar[tuple[device, ...]] = ContextVar("adjoint_device", default=(CPU,))


def get_default_device() -> device:
    """The device on which factories make tensors."""
    return _defaults.get()[-1]


def asked_device(given: Any) -> device | None:
    """The device that an argument names, else the default that the program has chosen, if any."""
    defaults = _defaults.get()
    chosen = len(defaults) > 1 or defaults[0] != CPU
    return _as_device(given) if given is not None else defaults[-1] if chosen else None


def set_default_device(device: Any) -> None:
    """Change it, in the calling thread, up to the end of a `with device` around; None: the CPU."""
    _defaults.set((*_defaults.get()[:-1], CPU if device is None else _as_device(device)))


def _as_device(value: Any) -> device:
    return device(value)
