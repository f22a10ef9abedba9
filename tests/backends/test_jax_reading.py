"""Arrays of XLA's GPU are read to memory of NumPy's own; skipped where there is none."""

import sys
import threading

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("cupy")

from adjoint.backends.jax_reading import GpuReader, reader

if jax.default_backend() != "gpu":
    pytest.skip("JAX finds no GPU", allow_module_level=True)

KINDS = ["float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64", "float8_e4m3fn"]


def read(array):
    found = reader(array.sharding)
    assert type(found) is GpuReader
    return found(array)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (5000,), (3, 4), (0,), (2, 0), (40, 50)])
def test_values_are_those_of_jax_in_memory_that_may_be_written(shape, kind):
    numbers = np.arange(int(np.prod(shape))).reshape(shape) % 7
    array = jax.numpy.asarray(numbers).astype(kind)
    found = read(array)
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(
        found.astype("complex64"), numbers.astype(kind).astype("complex64")
    )
    assert found.flags.writeable
    before = np.array(array)
    found[...] = 1
    np.testing.assert_array_equal(np.array(array), before)


def test_what_was_just_computed_is_waited_for():
    matrix = jax.random.normal(jax.random.key(0), (2048, 2048))
    total = jax.jit(lambda m: (m @ m @ m @ m).sum())(matrix)
    assert read(total) == np.array(total)


@pytest.mark.parametrize("shape", [(), (7,), (5000,)])
def test_an_array_that_was_read_is_not_held(shape):
    array = jax.numpy.ones(shape) + 1
    before = sys.getrefcount(array)
    read(array)
    assert sys.getrefcount(array) == before


def test_threads_and_handlers_read_at_once():
    arrays = [jax.numpy.full(7, number) for number in range(50)]
    wrong = []

    def look():
        wrong.extend(n for n, each in enumerate(arrays) if (read(each) != n).any())

    threads = [threading.Thread(target=look) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    with reader(arrays[0].sharding).lock:  # as if a handler came while another read was under way
        look()
    assert not wrong
