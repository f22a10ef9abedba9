"""Networks. So far the functions; modules follow."""

import adjoint.nn.functional  # noqa: F401  which makes it an attribute
