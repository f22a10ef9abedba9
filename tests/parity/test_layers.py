"""Layers against PyTorch's: names, shapes, representation, results, gradients and buffers."""

import inspect
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import nn

Case = tuple[str, tuple[Any, ...], dict[str, Any], list[Any]]


def case(name: str, *args: Any, inputs: Any, **kwargs: Any) -> Any:
    """A class, its constructor's arguments, and the inputs of a call: shapes or arrays."""
    label = f"{name}({', '.join([*map(str, args), *[f'{k}={v}' for k, v in kwargs.items()]])})"
    return pytest.param(name, args, kwargs, inputs, id=label)


S, I, V = (2, 4, 6), (2, 4, 5, 6), (1, 2, 3, 4, 3)  # sequences, images, volumes
SIGNS = np.array([1.0, -1.0, 1.0])
CLASSES = np.array([0, 2, 1])
ADAPTIVE = np.array([7, 0, 3, 11, 5])
POSITIVE = np.abs(np.random.default_rng(1).normal(size=(3, 4))) + 0.1
CHANCES = np.random.default_rng(2).uniform(0.1, 0.9, size=(3, 4))

PLAIN = [
    *[
        case(name, inputs=[(3, 4)])
        for name in [
            "ReLU",
            "ReLU6",
            "RReLU",
            "Hardtanh",
            "ELU",
            "CELU",
            "LeakyReLU",
            "SELU",
            "SiLU",
            "Mish",
            "Hardswish",
            "Hardsigmoid",
            "Sigmoid",
            "Tanh",
            "LogSigmoid",
            "Softsign",
            "Tanhshrink",
            "GELU",
            "GLU",
            "Softplus",
            "Hardshrink",
            "Softshrink",
            "PReLU",
            "Identity",
            "Flatten",
            "Dropout",
            "AlphaDropout",
        ]
    ],
    case("GELU", "tanh", inputs=[(3, 4)]),
    case("GLU", 0, inputs=[(4, 3)]),
    case("Threshold", 0.1, 20.0, inputs=[(3, 4)]),
    case("Threshold", 0.1, 20.0, True, inputs=[(3, 4)]),
    case("ReLU", True, inputs=[(3, 4)]),
    case("ELU", 0.5, inplace=True, inputs=[(3, 4)]),
    case("Hardtanh", -2, 2, inputs=[(3, 4)]),
    case("Hardshrink", 0.2, inputs=[(3, 4)]),
    case("Softplus", 2, 3, inputs=[(3, 4)]),
    case("PReLU", 4, 0.1, inputs=[(3, 4)]),
    case("Softmax", 1, inputs=[(3, 4)]),
    case("Softmin", dim=0, inputs=[(3, 4)]),
    case("LogSoftmax", -1, inputs=[(3, 4)]),
    case("Softmax2d", inputs=[I]),
    case("Linear", 4, 3, inputs=[(2, 4)]),
    case("Linear", 4, 3, bias=False, inputs=[(2, 5, 4)]),
    case("Bilinear", 3, 4, 2, inputs=[(5, 3), (5, 4)]),
    case("Flatten", 2, inputs=[I]),
    case("Unflatten", 1, (2, 2), inputs=[S]),
    case("CosineSimilarity", inputs=[(3, 4), (3, 4)]),
    case("PairwiseDistance", 1.0, keepdim=True, inputs=[(3, 4), (3, 4)]),
]

