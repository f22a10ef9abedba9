"""What sparse tensors are asked, answered by dense ones."""

from typing import Any

from adjoint.tensors.tensor import Tensor


def _same(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor, as it is."""
    return self


def _nonzero(self: Any) -> Any:
    return self.detach().nonzero().t()


def _values(self: Any) -> Any:
    """The elements that are not zero."""
    return self[tuple(_nonzero(self))]


SPARSE_TENSOR: dict[str, Any] = {
    "coalesce": _same,
    "is_coalesced": lambda self: True,
    "to_sparse": _same,
    "to_sparse_coo": _same,
    "indices": _nonzero,
    "_indices": _nonzero,
    "values": _values,
    "_values": _values,
    "_nnz": lambda self: int(self.count_nonzero()),
    "sparse_dim": lambda self: self.ndim,
    "dense_dim": lambda self: 0,
}
