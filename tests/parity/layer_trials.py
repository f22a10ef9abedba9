"""Trials of layers: what hypothesis chose, run in both libraries, and compared in every respect."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import adjoint

torch: Any = pytest.importorskip("torch")

# An eighth of what the profile asks of tests of one function: there are many layers.
CHOSEN = settings(max_examples=settings().max_examples // 8, report_multiple_bugs=False)
TOLERANCES = {"float64": (1e-7, 1e-9), "float32": (2e-3, 2e-4)}
SEED = 7


@dataclass(frozen=True)
class Trial:
    """Arguments of a constructor and of a call; arrays become tensors of either library.

    Of the inputs of the call, the first `learning` ones ask for gradients. Where the same array
    is given twice, so is the same tensor.
    """

    options: dict[str, Any]
    inputs: tuple[Any, ...] = ()
    call: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float64"
    training: bool = True
    learning: int = 9


@dataclass(frozen=True)
class Part:
    """A layer among the arguments of another."""

    name: str
    options: dict[str, Any]


Strategy = st.SearchStrategy[Any]
Kind = str | Callable[[Any, dict[str, Any]], Any]  # the name of a layer, or what makes one
Draw = Callable[[Strategy], Any]
dtypes = st.sampled_from(["float64", "float64", "float32"])


def trials(options: Strategy, *inputs: Strategy, call: Strategy | None = None, **rest: Any) -> Any:
    """Trials whose inputs do not depend on the options."""
    rest = {"dtype": dtypes, "training": st.booleans(), **rest}
    chosen_call = st.just({}) if call is None else call
    return st.builds(Trial, options, st.tuples(*inputs), chosen_call, **rest)


def mostly(usual: Any, *rare: Any) -> Strategy:
    """One of the usual values, and in one of eight cases one of the others."""
    return st.integers(0, 7).flatmap(lambda n: st.sampled_from(rare if n == 7 else usual))


def some(required: dict[str, Strategy] | None = None, **optional: Strategy) -> Any:
    """Arguments by name: the required ones, and any of the others."""
    return st.fixed_dictionaries(required or {}, optional=optional)


def parametrized(table: dict[str, Strategy]) -> Callable[[Any], Any]:
    """A test of each layer of a table, given its name and trials."""

    def decorated(test: Callable[[str, Any], None]) -> Any:
        def run(name: str, data: Any) -> None:
            test(name, data.draw(table[name]))

        return pytest.mark.parametrize("name", table)(CHOSEN(given(data=st.data())(run)))

    return decorated


# ---- arrays ----


def array(shape: Any, kind: str = "normal", seed: int = SEED) -> Any:
    """Numbers of a shape: normal, in halves, positive, chances, signs, or with extremes."""
    rng = np.random.default_rng(seed)
    made = np.asarray(rng.normal(size=shape))
    if kind == "halves":
        made = np.round(made * 4) / 2
    elif kind == "extreme":
        places = rng.integers(0, 6, size=shape)
        made = np.choose(places, [made, made, 0.0, 900.0, np.inf, -np.inf])
    elif kind == "missing":
        made = np.where(made > 0, np.nan, made)
    elif kind == "positive":
        made = abs(made) + 0.1
    elif kind == "chances":
        made = np.asarray(rng.uniform(0.05, 0.95, size=shape))
    elif kind == "signs":
        made = np.where(made > 0, 1.0, -1.0)
    return np.asarray(made, dtype=np.float64)


def whole(shape: Any, low: int, high: int, seed: int = SEED) -> Any:
    """Whole numbers from low to below high."""
    return np.asarray(np.random.default_rng(seed).integers(low, max(high, low + 1), size=shape))


def shapes(low: int = 0, high: int = 4, least: int = 0) -> Strategy:
    """Shapes of any number of dimensions, 0-size ones among them."""
    return st.lists(st.sampled_from([3, 2, 4, 1, 0]), min_size=low, max_size=high).map(
        lambda sizes: tuple(max(size, least) for size in sizes)
    )


def arrays(shape: Strategy, *kinds: str) -> Strategy:
    """Arrays of chosen shapes and of one of the kinds."""
    return st.builds(array, shape, st.sampled_from(kinds or ("normal",)))


numbers = st.one_of(st.integers(-2, 3), st.sampled_from([0.3, 1.5, -0.7, 0.01, 0.0]))
flags = st.booleans()
batches = st.sampled_from([(2,), (1,), (), (0,)])

# ---- running ----


def tensors(library: Any, value: Any, dtype: str, made: dict[int, Any]) -> Any:
    """Arrays in nested values as tensors; `made` keeps them by the identity of the array."""
    if isinstance(value, np.ndarray):
        if id(value) not in made:
            floating = value.dtype.kind == "f"
            made[id(value)] = library.tensor(value.astype(dtype) if floating else value)
        return made[id(value)]
    if isinstance(value, Part):
        return getattr(library.nn, value.name)(**tensors(library, value.options, dtype, made))
    if isinstance(value, (tuple, list)):
        return type(value)(tensors(library, part, dtype, made) for part in value)
    if isinstance(value, dict):
        return {key: tensors(library, part, dtype, made) for key, part in value.items()}
    return value


def flat(value: Any) -> Iterator[Any]:
    """The tensors, and the Nones, of a nested result."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from flat(part)
    else:
        yield value