WINDOWS = [
    case("Conv1d", 4, 6, 3, inputs=[S]),
    case("Conv1d", 4, 6, 3, 2, 1, 2, 2, False, inputs=[S]),
    case("Conv2d", 4, 2, 3, padding="same", inputs=[I]),
    case("Conv2d", 4, 4, (3, 2), (2, 1), (1, 0), groups=4, inputs=[I]),
    *[
        case("Conv2d", 4, 2, 3, padding=1, padding_mode=mode, inputs=[I])
        for mode in ("reflect", "replicate", "circular")
    ],
    case("Conv1d", 4, 2, 4, padding="same", padding_mode="circular", inputs=[S]),
    case("Conv3d", 2, 3, 2, inputs=[V]),
    case("ConvTranspose1d", 4, 2, 3, 2, 1, 1, inputs=[S]),
    case("ConvTranspose2d", 4, 4, 3, 2, groups=2, dilation=2, inputs=[I]),
    case("ConvTranspose3d", 2, 2, 2, bias=False, inputs=[V]),
    *[case(f"MaxPool{n}d", 2, inputs=[x]) for n, x in ((1, S), (2, I), (3, V))],
    case("MaxPool2d", (3, 2), (2, 1), 1, 1, True, True, inputs=[I]),
    *[case(f"AvgPool{n}d", 2, 1, inputs=[x]) for n, x in ((1, S), (2, I), (3, V))],
    case("AvgPool2d", 3, 2, 1, True, False, inputs=[I]),
    case("LPPool1d", 2, 2, inputs=[np.abs(np.random.default_rng(3).normal(size=S))]),
    case("LPPool2d", 2.0, (2, 3), ceil_mode=True, inputs=[I]),
    case("LPPool3d", 2, 2, inputs=[V]),
    case("AdaptiveAvgPool1d", 4, inputs=[S]),
    case("AdaptiveAvgPool2d", (3, None), inputs=[I]),
    case("AdaptiveAvgPool3d", 1, inputs=[V]),
    case("AdaptiveMaxPool1d", 4, inputs=[S]),
    case("AdaptiveMaxPool2d", (2, 3), True, inputs=[I]),
    case("AdaptiveMaxPool3d", 2, inputs=[V]),
    case("MaxUnpool2d", 2, inputs=[(1, 1, 2, 2), np.array([[[[0, 3], [8, 15]]]])]),
    *[
        case(f"{kind}Pad{n}d", 2 if n < 3 else 1, *value, inputs=[x])
        for n, x in ((1, S), (2, I), (3, V))
        for kind, *value in (
            ("Constant", 1.5),
            ("Zero",),
            ("Reflection",),
            ("Replication",),
            ("Circular",),
        )
    ],
    case("ReflectionPad2d", (1, 2, 0, 1), inputs=[I]),
    case("Upsample", 7, inputs=[S]),
    case("Upsample", scale_factor=2, mode="bilinear", inputs=[I]),
    case("Upsample", scale_factor=1.5, mode="bicubic", align_corners=True, inputs=[I]),
    case("UpsamplingNearest2d", scale_factor=2, inputs=[I]),
    case("UpsamplingBilinear2d", size=7, inputs=[I]),
    case("PixelShuffle", 2, inputs=[I]),
    case("PixelUnshuffle", 2, inputs=[(1, 2, 4, 6)]),
    case("ChannelShuffle", 2, inputs=[I]),
    case("Unfold", 2, padding=1, inputs=[I]),
    case("Fold", (4, 5), (2, 2), inputs=[(1, 8, 12)]),
]

NORMS = [
    case("BatchNorm1d", 4, inputs=[S]),
    case("BatchNorm1d", 4, momentum=None, inputs=[(5, 4)]),
    case("BatchNorm2d", 4, 1e-3, 0.3, False, inputs=[I]),
    case("BatchNorm2d", 4, track_running_stats=False, inputs=[I]),
    case("BatchNorm3d", 2, bias=False, inputs=[V]),
    case("InstanceNorm1d", 4, inputs=[S]),
    case("InstanceNorm2d", 4, affine=True, track_running_stats=True, inputs=[I]),
    case("InstanceNorm3d", 2, inputs=[V]),
    case("InstanceNorm1d", 4, inputs=[(4, 6)]),
    case("GroupNorm", 2, 4, inputs=[I]),
    case("GroupNorm", 2, 4, affine=False, inputs=[S]),
    case("LayerNorm", 6, inputs=[S]),
    case("LayerNorm", (4, 6), bias=False, inputs=[S]),
    case("LayerNorm", [6], elementwise_affine=False, inputs=[S]),
    case("RMSNorm", 6, inputs=[S]),
    case("RMSNorm", (4, 6), 1e-3, inputs=[S]),
    case("LocalResponseNorm", 2, inputs=[I]),
    case("SyncBatchNorm", 4, inputs=[I]),
    case("SyncBatchNorm", 4, momentum=None, bias=False, inputs=[(5, 4)]),
    case("SyncBatchNorm", 4, affine=False, track_running_stats=False, inputs=[S]),
]

