"""The frequencies that belong to the entries of a transform."""

import numpy as np
import pytest

import adjoint.fft
from adjoint.dtypes import float64

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("d", [1.0, 0.25, 3])
def test_frequencies(name: str, n: int, d: float) -> None:
    ours, theirs = getattr(adjoint.fft, name), getattr(torch.fft, name)
    single, double = ours(n, d), ours(n, d=d, dtype=float64)
    assert str(single.array.dtype) == "float32"
    np.testing.assert_allclose(single.array, theirs(n, d).numpy(), rtol=1e-6)
    np.testing.assert_array_equal(double.array, theirs(n, d, dtype=torch.float64).numpy())


def test_integer_frequencies_are_refused() -> None:
    with pytest.raises(RuntimeError, match="floating"):
        adjoint.fft.fftfreq(4, dtype=adjoint.dtypes.int64)


def test_no_frequencies() -> None:
    assert adjoint.fft.fftfreq(0).array.shape == torch.fft.fftfreq(0).numpy().shape
