"""Networks. So far the functions; modules follow."""

from . import functional as functional