INDICES = np.array([[1, 3, 0], [3, 3, 2]])
TABLES = [
    case("Embedding", 4, 3, inputs=[INDICES]),
    case("Embedding", 4, 3, padding_idx=3, inputs=[INDICES]),
    case("Embedding", 4, 3, -1, scale_grad_by_freq=True, inputs=[INDICES]),
    case("Embedding", 4, 3, max_norm=1.0, inputs=[INDICES]),
    case("EmbeddingBag", 4, 3, inputs=[INDICES]),
    case("EmbeddingBag", 4, 3, mode="max", inputs=[INDICES.reshape(-1), np.array([0, 2, 2])]),
    case("EmbeddingBag", 4, 3, mode="sum", padding_idx=0, inputs=[INDICES]),
]

STEPS, STATE = (5, 2, 3), (2, 3)
RECURRENT = [
    *[case(name, 3, 4, inputs=[STEPS]) for name in ("RNN", "LSTM", "GRU")],
    *[case(name, 3, 4, inputs=[(5, 3)]) for name in ("RNN", "LSTM", "GRU")],
    *[
        case(name, 3, 4, 2, bidirectional=True, batch_first=True, inputs=[STEPS])
        for name in ("RNN", "LSTM", "GRU")
    ],
    case("RNN", 3, 4, 1, "relu", False, inputs=[STEPS, (1, 2, 4)]),
    case("LSTM", 3, 4, 2, proj_size=2, bidirectional=True, inputs=[STEPS]),
    case("GRU", 3, 4, bias=False, inputs=[STEPS, (1, 2, 4)]),
    *[case(f"{name}Cell", 3, 4, inputs=[STATE]) for name in ("RNN", "LSTM", "GRU")],
    case("RNNCell", 3, 4, False, "relu", inputs=[STATE, (2, 4)]),
    case("GRUCell", 3, 4, inputs=[(3,), (4,)]),
]

ATTENTION = [
    case("MultiheadAttention", 6, 2, inputs=[(4, 2, 6)] * 3),
    case("MultiheadAttention", 6, 3, bias=False, batch_first=True, inputs=[(2, 4, 6)] * 3),
    case("MultiheadAttention", 6, 2, kdim=3, vdim=5, inputs=[(4, 2, 6), (3, 2, 3), (3, 2, 5)]),
    case("MultiheadAttention", 6, 2, add_bias_kv=True, add_zero_attn=True, inputs=[(4, 6)] * 3),
    case("TransformerEncoderLayer", 6, 2, 8, 0.0, inputs=[(4, 2, 6)]),
    case("TransformerEncoderLayer", 6, 2, 8, 0.0, "gelu", 1e-3, True, True, inputs=[(2, 4, 6)]),
    case("TransformerDecoderLayer", 6, 2, 8, 0.0, inputs=[(4, 2, 6), (3, 2, 6)]),
    case("TransformerDecoderLayer", 6, 2, 8, 0.0, norm_first=True, inputs=[(4, 2, 6), (3, 2, 6)]),
    case("Transformer", 6, 2, 1, 2, 8, 0.0, inputs=[(4, 2, 6), (3, 2, 6)]),
]

