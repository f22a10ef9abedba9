"""What samples can't compare of nn.functional and nn.init: state, chance and exceptions."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.nn.functional as F
from adjoint.nn import init

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(2, 3, 4, 5))


def libraries(torch: Any) -> list[tuple[Any, Any]]:
    """Each library with its functions."""
    return [(adjoint, F), (torch, torch.nn.functional)]


def agree(ours: list[Any], theirs: list[Any]) -> None:
    """Both lists hold the same numbers."""
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-9, 1e-12)


def test_names(torch: Any) -> None:
    """Every documented function is there."""
    internal = {"Callable", "DType", "Optional", "Tensor", "ScalingType", "SwizzleType"}
    absent = {"grouped_mm", "scaled_mm", "scaled_grouped_mm"}  # kernels for low precision
    machinery = {"assert_int_or_pair", "boolean_dispatch", "handle_torch_function"}
    for name in dir(torch.nn.functional):
        if name.startswith(("_", "has_torch_function")) or name in internal | absent | machinery:
            continue
        if callable(getattr(torch.nn.functional, name)):
            assert hasattr(F, name), name


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("momentum", [0.1, 0.5])
def test_running_statistics(torch: Any, name: str, training: bool, momentum: float) -> None:
    """They move in training as PyTorch's do, and the gradient does not flow into them."""
    found = []
    for library, functional in libraries(torch):
        x = library.tensor(IMAGE, requires_grad=True)
        mean, var = (library.tensor(np.array(v)) for v in ([0.5, 0.0, -1.0], [1.0, 2.0, 0.5]))
        out = getattr(functional, name)(x, mean, var, None, None, training, momentum)
        (out * out * out).sum().backward()
        found.append([out, x.grad, mean, var])
    agree(*found)


@pytest.mark.parametrize(
    "given", [{"padding_idx": 3}, {"scale_grad_by_freq": True}, {"padding_idx": -4}]
)
def test_gradients_of_embeddings(torch: Any, given: dict[str, Any]) -> None:
    """Padding gets no gradient, and frequent rows may get less."""
    found = []
    for library, functional in libraries(torch):
        weight = library.tensor(IMAGE[0, 0], requires_grad=True)
        indices = library.tensor(np.array([[1, 3, 0], [3, 3, 1]]))
        out = functional.embedding(indices, weight, **given)
        (out * out).sum().backward()
        found.append([out, weight.grad])
    agree(*found)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("zero_infinity", [True, False])
def test_gradient_of_ctc(torch: Any, reduction: str, zero_infinity: bool) -> None:
    """Through log_softmax, for labellings that repeat, that are short, and that can't be."""
    found = []
    for library, functional in libraries(torch):
        x = library.tensor(np.random.default_rng(1).normal(size=(6, 3, 4)), requires_grad=True)
        targets = library.tensor(np.array([[1, 1, 2], [3, 0, 0], [1, 2, 3]]))
        lengths = (library.tensor(np.array(n)) for n in ([6, 4, 2], [3, 1, 3]))
        loss = functional.ctc_loss(x.log_softmax(2), targets, *lengths, 0, reduction, zero_infinity)
        loss.sum().backward()
        found.append([loss, x.grad])
    agree(*found)


DROPOUTS = {
    "dropout1d": (4, 6, 5), "dropout2d": (4, 6, 5, 2), "dropout3d": (2, 6, 3, 2, 2),
    "alpha_dropout": (400,), "feature_alpha_dropout": (4, 100, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPOUTS)
@pytest.mark.parametrize("inplace", [True, False])
def test_dropouts(torch: Any, name: str, inplace: bool) -> None:
    """Whole channels are dropped or kept, scaled and shifted as PyTorch does."""
    values = []
    for library, functional in libraries(torch):
        library.manual_seed(0)
        x = library.ones(DROPOUTS[name]).double()
        out = getattr(functional, name)(x, 0.4, True, inplace)
        assert (out is x) == inplace
        array = out.numpy().reshape(*DROPOUTS[name][:2], -1)
        if name != "alpha_dropout":
            assert (array == array[..., :1]).all()
        values.append(sorted(set(np.round(array, 9).reshape(-1))))
    assert values[0] == values[1]


def test_gumbel_softmax() -> None:
    """Soft samples sum to 1; hard ones are one-hot, with the gradient of the soft."""
    adjoint.manual_seed(0)
    logits = adjoint.tensor(IMAGE[0, 0], requires_grad=True)
    soft = F.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(-1).tolist(), 1.0)
    hard = F.gumbel_softmax(logits, hard=True)
    assert set(np.round(hard.detach().numpy(), 12).reshape(-1)) == {0.0, 1.0}
    (hard * hard.detach()).sum().backward()
    assert logits.grad is not None and bool((logits.grad != 0).any())


