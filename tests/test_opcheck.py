"""opcheck on every op of the table and every in-place form, on a few of its samples."""

from typing import Any

import pytest

from adjoint import dispatch, library
from adjoint.dtypes import can_cast
from adjoint.ops.inplace import INPLACE, InplaceOp
from adjoint.ops.op import TABLE, Op
from adjoint.tensor import Tensor
from adjoint.testing import Sample, is_differentiable, map_arrays, samples_of

COUNT = 300  # samples of each op

LISTED: dict[tuple[str, str], str] = {}


def tensor_of(sample: Sample) -> Any:
    """How an array of a sample becomes a tensor; with a derivative, if the sample has one."""
    return lambda array: Tensor(array.copy("K")).requires_grad_(
        sample.differentiate and is_differentiable(array)
    )


def chosen(op: Op) -> list[Sample]:
    """The first samples of an op, with a differentiable one among them if there is any."""
    found = samples_of(op.name)
    first = found[:COUNT]
    if not any(s.differentiate for s in first):
        first += [s for s in found if s.differentiate][:1]
    return first


def fits_in_place(op: Op, sample: Sample) -> bool:
    """Whether the result of a sample can be written where its first argument is."""
    values = map_arrays(lambda a: Tensor(a.copy("K")), op.bind(sample.args, dict(sample.kwargs)))
    target = values[0]
    result = dispatch.apply(op, values)
    if not isinstance(target, Tensor) or not isinstance(result, Tensor):
        return False
    return op.view or (can_cast(result.dtype, target.dtype) and result.shape == target.shape)


def outcomes(op: Op | InplaceOp) -> dict[str, list[Any]]:
    """What each check says of an op, sample by sample."""
    declared = op.op if isinstance(op, InplaceOp) else op
    found: dict[str, list[Any]] = {}
    for sample in chosen(declared):
        if isinstance(op, InplaceOp) and not fits_in_place(declared, sample):
            continue
        args, kwargs = map_arrays(tensor_of(sample), (sample.args, sample.kwargs))
        for check, outcome in library.opcheck(op, args, kwargs, raise_exception=False).items():
            found.setdefault(check, []).append(outcome)
    return found
