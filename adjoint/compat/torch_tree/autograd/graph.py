"""torch.autograd.graph: what programs ask of it by private names."""

from typing import Any

from adjoint.autograd.graph import GradientEdge, get_gradient_edge


def _get_grad_fn_or_grad_acc(t: Any) -> Any:
    """The node that a gradient comes to: what made a tensor, or a leaf's accumulator."""
    return t.node if isinstance(t, GradientEdge) else get_gradient_edge(t).node
