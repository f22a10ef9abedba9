"""Activations and layers of plain matrices agree with PyTorch for arguments of all kinds."""

from typing import Any

from hypothesis import strategies as st

from tests.parity.layer_trials import (
    Draw,
    Strategy,
    Trial,
    array,
    arrays,
    check,
    dtypes,
    flags,
    mostly,
    numbers,
    parametrized,
    shapes,
    some,
    trials,
)

anything = arrays(shapes(), "normal", "halves", "extreme")
channelled = arrays(st.sampled_from([(2, 3), (1, 3, 2), (0, 3), (2, 3, 2, 1)]), "normal", "halves")
dims = st.sampled_from([0, 1, -1, 2, -2, 3, -4, None])


def activation(required: dict[str, Strategy] | None = None, **optional: Strategy) -> Strategy:
    """Trials of a function of each element; the slope at nan differs within PyTorch itself."""
    options = some(required, **optional).filter(differentiable_in_place)
    missing = arrays(shapes(), "missing")
    return trials(options, anything) | trials(options, missing, learning=st.just(0))


def differentiable_in_place(options: dict[str, Any]) -> bool:
    """Whether PyTorch can tell from a result that was overwritten on which side of 0 it was."""
    slopes = [options.get(name, 1) for name in ("alpha", "negative_slope", "lower", "upper")]
    return not options.get("inplace") or min(slopes) >= 0


ACTIVATIONS = {
    **dict.fromkeys(
        ["LogSigmoid", "Sigmoid", "Softsign", "Tanh", "Tanhshrink", "Identity"], activation()
    ),
    **dict.fromkeys(
        ["Hardsigmoid", "Hardswish", "Mish", "ReLU", "ReLU6", "SELU", "SiLU"],
        activation(inplace=flags),
    ),
    **dict.fromkeys(["ELU", "CELU"], activation(alpha=numbers, inplace=flags)),
    **dict.fromkeys(["Hardshrink", "Softshrink"], activation(lambd=numbers)),
    "GELU": trials(  # the part of float32 at infinity is nan in PyTorch for some lengths
        some(approximate=st.sampled_from(["none", "tanh", "erf"])),
        arrays(shapes(), "normal", "halves"),
    ),
    "Hardtanh": activation(min_val=numbers, max_val=numbers, inplace=flags),
    "LeakyReLU": activation(negative_slope=numbers, inplace=flags),
    "Softplus": activation(beta=numbers, threshold=numbers),
    "Threshold": activation({"threshold": numbers, "value": numbers}, inplace=flags),
    "RReLU": trials(
        some(lower=numbers, upper=numbers, inplace=flags).filter(differentiable_in_place),
        anything,
        training=st.just(False),
    ),
    "GLU": trials(
        some(dim=mostly([-1, 0, 1], -4, 3)), arrays(mostly([(4, 2), (2, 6, 2), (0, 4)], (3, 2), ()))
    ),
    "PReLU": trials(some(num_parameters=mostly([1, 3], 2, 0), init=numbers), channelled | anything),
    **dict.fromkeys(
        ["Softmax", "Softmin", "LogSoftmax"], trials(some(dim=dims), arrays(shapes(), "normal"))
    ),
    "Softmax2d": trials(some(), arrays(shapes(3, 4) | shapes(2, 3))),
}


@parametrized(ACTIVATIONS)
def test_activations(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- matrices and shapes ----

filled = st.sampled_from([3, 2, 1, 4])
sizes = filled | st.just(0)


@st.composite
def linear(draw: Draw, lazy: bool = False) -> Trial:
    """Inputs that mostly have as many features as the layer expects."""
    features, out = draw(sizes), draw(sizes)
    options = draw(some(bias=flags)) | {"out_features": out}
    if not lazy:
        options["in_features"] = features
    last = draw(mostly([features], features + 1))
    return Trial(options, (array((*draw(shapes(0, 3)), last)),), dtype=draw(dtypes))


@st.composite
def bilinear(draw: Draw) -> Trial:
    """Two inputs with the same leading dimensions, mostly."""
    first, second, out = draw(filled), draw(filled), draw(sizes)
    names = ("in1_features", "in2_features", "out_features")
    options = draw(some(bias=flags)) | dict(zip(names, (first, second, out), strict=True))
    lead = draw(shapes(0, 2))
    other = draw(mostly([lead], (5,)))
    inputs = (array((*lead, first)), array((*other, second), seed=2))
    return Trial(options, inputs, dtype=draw(dtypes))


ends = st.sampled_from([0, 1, 2, -1, -2, 3])
unflattened = mostly([(2, 2), (4,), (-1, 2), (2, 1, -1), [2, 2]], (3, 2), (-1, -1))
MATRICES = {
    "Linear": linear(),
    "LazyLinear": linear(lazy=True),
    "Bilinear": bilinear(),
    "Flatten": trials(some(start_dim=ends, end_dim=ends), arrays(shapes(1))),
    "Unflatten": trials(
        some({"dim": mostly([1, -1], 0, 2, -2), "unflattened_size": unflattened}),
        arrays(mostly([(4, 4), (2, 4, 4), (0, 4)], (4,), (4, 0, 4))),
    ),
}


@parametrized(MATRICES)
def test_matrices_and_shapes(name: str, trial: Trial) -> None:
    check(name, trial)


pairs = mostly(
    [((3, 4), (3, 4)), ((2, 3, 4), (2, 3, 4)), ((3, 4), (1, 4)), ((0, 4), (0, 4))],
    *[((4,), (4,)), ((3, 4), (2, 4)), ((3, 0), (3, 0)), ((2, 3, 4), (4,))],
)


@st.composite
def paired(draw: Draw, options: Strategy) -> Trial:
    """Two inputs that broadcast, mostly."""
    kind = draw(st.sampled_from(["normal", "normal", "halves"]))
    one, other = draw(pairs)
    return Trial(draw(options), (array(one, kind), array(other, kind, 2)), dtype=draw(dtypes))


DISTANCES = {
    "CosineSimilarity": paired(some(dim=st.integers(-2, 2), eps=st.sampled_from([1e-8, 0.5, 3]))),
    "PairwiseDistance": paired(
        some(
            p=st.sampled_from([2.0, 1.0, 0.0, 3, 0.5, float("inf"), -1.0]),
            eps=st.sampled_from([1e-6, 0.5, 0.0]),
            keepdim=flags,
        )
    ),
}


@parametrized(DISTANCES)
def test_distances(name: str, trial: Trial) -> None:
    check(name, trial)
