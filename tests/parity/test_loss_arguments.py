"""Losses agree with PyTorch for all their arguments, and refuse what it refuses."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import adjoint
from tests.parity.layer_trials import (
    Draw,
    Strategy,
    Trial,
    array,
    check,
    dtypes,
    flags,
    mostly,
    outcome,
    parametrized,
    shapes,
    some,
    torch,
    whole,
)

old = st.sampled_from([None, None, None, True, False])
reductions = {"reduction": st.sampled_from(["mean", "sum", "none"])}
reduced = {**reductions, "size_average": old, "reduce": old}
margins = mostly([1.0, 0.5, 2], 0, -0.3)
learning = st.integers(1, 3)

# ---- two or more tensors of one shape ----


@st.composite
def alike(
    draw: Draw, options: Strategy, *kinds: str, shape: Strategy | None = None, most: int = 3
) -> Trial:
    """Inputs of one shape, or now and then of shapes that broadcast or do not.

    At most so many of them ask for gradients: PyTorch has no others for this loss.
    """
    common = draw(shapes() if shape is None else shape)
    other = draw(mostly([common], (1, *common[1:]), (*common, 1), (5,)))
    chosen = [common] * (len(kinds) - 1) + [other]
    inputs = [array(s, kind, n) for n, (s, kind) in enumerate(zip(chosen, kinds, strict=True))]
    count = draw(st.integers(1, most))
    return Trial(draw(options), tuple(inputs), dtype=draw(dtypes), learning=count)


@st.composite
def weighted(draw: Draw, first: str, *names: str) -> Trial:
    """Chances as targets, and weights that broadcast, mostly."""
    trial = draw(alike(some(**reduced), first, "chances", shape=shapes(2, 3)))
    shape = trial.inputs[0].shape
    for name in names:
        wanted = draw(mostly([None, shape, shape[-1:], (1,)], (5,)))
        if wanted is not None:
            trial.options[name] = array(wanted, "chances", 5)
    return trial


ALIKE = {
    **dict.fromkeys(["MSELoss", "L1Loss"], alike(some(**reduced), "normal", "halves")),
    "SmoothL1Loss": alike(some(**reduced, beta=mostly([1.0, 0.5, 0, 2], -1)), "halves", "halves"),
    "HuberLoss": alike(some(**reductions, delta=mostly([1.0, 0.5, 2], 0, -1)), "halves", "halves"),
    "SoftMarginLoss": alike(some(**reduced), "normal", "signs", most=1),
    "HingeEmbeddingLoss": alike(some(**reduced, margin=margins), "normal", "signs"),
    "KLDivLoss": alike(
        some(
            reduction=st.sampled_from(["mean", "sum", "none", "batchmean"]),
            log_target=flags,
        ),
        "normal",
        "chances",
    ),
    "PoissonNLLLoss": alike(
        some(**reduced, log_input=flags, full=flags, eps=st.sampled_from([1e-8, 0.5])),
        "positive",
        "positive",
    ),
    "BCELoss": weighted("chances", "weight"),
    "BCEWithLogitsLoss": weighted("normal", "weight", "pos_weight"),
    "MultiLabelSoftMarginLoss": weighted("normal", "weight"),
    "MarginRankingLoss": alike(some(**reduced, margin=margins), "normal", "normal", "signs"),
}


@parametrized(ALIKE)
def test_losses_of_one_shape(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- classes ----


@st.composite
def classes(draw: Draw, more: dict[str, Strategy], placed: bool = True) -> Trial:
    """Scores of classes, with or without a batch and places, and the numbers of classes."""
    places = draw(shapes(0, 2)) if placed else ()
    lead = draw(st.sampled_from([(3,), (2,), (), (0,) if placed else (1,)])) if not places else (2,)
    options = draw(some(**reduced, **more))
    if draw(flags):
        options["weight"] = array(draw(mostly([(4,)], (3,))), "chances")
    kind = draw(st.sampled_from(["normal", "halves"]))
    top = draw(mostly([4], 6))
    targets = whole((*lead, *places), 0, top, draw(st.integers(0, 9)))
    return Trial(options, (array((*lead, 4, *places), kind), targets), dtype=draw(dtypes))


@st.composite
def mixed(draw: Draw) -> Trial:
    """Numbers of classes, or chances of them."""
    trial = draw(classes({"ignore_index": ignored, "label_smoothing": smoothing}))
    if draw(st.integers(0, 2)):
        return trial
    scores = trial.inputs[0]
    trial.options.pop("ignore_index", None)
    return Trial(trial.options, (scores, array(scores.shape, "chances")), dtype=trial.dtype)


@st.composite
def labels(draw: Draw) -> Trial:
    """Several classes each, up to the first -1."""
    lead = draw(st.sampled_from([(3,), (1,), ()]))  # of none PyTorch's mean is no number
    targets = whole((*lead, 4), -1, draw(mostly([4], 5)), draw(st.integers(0, 9)))
    return Trial(draw(some(**reduced)), (array((*lead, 4)), targets), dtype=draw(dtypes))


ignored = st.sampled_from([-100, 0, 2])
smoothing = mostly([0.0, 0.3, 1.0], 1.5)
CLASSES = {
    **dict.fromkeys(["NLLLoss", "NLLLoss2d"], classes({"ignore_index": ignored})),
    "CrossEntropyLoss": mixed(),
    "MultiMarginLoss": classes({"p": mostly([1, 2], 3), "margin": margins}, placed=False),
    "MultiLabelMarginLoss": labels(),
}


@parametrized(CLASSES)
def test_losses_of_classes(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- distances, variances and sequences ----


@st.composite
def embeddings(draw: Draw, options: Strategy, count: int, target: bool = False) -> Trial:
    """Vectors, single ones or in a batch; now and then one that does not fit."""
    shape = draw(mostly([(3, 4), (1, 4), (4,), (0, 4)], (2, 3, 4)))
    inputs = [array(shape, "normal", n) for n in range(count)]
    if draw(st.integers(0, 7)) == 0:
        inputs[-1] = array((*shape[:-1], 3))
    if target:
        inputs.append(array(draw(mostly([shape[:-1]], (1,), shape)), "signs"))
    return Trial(
        draw(options), tuple(inputs), dtype=draw(dtypes), learning=draw(st.integers(1, count))
    )


@st.composite
def variances(draw: Draw) -> Trial:
    """A variance for each element, for each vector, or for all; negative ones are refused."""
    shape = draw(shapes(1, 3))
    spread = draw(mostly([shape, shape[:-1], (*shape[:-1], 1)], (5,)))
    kind = draw(mostly(["positive"], "normal"))
    options = draw(some(**reductions, full=flags, eps=st.sampled_from([1e-6, 0.5, -1.0, 0])))
    inputs = (array(shape), array(shape, "normal", 2), array(spread, kind, 3))
    return Trial(options, inputs, dtype=draw(dtypes), learning=draw(learning))


@st.composite
def sequences(draw: Draw) -> Trial:
    """Log-probabilities of symbols over time, and label sequences, padded or in a row."""
    steps, symbols = draw(st.sampled_from([6, 3, 1])), 4
    options = draw(some(**reductions, blank=mostly([0, 3, 1], 4), zero_infinity=flags))
    blank = options.get("blank", 0)
    batch = draw(st.sampled_from([2, 3, 1, None]))
    scores = array((steps, *([] if batch is None else [batch]), symbols))
    chances = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    times = whole(batch, max(steps - 2, 1), steps + 1, draw(st.integers(0, 5)))
    lengths = whole(batch, 0, 4, draw(st.integers(0, 5)))
    allowed = np.array([n for n in range(symbols) if n != blank])
    shape = draw(mostly([(int(lengths.sum()),), (batch or 1, 3)], (3,)))
    labels = allowed[whole(shape, 0, len(allowed))]
    return Trial(options, (chances, labels, times, lengths), dtype=draw(dtypes))


pairs = {"p": st.sampled_from([2.0, 1.0, 3.0, 0.5]), "eps": st.sampled_from([1e-6, 0.1])}
OTHERS = {
    "CosineEmbeddingLoss": embeddings(some(**reduced, margin=margins), 2, target=True),
    "TripletMarginLoss": embeddings(some(**reduced, **pairs, margin=margins, swap=flags), 3),
    "TripletMarginWithDistanceLoss": embeddings(some(**reductions, margin=margins, swap=flags), 3),
    "GaussianNLLLoss": variances(),
    "CTCLoss": sequences(),
}


@parametrized(OTHERS)
def test_other_losses(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- classes in clusters ----


@st.composite
def clusters(draw: Draw) -> Trial:
    """Cutoffs that rise, mostly."""
    cutoffs = draw(mostly([[2], [1, 4], [3, 5, 7], (4,)], [4, 2], [], [9], [3, 3]))
    options = draw(some(div_value=st.sampled_from([4.0, 2.0, 1.0]), head_bias=flags))
    options |= {"in_features": 8, "n_classes": 9, "cutoffs": cutoffs}
    lead = draw(st.sampled_from([(5,), (1,), ()]))
    targets = whole(lead, 0, draw(mostly([9], 12)), draw(st.integers(0, 9)))
    return Trial(options, (array((*lead, 8)), targets), dtype=draw(dtypes))


CLUSTERS = {"AdaptiveLogSoftmaxWithLoss": clusters()}


@parametrized(CLUSTERS)
def test_clusters(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- reductions ----

LOSSES = {**ALIKE, **CLASSES, **OTHERS}


@parametrized(LOSSES)
def test_unknown_reductions(name: str, trial: Trial) -> None:
    """What is no reduction is refused, whatever else is given."""
    usual = {k: v for k, v in trial.options.items() if k not in ("size_average", "reduce")}
    trials_of = [replace(trial, options=usual | {"reduction": r}) for r in ("mean", "most")]
    if not isinstance(outcome(torch, name, trials_of[0]), Exception):
        for library in (torch, adjoint):
            assert isinstance(outcome(library, name, trials_of[1]), ValueError)


def _ctc(library: Any, **changed: Any) -> Any:
    """A call of ctc_loss with one argument replaced by a function of the library."""
    given = {
        "log_probs": library.ones(5, 2, 4).log_softmax(-1),
        "targets": library.ones(2, 2, dtype=library.int64),
        "input_lengths": library.tensor([5, 5]),
        "target_lengths": library.tensor([2, 2]),
    }
    given |= {name: make(library) for name, make in changed.items()}
    try:
        return round(library.nn.functional.ctc_loss(**given).item(), 4)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize(
    "changed",
    [
        {"log_probs": lambda t: t.ones(5, 2, 4, dtype=t.int64)},
        {"targets": lambda t: t.ones(2, 2)},
        {"targets": lambda t: t.ones(2, 2, dtype=t.bool)},
        {"targets": lambda t: t.ones(2, 2, dtype=t.int32)},
        {"input_lengths": lambda t: t.full((2,), 5.0)},
        {"input_lengths": lambda t: t.ones(2, dtype=t.bool)},
        {"input_lengths": lambda t: t.full((2,), 5, dtype=t.uint8)},
        {"input_lengths": lambda t: (5, 5)},
        {"target_lengths": lambda t: (2, 2)},
        {"target_lengths": lambda t: t.full((2,), 2.0)},
        {"input_lengths": lambda t: (5, 5), "target_lengths": lambda t: (2, 2)},
        {"input_lengths": lambda t: (5.0, 5.0), "target_lengths": lambda t: (2, 2)},
    ],
)
def test_types_of_ctc_loss(changed: dict[str, Any]) -> None:
    """Lengths are whole numbers, both in tensors or neither."""
    assert _ctc(adjoint, **changed) == _ctc(torch, **changed)


@pytest.mark.parametrize(
    "kinds", list(itertools.product(["float32", "float64", "float16"], repeat=2))
)
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("name", ["binary_cross_entropy_with_logits", "soft_margin_loss"])
def test_types_of_losses_of_two_types(name: str, reduction: str, kinds: Any) -> None:
    found = []
    for library in (torch, adjoint):
        input, target = (library.ones(2, dtype=getattr(library, kind)) for kind in kinds)
        loss = getattr(library.nn.functional, name)(input, target, reduction=reduction)
        found.append((str(loss.dtype).split(".")[1], loss.float().mean().item()))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-3)


PAIRS = [
    "l1_loss",
    "mse_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "soft_margin_loss",
    "hinge_embedding_loss",
    "poisson_nll_loss",
    "binary_cross_entropy_with_logits",
]
OF_CLASSES = ["nll_loss", "cross_entropy", "multi_margin_loss"]


def _of_kinds(library: Any, call: Any) -> Any:
    """The type and mean of losses, or the class of the error, of which a class is made."""
    try:
        loss = call(library, library.nn.functional)
    except RuntimeError:
        return "refused"
    return str(loss.dtype).rpartition(".")[2], pytest.approx(loss.abs().double().mean().item())


@pytest.mark.parametrize("first", ["bool", "uint8", "int64", "float64", "complex64"])
@pytest.mark.parametrize("second", ["bool", "int32", "float32", "complex64"])
def test_kinds_of_numbers_in_losses(first: str, second: str) -> None:
    for name, reduction in itertools.product(PAIRS, ["none", "mean", "sum"]):

        def call(t: Any, functional: Any, name: str = name, how: str = reduction) -> Any:
            a, b = t.tensor([1, 0, 1]), t.tensor([1, 1, 0])
            loss = getattr(functional, name)
            return loss(a.to(getattr(t, first)), b.to(getattr(t, second)), reduction=how)

        assert _of_kinds(adjoint, call) == _of_kinds(torch, call), (name, reduction)
    for name in OF_CLASSES:

        def pick(t: Any, functional: Any, name: str = name) -> Any:
            return getattr(functional, name)(t.ones(2, 3).to(getattr(t, first)), t.tensor([0, 1]))

        assert _of_kinds(adjoint, pick) == _of_kinds(torch, pick), name


@pytest.mark.parametrize("margin", [0, 1, 1.5])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int64"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_margins_of_whole_numbers(kind: str, margin: float, reduction: str) -> None:
    """Those of one tensor are rounded to its type; a margin between two makes floats."""

    def embedded(t: Any, functional: Any) -> Any:
        x = t.tensor([3, 1, 2], dtype=getattr(t, kind))
        signs = t.tensor([1, -1, 1])
        return functional.hinge_embedding_loss(x, signs, margin=margin, reduction=reduction)

    def ranked(t: Any, functional: Any) -> Any:
        x, y = t.tensor([[3, 1, 2], [1, 2, 2]], dtype=getattr(t, kind))
        signs = t.tensor([1, 1, 1], dtype=x.dtype)
        return functional.margin_ranking_loss(x, y, signs, margin=margin, reduction=reduction)

    for call in (embedded, ranked):
        assert _of_kinds(adjoint, call) == _of_kinds(torch, call)


def test_losses_in_place_in_whole_numbers_are_refused() -> None:
    for library in (torch, adjoint):
        with pytest.raises(RuntimeError, match="can't be cast"):
            library.nn.functional.binary_cross_entropy_with_logits(
                library.ones(2), library.ones(2, dtype=library.int64)
            )


@pytest.mark.parametrize("input", [[0.5, 0.2], [0.0, 1.0], [2.0, 0.5], [math.nan, 0.5], []])
@pytest.mark.parametrize("target", [[0.0, 1.0], [2.0, 0.0], [-0.1, 1.0], [math.nan, 0.0], []])
def test_probabilities_and_their_targets_lie_between_0_and_1(input: Any, target: Any) -> None:
    def loss(lib: Any) -> Any:
        error = lib.nn.functional.binary_cross_entropy
        try:
            return error(lib.tensor(input), lib.tensor(target)).item()
        except (RuntimeError, ValueError) as refusal:
            return type(refusal)

    assert loss(adjoint) == pytest.approx(loss(torch), nan_ok=True)
