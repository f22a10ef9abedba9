"""Private names of torch.distributions that packages built on it import."""

from typing import Any

from adjoint.creation.factories import empty
from adjoint.distributions.multivariate import factor_of_inverse, squared_distance, times_vector
from adjoint.distributions.parameters import sum_rightmost
from adjoint.distributions.relaxed import (
    ExpRelaxedCategorical as ExpRelaxedCategorical,
    LogitRelaxedBernoulli as LogitRelaxedBernoulli,
)
from adjoint.ops.sampling.implicit import dirichlet_rule
from adjoint.tensors.tensor import Tensor

_batch_mahalanobis = squared_distance
_batch_mv = times_vector
_precision_to_scale_tril = factor_of_inverse
_sum_rightmost = sum_rightmost


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Samples of the standard normal distribution."""
    made: Any = empty(shape, dtype=dtype, device=device)
    filled: Tensor = made.normal_()
    return filled


def _Dirichlet_backward(x: Any, concentration: Any, grad_output: Any) -> Any:  # noqa: N802
    """The gradient of a Dirichlet distribution's sample by its concentrations."""
    return dirichlet_rule(grad_output, concentration, x)
