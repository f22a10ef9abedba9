"""State dicts with wrong keys, types, shapes and structure: loaded as by PyTorch, or refused.

A module takes what fits and reports the rest together, as in PyTorch; an optimizer takes all or
nothing. Where PyTorch fails on its way (KeyError, AttributeError), adjoint says what is wrong.
"""

import copy
import warnings
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import adjoint

torch = pytest.importorskip("torch")

# ---- what is put in place of a value: of a library and the tensor that was there ----

REPLACED = {
    "None": lambda lib, old: None,
    "number": lambda lib, old: 5,
    "text": lambda lib, old: "text",
    "list": lambda lib, old: [1.0, 2.0],
    "dict": lambda lib, old: {"a": 1},
    "array": lambda lib, old: np.ones(3),
    "class": lambda lib, old: int,
    "longer": lambda lib, old: lib.ones(7),
    "empty": lambda lib, old: lib.ones(0),
    "0-d": lambda lib, old: lib.ones(()),
    "one": lambda lib, old: lib.ones(1),
    "batch": lambda lib, old: lib.ones(1, *old.shape),
    "halves": lambda lib, old: lib.full(tuple(old.shape), 0.5, dtype=lib.float64),
    "integers": lambda lib, old: lib.full(tuple(old.shape), 3, dtype=lib.int32),
    "bools": lambda lib, old: lib.ones(tuple(old.shape), dtype=lib.bool),
    "parameter": lambda lib, old: lib.nn.Parameter(lib.full(tuple(old.shape), 2.0)),
    "recorded": lambda lib, old: lib.full(tuple(old.shape), 2.0, requires_grad=True) * 2,
    "expanded": lambda lib, old: lib.full((), 4.0).expand(tuple(old.shape)),
}
ODD_KEYS = [5, None, ("0", "weight"), b"0.weight", 1.5]
METADATA = [None, 5, "text", [], {"": 5}, {"": None}, {5: {}}, {"1": {"version": "new"}}, {"1": 7}]

keys = st.integers(0, 8)
module_changes = st.one_of(
    st.tuples(st.just("replace"), keys, st.sampled_from(list(REPLACED))),
    st.tuples(st.just("delete"), keys, st.none()),
    st.tuples(st.just("rename"), keys, st.sampled_from(["0.wieght", "weight", "9.weight", ""])),
    st.tuples(st.just("add"), st.sampled_from(["0.more", "more", "1.1.weight", "."]), st.none()),
    st.tuples(st.just("odd"), st.sampled_from(range(len(ODD_KEYS))), st.none()),
    st.tuples(st.just("metadata"), st.sampled_from(range(len(METADATA))), st.none()),
)


def model(lib):
    made = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3), lib.nn.Linear(3, 1))
    with lib.no_grad():
        for number, tensor in enumerate(made.state_dict().values()):
            tensor.fill_(number)
    return made


def changed_state(lib, changes):
    """The state dict of a model, changed."""
    state = model(lib).state_dict()
    metadata = getattr(state, "_metadata", None)
    state = OrderedDict((key, value + 10) for key, value in state.items())
    state._metadata = metadata
    for what, where, how in changes:
        key = list(state)[where % len(state)] if isinstance(where, int) and state else where
        if what == "replace" and isinstance(state.get(key), lib.Tensor):
            state[key] = REPLACED[how](lib, state[key])
        elif what == "delete":
            state.pop(key, None)
        elif what == "rename" and key in state:
            state[how] = state.pop(key)
        elif what == "add":
            state[key] = lib.ones(1)
        elif what == "odd":
            state[ODD_KEYS[where]] = lib.ones(1)
        elif what == "metadata":
            state._metadata = METADATA[where]
    return state


def shown(tensor):
    return [str(tensor.dtype).split(".")[-1], list(tensor.shape), tensor.detach().tolist()]


def loaded(lib, changes, strict, assign):
    """What came of loading: an error or None, and the state of the model then."""
    made, error = model(lib), None
    try:
        made.load_state_dict(changed_state(lib, changes), strict=strict, assign=assign)
    except Exception as problem:
        error = problem
    return error, {key: shown(value) for key, value in made.state_dict().items()}


def check_module(changes, strict, assign):
    ours, found = loaded(adjoint, changes, strict, assign)
    theirs, expected = loaded(torch, changes, strict, assign)
    assert (ours is None) == (theirs is None), (ours, theirs)
    if ours is not None:
        assert type(ours) in (RuntimeError, TypeError)
    if theirs is None or isinstance(theirs, RuntimeError):
        assert found == expected


