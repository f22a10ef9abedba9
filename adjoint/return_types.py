"""The named tuples that ops answer, by the name of the op."""

from typing import Any

from adjoint.ops.op import TABLE


def __getattr__(name: str) -> Any:
    for known in (name, f"{name}_dim"):  # max of all elements is another op than that of rows
        op = TABLE.get(known)
        if op is not None and op.outputs is not None:
            return op.outputs
    raise AttributeError(f"no op called {name!r} answers a named tuple")
