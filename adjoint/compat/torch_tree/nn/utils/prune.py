"""Private functions of torch.nn.utils.prune: how much is pruned."""

from typing import Any

from adjoint.nn.utils.prune import RandomUnstructured


def _validate_pruning_amount_init(amount: Any) -> None:
    """Refuse what is neither a number of elements nor a fraction of them."""
    RandomUnstructured(amount)


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of so many elements to prune."""
    return RandomUnstructured(amount)._count(tensor_size)  # noqa: SLF001  for want of another name


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Refuse to prune more elements than there are."""
    _compute_nparams_toprune(amount, tensor_size)