PAIR = [(3, 4), (3, 4)]
LOSSES = [
    *[
        case(name, inputs=PAIR)
        for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss")
    ],
    case("SmoothL1Loss", reduction="sum", beta=0.5, inputs=PAIR),
    case("HuberLoss", delta=0.5, inputs=PAIR),
    case("SoftMarginLoss", inputs=[(3,), np.array([1, -1, 1])]),
    case("MultiLabelMarginLoss", inputs=[(2, 3), np.array([[0, 2, -1], [1, -1, 0]])]),
    case("NLLLoss", reduction="none", inputs=[(3, 4), CLASSES]),
    case("CrossEntropyLoss", ignore_index=1, inputs=[(3, 4), CLASSES]),
    case("CrossEntropyLoss", label_smoothing=0.1, inputs=[(3, 4), CLASSES]),
    case("GaussianNLLLoss", inputs=[(3, 4), (3, 4), POSITIVE]),
    case("KLDivLoss", reduction="batchmean", inputs=[(3, 4), CHANCES]),
    case("BCELoss", inputs=[CHANCES, CHANCES[::-1].copy()]),
    case("BCEWithLogitsLoss", inputs=[(3, 4), CHANCES]),
    case("MultiLabelSoftMarginLoss", inputs=[(3, 4), CHANCES.round()]),
    case("HingeEmbeddingLoss", 0.5, inputs=[(3,), SIGNS]),
    case("MarginRankingLoss", 0.5, inputs=[(3,), (3,), SIGNS]),
    case("CosineEmbeddingLoss", -0.5, inputs=[(3, 4), (3, 4), SIGNS]),
    case("MultiMarginLoss", 2, inputs=[(3, 4), CLASSES]),
    case("TripletMarginLoss", swap=True, inputs=[(3, 4)] * 3),
    case("TripletMarginWithDistanceLoss", margin=2.0, inputs=[(3, 4)] * 3),
    case("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 6], 2.0, inputs=[(5, 8), ADAPTIVE]),
    case("AdaptiveLogSoftmaxWithLoss", 8, 12, (6,), head_bias=True, inputs=[(3, 8), CLASSES]),
    case("AdaptiveLogSoftmaxWithLoss", 8, 12, [6], inputs=[(8,), np.array(7)]),
    case("AdaptiveLogSoftmaxWithLoss", 8, 12, [6], inputs=[(1, 8), np.array([11])]),
    case(
        "CTCLoss",
        inputs=[(5, 2, 4), np.array([[1, 2], [3, 0]]), np.array([5, 4]), np.array([2, 1])],
    ),
]

RANDOM = {"RReLU", "Dropout", "AlphaDropout"}  # compared in evaluation only
ALL = [*PLAIN, *WINDOWS, *NORMS, *TABLES, *RECURRENT, *ATTENTION, *LOSSES]
every_case = pytest.mark.parametrize(("name", "args", "kwargs", "inputs"), ALL)


def twins(torch: Any, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Our layer and PyTorch's, in double precision, with the same state."""
    theirs = getattr(torch.nn, name)(*args, **kwargs).double()
    ours = getattr(nn, name)(*args, **kwargs).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(generator=generator)
    state = {key: adjoint.tensor(value.numpy()) for key, value in theirs.state_dict().items()}
    ours.load_state_dict(state)
    return ours, theirs


def tensors(library: Any, inputs: list[Any]) -> list[Any]:
    """The inputs as tensors of a library; equal shapes in one list of inputs are one tensor."""
    rng = np.random.default_rng(0)
    made = []
    for given in inputs:
        array = rng.normal(size=given) if isinstance(given, tuple) else given
        tensor = library.tensor(array)
        made.append(tensor.requires_grad_() if array.dtype.kind == "f" else tensor)
    return made


def flat(value: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in flat(part)]
    return [] if value is None else [value]


def close(ours: Any, theirs: Any) -> None:
    """Both hold the same numbers."""
    assert (ours is None) == (theirs is None)
    if ours is not None:
        a, b = ours.detach().numpy(), theirs.detach().numpy()
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 1e-7, 1e-9)


@every_case
@pytest.mark.parametrize("training", [True, False])
def test_results(
    torch: Any, name: str, args: Any, kwargs: Any, inputs: list[Any], training: bool
) -> None:
    """Results, gradients of inputs and parameters, and buffers afterwards are PyTorch's."""
    if name in RANDOM and training:
        pytest.skip("drawn at random")
    found = []
    for library, layer in zip((adjoint, torch), twins(torch, name, args, kwargs)):
        layer.train(training)
        given = tensors(library, inputs)
        results = flat(layer(*[x * 1 if x.requires_grad else x for x in given]))
        live = [r for r in results if r.requires_grad]
        total = sum((r * r).sum() for r in live)
        if live:
            total.backward()
        grads = [x.grad for x in given if x.requires_grad]
        grads += [p.grad for p in layer.parameters()]
        found.append((results, grads, list(layer.buffers())))
    for ours, theirs in zip(*found):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            close(a, b)


@every_case
def test_appearance(torch: Any, name: str, args: Any, kwargs: Any, inputs: list[Any]) -> None:
    """Names and shapes of the state, and the representation, are PyTorch's."""
    ours, theirs = getattr(nn, name)(*args, **kwargs), getattr(torch.nn, name)(*args, **kwargs)
    assert repr(ours) == repr(theirs)
    state = {key: tuple(value.shape) for key, value in theirs.state_dict().items()}
    assert {key: tuple(value.shape) for key, value in ours.state_dict().items()} == state
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [key for key, _ in ours.named_parameters()] == [
        key for key, _ in theirs.named_parameters()
    ]


def reads_values(name: str, kwargs: Any, training: bool) -> bool:
    """Whether a layer decides by values, as PyTorch's does: by class numbers, by a count."""
    averages = training and "momentum" in kwargs and kwargs["momentum"] is None
    return averages or name == "AdaptiveLogSoftmaxWithLoss"


@every_case
@pytest.mark.parametrize("training", [True, False])
def test_without_values(
    name: str, args: Any, kwargs: Any, inputs: list[Any], training: bool
) -> None:
    """On the device meta, results and gradients look as they do where they have values."""
    looks = []
    for where in ("cpu", "meta"):
        with adjoint.device(where):
            layer = getattr(nn, name)(*args, **kwargs).double().train(training)
            given = tensors(adjoint, inputs)
            if where == "meta" and reads_values(name, kwargs, training):
                with pytest.raises(RuntimeError, match="meta"):
                    layer(*given)
                return
            results = flat(layer(*[x * 1 if x.requires_grad else x for x in given]))
            live = [r for r in results if r.requires_grad]
            if live:
                sum(r.sum() for r in live).backward()
        grads = [t.grad for t in (*given, *layer.parameters()) if t.grad is not None]
        seen = [*results, *grads, *layer.parameters(), *layer.buffers()]
        assert all(tensor.device.type == where for tensor in seen)
        looks.append([(tuple(tensor.shape), tensor.dtype, tensor.stride()) for tensor in seen])
    assert looks[0] == looks[1]


STARTS = [
    ("Linear", (50, 40)), ("Bilinear", (8, 9, 10)), ("Conv2d", (8, 16, 3)),
    ("ConvTranspose2d", (8, 16, 3)), ("Embedding", (50, 20)), ("LSTM", (10, 12, 2)),
    ("GRUCell", (10, 20)), ("MultiheadAttention", (24, 2)), ("LayerNorm", (10,)),
    ("BatchNorm2d", (10,)), ("PReLU", (5,)), ("TransformerEncoderLayer", (16, 2, 32)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), STARTS)
def test_starting_values(torch: Any, name: str, args: Any) -> None:
    """Starting values have PyTorch's distribution: the same bounds, mean and deviation."""
    samples: list[dict[str, Any]] = []
    for library in (nn, torch.nn):
        drawn: dict[str, list[Any]] = {}
        for seed in range(8):
            adjoint.manual_seed(seed)
            torch.manual_seed(seed)
            for key, value in getattr(library, name)(*args).state_dict().items():
                drawn.setdefault(key, []).append(value.numpy().reshape(-1))
        samples.append({key: np.concatenate(values) for key, values in drawn.items()})
    for key, theirs in samples[1].items():
        ours = samples[0][key]
        assert ours.dtype == theirs.dtype
        size = max(abs(theirs).max(), 1e-12)
        noise = 6 * theirs.std() / np.sqrt(theirs.size) + 1e-12
        assert abs(ours.mean() - theirs.mean()) <= 2 * noise, key
        assert abs(ours.std() - theirs.std()) <= 2 * noise, key
        if name != "Embedding":  # a normal distribution has no bounds
            assert abs(abs(ours).max() - size) <= 0.2 * size + 1e-9, key


def test_signatures(torch: Any) -> None:
    """Constructors take PyTorch's arguments, in PyTorch's order, with its defaults."""
    wrong = {}
    for name in sorted({param.values[0] for param in ALL}):
        theirs = inspect.signature(getattr(torch.nn, name).__init__).parameters
        layer = getattr(nn, name)
        own = layer.signature if hasattr(layer, "signature") else inspect.signature(layer.__init__)
        expected = {k: v.default for k, v in theirs.items() if k not in ("self", "args", "kwargs")}
        found = {k: v.default for k, v in own.parameters.items()}
        found = {k: v for k, v in found.items() if k not in ("self", "args", "kwargs")}
        if name == "Hardtanh":  # two names that PyTorch has replaced
            del expected["min_value"], expected["max_value"]
        if expected and list(expected) != list(found):
            wrong[name] = (list(found), list(expected))
            continue
        for key, value in expected.items():
            if not callable(value) and value != found[key]:
                wrong[f"{name}.{key}"] = (found[key], value)
    assert not wrong


# ---- classes in clusters ----


@pytest.mark.parametrize("shift", [0.0, 50.0, -50.0])
def test_adaptive_softmax(torch: Any, shift: float) -> None:
    """Log probabilities of all classes and predictions: some in the head, all, or none."""
    args = (8, 12, [3, 6], 2.0, True)
    ours, theirs = twins(torch, "AdaptiveLogSoftmaxWithLoss", args, {})
    array = np.random.default_rng(0).normal(size=(6, 8))
    found = []
    for library, layer in ((adjoint, ours), (torch, theirs)):
        with library.no_grad():
            layer.head.bias[:3] += shift
        x = library.tensor(array, requires_grad=True)
        chances, predicted = layer.log_prob(x), layer.predict(x)
        chances.sum().backward()
        assert (predicted == chances.argmax(dim=1)).all()
        rare = predicted >= layer.shortlist_size
        assert (bool(rare.any()), bool(rare.all())) == (shift <= 0, shift < 0)
        grads = [x.grad, *[p.grad for p in layer.parameters()]]
        found.append([chances, predicted, *grads])
    for a, b in zip(*found, strict=True):
        close(a, b)


BAD_CUTOFFS: list[Any] = [[], [0, 3], [3, 3], [4, 2], [12], [2.5]]


@pytest.mark.parametrize("cutoffs", BAD_CUTOFFS)
def test_bad_cutoffs(torch: Any, cutoffs: Any) -> None:
    """Cutoffs that do not rise from 1 to below the number of classes."""
    for library in (adjoint, torch):
        with pytest.raises(ValueError, match="cutoffs should be"):
            library.nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)


