"""torch.utils._pytree answers what PyTorch's does."""

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
