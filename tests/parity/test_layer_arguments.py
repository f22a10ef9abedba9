"""Layers and losses agree with PyTorch for arguments that hypothesis chooses."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import adjoint

torch = pytest.importorskip("torch")

CHOSEN = settings(max_examples=40, deadline=None, derandomize=True)
SEED = 7


def compared(name, options, *shapes, integers=None):
    """Results, input gradients and parameter gradients of a layer in both libraries."""
    rng = np.random.default_rng(SEED)
    arrays = [rng.normal(size=shape) for shape in shapes]
    theirs = getattr(torch.nn, name)(**options).double()
    ours = getattr(adjoint.nn, name)(**options).double()
    ours.load_state_dict({k: adjoint.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    outcomes = []
    for library, layer in ((torch, theirs), (adjoint, ours)):
        inputs = [library.tensor(a).requires_grad_() for a in arrays]
        rest = [] if integers is None else [library.tensor(integers)]
        result = layer(*inputs, *rest)
        (result * result).sum().backward()
        gradients = [t.grad for t in (*inputs, *layer.parameters())]
        outcomes.append([result.detach(), *gradients])
    agree(*outcomes)


def agree(theirs, ours):
    """Tensors of both libraries have the same shapes and values."""
    for expected, found in zip(theirs, ours, strict=True):
        assert tuple(expected.shape) == tuple(found.shape)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-10)


small = st.integers(1, 3)


@CHOSEN
@given(
    dims=st.integers(1, 3),
    groups=st.integers(1, 2),
    kernel=small,
    stride=st.integers(1, 2),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
    bias=st.booleans(),
    mode=st.sampled_from(["zeros", "reflect", "replicate", "circular"]),
    transposed=st.booleans(),
)
def test_convolutions(dims, groups, kernel, stride, padding, dilation, bias, mode, transposed):
    options = {
        "in_channels": 2 * groups,
        "out_channels": 3 * groups,
        "kernel_size": kernel,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "bias": bias,
    }
    name = f"ConvTranspose{dims}d" if transposed else f"Conv{dims}d"
    if not transposed:
        options["padding_mode"] = mode
    else:
        assume(padding <= dilation * (kernel - 1))
    compared(name, options, (2, 2 * groups, *[5] * dims))


@CHOSEN
@given(
    dims=st.integers(1, 3),
    kernel=st.integers(2, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 1),
    ceil_mode=st.booleans(),
    average=st.booleans(),
    counted=st.booleans(),
)
def test_pooling(dims, kernel, stride, padding, ceil_mode, average, counted):
    options = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    if average:
        options["count_include_pad"] = counted
    compared(f"{'Avg' if average else 'Max'}Pool{dims}d", options, (2, 2, *[6] * dims))


@CHOSEN
@given(
    family=st.sampled_from(["BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm", "RMSNorm"]),
    dims=st.integers(1, 3),
    affine=st.booleans(),
    eps=st.sampled_from([1e-5, 1e-2]),
    momentum=st.sampled_from([None, 0.1, 0.7]),
)
def test_normalisation(family, dims, affine, eps, momentum):
    shape = (3, 4, *[3] * dims)
    if family in ("BatchNorm", "InstanceNorm"):
        momentum = momentum if family == "BatchNorm" or momentum is not None else 0.1
        options = {"num_features": 4, "affine": affine, "eps": eps, "momentum": momentum}
        compared(f"{family}{dims}d", options, shape)
    elif family == "GroupNorm":
        options = {"num_groups": 2, "num_channels": 4, "affine": affine, "eps": eps}
        compared(family, options, shape)
    else:
        last = {"normalized_shape": shape[-2:], "elementwise_affine": affine, "eps": eps}
        compared(family, last, shape)


@CHOSEN
@given(
    name=st.sampled_from(["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"]),
    reduction=st.sampled_from(["mean", "sum", "none"]),
    shape=st.lists(small, max_size=3),
)
def test_losses_of_two_tensors(name, reduction, shape):
    compared(name, {"reduction": reduction}, tuple(shape), tuple(shape))


@CHOSEN
@given(
    name=st.sampled_from(["CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"]),
    reduction=st.sampled_from(["mean", "sum", "none"]),
    ignored=st.sampled_from([-100, 0, 2]),
    smoothing=st.sampled_from([0.0, 0.3]),
    places=st.lists(small, max_size=2),
)
def test_losses_of_classes(name, reduction, ignored, smoothing, places):
    options = {"reduction": reduction}
    if name != "MultiMarginLoss":
        options["ignore_index"] = ignored
    else:
        places = []
    if name == "CrossEntropyLoss":
        options["label_smoothing"] = smoothing
    shape = (3, *places)
    classes = np.arange(math.prod(shape)).reshape(shape) % 4
    compared(name, options, (3, 4, *places), integers=classes)


@CHOSEN
@given(
    name=st.sampled_from(["RNN", "LSTM", "GRU"]),
    layers=st.integers(1, 2),
    both=st.booleans(),
    batch_first=st.booleans(),
    bias=st.booleans(),
)
def test_recurrent_layers(name, layers, both, batch_first, bias):
    options = {
        "input_size": 3,
        "hidden_size": 4,
        "num_layers": layers,
        "bidirectional": both,
        "batch_first": batch_first,
        "bias": bias,
    }

    rng = np.random.default_rng(SEED)
    array = rng.normal(size=(5, 2, 3))
    theirs = getattr(torch.nn, name)(**options).double()
    ours = getattr(adjoint.nn, name)(**options).double()
    ours.load_state_dict({k: adjoint.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    found = []
    for library, layer in ((torch, theirs), (adjoint, ours)):
        x = library.tensor(array).requires_grad_()
        out, _ = layer(x)
        (out * out).sum().backward()
        found.append([out.detach(), x.grad, *[p.grad for p in layer.parameters()]])
    agree(*found)