def test_rrelu_in_training() -> None:
    """Each negative element gets a slope of its own between the bounds."""
    x = adjoint.full((200,), -1.0)
    slopes = -F.rrelu(x, 0.2, 0.4, training=True).numpy()
    assert slopes.min() >= 0.2 and slopes.max() <= 0.4 and len(set(slopes)) > 100
    assert F.rrelu_(x, 0.2, 0.4) is x
    np.testing.assert_allclose(x.numpy(), -0.3, 1e-6)


REFUSALS = [
    lambda t, f: f.conv1d(t.ones(2, 3, 4), t.ones(2, 2, 2)),
    lambda t, f: f.conv2d(t.ones(1, 2, 4, 4), t.ones(2, 2, 2, 2), t.ones(3)),
    lambda t, f: f.conv_transpose1d(t.ones(2, 3, 4), t.ones(3, 2, 2), output_padding=1),
    lambda t, f: f.conv_transpose2d(t.ones(1, 2, 3, 3), t.ones(3, 2, 2, 2)),
    lambda t, f: f.avg_pool2d(t.ones(1, 1, 4, 4), 3, padding=2),
    lambda t, f: f.avg_pool2d(t.ones(1, 1, 4, 4), 2, divisor_override=0),
    lambda t, f: f.max_pool1d(t.ones(4), 2),
    lambda t, f: f.max_unpool2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 3).long(), 2),
    lambda t, f: f.adaptive_avg_pool2d(t.ones(3, 3), 2),
    lambda t, f: f.fractional_max_pool2d(t.ones(1, 1, 4, 4), 3, 4),
    lambda t, f: f.fractional_max_pool2d(t.ones(1, 1, 4, 4), 3),
    lambda t, f: f.fractional_max_pool2d(t.ones(1, 1, 4, 4), 2, (2,)),
    lambda t, f: f.fractional_max_pool3d(t.ones(1, 1, 4, 4, 4), 2, (2, 2)),
    lambda t, f: f.fractional_max_pool2d(t.ones(1, 0, 4, 4), 2, 2),
    lambda t, f: f.fractional_max_pool3d(t.ones(1, 0, 4, 4, 4), 2, 2),
    lambda t, f: f.batch_norm(t.ones(2, 3), t.ones(2), t.ones(2)),
    lambda t, f: f.batch_norm(t.ones(1, 3), None, None, training=True),
    lambda t, f: f.batch_norm(t.ones(2, 3), None, None),
    lambda t, f: f.instance_norm(t.ones(2, 3, 1)),
    lambda t, f: f.group_norm(t.ones(2, 3, 2), 2),
    lambda t, f: f.rms_norm(t.ones(2, 3), (2,)),
    lambda t, f: f.local_response_norm(t.ones(2, 3), 2),
    lambda t, f: f.embedding(t.tensor([5]), t.ones(3, 2)),
    lambda t, f: f.embedding(t.tensor([1.0]), t.ones(3, 2)),
    lambda t, f: f.embedding(t.tensor([1]), t.ones(3, 2), padding_idx=3),
    lambda t, f: f.embedding_bag(t.tensor([1]), t.ones(3, 2)),
    lambda t, f: f.embedding_bag(t.tensor([1]), t.ones(3, 2), t.tensor([0]), mode="most"),
    lambda t, f: f.interpolate(t.ones(1, 1, 4), 5, mode="bilinear"),
    lambda t, f: f.interpolate(t.ones(1, 1, 4)),
    lambda t, f: f.interpolate(t.ones(1, 1, 4), 5, 2.0),
    lambda t, f: f.interpolate(t.ones(1, 1, 4), 5, mode="linear", antialias=True),
    lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), 5, antialias=True),
    lambda t, f: f.interpolate(t.ones(1, 1, 4), 5, align_corners=True),
    lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), (3.0, 3)),
    lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), (t.tensor(3.0), 3)),
    lambda t, f: f.nll_loss(t.ones(3), t.tensor([0, 1, 2])),
    lambda t, f: f.cross_entropy(t.ones(3), t.tensor([0, 1])),
    lambda t, f: f.pixel_shuffle(t.ones(1, 3, 2, 2), 2),
    lambda t, f: f.pixel_unshuffle(t.ones(1, 3, 3, 2), 2),
    lambda t, f: f.fold(t.ones(1, 4, 5), (3, 3), 2),
    lambda t, f: f.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2, 3), align_corners=False),
    lambda t, f: f.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2, 2), "cubic"),
    lambda t, f: f.affine_grid(t.ones(1, 2, 2), (1, 1, 2, 2), False),
    lambda t, f: f.binary_cross_entropy(t.ones(2) * 2, t.ones(2)),
    lambda t, f: f.binary_cross_entropy(t.ones(2), t.ones(3)),
    lambda t, f: f.binary_cross_entropy_with_logits(t.ones(2), t.ones(3)),
    lambda t, f: f.huber_loss(t.ones(2), t.ones(2), delta=0),
    lambda t, f: f.smooth_l1_loss(t.ones(2), t.ones(2), beta=-1.0),
    lambda t, f: f.gaussian_nll_loss(t.ones(2), t.ones(2), -t.ones(2)),
    lambda t, f: f.gaussian_nll_loss(t.ones(2, 3), t.ones(2, 3), t.ones(3, 3)),
    lambda t, f: f.multi_margin_loss(t.ones(2, 3), t.tensor([0, 1]), p=3),
    lambda t, f: f.triplet_margin_loss(t.ones(2, 3), t.ones(2, 3), t.ones(2, 3), margin=-1.0),
    lambda t, f: f.pdist(t.ones(3)),
    lambda t, f: f.dropout2d(t.ones(1, 2, 3, 3), 1.5),
    lambda t, f: f.bilinear(t.ones(2, 3), t.ones(2, 3), t.ones(1, 3, 4)),
    lambda t, f: f.glu(t.ones(3)),
    lambda t, f: f.softshrink(t.ones(3, dtype=t.float16), 65507.0),
    lambda t, f: f.softshrink(t.ones(3), 1e39),
    lambda t, f: f.softshrink(t.ones(3), float("nan")),
    lambda t, f: f.softshrink(t.ones(3, dtype=t.float64), float("inf")),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_refusals(torch: Any, number: int) -> None:
    """Exceptions are of PyTorch's types."""
    with pytest.raises(Exception) as theirs:
        REFUSALS[number](torch, torch.nn.functional)
    with pytest.raises(theirs.type):
        REFUSALS[number](adjoint, F)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("kl_div", ((2, 3), (2, 3))), ("mse_loss", ((2, 3), (3,))), ("dropout2d", ((2, 3),)),
        ("dropout2d", ((2, 3, 4),)),
    ],
)  # fmt: skip
def test_warnings(torch: Any, name: str, args: Any) -> None:
    """What PyTorch warns of, we do."""
    for library, functional in libraries(torch):
        with pytest.warns(UserWarning):
            getattr(functional, name)(*[library.ones(shape) for shape in args])


