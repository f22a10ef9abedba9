"""torch.__config__: how the library was built, as text."""

import os

from adjoint.backends import libraries
from adjoint.version import __version__


def show() -> str:
    """What computes: adjoint, and the array libraries that are there."""
    names = ", ".join(sorted(libraries()))
    return f"adjoint {__version__}, in Python, on:\n  - {names}\n"


def parallel_info() -> str:
    """How many threads there may be; the array libraries have settings of their own."""
    return f"std::thread::hardware_concurrency() : {os.cpu_count()}\n"
