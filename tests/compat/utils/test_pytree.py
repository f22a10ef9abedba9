"""torch.utils._pytree answers what PyTorch's does."""

import dataclasses
import time
from collections import namedtuple

import pytest

import adjoint.compat.torch.utils._pytree as trees

theirs = pytest.importorskip("torch.utils._pytree")
Pair = namedtuple("Pair", "a b")
TREE = {"a": 1, "b": [2, ("x", 3)], "c": Pair(4, {})}


class FakeSequence(tuple):
    """Looks like one of Python's own tuples with names."""

    __slots__ = ()
    n_fields = n_sequence_fields = 2
    n_unnamed_fields = 0


CALLS = [
    lambda t: t.tree_is_leaf(1),
    lambda t: t.tree_is_leaf([1]),
    lambda t: t.tree_is_leaf([1], is_leaf=lambda x: isinstance(x, list)),
    lambda t: list(t.tree_iter(TREE)),
    lambda t: t.tree_map_only(int, lambda x: x + 2, TREE),
    lambda t: t.tree_map_only((int, str), lambda x: x * 2, TREE),
    lambda t: t.tree_map_only(lambda x: x == 1, lambda x: x + 2, TREE),
    lambda t: t.tree_map_only_(int, lambda x: x + 2, TREE) is TREE,
    lambda t: t.tree_map_(lambda x: None, TREE) is TREE,
    lambda t: t.map_only(int)(lambda x: x + 1)("a"),
    lambda t: t.tree_all(bool, TREE),
    lambda t: t.tree_any(lambda x: x == 3, TREE),
    lambda t: t.tree_all_only(int, lambda x: x > 0, TREE),
    lambda t: t.tree_any_only(str, lambda x: x == "y", TREE),
    lambda t: t._broadcast_to_and_flatten((1, 2), t.tree_structure(([0, [0, 0]], (0,)))),
    lambda t: t._broadcast_to_and_flatten((1, 2), t.tree_structure((0, 0, 0))),
    lambda t: t._broadcast_to_and_flatten([1, 2], t.tree_structure((0, 0))),
    lambda t: t._broadcast_to_and_flatten(1, t.tree_structure(TREE)),
    lambda t: t.treespec_tuple([t.treespec_leaf()]) == t.tree_structure((0,)),
    lambda t: t.treespec_dict(a=t.treespec_leaf()) == t.tree_structure({"a": 0}),
    lambda t: t.TreeSpec(tuple, None, [t.treespec_leaf()]) == t.tree_structure((0,)),
    *[
        lambda t, name=name, each=each: getattr(t, name)(each)
        for name in ("is_namedtuple", "is_namedtuple_class", "is_structseq", "is_structseq_class")
        for each in (Pair, Pair(1, 2), tuple, (1, 2), time.struct_time, time.gmtime(), FakeSequence)
    ],
]


@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(call):
    assert call(trees) == call(theirs)


@dataclasses.dataclass
class Pair:
    first: object
    second: object = 3
    third: object = None


def test_fields_of_a_dataclass_are_leaves():
    trees.register_dataclass(Pair)
    leaves, spec = trees.tree_flatten(Pair(1, (2, 4)))
    assert leaves == [1, 2, 4]
    assert spec.context == [["first", "second"], ["third"]]
    assert trees.tree_map(lambda leaf: leaf + 1, Pair(1, 2)) == Pair(2, 3)
    paths = [trees.keystr(path) for path, _ in trees.tree_flatten_with_path(Pair(1, (2,)))[0]]
    assert paths == [".first", ".second[0]"]
    trees._deregister_pytree_node(Pair)
    trees.register_dataclass(Pair, field_names=["first"], drop_field_names=["second", "third"])
    assert trees.tree_leaves(Pair(1, 2)) == [1]


def test_some_fields_may_be_left_out():
    @dataclasses.dataclass
    class Kept:
        first: object
        second: object = 3

    with pytest.raises(ValueError, match="Missing fields"):
        trees.register_dataclass(Kept, field_names=["first"])
    with pytest.raises(ValueError, match="Unexpected fields"):
        trees.register_dataclass(Kept, field_names=["first", "second", "third"])
    trees.register_dataclass(Kept, field_names=["first"], drop_field_names=["second"])
    assert trees.tree_leaves(Kept(1, 2)) == [1]
    assert trees.tree_map(lambda leaf: leaf, Kept(1, 2)) == Kept(1, 3)


def test_what_is_no_dataclass_needs_names():
    with pytest.raises(ValueError, match="field_names must be specified"):
        trees.register_dataclass(int)