@pytest.mark.parametrize(("count", "size"), [(1, 0), (2, (0, 2)), (2, 0), (3, (1, 0, 2))])
def test_no_window(torch: Any, count: int, size: Any) -> None:
    """A maximum of none is an empty result, and its places are."""
    found = []
    for library, functional in libraries(torch):
        pool = getattr(functional, f"adaptive_max_pool{count}d")
        values, places = pool(library.ones((2, 3, *[4] * count)), size, return_indices=True)
        found.append([tuple(values.shape), tuple(places.shape), str(places.dtype).split(".")[1]])
    assert found[0] == found[1]


# ---- starting values ----


@pytest.mark.parametrize("name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "selu"])
def test_gains(torch: Any, name: str) -> None:
    """Gains are PyTorch's."""
    assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)


def test_gain_of_leaky_relu(torch: Any) -> None:
    """It depends on the slope, which must be a number."""
    for slope in (None, 0.2, 3):
        assert init.calculate_gain("leaky_relu", slope) == torch.nn.init.calculate_gain(
            "leaky_relu", slope
        )
    for name, slope in (("leaky_relu", True), ("most", None)):
        with pytest.raises(ValueError):
            init.calculate_gain(name, slope)


FILLINGS = [
    ("uniform_", (-1.0, 2.0)), ("normal_", (1.0, 0.5)), ("trunc_normal_", (0.0, 1.0, -0.5, 1.5)),
    ("xavier_uniform_", (2.0,)), ("xavier_normal_", ()), ("kaiming_uniform_", (0.1,)),
    ("kaiming_normal_", (0, "fan_out", "relu")), ("sparse_", (0.3,)), ("orthogonal_", (2.0,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), FILLINGS)
def test_distributions(torch: Any, name: str, args: Any) -> None:
    """The mean, the deviation and the part of zeros are PyTorch's, up to chance."""
    found = []
    for library, functions in ((adjoint, init), (torch, torch.nn.init)):
        library.manual_seed(1)
        tensor = library.zeros(80, 60)
        assert getattr(functions, name)(tensor, *args) is tensor
        array = tensor.numpy()
        found.append([array.mean(), array.std(), (array == 0).mean(), abs(array).max()])
    noise = 8 * found[1][1] / math.sqrt(4800)
    for ours, theirs, room in zip(*found, (noise, noise, 1e-9, 0.5 * found[1][3])):
        assert abs(ours - theirs) <= room + 1e-9


@pytest.mark.parametrize(
    ("name", "shape", "args"),
    [
        ("constant_", (2, 3), (1.5,)), ("ones_", (2,), ()), ("zeros_", (2,), ()),
        ("eye_", (2, 3), ()), ("dirac_", (4, 2, 3), ()), ("dirac_", (4, 2, 3, 2), (2,)),
    ],
)  # fmt: skip
def test_fixed_values(torch: Any, name: str, shape: Any, args: Any) -> None:
    """Values that nothing draws are PyTorch's; parameters are filled too."""
    theirs = getattr(torch.nn.init, name)(torch.full(shape, 7.0), *args)
    ours = getattr(init, name)(adjoint.full(shape, 7.0).requires_grad_(), *args)
    assert ours.tolist() == theirs.tolist() and ours.is_leaf and ours._version > 0


def test_orthogonal() -> None:
    """Rows or columns, whichever are fewer, are orthonormal."""
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        matrix = init.orthogonal_(adjoint.zeros(shape).double()).numpy().reshape(shape[0], -1)
        if matrix.shape[0] > matrix.shape[1]:
            matrix = matrix.T
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(len(matrix)), atol=1e-12)


