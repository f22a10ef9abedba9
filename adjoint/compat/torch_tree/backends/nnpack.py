"""torch.backends.nnpack: settings of a library that is not there."""

import importlib
from typing import Any


def set_flags(_enabled: bool) -> tuple[bool]:
    """Remember whether it may be used; what was set before is answered."""
    module: Any = importlib.import_module("adjoint.compat.torch.backends.nnpack")
    before, module.enabled = module.enabled, _enabled
    return (before,)
