"""Factories: values, data types, memory and errors."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import adjoint


def same(ours, expected, kind):
    expected = np.asarray(expected)
    assert ours.dtype is kind
    assert tuple(ours.shape) == expected.shape
    np.testing.assert_array_equal(ours.numpy(), expected.astype(kind.numpy_dtype))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (True, "bool"),
        (3, "int64"),
        (2.5, "float32"),
        (1 + 2j, "complex64"),
        ([], "float32"),
        ([[], []], "float32"),
        ([True, 2], "int64"),
        ([1, 2.5], "float32"),
        ([[1, 2], [3, 4]], "int64"),
        ((1, 2.0), "float32"),
        (range(3), "int64"),
        ([np.float64(1)], "float64"),
        ([np.float32(1), 2.0], "float32"),
        ([np.float16(1), 2], "float16"),
        ([np.int8(1)], "int8"),
        (np.float64(1), "float64"),
        (np.arange(3, dtype=np.int16), "int16"),
        ([np.zeros(2, np.int32), np.ones(2, np.int32)], "int32"),
    ],
)
def test_tensor_infers_the_data_type(data, kind):
    same(adjoint.tensor(data), data, getattr(adjoint, kind))


def test_tensor_of_tensors():
    same(adjoint.tensor([adjoint.tensor(1), adjoint.tensor(2.5)]), [1, 2.5], adjoint.float32)
    with pytest.raises(ValueError, match="one element"):
        adjoint.tensor([adjoint.zeros(2), adjoint.zeros(2)])


def test_default_dtype_is_used():
    adjoint.set_default_dtype(adjoint.float64)
    try:
        assert adjoint.tensor(1.0).dtype is adjoint.float64
        assert adjoint.tensor(1j).dtype is adjoint.complex128
        assert adjoint.zeros(2).dtype is adjoint.float64
        assert adjoint.arange(2.0).dtype is adjoint.float64
        assert adjoint.Tensor([1]).dtype is adjoint.float64
    finally:
        adjoint.set_default_dtype(adjoint.float32)


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        ([[1, 2], [3]], {}, ValueError, "length 2 at dim 1"),
        ([[1, 2], 3], {}, TypeError, "sequence"),
        ([1, [2]], {}, TypeError, "list"),
        ("abc", {}, TypeError, "abc"),
        (["a"], {}, ValueError, "'a'"),
        (None, {}, RuntimeError, "NoneType"),
        ([None], {}, RuntimeError, "NoneType"),
        ({1: 2}, {}, RuntimeError, "dict"),
        (2**63, {}, ValueError, "too large"),
        ([2**70], {}, ValueError, "too large"),
        ([300], {"dtype": "uint8"}, RuntimeError, "overflow"),
        ([float("nan")], {"dtype": "int64"}, RuntimeError, "overflow"),
        ([1 + 2j], {"dtype": "float32"}, TypeError, "complex"),
        (np.arange(3)[::-1], {}, ValueError, "negative stride"),
        (np.array(["a"]), {}, TypeError, "supported data types"),
        (np.arange(2, dtype=">i4"), {}, ValueError, "byte order"),
        ([1, 2], {"requires_grad": True}, RuntimeError, "floating point"),
    ],
)
def test_tensor_refuses(data, options, error, message):
    if "dtype" in options:
        options = {"dtype": getattr(adjoint, options["dtype"])}
    with pytest.raises(error, match=message):
        adjoint.tensor(data, **options)


def test_tensor_nested_in_itself():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="too many dimensions"):
        adjoint.tensor(data)


def test_tensor_casts():
    same(adjoint.tensor([1.7], dtype=adjoint.int64), [1], adjoint.int64)
    same(adjoint.tensor([-1], dtype=adjoint.uint8), [255], adjoint.uint8)
    assert adjoint.tensor([1e300]).item() == float("inf")
    assert adjoint.tensor([2**70], dtype=adjoint.float64).item() == float(2**70)
    same(adjoint.tensor([np.uint8(7)], dtype=adjoint.int64), [7], adjoint.int64)


def test_tensor_copies_and_forgets_history():
    array = np.ones(2)
    made = adjoint.tensor(array)
    array[0] = 5
    assert made[0].item() == 1
    source = adjoint.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="clone"):
        copy = adjoint.tensor(source)
    assert not copy.requires_grad
    assert copy.data_ptr() != source.data_ptr()


def test_as_tensor_shares():
    tensor = adjoint.ones(2, requires_grad=True)
    assert adjoint.as_tensor(tensor) is tensor
    assert adjoint.as_tensor(tensor, dtype=adjoint.float64).grad_fn is not None
    array = np.ones(2)
    shared = adjoint.as_tensor(array)
    array[0] = 5
    assert shared[0].item() == 5
    assert adjoint.as_tensor([1, 2]).dtype is adjoint.int64


def test_asarray():
    array = np.arange(3)
    assert adjoint.asarray(array, copy=False).numpy() is array
    assert adjoint.asarray(array, copy=True).numpy() is not array
    tensor = adjoint.ones(2, requires_grad=True)
    assert adjoint.asarray(tensor) is tensor
    assert not adjoint.asarray(tensor, requires_grad=False).requires_grad
    assert adjoint.asarray(adjoint.ones(2), requires_grad=True).requires_grad
    same(adjoint.asarray(b"ab", dtype=adjoint.uint8), [97, 98], adjoint.uint8)
    with pytest.raises(ValueError, match="shared"):
        adjoint.asarray([1], copy=False)
    with pytest.raises(ValueError, match="copy"):
        adjoint.asarray(array, dtype=adjoint.float32, copy=False)


def test_from_numpy():
    array = np.zeros((2, 3), np.float32)
    tensor = adjoint.from_numpy(array)
    assert tensor.numpy() is array
    tensor[0, 0] = 4.0
    assert array[0, 0] == 4
    with pytest.raises(TypeError, match="list"):
        adjoint.from_numpy([1])
    with pytest.raises(TypeError, match="float64"):
        adjoint.from_numpy(np.float64(1))
    with pytest.raises(ValueError, match="negative"):
        adjoint.from_numpy(np.arange(3)[::-1])


def test_frombuffer():
    memory = bytearray(8)
    tensor = adjoint.frombuffer(memory, dtype=adjoint.float32)
    tensor[0] = 1.0
    assert memory != bytearray(8)


def test_sizes():
    for made in (adjoint.zeros(2, 3), adjoint.zeros((2, 3)), adjoint.zeros(size=[2, 3])):
        same(made, np.zeros((2, 3)), adjoint.float32)
    same(adjoint.ones(()), 1, adjoint.float32)
    assert adjoint.empty(0, 3).shape == (0, 3)
    assert adjoint.zeros(2, adjoint.tensor(3)).shape == (2, 3)
    for size, error in (((), TypeError), ((-1,), RuntimeError), ((2.0,), TypeError)):
        with pytest.raises(error):
            adjoint.zeros(*size)
    with pytest.raises(TypeError, match="unexpected argument 'foo'"):
        adjoint.zeros(2, foo=1)
    with pytest.raises(TypeError, match="dtype"):
        adjoint.zeros(2, dtype="float")


def test_full():
    same(adjoint.full((2,), 3), [3, 3], adjoint.int64)
    same(adjoint.full((2,), True), [True, True], adjoint.bool)
    same(adjoint.full((2,), 1j), [1j, 1j], adjoint.complex64)
    same(adjoint.full((), adjoint.tensor(2.5, dtype=adjoint.float64)), 2.5, adjoint.float32)
    same(adjoint.full((2,), 3.7, dtype=adjoint.int64), [3, 3], adjoint.int64)
    for value, kind in ((300, adjoint.uint8), (1j, adjoint.float32)):
        with pytest.raises(RuntimeError, match="cannot be converted"):
            adjoint.full((2,), value, dtype=kind)
    with pytest.raises(TypeError, match="size"):
        adjoint.full(2, 3)


def test_like_keeps_kind_and_order():
    source = adjoint.zeros(3, 2, dtype=adjoint.float64).permute(1, 0)
    for made in (
        adjoint.zeros_like(source),
        adjoint.ones_like(source),
        adjoint.full_like(source, 2),
        adjoint.empty_like(source),
    ):
        assert made.dtype is adjoint.float64
        assert made.stride() == (1, 2)
    assert adjoint.zeros_like(source, memory_format=adjoint.contiguous_format).is_contiguous()
    assert adjoint.zeros_like(source, dtype=adjoint.int8).dtype is adjoint.int8
    assert adjoint.zeros_like(adjoint.zeros(1, 3).expand(4, 3)).is_contiguous()
    with pytest.raises(TypeError, match="Tensor"):
        adjoint.zeros_like([1])


def test_out():
    out = adjoint.ones(3, dtype=adjoint.int64)
    assert adjoint.zeros(3, out=out) is out
    same(out, [0, 0, 0], adjoint.int64)
    assert adjoint.arange(4, out=out) is out
    same(out, [0, 1, 2, 3], adjoint.int64)
    with pytest.raises(RuntimeError, match="does not match"):
        adjoint.zeros(3, out=out, dtype=adjoint.float32)


@pytest.mark.parametrize(
    ("args", "kwargs", "expected", "kind"),
    [
        ((5,), {}, [0, 1, 2, 3, 4], "int64"),
        ((5.0,), {}, [0, 1, 2, 3, 4], "float32"),
        ((1, 5), {}, [1, 2, 3, 4], "int64"),
        ((1, 6, 2.0), {}, [1, 3, 5], "float32"),
        ((5, 1, -1), {}, [5, 4, 3, 2], "int64"),
        ((0, 1, 0.3), {}, [0, 0.3, 0.6, 0.9], "float32"),
        ((), {"end": 3}, [0, 1, 2], "int64"),
        ((), {"start": 1, "end": 3}, [1, 2], "int64"),
        ((1,), {"end": 3}, [1, 2], "int64"),
        ((1, 3), {"end": 3}, None, None),
        ((0.5, 4), {"dtype": "int64"}, [0, 1, 2, 3], "int64"),
        ((1.5, 5.5, 1.5), {"dtype": "int64"}, [1, 2, 3, 4], "int64"),
        ((3, 3), {}, [], "int64"),
    ],
)
def test_arange(args, kwargs, expected, kind):
    if "dtype" in kwargs:
        kwargs = {**kwargs, "dtype": getattr(adjoint, kwargs["dtype"])}
    if expected is None:
        with pytest.raises(TypeError, match="several values"):
            adjoint.arange(*args, **kwargs)
    else:
        same(adjoint.arange(*args, **kwargs), expected, getattr(adjoint, kind))


@pytest.mark.parametrize(
    ("args", "kind", "error"),
    [
        ((0, 5, -1), None, RuntimeError),
        ((0, 5, 0), None, RuntimeError),
        ((float("inf"),), None, RuntimeError),
        ((2,), "bool", NotImplementedError),
        ((2,), "complex64", NotImplementedError),
        ((), None, TypeError),
        ((1, 2, 3, 4), None, TypeError),
    ],
)
def test_arange_refuses(args, kind, error):
    with pytest.raises(error):
        adjoint.arange(*args, dtype=None if kind is None else getattr(adjoint, kind))


def test_spaced():
    same(adjoint.linspace(0, 1, 5), [0, 0.25, 0.5, 0.75, 1], adjoint.float32)
    same(adjoint.linspace(0, 1, 1), [0], adjoint.float32)
    same(adjoint.linspace(0, 1, 0), [], adjoint.float32)
    integers = adjoint.linspace(-5, 10, 7, dtype=adjoint.int64)
    same(integers, [-5, -2, 0, 2, 5, 7, 10], adjoint.int64)
    same(adjoint.linspace(0, 1j, 3), [0, 0.5j, 1j], adjoint.complex64)
    same(adjoint.logspace(0, 2, 3), [1, 10, 100], adjoint.float32)
    same(adjoint.logspace(0, 2, 3, base=2, dtype=adjoint.int64), [1, 2, 4], adjoint.int64)
    assert adjoint.linspace(0.1, 0.7, 11)[-1].item() == np.float32(0.7)
    with pytest.raises(RuntimeError, match="non-negative"):
        adjoint.linspace(0, 1, -1)


def test_patterns():
    same(adjoint.eye(2, 3), [[1, 0, 0], [0, 1, 0]], adjoint.float32)
    same(adjoint.eye(2, dtype=adjoint.bool), [[1, 0], [0, 1]], adjoint.bool)
    same(adjoint.tril_indices(2, 2), [[0, 1, 1], [0, 0, 1]], adjoint.int64)
    same(adjoint.triu_indices(2, 3, 1), [[0, 0, 1], [1, 2, 2]], adjoint.int64)
    same(adjoint.scalar_tensor(True), 1, adjoint.float32)
    assert adjoint.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    for call in (lambda: adjoint.eye(-1), lambda: adjoint.tril_indices(-1, 3)):
        with pytest.raises(RuntimeError):
            call()


def test_new_methods():
    source = adjoint.zeros(3, dtype=adjoint.float64)
    same(source.new_tensor([1, 2]), [1, 2], adjoint.float64)
    same(source.new_zeros(2, 3), np.zeros((2, 3)), adjoint.float64)
    same(source.new_ones((2,)), [1, 1], adjoint.float64)
    same(source.new_full((2,), 3), [3, 3], adjoint.float64)
    assert source.new_empty(2, dtype=adjoint.int8).dtype is adjoint.int8
    assert source.new_empty_strided((2, 3), (1, 2)).dtype is adjoint.float64


def test_legacy_constructor():
    assert adjoint.Tensor(2, 3).shape == (2, 3)
    assert adjoint.Tensor(adjoint.Size([2, 3])).shape == (2, 3)
    assert adjoint.Tensor().shape == (0,)
    same(adjoint.Tensor([1, 2]), [1, 2], adjoint.float32)
    same(adjoint.Tensor((2, 3)), [2, 3], adjoint.float32)
    for value in (2.5, "a"):
        with pytest.raises(TypeError, match="sequence"):
            adjoint.Tensor(value)


def test_requires_grad_and_inference():
    assert adjoint.zeros(2, requires_grad=True).is_leaf
    with adjoint.inference_mode():
        made = adjoint.zeros(2)
        grown = adjoint.zeros(2, requires_grad=True)
    assert made.is_inference()
    assert grown.is_inference() and grown.requires_grad


def test_devices():
    assert adjoint.zeros(2, device="cpu").device == adjoint.device("cpu")
    with pytest.raises(RuntimeError, match="unknown"):
        adjoint.zeros(2, device="foo")
    with pytest.raises(RuntimeError, match="strided"):
        adjoint.zeros(2, layout="sparse")
    assert adjoint.get_default_device() == adjoint.device("cpu")


def test_no_warnings_for_plain_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjoint.tensor([1e300, float("nan")])
        adjoint.zeros(2, pin_memory=False, layout=adjoint.strided)


def test_device_as_context(torch: Any) -> None:
    """Contexts nest, name the default device, and end with an error as well."""
    for library in (adjoint, torch):
        before = library.get_default_device()
        with library.device("cpu") as outer:
            assert library.get_default_device() == outer
            with pytest.raises(KeyError), library.device("meta"):
                assert library.get_default_device() == library.device("meta")
                with outer, outer:
                    assert library.zeros(2).device.type == "cpu"
                    assert library.nn.Linear(2, 2).weight.device.type == "cpu"
                raise KeyError
            assert library.get_default_device() == outer
        assert library.get_default_device() == before


def test_device_context_of_an_absent_device() -> None:
    """Entering says nothing; a factory without a device of its own asks for it."""
    with adjoint.device("cuda:99"):
        with pytest.raises((RuntimeError, ImportError)):
            adjoint.zeros(2)
        assert adjoint.zeros(2, device="cpu").device.type == "cpu"


def test_default_device_belongs_to_a_thread(torch: Any) -> None:
    """Neither a context nor set_default_device is seen by other threads."""
    for library in (adjoint, torch):
        with library.device("meta"), ThreadPoolExecutor(1) as pool:
            seen = pool.submit(library.get_default_device).result()
        assert seen == library.device("cpu")


def test_default_device_inside_a_context(torch: Any) -> None:
    """What is set inside a context holds until it is left."""
    for library in (adjoint, torch):
        with library.device("cpu"):
            library.set_default_device("meta")
            assert library.get_default_device() == library.device("meta")
        assert library.get_default_device() == library.device("cpu")


def test_sizes_stay_sizes():
    """Repeated, joined and cut; an array beside one multiplies its numbers."""
    size = adjoint.ones(1, 2).shape
    for found in (size * 2, 2 * size, size + (3,), (3,) + size, size[1:]):
        assert type(found) is adjoint.Size
    assert size * 2 == (1, 2, 1, 2)
    assert (size * np.array([3.0, 4.0])).tolist() == [3.0, 8.0]
