"""Windows are PyTorch's, and so is what they refuse."""

from typing import Any

import numpy as np
import pytest

import adjoint

torch = pytest.importorskip("torch")

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}, {"center": 1.0, "sym": False}, {"center": 1.0}, {"tau": 0}],
    "gaussian": [{}, {"std": 0.4}, {"std": -1.0}],
    "general_cosine": [{"a": [0.4, 0.3, 0.3]}, {"a": [1.0]}, {"a": []}],
    "general_hamming": [{}, {"alpha": 0.3}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.5}, {"beta": -1.0}],
    "nuttall": [{}],
}


def outcome(library: Any, name: str, length: Any, options: dict[str, Any]) -> Any:
    """The window as a list with its data type, or the type of the error."""
    named = {k: getattr(library, v) if k == "dtype" else v for k, v in options.items()}
    try:
        found = getattr(library.signal.windows, name)(length, **named)
    except Exception as error:
        return type(error)
    return str(found.dtype).rpartition(".")[2], np.round(found.tolist(), 4).tolist()


@pytest.mark.parametrize("name", OPTIONS)
def test_windows(name: str) -> None:
    """Every window, of several lengths, symmetric and not, in several data types."""
    general = [{}, {"sym": False}, {"dtype": "float64"}, {"dtype": "int64"}]
    for length in (0, 1, 2, 5, 8, -1):
        special = OPTIONS[name] if length > 1 else OPTIONS[name][:1]
        for options in [{**own, **more} for own in special for more in general]:
            ours = outcome(adjoint, name, length, options)
            assert ours == outcome(torch, name, length, options), (length, options)


def test_weights_are_a_list() -> None:
    """A number alone is no list of weights."""
    for library in (adjoint, torch):
        with pytest.raises(TypeError):
            library.signal.windows.general_cosine(4, a=0.5)


def test_a_window_can_need_a_gradient() -> None:
    """The options of all factories hold."""
    assert adjoint.signal.windows.hann(4, requires_grad=True).requires_grad
