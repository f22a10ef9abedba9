"""What other platforms lack is not needed."""

from tests.interpreter import ROOT, fresh_python

PROGRAM = """
import os

for name in ("fork", "register_at_fork", "forkpty"):
    if hasattr(os, name):
        delattr(os, name)

import adjoint
import adjoint.autograd.workers
import adjoint.random

x = adjoint.rand(3, requires_grad=True)
(x * 2).sum().backward()
print(x.grad.tolist())
"""


def test_nothing_needs_a_fork():
    """As on Windows, where a process can't be forked."""
    assert fresh_python("-c", PROGRAM, cwd=ROOT) == "[2.0, 2.0, 2.0]\n"
