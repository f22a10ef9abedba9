"""Trees of containers: taken apart, put together, mapped."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from adjoint import ones
from adjoint.pytree import (
    TreeSpec,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Batch:
    image: object
    label: object = None
    size: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: object

    def __post_init__(self):
        assert self.value is not None, "the number of fields can't be None"


def batch(image, label, size):
    made = Batch(image, label)
    made.size = size
    return made


TREES = {
    "a leaf": (5, [5]),
    "None": (None, [None]),
    "nothing": ((), []),
    "a tuple": ((1, (2, 3)), [1, 2, 3]),
    "a list": ([1, [2], []], [1, 2]),
    "a dict": ({"b": 1, "a": {"c": 2}}, [1, 2]),
    "an OrderedDict": (OrderedDict(b=1, a=2), [1, 2]),
    "a defaultdict": (defaultdict(list, b=1, a=2), [1, 2]),
    "a deque": (deque([1, 2], 3), [1, 2]),
    "a named tuple": (Point(1, [2, 3]), [1, 2, 3]),
    "a dataclass": (batch(1, [2], 3), [1, 2, 3]),
    "a frozen dataclass": (Frozen(1), [1]),
    "a string": ("ab", ["ab"]),
}


@pytest.mark.parametrize("case", TREES, ids=str)
def test_round_trip(case):
    tree, leaves = TREES[case]
    found, spec = tree_flatten(tree)
    assert found == leaves
    again = tree_unflatten(found, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert spec == tree_structure(tree)


def test_details_of_containers_survive():
    assert tree_map(str, defaultdict(list, a=1)).default_factory is list
    assert tree_map(str, deque([1], 3)).maxlen == 3
    assert list(tree_map(str, {"b": 1, "a": 2})) == ["b", "a"]
    assert tree_map(lambda leaf: None, Frozen(1)).value is None


def test_specs_differ_by_class_context_and_children():
    trees = [(1, 2), [1, 2], Point(1, 2), {"a": 1, "b": 2}, {"b": 1, "a": 2}, (1, (2,)), 1]
    specs = [tree_structure(tree) for tree in trees]
    for i, one in enumerate(specs):
        for j, other in enumerate(specs):
            assert (one == other) == (i == j)
    assert hash(specs[0]) == hash(tree_structure((3, 4)))
    assert specs[0] != (1, 2)


def test_is_leaf_stops():
    assert tree_leaves([(1, 2), [3]], is_leaf=lambda node: type(node) is tuple) == [(1, 2), 3]


def test_map_over_several():
    sums = tree_map(lambda a, b: a + b, {"a": 1, "b": [2]}, {"b": [10], "a": 20})
    assert sums == {"a": 21, "b": [12]}


@pytest.mark.parametrize("other", [[1, 2], (1,), (1, 2, 3)], ids=str)
def test_map_refuses_other_shapes(other):
    with pytest.raises(ValueError, match="trees differ"):
        tree_map(lambda a, b: a, (1, 2), other)


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "c": 2}], ids=str)
def test_map_refuses_other_keys(other):
    with pytest.raises(ValueError, match="keys"):
        tree_map(lambda a, b: a, {"a": 1, "b": 2}, other)


def test_wrong_number_of_leaves():
    with pytest.raises(ValueError, match="3 leaves came for a tree of 2"):
        tree_unflatten([1, 2, 3], tree_structure((0, 0)))
    with pytest.raises(TypeError, match="TreeSpec"):
        tree_unflatten([1], [1])


def test_registered_class():
    class Pair:
        def __init__(self, one, two, tag):
            self.one, self.two, self.tag = one, two, tag

    assert len(tree_leaves(Pair(1, 2, "t"))) == 1
    register_pytree_node(
        Pair,
        lambda pair: ((pair.one, pair.two), pair.tag),
        lambda children, tag: Pair(*children, tag),
    )
    doubled = tree_map(lambda leaf: leaf * 2, [Pair(1, 2, "t")])[0]
    assert (doubled.one, doubled.two, doubled.tag) == (2, 4, "t")
    with pytest.raises(ValueError, match="already"):
        register_pytree_node(Pair, lambda pair: ((), None), lambda children, context: None)


def test_subclasses_and_classes_are_leaves():
    class Own(dict):
        pass

    own = Own(a=1)
    assert tree_leaves([own]) == [own]
    assert tree_leaves([Batch]) == [Batch]


def test_tensors_are_leaves():
    tensor = ones(2, 3)
    assert tree_leaves({"a": tensor, "b": tensor.shape})[0] is tensor
    assert tree_leaves(tensor.shape) == [tensor.shape]


def test_repr_shows_the_shape():
    shown = "TreeSpec(dict, ['a'], [TreeSpec(tuple, None, [*,\n    *])])"
    assert repr(tree_structure({"a": (1, 2)})) == shown
    assert isinstance(tree_structure(1), TreeSpec)