def test_nothing_to_fill() -> None:
    """Fans need two dimensions; tensors without elements are left alone with a warning."""
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(adjoint.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="zero-element"):
            init.kaiming_uniform_(adjoint.zeros(0, 3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 3, 5000])
def test_relu_stops_what_is_infinite(torch: Any, dtype: str, count: int) -> None:
    """A root after relu has an infinite slope at 0, which goes no further."""
    found: list[Any] = []
    for library in (adjoint, torch):
        x = library.tensor([-1.0, 0.0, 4.0] * count, dtype=getattr(library, dtype))
        x.requires_grad_()
        first = library.autograd.grad(library.relu(x).sqrt().sum(), x, create_graph=True)[0]
        second = library.autograd.grad(first.sum(), x)[0]
        found.append([first.tolist(), second.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_relu_lets_nan_pass(torch: Any, dtype: str) -> None:
    """The gradient of relu passes where its result is NaN."""
    gradients = []
    for library in (torch, adjoint):
        x = library.tensor([math.nan, 1.0, -1.0, 0.0], dtype=getattr(library, dtype))
        x.requires_grad_()
        (first,) = library.autograd.grad(library.relu(x).sum(), x, create_graph=True)
        gradients.append(first.detach().numpy())
    np.testing.assert_array_equal(*gradients)
