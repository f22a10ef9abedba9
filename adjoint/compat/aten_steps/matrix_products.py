"""Products and transposes of matrices, as the steps of linear algebra ask for them."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.products import STEPS as PRODUCTS

_product: Final = PRODUCTS["matmul"]


def turned(ask: Steps, matrix: Any) -> Any:
    """A matrix transposed."""
    return ask("transpose.int", matrix, -2, -1)


def times(ask: Steps, first: Any, second: Any) -> Any:
    """A product of matrices, which may be batches."""
    return _product(ask, first, second)
