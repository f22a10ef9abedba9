"""Norms, tables, recurrent layers and dropout agree with PyTorch for all their arguments.

The other layers have files of their own; here is also the test that none of them is forgotten.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import adjoint
from tests.parity.layer_trials import (
    CHOSEN,
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
    outcome,
    parametrized,
    shapes,
    some,
    torch,
    trials,
    whole,
)
from tests.parity.test_activation_arguments import ACTIVATIONS, DISTANCES, MATRICES
from tests.parity.test_attention_arguments import ATTENTION, TRANSFORMERS
from tests.parity.test_loss_arguments import ALIKE, CLASSES, CLUSTERS, OTHERS
from tests.parity.test_window_arguments import BORDERS, CONVOLUTIONS, ORDERS, PLACES, POOLS

# ---- norms ----

small = st.sampled_from([1e-5, 1e-2, 0.5])
channels = mostly([4], 3)
tracked = {
    "eps": small,
    "momentum": st.sampled_from([0.1, 0.7, None, 0, 1.0]),
    "affine": flags,
    "track_running_stats": flags,
    "bias": flags,
}


@st.composite
def normalised(draw: Draw, dims: st.SearchStrategy[int], lazy: bool, own_batch: bool) -> Trial:
    """Batches and single samples of 4 channels, now and then of others.

    Left out is where PyTorch stumbles: a batch of none, where it looks at no sizes or takes the
    first of it, and a single sample, or nothing to initialise, where a lazy layer learns a size.
    """
    options = draw(some(**tracked))
    if own_batch and options.get("momentum", 0) is None:
        del options["momentum"]
    if lazy:
        options.pop("affine", None)
    else:
        options["num_features"] = 4
    single = [()] if own_batch and not lazy else []
    rare = [(1,) if own_batch else (0,), () if not lazy else (1,)]
    lead = draw(mostly([(3,), (2,), *single], *rare))
    sizes = draw(st.tuples(*[mostly([3, 2], 1)] * draw(dims)))
    shape = (*lead, 4 if lead == (0,) else draw(channels), *sizes)
    return Trial(options, (array(shape),), dtype=draw(dtypes), training=draw(flags))


NORMS: dict[str, Strategy] = {
    f"{lazy}{kind}Norm{n}d": normalised(
        st.just(n) if lazy else mostly([n], n - 1, n + 1),
        bool(lazy),
        kind == "Instance",
    )
    for n in (1, 2, 3)
    for kind in ("Batch", "Instance")
    for lazy in ("", "Lazy")
}
NORMS["SyncBatchNorm"] = normalised(st.integers(0, 3), False, False)
NORMS["GroupNorm"] = trials(
    some(
        {"num_groups": mostly([2, 1, 4], 3, 0), "num_channels": channels},
        eps=small,
        affine=flags,
        bias=flags,
    ),
    arrays(mostly([(2, 4, 3), (3, 4), (1, 4, 2, 3), (0, 4, 2)], (4,))),
)
lasts = mostly([3, (3,), [2, 3], (2, 3)], (4, 2, 3), (5,), (), 0)
inner = arrays(mostly([(4, 2, 3), (2, 3), (0, 2, 3)], (2, 5), (2, 0), (3,)))
NORMS["LayerNorm"] = trials(
    some({"normalized_shape": lasts}, eps=small, elementwise_affine=flags, bias=flags), inner
)
NORMS["RMSNorm"] = trials(
    some({"normalized_shape": lasts}, eps=small | st.none(), elementwise_affine=flags), inner
)
NORMS["LocalResponseNorm"] = trials(
    some(
        {"size": mostly([2, 1, 3, 5], 0)},
        alpha=st.sampled_from([1e-4, 1.0, 0.5]),
        beta=st.sampled_from([0.75, 0.5, 2]),
        k=st.sampled_from([1.0, 2.0, 0.5]),
    ),
    arrays(mostly([(2, 4, 3), (1, 4, 2, 3), (2, 3, 2, 2, 2), (0, 4, 3)], (2, 4), (4,))),
)


@parametrized(NORMS)
def test_norms(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- tables ----

sparse_like = {
    "max_norm": st.sampled_from([None, 1.0, 0.5]),
    "norm_type": st.sampled_from([2.0, 1.0, 3.0]),
    "scale_grad_by_freq": flags,
    "padding_idx": mostly([None, 0, 2, -1, -5], 6),
}
rows = mostly([5], 6)


@st.composite
def embedding(draw: Draw) -> Trial:
    """Indices of any shape, now and then one too great."""
    options = draw(some(**sparse_like)) | {"num_embeddings": 5, "embedding_dim": 3}
    return Trial(options, (whole(draw(shapes()), 0, draw(rows)),), dtype=draw(dtypes))


@st.composite
def bags(draw: Draw) -> Trial:
    """Bags as rows, or in a line with offsets; weights of samples only for sums, mostly."""
    options = draw(some(**sparse_like, mode=mostly(["mean", "sum", "max"], "min")))
    options |= draw(some(include_last_offset=flags))
    if options.get("mode") != "max":  # PyTorch divides by how often another index occurs
        options.pop("scale_grad_by_freq", None)
    options |= {"num_embeddings": 5, "embedding_dim": 3}
    call: dict[str, Any] = {}
    if draw(flags):
        shape: tuple[int, ...] = draw(st.sampled_from([(2, 3), (3, 1), (1, 4), (0, 3)]))
    else:
        shape = (6,)
        starts = [[0, 2], [0, 2, 4], [0, 2, 2, 6], [0, 6], [1, 3], [0, 7]]
        call["offsets"] = np.array(draw(st.sampled_from(starts)))
    if options.get("mode") == "sum" and draw(flags):
        call["per_sample_weights"] = array(shape)
    return Trial(options, (whole(shape, 0, draw(rows)),), call, dtype=draw(dtypes))


TABLES = {"Embedding": embedding(), "EmbeddingBag": bags()}


@parametrized(TABLES)
def test_tables(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- recurrent ----


@st.composite
def recurrent(draw: Draw, more: dict[str, Strategy], states: int) -> Trial:
    """Sequences with or without a batch, with or without a state to start from."""
    options: dict[str, Any] = draw(
        some(
            num_layers=mostly([1, 2], 0),
            bias=flags,
            batch_first=flags,
            bidirectional=flags,
            **more,
        )
    )
    options |= {"input_size": 3, "hidden_size": draw(mostly([4], 1))}
    sizes = draw(st.sampled_from([(5, 2), (2, 1), (1, 3), (4,)]))
    inputs: list[Any] = [array((*sizes, draw(mostly([3], 2))))]
    if draw(flags):
        layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
        batch = () if len(sizes) == 1 else (sizes[not options.get("batch_first", False)],)
        width = options["hidden_size"]
        widths = (options.get("proj_size", 0) or width, width)
        made = tuple(array((layers, *batch, n), seed=k) for k, n in enumerate(widths[:states]))
        inputs.append(made if states == 2 else made[0])
    return Trial(options, tuple(inputs), dtype=draw(dtypes), training=draw(flags))


@st.composite
def cell(draw: Draw, more: dict[str, Strategy], states: int) -> Trial:
    """One step, with or without a batch and a state."""
    options = draw(some(bias=flags, **more)) | {"input_size": 3, "hidden_size": 4}
    lead = draw(st.sampled_from([(2,), (1,), (), (0,)]))
    inputs: list[Any] = [array((*lead, draw(mostly([3], 2))))]
    if draw(flags):
        width = draw(mostly([4], 5))
        made = tuple(array((*lead, width), seed=n) for n in range(states))
        inputs.append(made if states == 2 else made[0])
    return Trial(options, tuple(inputs), dtype=draw(dtypes))


curves = {"nonlinearity": mostly(["tanh", "relu"], "gelu")}
RECURRENT = {
    "RNN": recurrent(curves, 1),
    "GRU": recurrent({}, 1),
    "LSTM": recurrent({"proj_size": mostly([0, 2, 3], 4)}, 2),
    "RNNCell": cell(curves, 1),
    "GRUCell": cell({}, 1),
    "LSTMCell": cell({}, 2),
}


@parametrized(RECURRENT)
def test_recurrent(name: str, trial: Trial) -> None:
    check(name, trial)


@CHOSEN
@given(
    name=st.sampled_from(["RNN", "LSTM", "GRU"]),
    options=some(num_layers=st.integers(1, 2), bidirectional=flags, batch_first=flags),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    sorted_first=flags,
    given_state=flags,
)
def test_packed_sequences(
    name: str, options: Any, lengths: Any, sorted_first: bool, given_state: bool
) -> None:
    if sorted_first:
        lengths = sorted(lengths, reverse=True)
    first = options.get("batch_first", False)
    shape = (len(lengths), max(lengths)) if first else (max(lengths), len(lengths))
    padded = array((*shape, 3))
    layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))

    def packed_call(library: Any, layer: Any) -> Any:
        rnn = library.nn.utils.rnn
        packed = rnn.pack_padded_sequence(library.tensor(padded), lengths, first, sorted_first)
        state = library.tensor(array((layers, len(lengths), 4)))
        start = (state, state) if name == "LSTM" else state
        out, last = layer(packed, start) if given_state else layer(packed)
        return rnn.pad_packed_sequence(out, first), last

    options = {**options, "input_size": 3, "hidden_size": 4}
    check(name, Trial(options), packed_call)


# ---- dropout ----

chances = mostly([0.5, 0.2, 0.0, 1.0, 1, 0.9], -0.1, 1.1)
DROPOUTS = {
    name: trials(
        some(p=chances, inplace=flags),
        arrays(shapes(2, 3) | shapes(), "positive"),
        training=st.just(False),
    )
    for name in (
        "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout",
    )
}  # fmt: skip


@parametrized(DROPOUTS)
def test_dropout_in_evaluation(name: str, trial: Trial) -> None:
    check(name, trial)


@pytest.mark.parametrize("name", DROPOUTS)
@CHOSEN
@given(
    options=some(p=chances, inplace=flags),
    shape=st.sampled_from([(90, 5, 3), (80, 4, 2, 2), (20, 9, 2, 3, 1), (150, 4)]),
)
def test_dropout_in_training(name: str, options: Any, shape: Any) -> None:
    """What is dropped together, what it becomes, and by how much the rest grows."""
    trial = Trial(options, (array(shape, "positive"),))
    theirs, ours = (seen_dropping(library, name, trial) for library in (torch, adjoint))
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs))
        return
    assert not isinstance(ours, Exception), ours
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-9)
    assert abs(ours[2] - theirs[2]) < 0.25


def seen_dropping(library: Any, name: str, trial: Trial) -> Any:
    """The dimensions that are dropped together, the slope and shift of what is kept and of what
    is not, and the share of what is dropped."""
    library.manual_seed(1)
    found = outcome(library, name, trial)
    if isinstance(found, Exception):
        return found
    out = np.asarray(found["results"][0].detach().numpy())
    raw = array(tuple(out.shape), seed=1)
    slope = np.asarray(found["gradients of inputs"][0].numpy()) / raw
    given_input = trial.inputs[0]
    dropped = abs(slope) < 1e-12
    together = tuple(
        bool((dropped == dropped.take([0], axis=axis)).all()) for axis in range(out.ndim)
    )
    kinds = [
        [slope[where].mean(), slope[where].std(), (out - slope * given_input)[where].mean()]
        if where.any()
        else []
        for where in (dropped, ~dropped)
    ]
    if not 0 < trial.options.get("p", 0.5) < 1:
        together = ()
    return together, np.concatenate(kinds), dropped.mean()


@CHOSEN
@given(lower=numbers, upper=numbers, inplace=flags, shape=shapes(1, 3, least=1))
def test_random_slopes(lower: Any, upper: Any, inplace: bool, shape: Any) -> None:
    """RReLU in training: each negative element has a slope of its own within the bounds."""
    trial = Trial({"lower": lower, "upper": upper, "inplace": inplace}, (array(shape),))
    theirs, ours = (outcome(library, "RReLU", trial) for library in (torch, adjoint))
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs))
        return
    assert not isinstance(ours, Exception), ours
    given_input, out = trial.inputs[0], ours["results"][0].detach().numpy()
    slope = ours["gradients of inputs"][0].numpy() / array(shape, seed=1)
    np.testing.assert_allclose(slope * given_input, out, rtol=1e-9, atol=1e-12)
    below = slope[given_input < 0]
    assert (slope[given_input > 0] == 1).all()
    assert ((below >= lower - 1e-9) & (below <= upper + 1e-9)).all()
    assert lower == upper or len(set(below.tolist())) == len(below)


# ---- none is forgotten ----

TRIED = {
    **ACTIVATIONS, **MATRICES, **DISTANCES, **CONVOLUTIONS, **POOLS, **PLACES, **BORDERS, **ORDERS,
    **ALIKE, **CLASSES, **OTHERS, **CLUSTERS, **ATTENTION, **TRANSFORMERS, **NORMS, **TABLES,
    **RECURRENT, **DROPOUTS,
}  # fmt: skip
UNTRIED = {
    "CrossMapLRN2d": "its gradient differs from PyTorch's, in test_linear_loss.py",
    "LinearCrossEntropyLoss": "a loss with parameters, in test_linear_loss.py",
    "Module": "the base of all, in test_module.py",
    "RNNBase": "the base of three layers",
    "RNNCellBase": "the base of three cells",
    "ModuleDict": "a container, in test_containers.py",
    "ModuleList": "a container, in test_containers.py",
    "ParameterDict": "a container, in test_containers.py",
    "ParameterList": "a container, in test_containers.py",
    "Sequential": "a container, in test_containers.py",
}


def test_every_layer_is_tried() -> None:
    """Each layer and each loss that is public has trials, or a reason why it has none."""
    public = {
        name
        for name, value in vars(adjoint.nn).items()
        if isinstance(value, type) and issubclass(value, adjoint.nn.Module)
    }
    assert public == set(TRIED) | set(UNTRIED)
    assert not set(TRIED) & set(UNTRIED)
