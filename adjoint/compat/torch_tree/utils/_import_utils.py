"""torch.utils._import_utils: a package that PyTorch uses if it is there."""

import importlib
import importlib.util
from types import ModuleType


def dill_available() -> bool:
    """Whether dill is installed, which pickles more than Python does."""
    return importlib.util.find_spec("dill") is not None


def import_dill() -> ModuleType | None:
    """The package dill; None where it is not installed."""
    return importlib.import_module("dill") if dill_available() else None
