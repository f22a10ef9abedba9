"""What of a result is compared with PyTorch's: layout, type, shape, elements, and the flag."""

from typing import Any

import numpy as np
import pytest

import adjoint.compat.torch as compat

INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]  # one place comes twice
VALUES = [3.0, 4.0, 5.0, 0.5]


def doubled(t: Any, dtype: Any = None) -> Any:
    """A matrix with a place that comes twice."""
    return t.sparse_coo_tensor(t.tensor(INDICES), t.tensor(VALUES, dtype=dtype), (2, 3))


def coalesced(t: Any, dtype: Any = None) -> Any:
    """The same matrix, with each place once."""
    return doubled(t, dtype).coalesce()


def by_rows(t: Any, dtype: Any = None) -> Any:
    """The same matrix, row after row."""
    return coalesced(t, dtype).to_sparse_csr()


def hybrid(t: Any, dtype: Any = None) -> Any:
    """A tensor whose elements are rows."""
    values = t.arange(6.0, dtype=dtype).reshape(3, 2)
    return t.sparse_coo_tensor(t.tensor([[0, 2, 0]]), values, (3, 2))


MAKERS = {"doubled": doubled, "coalesced": coalesced, "by_rows": by_rows, "hybrid": hybrid}


def described(value: Any, flag: bool = True) -> Any:
    """A result in plain words; `flag`: whether it is coalesced counts, too."""
    if isinstance(value, (tuple, list)):
        return [described(each, flag) for each in value]
    if not (hasattr(value, "layout") and hasattr(value, "dtype")):
        return value
    layout = str(value.layout).rpartition(".")[2]
    found = [layout, str(value.dtype).rpartition(".")[2], tuple(value.shape)]
    if layout == "sparse_coo":
        found += [value.sparse_dim(), value.is_coalesced() if flag else None]
        found.append(value.detach().coalesce().indices().tolist())
    return [*found, value.detach().to_dense().tolist()]


def same(ours: Any, theirs: Any) -> None:
    """Descriptions that are equal, but for the last bits of numbers."""
    if isinstance(theirs, list) and isinstance(ours, list):
        assert len(ours) == len(theirs), (ours, theirs)
        for one, other in zip(ours, theirs):
            same(one, other)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7)
    else:
        assert ours == theirs


def compared(torch: Any, case: Any, flag: bool = True) -> None:
    """A case gives what PyTorch gives, or an exception of the same kind."""
    try:
        expected = described(case(torch), flag)
    except Exception as error:  # whatever it is, ours must be of that kind
        with pytest.raises(type(error)):
            case(compat)
        return
    same(described(case(compat), flag), expected)
