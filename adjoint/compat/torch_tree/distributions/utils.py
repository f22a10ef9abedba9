"""torch.distributions.utils: private names that packages built on it import."""

from typing import Any

from adjoint.creation.factories import empty
from adjoint.distributions.parameters import sum_rightmost
from adjoint.tensors.tensor import Tensor

_sum_rightmost = sum_rightmost


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Samples of the standard normal distribution."""
    made: Any = empty(shape, dtype=dtype, device=device)
    filled: Tensor = made.normal_()
    return filled
