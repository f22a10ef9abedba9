"""Bad arguments of reductions and sorting give the exception types that PyTorch gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, from_numpy
from adjoint.ops import find_function
from adjoint.tensors.tensor import AS_IS

torch = pytest.importorskip("torch")

MATRIX = np.arange(6.0).reshape(2, 3)
VECTOR = np.arange(5.0)
INTEGERS = np.arange(3)
BOOLS = np.array([True, False])
COMPLEX = np.array([1j, 2])
EMPTY = np.zeros(0)
NO_ROWS = np.zeros((0, 3))
SCALAR = np.array(3.0)

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    # a dimension that does not exist, or comes twice
    *[
        (name, (MATRIX, 2), {})
        for name in (
            *("sum", "mean", "prod", "nansum", "nanmean", "var", "std", "var_mean", "amax", "amin"),
            *("max", "min", "argmax", "argmin", "any", "all", "logsumexp", "softmax", "cumsum"),
            *("log_softmax", "cumprod", "cummax", "cummin", "logcumsumexp", "count_nonzero"),
            *("sort", "argsort", "median", "nanmedian", "mode"),
        )
    ],
    *[
        (name, (MATRIX, (0, 0)), {})
        for name in ("sum", "mean", "var", "std", "amax", "nansum", "logsumexp", "any", "all")
    ],
    ("norm", (MATRIX, 2, 3), {}),
    ("norm", (MATRIX, 2, (1, -1)), {}),
    ("diff", (MATRIX,), {"dim": 2}),
    ("topk", (MATRIX, 1, 2), {}),
    ("kthvalue", (MATRIX, 1, 2), {}),
    ("quantile", (MATRIX, 0.5, 2), {}),
    ("unique", (MATRIX,), {"dim": 2}),
    ("renorm", (MATRIX, 2, 2, 1.0), {}),
    ("trapezoid", (MATRIX,), {"dim": 2}),
    ("aminmax", (MATRIX,), {"dim": 2}),
    # dimensions of a wrong type
    ("sum", (MATRIX, "rows"), {}),
    ("sum", (MATRIX, 1.5), {}),
    ("prod", (MATRIX, (0, 1)), {}),
    ("max", (MATRIX, (0, 1)), {}),
    ("argmax", (MATRIX, (0, 1)), {}),
    ("cumsum", (MATRIX, None), {}),
    ("aminmax", (MATRIX,), {"dim": (0, 1)}),
    ("logsumexp", (MATRIX,), {}),
    ("max", (MATRIX,), {"keepdim": True}),
    ("max", (MATRIX, MATRIX), {"keepdim": True}),
    ("var", (MATRIX,), {"dim": 0, "unbiased": False, "correction": 2}),
    # data types
    ("mean", (INTEGERS,), {}),
    ("nanmean", (INTEGERS,), {}),
    ("var", (INTEGERS,), {}),
    ("std", (INTEGERS,), {}),
    ("norm", (INTEGERS,), {}),
    ("softmax", (INTEGERS, 0), {}),
    ("log_softmax", (INTEGERS, 0), {}),
    ("softmax", (COMPLEX, 0), {}),
    ("logcumsumexp", (INTEGERS, 0), {}),
    ("nansum", (COMPLEX,), {}),
    *[(name, (COMPLEX,), {}) for name in ("amax", "amin", "max", "min", "argmax", "argmin")],
    *[(name, (COMPLEX, 0), {}) for name in ("max", "min", "cummax", "cummin", "sort", "median")],
    ("argmax", (BOOLS,), {}),
    ("median", (BOOLS,), {}),
    ("kthvalue", (BOOLS, 1), {}),
    ("topk", (BOOLS, 1), {}),
    ("mode", (COMPLEX,), {}),
    ("unique", (COMPLEX,), {}),
    ("isin", (BOOLS, BOOLS), {}),
    ("histc", (INTEGERS,), {}),
    ("bincount", (VECTOR,), {}),
    ("bincount", (BOOLS,), {}),
    ("quantile", (INTEGERS, 0.5), {}),
    ("trapezoid", (BOOLS,), {}),
    # nothing to choose from
    *[(name, (EMPTY,), {}) for name in ("max", "min", "amax", "amin", "argmax", "argmin")],
    *[(name, (NO_ROWS, 0), {}) for name in ("max", "min", "amax", "argmin", "median", "mode")],
    ("aminmax", (EMPTY,), {}),
    ("aminmax", (NO_ROWS,), {"dim": 0}),
    ("kthvalue", (NO_ROWS, 1, 0), {}),
    ("quantile", (EMPTY, 0.5), {}),
    ("norm", (EMPTY, float("inf")), {}),
    ("unique", (NO_ROWS,), {"dim": 1}),
    # numbers out of range
    ("topk", (VECTOR, 6), {}),
    ("topk", (VECTOR, -1), {}),
    ("topk", (SCALAR, 2), {}),
    ("kthvalue", (VECTOR, 0), {}),
    ("kthvalue", (VECTOR, 6), {}),
    ("quantile", (VECTOR, 1.5), {}),
    ("quantile", (VECTOR, np.array([-0.5, 0.5])), {}),
    ("quantile", (VECTOR, np.array([[0.5]])), {}),
    ("quantile", (VECTOR, np.array([0.5], np.float32)), {}),
    ("quantile", (VECTOR, 0.5), {"interpolation": "cubic"}),
    ("nanquantile", (VECTOR, -0.1), {}),
    ("histc", (VECTOR, 4, 3, 1), {}),
    ("histc", (VECTOR, 0), {}),
    ("bincount", (INTEGERS,), {"minlength": -1}),
    ("bincount", (INTEGERS - 1,), {}),
    ("diff", (VECTOR, -1), {}),
    ("renorm", (MATRIX, -1, 0, 1.0), {}),
    ("renorm", (MATRIX, 2, 0, -1.0), {}),
    ("norm", (MATRIX, "other"), {}),
    ("norm", (MATRIX, "nuc", 0), {}),
    ("searchsorted", (VECTOR, 3.0), {"side": "middle"}),
    ("searchsorted", (VECTOR, 3.0), {"side": "left", "right": True}),
    # shapes
    ("trace", (VECTOR,), {}),
    ("diff", (SCALAR,), {}),
    ("diff", (VECTOR,), {"prepend": SCALAR}),
    ("trapezoid", (SCALAR,), {}),
    ("trapezoid", (VECTOR, VECTOR[:3]), {}),
    ("trapezoid", (VECTOR, VECTOR), {"dx": 1}),
    ("renorm", (VECTOR, 2, 0, 1.0), {}),
    ("bincount", (INTEGERS[None],), {}),
    ("bincount", (INTEGERS, VECTOR), {}),
    ("cov", (np.zeros((2, 2, 2)),), {}),
    ("cov", (MATRIX,), {"fweights": np.array([1.0, 2, 1])}),
    ("cov", (MATRIX,), {"aweights": np.array([-1.0, 2, 1])}),
    ("cov", (MATRIX,), {"aweights": np.array([1.0, 2])}),
    ("searchsorted", (MATRIX, VECTOR), {}),
    ("searchsorted", (SCALAR, VECTOR), {}),
    ("searchsorted", (VECTOR, VECTOR), {"sorter": INTEGERS}),
    ("searchsorted", (VECTOR, VECTOR), {"sorter": VECTOR}),
    ("searchsorted", (VECTOR, VECTOR), {"sorter": np.arange(5) + 1}),
    ("bucketize", (VECTOR, MATRIX), {}),
]


def converted(make: Callable[[Any], Any], value: Any) -> Any:
    return make(value) if isinstance(value, np.ndarray) else value


def raised(
    function: Callable[..., Any],
    make: Callable[[Any], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> type[BaseException] | None:
    """The type of what a call raises."""
    try:
        function(
            *[converted(make, value) for value in args],
            **{name: converted(make, value) for name, value in kwargs.items()},
        )
    except Exception as error:
        return type(error)
    return None


def described(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    CASES,
    ids=[f"{name}({', '.join([*map(described, args), *kwargs])})" for name, args, kwargs in CASES],
)
def test_exception_types(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    expected = raised(getattr(torch, name), torch.tensor, args, kwargs)
    assert expected is not None
    assert raised(find_function(name), from_numpy, args, kwargs) is expected


def test_messages_name_the_op() -> None:
    with pytest.raises(IndexError, match=r"sum\(float64\[2, 3\]\).*range of \[-2, 1\].*5"):
        find_function("sum")(Tensor(MATRIX, AS_IS), 5)
    with pytest.raises(RuntimeError, match=r"topk\(.*k=6 is out of range.*size 5"):
        find_function("topk")(Tensor(VECTOR, AS_IS), 6)
