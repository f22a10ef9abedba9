"""The named tuples that ops answer, by the name of the op."""

from typing import Any

from adjoint.ops.op import TABLE


def __getattr__(name: str) -> Any:
    op = TABLE.get(name)
    if op is None or op.outputs is None:
        raise AttributeError(f"no op called {name!r} answers a named tuple")
    return op.outputs
