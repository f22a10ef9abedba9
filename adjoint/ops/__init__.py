"""Imports the tables, then attaches every op to Tensor and its operators."""

from typing import Any

from adjoint.ops import shared_rules
from adjoint.ops.arranging import (
    arrange,
    conversion,
    copies,
    indexing,
    positions,
    questions,
    shape,
    strided,
    writing,
)
from adjoint.ops.elementwise import (
    activation,
    arithmetic,
    comparison,
    complex_numbers,
    floating,
    powers,
    rounding,
    selection,
    special,
    trigonometry,
)
from adjoint.ops.inplace import INPLACE, InplaceOp, derive_inplace
from adjoint.ops.matrices import (
    decompositions,
    distances,
    factorizations,
    linalg,
    matmul,
    matrix_norms,
)
from adjoint.ops.neural import (
    adaptive_pooling,
    attention,
    class_losses,
    convolution,
    ctc,
    dropout,
    embedding,
    grid,
    linear,
    losses,
    normalization,
    pooling,
    recurrent,
    resampling,
)
from adjoint.ops.op import COMPOSITES, METHOD_COMPOSITES, TABLE, Op
from adjoint.ops.reducing import (
    cumulative,
    extremes,
    histograms,
    norms,
    reduction,
    segments,
    sorting,
    statistics,
)
from adjoint.ops.sampling import random
from adjoint.ops.signals import fft, spectral
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

TABLES = (
    shared_rules,
    comparison,
    selection,
    arithmetic,
    powers,
    rounding,
    trigonometry,
    complex_numbers,
    shape,
    strided,
    arrange,
    reduction,
    extremes,
    cumulative,
    statistics,
    histograms,
    norms,
    indexing,
    positions,
    writing,
    segments,
    conversion,
    copies,
    questions,
    matmul,
    floating,
    special,
    activation,
    sorting,
    linalg,
    decompositions,
    factorizations,
    matrix_norms,
    fft,
    spectral,
    linear,
    random,
    convolution,
    pooling,
    adaptive_pooling,
    normalization,
    attention,
    distances,
    losses,
    class_losses,
    embedding,
    resampling,
    dropout,
    grid,
    ctc,
    recurrent,
)


def _aliases() -> dict[str, str]:
    """Second names of ops, from the tables."""
    found: dict[str, str] = {}
    for table in TABLES:
        found.update(getattr(table, "ALIASES", {}))
    return found


ALIASES = _aliases()


def find_function(name: str) -> Any:
    """The op, in-place op or composite with this public name, or None."""
    name = ALIASES.get(name, name)
    if name.endswith("_") and name[:-1] in ALIASES:
        name = ALIASES[name[:-1]] + "_"
    return TABLE.get(name) or INPLACE.get(name) or COMPOSITES.get(name)


def _is_method(name: str, function: Any) -> bool:
    if isinstance(function, InplaceOp):
        return function.op.method
    if isinstance(function, Op):
        return function.method
    return ALIASES.get(name, name) in METHOD_COMPOSITES


def attach() -> None:
    """Give Tensor its methods, properties and operators."""
    derive_inplace()
    names = [*TABLE, *INPLACE, *COMPOSITES, *ALIASES]
    names += [f"{alias}_" for alias, name in ALIASES.items() if f"{name}_" in INPLACE]
    for name in names:
        function = find_function(name)
        if _is_method(name, function):
            setattr(Tensor, name, function)
        if hasattr(upper.operators, name):
            setattr(upper.operators, name, function)


def attach_all(home: Any) -> None:
    """Give Tensor the methods and properties that a module outside the tables declares."""
    for name, function in getattr(home, "METHODS", {}).items():
        setattr(Tensor, name, function)
    for name, function in getattr(home, "PROPERTIES", {}).items():
        setattr(Tensor, name, function if isinstance(function, property) else property(function))


attach()
for _table in TABLES:
    attach_all(_table)
