"""The graphs of the sweep; each answers its run, a forward and a pass.

Those of `arrays` only adjoint has, so that they are not imported here.
"""

from tests.faults.graphs import functions, hooks, modules, operations, passes, sparse

__all__ = ["functions", "hooks", "modules", "operations", "passes", "sparse"]