def built(library: Any, kind: Kind, trial: Trial) -> Any:
    """The layer, in training or not, with starting values that both libraries share."""
    options = tensors(library, trial.options, trial.dtype, {})
    made = getattr(library.nn, kind)(**options) if isinstance(kind, str) else kind(library, options)
    layer = made.to(getattr(library, trial.dtype)).train(trial.training)
    if type(layer).__name__.startswith("Lazy"):  # which has its shapes from a first call
        layer(*tensors(library, trial.inputs, trial.dtype, {}))
    shared(library, layer, trial.dtype)
    return layer


def shared(library: Any, layer: Any, dtype: str) -> None:
    """Give a layer's state the values that depend on nothing but their order and shapes."""
    parameters = dict(layer.named_parameters())
    state = {
        key: array(tuple(value.shape), "normal" if key in parameters else "chances", seed)
        for seed, (key, value) in enumerate(layer.state_dict().items())
        if value.dtype.is_floating_point
    }
    layer.load_state_dict(tensors(library, state, dtype, {}), strict=False)


def differentiated(library: Any, layer: Any, trial: Trial, call_of: Any) -> dict[str, Any]:
    """All that can be seen of a call of the layer and of its gradients."""
    made: dict[int, Any] = {}
    given_inputs = tensors(library, trial.inputs, trial.dtype, made)
    call = tensors(library, trial.call, trial.dtype, made)
    learning = [t for t in flat(given_inputs[: trial.learning]) if t is not None]
    leaves = {
        id(t): t.requires_grad_()
        for t in learning
        if isinstance(t, library.Tensor) and t.dtype.is_floating_point
    }
    copies: dict[int, Any] = {}
    given_inputs, call = copied(given_inputs, leaves, copies), copied(call, leaves, copies)
    answer = layer(*given_inputs, **call) if call_of is None else call_of(library, layer)
    results = list(flat(answer))
    live = [r for r in results if r is not None and r.requires_grad]
    slopes = [array(tuple(r.shape), seed=1) for r in live]
    if live:
        library.autograd.backward(live, tensors(library, slopes, trial.dtype, {}))
    return {
        "results": results,
        "gradients of inputs": [leaf.grad for leaf in leaves.values()],
        "gradients of parameters": [p.grad for p in layer.parameters()],
        "state": list(layer.state_dict().values()),
    }


def copied(value: Any, leaves: dict[int, Any], made: dict[int, Any]) -> Any:
    """The leaves as results that a layer may overwrite, the same for the same leaf."""
    if isinstance(value, (tuple, list)):
        return type(value)(copied(part, leaves, made) for part in value)
    if isinstance(value, dict):
        return {key: copied(part, leaves, made) for key, part in value.items()}
    if id(value) in leaves:
        return made.setdefault(id(value), value.clone())
    return value


def outcome(
    library: Any, kind: Kind, trial: Trial, call_of: Any = None
) -> dict[str, Any] | Exception:
    """What a layer answers in a library, or what it raises; call_of may call it otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            layer = built(library, kind, trial)
            seen = differentiated(library, layer, trial, call_of)
        except Exception as error:
            return error
    return {"representation": repr(layer), "names": list(layer.state_dict()), **seen}


# ---- comparing ----


def check(kind: Kind, trial: Trial, call_of: Any = None) -> None:
    """Both libraries answer the same, or raise errors of the same type."""
    theirs, ours = (outcome(library, kind, trial, call_of) for library in (torch, adjoint))
    agree(theirs, ours, TOLERANCES[trial.dtype])


def agree(theirs: Any, ours: Any, tolerance: tuple[float, float]) -> None:
    """Two outcomes are the same up to rounding; an error may be of a subclass."""
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"PyTorch: {theirs!r}; adjoint: {ours!r}"
        return
    if isinstance(ours, Exception):
        raise AssertionError(f"only adjoint raises {ours!r}") from ours
    for key, expected in theirs.items():
        if isinstance(expected, list) and key != "names":
            for place, (a, b) in enumerate(zip(ours[key], expected, strict=True)):
                close(a, b, tolerance, f"{key}, {place}")
        else:
            assert ours[key] == expected, key


def close(ours: Any, theirs: Any, tolerance: tuple[float, float], place: str) -> None:
    """Two tensors have the same shape, dtype and numbers; or both are None."""
    assert (ours is None) == (theirs is None), f"{place}: {ours} against {theirs}"
    if theirs is None:
        return
    a, b = (np.asarray(t.detach().numpy()) for t in (ours, theirs))
    assert (a.shape, a.dtype) == (b.shape, b.dtype), place
    np.testing.assert_allclose(a, b, *tolerance, err_msg=place)
