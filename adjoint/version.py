"""Which adjoint this is."""

from importlib import metadata

from adjoint import dispatch


def _version() -> str:
    try:
        return metadata.version("adjoint")
    except metadata.PackageNotFoundError:
        return "0.1.0+source"


__version__ = _version()
__compiled__ = not dispatch.__file__.endswith(".py")
