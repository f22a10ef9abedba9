"""Imports the tables, then attaches every op to Tensor and its operators."""

from types import FunctionType
from typing import Any

from adjoint.ops import shared_rules
from adjoint.ops.arranging import (
    arrange,
    conversion,
    copies,
    indexing,
    positions,
    questions,
    scattering,
    shape,
    strided,
    writing,
)
from adjoint.ops.as_method import double
from adjoint.ops.attaching import attach_loops
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.declaration import DECLARED, HOMES, METHOD
from adjoint.ops.elementwise import (
    activation,
    arithmetic,
    bessel,
    comparison,
    complex_numbers,
    floating,
    polynomials,
    powers,
    rounding,
    selection,
    special,
    trigonometry,
)
from adjoint.ops.inplace import INPLACE, InplaceOp, derive_inplace
from adjoint.ops.matrices import (
    added_products,
    decompositions,
    distances,
    einsum,
    factorizations,
    ldl,
    linalg,
    lu,
    matmul,
    matrix_norms,
    other_products,
    spectra,
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
    native_functions,
    normalization,
    pooling,
    recurrent,
    resampling,
)
from adjoint.ops.op import TABLE, NamedOp, Op
from adjoint.ops.reducing import (
    cumulative,
    extremes,
    hashing,
    histograms,
    norms,
    reduction,
    segments,
    sorting,
    statistics,
)
from adjoint.ops.sampling import random
from adjoint.ops.signals import fft, spectral
from adjoint.ops.sparse import answers, arranged_answers, parts, products
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
    scattering,
    writing,
    segments,
    hashing,
    conversion,
    copies,
    questions,
    matmul,
    added_products,
    einsum,
    other_products,
    floating,
    special,
    bessel,
    polynomials,
    activation,
    sorting,
    linalg,
    decompositions,
    spectra,
    lu,
    ldl,
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
    native_functions,
    parts,
    answers,
    arranged_answers,
    products,
)


# The slots of dispatch.operators that are not called like their op.
OPERATORS = {
    "conj_physical": "conjugate_of",
    "floordiv": "floor_divide",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "truediv": "true_divide",
}


def _gather() -> dict[str, dict[str, Any]]:
    """What the tables declare, by home and public name; Tensor's methods too."""
    found: dict[str, dict[str, Any]] = {home: {} for home in (METHOD, *HOMES)}
    for name, declared in DECLARED.items():
        for home, public in declared.places():
            found[home][public] = declared.function
        if f"{name}_" in INPLACE:
            for home, public in declared.inplace_places():
                found[home][public] = INPLACE[f"{name}_"]
        if declared.native:
            found["adjoint"][declared.own] = native_functions.reordered(declared)
    return found


derive_inplace()
PUBLIC = _gather()


def find_function(name: str) -> Any:
    """The op, in-place op or composite with this name, public or not, or None."""
    found = TABLE.get(name) or INPLACE.get(name) or COMPOSITES.get(name)
    return found or PUBLIC["adjoint"].get(name) or PUBLIC[METHOD].get(name)


def _as_method(function: Any, name: str) -> Any:
    """What Tensor has under a name; see ops/as_method.py."""
    if isinstance(function, (Op, InplaceOp)):
        return function if function.__name__ == name else NamedOp(function, name)
    return double(function, name)


def attach() -> None:
    """Give Tensor its methods, properties and operators."""
    for name, function in PUBLIC[METHOD].items():
        setattr(Tensor, name, _as_method(function, name))
    slots = {name: name for name in (*TABLE, *INPLACE, *COMPOSITES)}
    slots |= {slot + end: name + end for slot, name in OPERATORS.items() for end in ("", "_")}
    for slot, name in slots.items():
        if hasattr(upper.operators, slot):
            setattr(upper.operators, slot, find_function(name))


def attach_all(home: Any) -> None:
    """Give Tensor the methods and properties that a module outside the tables declares."""
    for name, function in getattr(home, "METHODS", {}).items():
        if isinstance(function, FunctionType) and name.startswith("__"):
            function.__name__ = name  # those who are asked about calls know it by this
        elif isinstance(function, FunctionType) and function.__name__ != name:
            function = double(function, name)
        setattr(Tensor, name, function)
    for name, function in getattr(home, "PROPERTIES", {}).items():
        setattr(Tensor, name, function if isinstance(function, property) else property(function))


attach_loops()
attach()
for _table in TABLES:
    attach_all(_table)
