"""torch.nn.modules.rnn: sequences in another order."""

from typing import Any


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """The elements along a dimension, in this order."""
    return tensor.index_select(dim, permutation)
