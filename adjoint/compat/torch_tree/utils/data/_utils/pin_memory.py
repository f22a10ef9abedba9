"""torch.utils.data._utils.pin_memory: memory from which copies to a GPU are quick."""

from typing import Any


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data as it is: array libraries choose their memory themselves."""
    return data