@given(st.lists(module_changes, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_modules(changes, strict, assign):
    check_module(changes, strict, assign)


@pytest.mark.slow
@settings(max_examples=3000)
@given(st.lists(module_changes, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_many_modules(changes, strict, assign):
    check_module(changes, strict, assign)


@pytest.mark.parametrize("how", [each for each in REPLACED if each in ("None", "longer", "text")])
def test_the_key_is_named(how):
    with pytest.raises(RuntimeError, match="0.weight"):
        model(adjoint).load_state_dict(changed_state(adjoint, [("replace", 0, how)]))


@pytest.mark.parametrize("key", ODD_KEYS, ids=repr)
def test_a_key_that_is_no_name(key):
    state = {**model(adjoint).state_dict(), key: adjoint.ones(1)}
    with pytest.raises(TypeError, match="keys of a state dict"):
        model(adjoint).load_state_dict(state)


# ---- optimizers ----

COPIED = {"array", "expanded"}  # become tensors of their own here, and fail in PyTorch
OPTIMIZERS = {
    "sgd": lambda lib, params: lib.optim.SGD(params, lr=0.5, momentum=0.5),
    "adam": lambda lib, params: lib.optim.Adam(params, lr=0.5, amsgrad=True),
    "adagrad": lambda lib, params: lib.optim.Adagrad(params, lr=0.5),
    "rmsprop": lambda lib, params: lib.optim.RMSprop(params, lr=0.5, momentum=0.5, centered=True),
}
STRUCTURES = [
    None,
    5,
    "text",
    [],
    {},
    [5],
    {"a": 1},
    [[]],
    [{}],
    [{"params": 5}],
    [{"params": [[]]}],
]
PLACES = [(), ("state",), ("param_groups",), ("param_groups", 0), ("param_groups", 0, "params")]
PLACES += [("state", 0), ("state", 1), ("param_groups", 0, "lr"), ("param_groups", 1)]

optimizer_changes = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PLACES), st.sampled_from(range(len(STRUCTURES)))),
    st.tuples(st.just("delete"), st.sampled_from(PLACES[1:]), st.none()),
    st.tuples(st.just("add"), st.sampled_from(PLACES[1:3]), st.sampled_from([5, "more", None])),
    st.tuples(st.just("tensor"), st.integers(0, 5), st.sampled_from(sorted({*REPLACED} - COPIED))),
)


def trained(lib, name):
    """An optimizer that has made a step, and its parameters."""
    params = [lib.nn.Parameter(lib.ones(2, 2)), lib.nn.Parameter(lib.ones(3))]
    optimizer = OPTIMIZERS[name](lib, [{"params": params[:1]}, {"params": params[1:], "lr": 0.25}])
    step(lib, optimizer, params)
    return optimizer, params


def step(lib, optimizer, params):
    for number, param in enumerate(params):
        param.grad = lib.full(tuple(param.shape), number + 1.0)
    optimizer.step()


def changed_optimizer(lib, state, changes):
    for what, where, how in changes:
        if what == "tensor":
            slots = [(one, key) for one in plain(state.get("state")).values() for key in plain(one)]
            if slots:
                one, key = slots[where % len(slots)]
                if isinstance(one[key], lib.Tensor):
                    one[key] = REPLACED[how](lib, one[key])
            continue
        if not where:
            return copy.deepcopy(STRUCTURES[how])
        *path, last = where
        node = state
        try:
            for key in path:
                node = node[key]
            if what == "put":
                node[last] = copy.deepcopy(STRUCTURES[how])
            elif what == "delete":
                del node[last]
            elif isinstance(node[last], dict):
                node[last][how] = {"a": 1}
            else:
                node[last].append(how)
        except (AttributeError, IndexError, KeyError, TypeError):  # taken away before
            continue
    return state


def plain(value):
    return value if isinstance(value, dict) else {}


def described(value):
    """A state dict that can be compared."""
    if isinstance(value, dict):
        return {key: described(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(one) for one in value]
    return shown(value) if isinstance(value, (adjoint.Tensor, torch.Tensor)) else value


def attempt(action):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            action()
        except Exception as error:
            return error
    return None


def continued(lib, name, changes):
    """Load a changed state; the error or None, that of a step after it, and the parameters."""
    optimizer, params = trained(lib, name)
    before = described(optimizer.state_dict())
    given = changed_optimizer(lib, copy.deepcopy(optimizer.state_dict()), changes)
    error = attempt(lambda: optimizer.load_state_dict(given))
    if error is not None:
        return error, described(optimizer.state_dict()) == before, None
    failed = attempt(lambda: step(lib, optimizer, params))
    return None, failed, [shown(param) for param in params]


def check_optimizer(name, changes):
    """All or nothing; what PyTorch goes on with is gone on with alike, or refused."""
    ours, after, found = continued(adjoint, name, changes)
    theirs, failed, expected = continued(torch, name, changes)
    if ours is not None:
        assert after, "something was changed"
        assert type(ours) in (TypeError, ValueError)
        assert "load_state_dict" in str(ours) or "loaded state dict" in str(ours)
    elif theirs is None and failed is None:
        assert after is None
        assert rounded(found) == rounded(expected)


def rounded(value):
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return f"{value:.4f}" if isinstance(value, float) else value


several = st.lists(optimizer_changes, min_size=1, max_size=3)


@given(st.sampled_from(list(OPTIMIZERS)), several)
def test_optimizers(name, changes):
    check_optimizer(name, changes)


@pytest.mark.slow
@settings(max_examples=3000)
@given(st.sampled_from(list(OPTIMIZERS)), several)
def test_many_optimizers(name, changes):
    check_optimizer(name, changes)
