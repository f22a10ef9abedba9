"""Which adjoint this is."""

from adjoint.call import dispatch

__version__ = "0.1.0"
__compiled__ = not dispatch.__file__.endswith(".py")
