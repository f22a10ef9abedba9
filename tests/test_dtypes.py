"""Data types: conversion, limits, promotion, memory."""

import copy
import pickle

import numpy as np
import pytest

import adjoint


@pytest.fixture
def x():
    return adjoint.arange(6.0).reshape(2, 3)


def test_to_returns_itself_when_nothing_changes(x):
    assert x.to(adjoint.float32) is x
    assert x.to("cpu") is x
    assert x.to() is x
    assert x.to(None) is x
    assert x.to(dtype=None) is x
    assert x.float() is x
    assert x.cpu() is x
    assert x.contiguous() is x
    assert x.to(adjoint.float32, copy=True) is not x


def test_to_in_all_its_forms(x):
    assert x.to(adjoint.float64).dtype is adjoint.float64
    assert x.to("cpu", adjoint.int32).dtype is adjoint.int32
    assert x.to(device="cpu", dtype=adjoint.int32).dtype is adjoint.int32
    assert x.to(adjoint.int32, False, True).dtype is adjoint.int32
    assert x.to(adjoint.device("cpu"), adjoint.int32, False, True).dtype is adjoint.int32
    assert x.to(adjoint.zeros(1, dtype=adjoint.int8)).dtype is adjoint.int8
    assert x.to(np.dtype("float64")).dtype is adjoint.float64
    assert x.to(int).dtype is adjoint.int64
    assert x.type_as(adjoint.zeros(1, dtype=adjoint.float16)).dtype is adjoint.float16
    for args, kwargs in (
        ((adjoint.float64, adjoint.device("cpu")), {}),
        ((adjoint.float64,), {"dtype": adjoint.int32}),
        ((), {"foo": 1}),
        (("cpu", "float"), {}),
    ):
        with pytest.raises(TypeError):
            x.to(*args, **kwargs)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("bool", "bool"),
        ("byte", "uint8"),
        ("char", "int8"),
        ("short", "int16"),
        ("int", "int32"),
        ("long", "int64"),
        ("half", "float16"),
        ("float", "float32"),
        ("double", "float64"),
        ("cfloat", "complex64"),
        ("cdouble", "complex128"),
    ],
)
def test_conversion_methods(x, method, kind):
    assert getattr(x, method)().dtype is getattr(adjoint, kind)


def test_bfloat16(x):
    pytest.importorskip("ml_dtypes")
    assert x.bfloat16().dtype is adjoint.bfloat16
    assert x.bfloat16().double().tolist() == x.tolist()


def test_conversion_is_differentiable():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is adjoint.float32
    assert x.grad.tolist() == [3, 3]
    assert not x.int().requires_grad


def test_type(x):
    assert x.type() == "adjoint.FloatTensor"
    assert x.type("torch.IntTensor").dtype is adjoint.int32
    assert x.type(adjoint.float64).dtype is adjoint.float64
    with pytest.raises(ValueError, match="foo"):
        x.type("foo")
    assert adjoint.typename(x) == "adjoint.FloatTensor"
    assert adjoint.typename([]) == "list"


def test_copy_is_differentiable_in_both():
    x = adjoint.ones(2, 3, requires_grad=True)
    row = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.copy_(row)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert row.grad.tolist() == [4, 8, 12]


def test_copy_into_a_view():
    x = adjoint.zeros(2, 3)
    row = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[1].copy_(row)
    assert x.tolist() == [[0, 0, 0], [1, 2, 3]]
    (x * 2).sum().backward()
    assert row.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="copy"):
        x.copy_(adjoint.zeros(2))


def test_copy_casts():
    assert adjoint.zeros(2, dtype=adjoint.int64).copy_(adjoint.tensor([1.5, 2.5])).tolist() == [
        1,
        2,
    ]
    assert adjoint.zeros(2).copy_(3.0).tolist() == [3, 3]


