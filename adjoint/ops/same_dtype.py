"""Arguments that must have one data type, since PyTorch converts none of them."""

from typing import Any


def same_kind(name: str, input: Any, **others: Any) -> None:
    """Refuse others, None or tensors, that are not of input's data type."""
    kind = input.dtype
    for what, other in others.items():
        if other is not None and other.dtype is not kind:
            raise RuntimeError(
                f"{name}(): input is {kind}, but {what} is {other.dtype}: expected one data type; "
                "convert one with .to(...)"
            )
