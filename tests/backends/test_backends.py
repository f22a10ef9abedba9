"""The backend axis: every op on another library's arrays gives NumPy's values and gradients."""

import importlib
from typing import Any

import numpy as np
import pytest

from adjoint.autograd.entry_points import grad
from adjoint.backends import backend_of
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.testing import (
    Sample,
    all_functions,
    as_array,
    assert_close,
    direction_like,
    function_of,
    generator,
    open_call,
    samples_of,
)
from tests.backends import exceptions

SAMPLES_EACH = 2  # a library that compiles each op takes its time


@pytest.fixture(scope="module")
def jax() -> Any:
    """JAX with 64-bit numbers, as NumPy has them; the setting is put back afterwards."""
    try:
        module: Any = importlib.import_module("jax")
    except ImportError:
        pytest.skip("JAX is not installed")
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


def chosen(name: str) -> list[Sample]:
    """The first samples of a function that have elements and run on JAX."""
    usable = [s for s in samples_of(name) if "jax" not in s.without and s.compare_values]
    full = [s for s in usable if all(a.size for a in open_call(function_of(name), s)[1])]
    return (full or usable)[:SAMPLES_EACH]


def each_function() -> list[Any]:
    """Every function; XLA takes seconds for some, so most are left to the run of everything."""
    names = all_functions()
    return [
        name if i % 12 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for i, name in enumerate(names)
    ]


@pytest.mark.parametrize("name", each_function())
def test_jax(jax: Any, name: str) -> None:
    """Values, data types and first-order gradients on JAX are NumPy's."""
    if name in exceptions.JAX:
        pytest.skip(exceptions.JAX[name])

    def on_jax(array: Any) -> Tensor:
        return Tensor(jax.numpy.asarray(array), AS_IS)

    for sample in chosen(name):
        call, arrays = open_call(function_of(name), sample)
        call_jax, _ = open_call(function_of(name), sample, on_jax)
        needed = sample.differentiate
        ours = [Tensor(a.copy(), AS_IS).requires_grad_(needed) for a in arrays]
        theirs = [on_jax(a).requires_grad_(needed) for a in arrays]
        expected, results = call(*ours), call_jax(*theirs)
        for a, b in zip(results, expected, strict=True):
            if isinstance(b, Tensor):
                if arrays:
                    assert backend_of(a.array).name == "jax", "the result left the backend"
                assert_close(a, b, 1e-6, 1e-8, name)
            else:
                assert a == b
        found = projected(results, theirs, name)
        for a, b in zip(found, projected(expected, ours, name), strict=True):
            assert_close(a, b, 1e-6, 1e-8, f"gradient of {name}")


def projected(outputs: list[Any], leaves: list[Tensor], name: str) -> list[Any]:
    """The gradients of one random projection of the outputs, as NumPy arrays."""
    rng = generator(name)
    live = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]
    if not live:
        return []
    weights = [direction_like(rng, as_array(o)) for o in live]
    given = [
        Tensor(backend_of(o.array).asarray(w), AS_IS) for o, w in zip(live, weights, strict=True)
    ]
    found = grad(live, leaves, given, allow_unused=True)
    return [
        np.zeros(leaf.shape, as_array(leaf).dtype) if g is None else as_array(g)
        for g, leaf in zip(found, leaves, strict=True)
    ]