def test_memory(x):
    assert x.stride() == (3, 1)
    assert x.stride(-1) == 1
    assert x[1:].storage_offset() == 3
    assert x[1:].data_ptr() == x.data_ptr() + 12
    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(x[1:])
    assert not x.permute(1, 0).is_contiguous()
    assert x.permute(1, 0).contiguous().stride() == (2, 1)
    assert x.permute(1, 0).clone().stride() == (1, 3)
    assert adjoint.zeros(1, 3).expand(4, 3).clone().stride() == (3, 1)
    assert adjoint.zeros(2, 0).stride() == (1, 1)
    with pytest.raises(IndexError, match="out of range"):
        x.stride(2)
    with pytest.raises(IndexError, match="no dimensions"):
        adjoint.tensor(1.0).size(0)


def test_channels_last():
    x = adjoint.arange(24.0).reshape(1, 2, 3, 4)
    y = x.contiguous(memory_format=adjoint.channels_last)
    assert y.stride() == (24, 1, 8, 2)
    assert y.is_contiguous(memory_format=adjoint.channels_last)
    assert y.tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="rank 4"):
        adjoint.zeros(2).to(memory_format=adjoint.channels_last)
    assert pickle.loads(pickle.dumps(adjoint.channels_last)) is adjoint.channels_last
    assert copy.deepcopy(adjoint.strided) is adjoint.strided


def test_sizes_and_kinds(x):
    assert x.size() == (2, 3)
    assert x.size(-1) == x.size(dim=1) == 3
    assert x.dim() == x.ndimension() == 2
    assert x.numel() == x.nelement() == adjoint.numel(x) == 6
    assert (x.element_size(), x.itemsize, x.nbytes) == (4, 4, 24)
    assert x.is_floating_point() and x.is_signed() and not x.is_complex()
    assert x.is_cpu and not x.is_cuda and x.get_device() == -1
    assert x.layout is adjoint.strided
    assert adjoint.is_tensor(x) and not adjoint.is_tensor(1)


def test_limits():
    for kind in (adjoint.float16, adjoint.float32, adjoint.float64):
        limits, numpys = adjoint.finfo(kind), np.finfo(kind.numpy_dtype)
        assert limits.eps == float(numpys.eps)
        assert (limits.min, limits.max) == (float(numpys.min), float(numpys.max))
        assert limits.bits == numpys.bits
    assert adjoint.finfo() == adjoint.finfo(adjoint.complex64) == adjoint.finfo(adjoint.float32)
    assert adjoint.iinfo(adjoint.uint8).max == 255
    assert adjoint.iinfo(adjoint.int64).min == -(2**63)
    for question, kind in (
        (adjoint.finfo, adjoint.int32),
        (adjoint.iinfo, adjoint.float32),
        (adjoint.iinfo, adjoint.bool),
    ):
        with pytest.raises(TypeError):
            question(kind)


def test_result_type():
    byte = adjoint.zeros(2, dtype=adjoint.int8)
    assert adjoint.result_type(byte, 1.0) is adjoint.float32
    assert adjoint.result_type(1, 2.5) is adjoint.float32
    assert adjoint.result_type(adjoint.tensor(1.0), byte) is adjoint.float32
    assert adjoint.result_type(True, byte) is adjoint.int8
    assert adjoint.can_cast(adjoint.float64, adjoint.float32)
    assert not adjoint.can_cast(adjoint.float32, adjoint.int64)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_results_stay_in_sixteen_bits(kind):
    pytest.importorskip("ml_dtypes")
    dtype = getattr(adjoint, kind)
    x = adjoint.ones(2, 2).to(dtype)
    functional = adjoint.nn.functional
    for result in (
        x @ x,
        x * 2.5,
        functional.gelu(x),
        functional.elu(x),
        x.lerp(x, 0.5),
        adjoint.addmm(x, x, x),
        adjoint.einsum("ij,jk->ik", x, x),
    ):
        assert result.dtype is dtype
    assert x.float().dtype is adjoint.float32
