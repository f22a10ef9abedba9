"""Helpers around networks, a file for each topic."""

import adjoint.nn.utils.rnn  # noqa: F401  which makes it an attribute
