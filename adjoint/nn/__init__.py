"""Networks. So far the functions; modules follow."""

from adjoint.nn import functional as functional
