"""torch.distributions.dirichlet: the gradient of a sample."""

from typing import Any

from adjoint.ops.sampling.implicit import dirichlet_rule


def _Dirichlet_backward(x: Any, concentration: Any, grad_output: Any) -> Any:  # noqa: N802
    """The gradient of a Dirichlet distribution's sample by its concentrations."""
    return dirichlet_rule(grad_output, concentration, x)
