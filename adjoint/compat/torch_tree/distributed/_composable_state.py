"""torch.distributed._composable_state: what modules that are spread over processes remember."""

from typing import Any


def _get_module_state(module: Any) -> None:
    """The state of a module that is spread; no module is."""
