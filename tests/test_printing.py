"""Tensors as text; compared with PyTorch's where it is installed."""

import numpy as np
import pytest

import adjoint


@pytest.fixture(autouse=True)
def default_options():
    yield
    adjoint.set_printoptions(profile="default")


ARRAYS = [
    np.array(values, dtype)
    for values, dtype in [
        ([1.0, 2.0], "float32"),
        ([1.5, 2.0], "float32"),
        ([1e-5, 1.0], "float32"),
        ([1e9, 1.0], "float32"),
        ([0.0, 0.0], "float32"),
        ([np.nan, np.inf, -np.inf], "float32"),
        ([np.nan, 1.0], "float32"),
        ([-1.0, 2.0, -0.0], "float32"),
        ([1001.0, 1.0], "float32"),
        ([1e-10, 2e-10], "float32"),
        ([[0.0, 1e-3]], "float32"),
        (3.5, "float32"),
        (1e10, "float32"),
        (np.nan, "float32"),
        (3, "int64"),
        (True, "bool"),
        ([True, False], "bool"),
        (np.arange(-3, 100), "int64"),
        (np.arange(30).reshape(2, 3, 5), "int64"),
        (np.arange(24.0).reshape(2, 3, 2, 2), "float32"),
        (np.sin(np.arange(12.0)).reshape(3, 4), "float32"),
        (np.sin(np.arange(40.0)), "float32"),
        (np.sin(np.arange(1500.0)).reshape(30, 50), "float32"),
        (np.arange(2000), "int64"),
        (np.sin(np.arange(1001.0)).reshape(1001, 1), "float32"),
        (np.arange(1331).reshape(11, 11, 11), "int64"),
        ([1 + 2j, 3 - 4.5j], "complex64"),
        (1 + 2j, "complex64"),
        ([[1 + 2j, -3e10 - 4.5j]], "complex64"),
        (np.zeros((0, 3)), "float32"),
        ([], "float32"),
        ([], "bool"),
        ([1, 2], "int8"),
        ([1.0, 2.5], "float64"),
        ([1.0, 2.5], "float16"),
    ]
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{list(a.shape)}")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"precision": 2},
        {"threshold": 5, "edgeitems": 1},
        {"linewidth": 60},
        {"sci_mode": True},
        {"sci_mode": False},
        {"profile": "short"},
        {"profile": "full"},
    ],
    ids=str,
)
def test_text_is_pytorchs(array, options):
    torch = pytest.importorskip("torch")
    adjoint.set_printoptions(**options)
    torch.set_printoptions(**options)
    try:
        expected = repr(torch.from_numpy(array.copy()))
    finally:
        torch.set_printoptions(profile="default")
    assert repr(adjoint.from_numpy(array.copy())).replace("adjoint.", "torch.") == expected


def test_notes():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert str(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr(x.double().detach()) == "tensor([1., 2.], dtype=adjoint.float64)"
    assert repr(adjoint.zeros(0, 3, dtype=adjoint.int64)) == (
        "tensor([], size=(0, 3), dtype=adjoint.int64)"
    )


def test_long_notes_go_to_a_line_of_their_own():
    x = adjoint.tensor([[1.0] * 13], requires_grad=True) * 1
    assert repr(x).endswith("]],\n       grad_fn=<MulBackward0>)")


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    assert repr(adjoint.tensor([1.5, 2.0], dtype=adjoint.bfloat16)) == (
        "tensor([1.5000, 2.0000], dtype=adjoint.bfloat16)"
    )


def test_subclass_shows_its_name():
    class Special(adjoint.Tensor):
        __torch_function__ = None

    assert repr(Special([1.0])) == "Special([1.])"


def test_format():
    x = adjoint.tensor(2.0)
    assert f"{x:.3f}" == "2.000"
    assert f"{x}" == "2.0"
    assert f"{adjoint.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError):
        f"{adjoint.tensor([1.0]):.3f}"


def test_printoptions_restores():
    with adjoint.tensors.printing.printoptions(precision=1, sci_mode=True):
        assert repr(adjoint.tensor(1.5)) == "tensor(1.5e+00)"
    assert repr(adjoint.tensor(1.5)) == "tensor(1.5000)"


def test_a_long_graph_is_printed():
    x = adjoint.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    assert repr(y) == "tensor([1.], grad_fn=<MulBackward0>)"