BAD_TARGETS = [
    ((2, 8), [1, 12]), ((2, 8), [-1, 2]), ((3, 8), [1, 2]), ((2, 2, 8), [1, 2]), ((8,), [1]),
    ((2, 8), 1), ((1, 8), [[1]]),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "target"), BAD_TARGETS)
def test_bad_targets(torch: Any, shape: Any, target: Any) -> None:
    """Targets that are no classes, or do not fit the input."""
    for library in (adjoint, torch):
        layer = library.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [6])
        with pytest.raises(RuntimeError):
            layer(library.ones(shape), library.tensor(target))


# ---- batches of several processes ----


def test_convert_sync_batchnorm(torch: Any) -> None:
    """Every BatchNorm gives way to a SyncBatchNorm with its own tensors; the rest stays."""
    shown = []
    for library in (adjoint, torch):
        made = library.nn
        inner = made.Sequential(made.BatchNorm1d(4, affine=False), made.InstanceNorm1d(4))
        network = made.Sequential(made.Conv2d(3, 4, 2), made.BatchNorm2d(4, 1e-3), inner).eval()
        before = dict(network.state_dict(keep_vars=True))
        kinds = [type(module).__name__ for module in network.modules()]
        convert = made.SyncBatchNorm.convert_sync_batchnorm
        assert convert(network) is network
        after = network.state_dict(keep_vars=True)
        assert all(after[key] is value for key, value in before.items())
        assert not any(module.training for module in network.modules())
        single = convert(made.BatchNorm2d(4, track_running_stats=False, bias=False), "group")
        assert single.process_group == "group"
        shown.append((kinds, repr(network), list(after), repr(single)))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("shape", [(4,), (2, 0, 3)])
