"""Special functions where their arguments are odd: PyTorch's answers."""

from typing import Any

import pytest

import adjoint.compat.torch as compat

POLYNOMIALS = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_degrees_that_are_no_numbers(torch: Any, name: str, kind: str) -> None:
    def values(library: Any) -> Any:
        degrees = [float("inf"), float("-inf"), float("nan"), -1.0, 2.0]
        x = library.tensor([0.25, 1.0, -1.0, 0.0], dtype=getattr(library, kind))
        n = library.tensor(degrees, dtype=x.dtype)
        return getattr(library.special, name)(x, n[:, None])

    ours = values(compat)
    torch.testing.assert_close(torch.from_numpy(ours.numpy()), values(torch))
