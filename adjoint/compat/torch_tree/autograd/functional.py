"""torch.autograd.functional: the basis of vectorized Jacobians, which is private there."""

from typing import Any

from adjoint.creation.factories import eye
from adjoint.ops.arranging.shape import split


def _construct_standard_basis_for(
    tensors: tuple[Any, ...], tensor_numels: tuple[int, ...]
) -> tuple[Any, ...]:
    """For each tensor its columns of the unit matrix of all their elements."""
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError(f"{len(tensors)} tensors and {len(tensor_numels)} numbers of elements")
    columns = split(eye(sum(tensor_numels)), list(tensor_numels), 1)
    return tuple(
        part.to(device=tensor.device, dtype=tensor.dtype) for part, tensor in zip(columns, tensors)
    )