def test_sync_refusals(torch: Any, shape: Any) -> None:
    """Inputs without a batch or without channels."""
    for library in (adjoint, torch):
        with pytest.raises(ValueError):
            library.nn.SyncBatchNorm(4)(library.ones(shape))


# ---- packed sequences ----


@pytest.mark.parametrize("mode", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed(torch: Any, mode: str, bidirectional: bool) -> None:
    """Sequences of different lengths give PyTorch's results and gradients."""
    ours, theirs = twins(torch, mode, (3, 4, 2), {"bidirectional": bidirectional})
    array = np.random.default_rng(0).normal(size=(5, 3, 3))
    found = []
    for library, layer in ((adjoint, ours), (torch, theirs)):
        x = library.tensor(array, requires_grad=True)
        rnn = library.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, [2, 5, 3], enforce_sorted=False)
        out, last = layer(packed)
        padded, lengths = rnn.pad_packed_sequence(out)
        states = flat(last)
        sum((r * r).sum() for r in (padded, *states)).backward()
        grads = [x.grad, *[p.grad for p in layer.parameters()]]
        found.append([padded, lengths, out.data, out.batch_sizes, *states, *grads])
    for a, b in zip(*found, strict=True):
        close(a, b)


def test_padding(torch: Any) -> None:
    """Padded, packed and back."""
    arrays = [np.arange(n, dtype=float).reshape(n, 1) + n for n in (3, 1, 2)]
    found: list[Any] = []
    for library in (adjoint, torch):
        rnn = library.nn.utils.rnn
        listed = [library.tensor(a) for a in arrays]
        packed = rnn.pack_sequence(listed, enforce_sorted=False)
        parts = [rnn.pad_sequence(listed), rnn.pad_sequence(listed, True, -1.0, "left")]
        parts += [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices]
        parts += [*rnn.pad_packed_sequence(packed, True, 7.0, 5), *rnn.unpack_sequence(packed)]
        found.append(parts)
    for a, b in zip(*found, strict=True):
        close(a, b)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
