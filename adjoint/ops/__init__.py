"""Imports the tables, then attaches every op to Tensor and its operators."""

from typing import Any

from adjoint import dispatch
from adjoint.ops import activation as activation
from adjoint.ops import comparison as comparison
from adjoint.ops import conversion as conversion
from adjoint.ops import elementwise as elementwise
from adjoint.ops import fft as fft
from adjoint.ops import indexing as indexing
from adjoint.ops import linalg as linalg
from adjoint.ops import matmul as matmul
from adjoint.ops import neural as neural
from adjoint.ops import random as random
from adjoint.ops import reduction as reduction
from adjoint.ops import shape as shape
from adjoint.ops import sorting as sorting
from adjoint.ops import special as special
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import COMPOSITES, TABLE
from adjoint.tensor import Tensor


def attach() -> None:
    """Give Tensor its methods and operators."""
    for name, op in TABLE.items():
        _attach(name, op, op.method)
    for name, inplace in INPLACE.items():
        _attach(name, inplace, inplace.op.method)
    for name, function in COMPOSITES.items():
        _attach(name, function, function.is_method)


def _attach(name: str, op: Any, method: bool) -> None:
    if method:
        setattr(Tensor, name, op)
    if hasattr(dispatch.operators, name):
        setattr(dispatch.operators, name, op)


attach()
