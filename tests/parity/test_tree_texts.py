"""The shapes of trees as texts: PyTorch's, read by either library."""

import enum
import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from adjoint.compat.torch.utils import _pytree as ours


class Colour(enum.Enum):
    RED = 1


class Held:
    """A container that both libraries are told of."""

    def __init__(self, value):
        self.value = value


class Unknown(Held):
    """One without a name in texts."""


Pair = namedtuple("Pair", ["first", "second"])
TREES = {
    "leaf": 3,
    "list": [1, [2, 3]],
    "tuple": (1, (2, [3])),
    "dict": {"a": 1, "b": {"c": 2}},
    "keys of other types": {1: 2, Colour.RED: 3},
    "ordered dict": OrderedDict([("b", 1), ("a", 2)]),
    "default dict": defaultdict(list, {"a": [1]}),
    "deque": deque([1, 2], maxlen=5),
    "named tuple": Pair(1, [2]),
    "registered": Held([1, 2]),
}


@pytest.fixture(scope="module")
def theirs(torch):
    found = importlib.import_module("torch.utils._pytree")
    for library in (ours, found):
        for kind, name in ((Held, "tests.Held"), (Unknown, None)):
            library.register_pytree_node(
                kind,
                lambda held: ([held.value], ["kept", 1]),
                lambda children, context, kind=kind: kind(next(iter(children))),
                serialized_type_name=name,
            )
        library._register_namedtuple(Pair, serialized_type_name="tests.Pair")
    yield found
    for library in (ours, found):
        for kind in (Held, Unknown):
            library._deregister_pytree_node(kind)


@pytest.mark.parametrize("name", TREES)
def test_texts_are_pytorchs_and_are_read_again(theirs, name):
    spec = ours.tree_structure(TREES[name])
    text = ours.treespec_dumps(spec)
    assert text == theirs.treespec_dumps(theirs.tree_structure(TREES[name]))
    assert ours.treespec_loads(text) == spec


@pytest.mark.parametrize(
    "attempt",
    [
        lambda library: library.treespec_dumps("no shape"),
        lambda library: library.treespec_dumps(library.tree_structure([1]), -1),
        lambda library: library.treespec_dumps(library.tree_structure(Unknown(1))),
        lambda library: library.treespec_dumps(library.tree_structure({object: 1})),
        lambda library: library.treespec_loads("[2, {}]"),
        lambda library: library.treespec_loads(
            '[1, {"type": "nobody", "context": "null", "children_spec": []}]'
        ),
        lambda library: library.register_pytree_node(
            type("New", (), {}), None, None, to_dumpable_context=str
        ),
    ],
)
def test_what_is_refused(theirs, attempt):
    kinds = []
    for library in (theirs, ours):
        with pytest.raises((TypeError, ValueError, NotImplementedError)) as caught:
            attempt(library)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_a_text_loads_no_module_and_makes_no_values_by_any_function():
    shape = '{"type": "builtins.list", "context": "null", "children_spec": []}'
    for module, name, error in (("antigravity", "x", ImportError), ("builtins", "eval", TypeError)):
        context = f'{{"default_factory_module": "{module}", "default_factory_name": "{name}", '
        context += '"dict_context": ["a"]}'
        text = f'[1, {{"type": "collections.defaultdict", "context": {context}, '
        with pytest.raises(error):
            ours.treespec_loads(text + f'"children_spec": [{shape}]}}]')


def test_the_older_name_of_registering_warns():
    kind = type("Older", (), {})
    with pytest.warns(FutureWarning, match="register_pytree_node"):
        ours._register_pytree_node(kind, lambda tree: ([], None), lambda children, _: kind())
    assert ours.tree_leaves(kind()) == []
    with pytest.warns(UserWarning, match="already"), pytest.warns(FutureWarning):
        ours._register_pytree_node(kind, lambda tree: ([1], None), lambda children, _: kind())
    assert ours.tree_leaves(kind()) == [1]
    with pytest.raises(ValueError, match="already"):
        ours.register_pytree_node(kind, lambda tree: ([], None), lambda children, _: kind())
    ours._deregister_pytree_node(kind)
