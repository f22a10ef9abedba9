"""Loops that a wheel has beside NumPy's: each a forward or a rule of the op table as one pass.

`symbols.py` is the array library on which declarations are traced to expressions; what is made of
those, C or CUDA, is printed elsewhere (`tools/loops.py`). docs/notes/kernels.md tells the story.
"""

import functools
import importlib
import importlib.util
import os
from typing import Any, Final

import numpy as np

from adjoint.backends.threads import share

# The modules of loops from the best down, by the bits of instructions that they need.
LEVELS: Final = {"avx512": 3, "avx2": 1, "plain": 0}


@functools.cache
def instructions() -> int:
    """Which sets of instructions this machine has beyond the least; 0 in the pure package."""
    name = "adjoint.backends.pages"
    if importlib.util.find_spec(name) is None:
        return 0
    return int(importlib.import_module(name).instructions)


def compiled() -> Any:
    """The loops for this machine, as a module; None in the pure package, and where none fit.

    ADJOINT_LOOPS names the module to take, or is 0 for none.
    """
    wanted = os.environ.get("ADJOINT_LOOPS", "")
    for name, needed in LEVELS.items():
        if needed & instructions() == needed and wanted in ("", name):
            found = _module(name)
            if found is not None:
                return found
    return None


@functools.cache
def written(name: str) -> Any:
    """A loop that is written by hand, by its name (`written.h`); None where there is none."""
    module = compiled()
    return None if module is None else module.loops.get(name)


# ---- 16-bit floats ----

BITS: Final = np.dtype(np.uint16)  # as which bfloat16 reaches a loop
# What NumPy does to float16 sooner than we: these always, those where it has AVX-512.
_SHORT: Final = frozenset(("absolute", "conjugate", "positive"))
_IN_VECTORS: Final = frozenset(("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin"))


@functools.cache
def narrow_form(function: Any, letter: str) -> Any:
    """The ufunc that does to a 16-bit type, by its letter, what another does to float32.

    None if none does, or NumPy's own is as fast.
    """
    module = compiled()
    if module is None:
        return None
    if letter == "e":
        quick = _SHORT | _IN_VECTORS if instructions() == 3 else _SHORT
        if function.__name__ in quick or written("widened") is None:
            return None
    form = module.narrow(function)
    if form is not None:
        share([form])
    return form


# ---- modules ----


def _module(name: str) -> Any:
    """A module of loops, None if it was not built."""
    full = f"{__name__}.{name}"
    try:
        found = importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return None
    _share_all(found)
    return found


@functools.cache
def _share_all(module: Any) -> None:
    """Let threads share the calls of all loops of a module."""
    share(module.loops.values())
