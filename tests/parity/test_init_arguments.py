"""Starting values and parametrizations agree with PyTorch for all their arguments."""

import math
import warnings
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import adjoint
from tests.parity.layer_trials import (
    CHOSEN,
    SEED,
    Draw,
    Trial,
    array,
    check,
    dtypes,
    flags,
    parametrized,
    shapes,
    some,
    torch,
)

# ---- values that do not depend on chance ----


def filled(library: Any, name: str, shape: Any, options: Any, dtype: str = "float64") -> Any:
    """A tensor filled by a function of nn.init, or what that raises."""
    library.manual_seed(SEED)
    start = library.tensor(array(shape).astype(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = getattr(library.nn.init, name)(start, **options)
        except Exception as error:
            return error
    assert answer is start
    assert not start.requires_grad
    return np.asarray(start.numpy())


worth = st.sampled_from([0.0, 1.5, -2, math.inf])
CERTAIN = {
    "ones_": st.tuples(shapes(), some()),
    "zeros_": st.tuples(shapes(), some()),
    "constant_": st.tuples(shapes(), some({"val": worth})),
    "eye_": st.tuples(shapes(1, 3), some()),
    "dirac_": st.tuples(
        st.sampled_from(
            [(4, 2, 3), (4, 4, 2, 3), (2, 4, 3), (6, 2, 1, 2, 3), (4, 4), (6, 6, 4), (0, 2, 1)]
        ),
        some(groups=st.sampled_from([1, 2, 3, 0])),
    ),
}


@parametrized(CERTAIN)
def test_certain_values(name: str, case: Any) -> None:
    theirs, ours = (filled(library, name, *case) for library in (torch, adjoint))
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (theirs, ours)
    else:
        assert not isinstance(ours, Exception), ours
        np.testing.assert_array_equal(ours, theirs)


curves = st.sampled_from(
    [
        "linear",
        "conv1d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
        "gelu",
    ]
)
slopes = st.sampled_from([None, 0, 0.2, -1, True, "steep"])


@CHOSEN
@given(curve=curves, slope=slopes)
def test_gains(curve: str, slope: Any) -> None:
    found = []
    for library in (torch, adjoint):
        try:
            found.append(library.nn.init.calculate_gain(curve, slope))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


# ---- values drawn by chance ----

ends = st.sampled_from([-1.0, 0, 0.5, 2])
gains = {"gain": st.sampled_from([1.0, 2.5])}
kaiming = {
    "a": st.sampled_from([0, 0.2, 2]),
    "mode": st.sampled_from(["fan_in", "fan_out", "FAN_OUT", "fan"]),
    "nonlinearity": curves,
}
places = st.sampled_from([(30, 40), (40, 30), (8, 10, 4, 5), (6, 5, 30), (900,), (0, 3), ()])
DRAWN = {
    "uniform_": st.tuples(places, some(a=ends, b=ends)),
    "normal_": st.tuples(places, some(mean=ends, std=st.sampled_from([1.0, 0.1, 3, 0, -1]))),
    "trunc_normal_": st.tuples(
        places, some(mean=ends, std=st.sampled_from([1.0, 0.5]), a=ends, b=ends)
    ).filter(lambda case: case[1].get("a", -2) < case[1].get("b", 2)),
    "xavier_uniform_": st.tuples(places, some(**gains)),
    "xavier_normal_": st.tuples(places, some(**gains)),
    "kaiming_uniform_": st.tuples(places, some(**kaiming)),
    "kaiming_normal_": st.tuples(places, some(**kaiming)),
    "orthogonal_": st.tuples(places, some(**gains)),
    "sparse_": st.tuples(
        places, some({"sparsity": st.sampled_from([0.1, 0.5, 0.99, 0])}, std=st.just(0.5))
    ),
}


def distance(one: Any, other: Any) -> float:
    """By how much the parts of two samples that lie below a number differ at most."""
    both = np.sort(np.concatenate([one, other]))
    parts = [np.searchsorted(np.sort(x), both, side="right") / max(x.size, 1) for x in (one, other)]
    return float(abs(parts[0] - parts[1]).max(initial=0))


@parametrized(DRAWN)
def test_drawn_values(name: str, case: Any) -> None:
    """Both libraries draw from the same distribution; one number by chance tells nothing."""
    theirs, ours = (filled(library, name, *case) for library in (torch, adjoint))
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (theirs, ours)
        return
    assert not isinstance(ours, Exception), ours
    assert ours.shape == theirs.shape
    if ours.size > 1:
        assert distance(ours.reshape(-1), theirs.reshape(-1)) < 2.7 * math.sqrt(2 / ours.size)
    if name == "sparse_":
        assert ((ours == 0).sum(0) == (theirs == 0).sum(0)).all()
    if name == "orthogonal_" and ours.size:
        grams = [m @ m.T if m.shape[0] < m.shape[1] else m.T @ m for m in map(rows, (ours, theirs))]
        np.testing.assert_allclose(*grams, atol=1e-9)


def rows(values: Any) -> Any:
    """All dimensions but the first as one."""
    return values.reshape(values.shape[0], -1)


# ---- parametrizations ----

LAYERS = {
    "Linear": ({"in_features": 4, "out_features": 3}, (2, 4)),
    "Conv2d": ({"in_channels": 2, "out_channels": 3, "kernel_size": 2}, (1, 2, 3, 3)),
    "ConvTranspose1d": ({"in_channels": 2, "out_channels": 3, "kernel_size": 2}, (1, 2, 3)),
    "Bilinear": ({"in1_features": 3, "in2_features": 3, "out_features": 2}, (2, 3)),
}
dims = st.sampled_from([0, 1, -1, None, 2, -4])
spectral = {
    "n_power_iterations": st.sampled_from([1, 3, 0]),
    "eps": st.sampled_from([1e-12, 0.5]),
    "dim": dims,
}


@st.composite
def parametrization(draw: Draw, options: Any) -> Trial:
    """A layer, what its weight goes through, and inputs."""
    name = draw(st.sampled_from([*LAYERS]))
    layer, shape = LAYERS[name]
    inputs = (array(shape),) * (2 if name == "Bilinear" else 1)
    made = {"layer": name, "sizes": layer, "options": draw(options)}
    return Trial(made, inputs, dtype=draw(dtypes), training=draw(flags))


orthogonal = some(
    orthogonal_map=st.sampled_from([None, "matrix_exp", "cayley", "householder", "qr"]),
    use_trivialization=flags,
)
named = {"name": st.sampled_from(["weight", "bias", "none"])}
PARAMETRIZATIONS = {
    "parametrizations.weight_norm": parametrization(some(dim=dims, name=st.just("weight"))),
    "parametrizations.spectral_norm": parametrization(some(**spectral, **named)),
    "parametrizations.orthogonal": parametrization(orthogonal),
    "weight_norm": parametrization(some(dim=dims)),
    "spectral_norm": parametrization(some(**spectral)),
}


@parametrized(PARAMETRIZATIONS)
def test_parametrizations(name: str, trial: Trial) -> None:
    def made(library: Any, given_options: dict[str, Any]) -> Any:
        layer = getattr(library.nn, given_options["layer"])(**given_options["sizes"])
        home, _, function = name.rpartition(".")
        utils = getattr(library.nn.utils, home) if home else library.nn.utils
        return getattr(utils, function)(layer, **given_options["options"])

    check(made, trial)