def test_padded_again(torch: Any, first: bool, in_order: bool) -> None:
    """What was packed lies in memory as PyTorch's does, also where numbers are infinite."""
    found: list[Any] = []
    for library in (adjoint, torch):
        rnn = library.nn.utils.rnn
        x = library.tensor([[[1.0], [3.0]], [[float("inf")], [4.0]], [[2.0], [5.0]]])
        lengths = [3, 2] if in_order else [2, 3]
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=in_order)
        padded, _ = rnn.pad_packed_sequence(packed, first, -1.0, 5)
        found.append([padded.tolist(), padded.is_contiguous()])
    assert found[0] == found[1]


# ---- masks ----


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("floating", [True, False])
def test_masks(torch: Any, need_weights: bool, floating: bool) -> None:
    """Masks of attention, as booleans and as numbers to be added."""
    ours, theirs = twins(torch, "MultiheadAttention", (6, 2), {"batch_first": True})
    rng = np.random.default_rng(0)
    x, hidden = rng.normal(size=(3, 4, 6)), np.triu(np.ones((4, 4), bool), 1)
    padding = np.array([[False] * 4, [False] * 3 + [True], [False, False, True, True]])
    found = []
    for library, layer in ((adjoint, ours), (torch, theirs)):
        sequence = library.tensor(x, requires_grad=True)
        masks = [library.tensor(m) for m in (hidden, padding)]
        if floating:
            masks = [library.zeros(m.shape).double().masked_fill(m, -1.5) for m in masks]
        out, weights = layer(
            sequence,
            sequence,
            sequence,
            attn_mask=masks[0],
            key_padding_mask=masks[1],
            need_weights=need_weights,
            average_attn_weights=False,
        )
        (out * out).sum().backward()
        found.append([out, weights, sequence.grad])
    for a, b in zip(*found, strict=True):
        close(a, b)


def test_transformer_masks(torch: Any) -> None:
    """A whole transformer with causal and padding masks."""
    ours, theirs = twins(torch, "Transformer", (6, 2, 1, 1, 8, 0.0), {"batch_first": True})
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 3, 6))
    padding = np.array([[False] * 4, [False] * 2 + [True] * 2])
    found = []
    for library, layer in ((adjoint, ours), (torch, theirs)):
        mask = layer.generate_square_subsequent_mask(3)
        out = layer(
            library.tensor(source),
            library.tensor(target),
            tgt_mask=mask.double(),
            src_key_padding_mask=library.tensor(padding),
            tgt_is_causal=True,
        )
        found.append([mask, out])
    for a, b in zip(*found, strict=True):
        close(a, b)
