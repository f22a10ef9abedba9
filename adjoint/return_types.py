"""The named tuples that ops answer, by the name of the op."""

from typing import Any

from adjoint.ops.signatures import RESULTS


def __getattr__(name: str) -> Any:
    found = RESULTS.get(name.removesuffix("_out"))  # PyTorch has classes of their own for out=
    if found is None:
        raise AttributeError(f"no op called {name!r} answers a named tuple")
    return found
