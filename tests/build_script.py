"""setup.py and what it uses, as modules, for the tests of the build."""

import importlib.util

from tests.interpreter import ROOT


def script(path):
    """A script of the source tree as a module."""
    file = ROOT / path
    spec = importlib.util.spec_from_file_location(f"adjoint_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
