"""Distances as layers."""

from typing import Any

from adjoint.nn import functional
from adjoint.nn.layers.base import Stateless, taking


class CosineSimilarity(Stateless):
    """The cosine of the angle between vectors along dim."""

    fields = taking(dim=1, eps=1e-8)
    function = functional.cosine_similarity
    unshown = frozenset(fields)


class PairwiseDistance(Stateless):
    """The norm of exponent p of the difference over the last dimension."""

    fields = taking(p=2.0, eps=1e-6, keepdim=False)
    unshown = frozenset(fields)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The exponent is called norm."""
        return {"norm": given["p"], "eps": given["eps"], "keepdim": given["keepdim"]}

    def forward(self, x1: Any, x2: Any) -> Any:
        """The distance."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
