"""torch.backends.quantized: what computes with quantised tensors, of which there are none."""

from typing import Any

ASSIGNABLE = {"engine"}
engine = "none"
supported_engines: list[str] = []


def assign(name: str, value: Any) -> None:
    """Refuse what is not there; a program chooses among those that are supported."""
    if value != engine:
        raise RuntimeError(f"quantized engine {value!r} is not supported: there is none")
