"""The backward graph as users and tools see it, under PyTorch's names."""

from adjoint.autograd.node import GradientEdge as GradientEdge, Node as Node

__all__ = ["GradientEdge", "Node"]
