"""Files of adjoint.save, and other safetensors files, that lie: plain values or a ValueError.

What is damaged here is damaged with knowledge of the format: lengths, shapes, types, places, names,
and each node of the structure. tests/compat/fuzz_files.py damages bytes, in a process of its own.
"""

import copy
import io
import json
import math
import sys
from collections import Counter, OrderedDict

import pytest
from hypothesis import example, given, settings, strategies as st

import adjoint
from adjoint.dtypes import dtype
from adjoint.nn import Parameter
from adjoint.tensors.size import Size

PLAIN = {type(None), bool, int, float, complex, str, bytes, Size, dtype, adjoint.device}
HUGE = [2**31, 2**62, 2**63 - 1, 2**63, 2**64, 10**30]


def check_load(content):
    """What a file gives, looked through; None if it is refused."""
    try:
        found = adjoint.load(io.BytesIO(content))
    except ValueError as error:
        assert str(error).startswith("adjoint.load: ")
        return None
    check_plain(found)
    return found


def check_plain(value):
    """Use all of a value; an error or a crash would be the file's doing."""
    kind = type(value)
    if kind in (adjoint.Tensor, Parameter):
        if value.numel() < 10_000:
            assert math.prod(value.shape) == len(value.detach().flatten().tolist())
            value.detach().zero_()
    elif kind in (list, tuple, set, frozenset):
        for member in value:
            check_plain(member)
    elif kind in (dict, OrderedDict, Counter):
        for member in (*value, *value.values(), getattr(value, "_metadata", None)):
            check_plain(member)
    else:
        assert kind in PLAIN


# ---- headers ----

counts = st.one_of(st.integers(0, 4), st.sampled_from([-1, *HUGE, 1.0, True, None, "2", [2], {}]))
codes = st.sampled_from(
    ["F32", "I8", "BOOL", "U8", "F64", "BF16", "C64", "F8_E4M3", "O", "", 5, None]
)
lists = st.one_of(st.lists(counts, max_size=3), st.lists(counts, min_size=65, max_size=66), counts)
fields = st.fixed_dictionaries({"dtype": codes, "shape": lists, "data_offsets": lists})
others = st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "more"]), counts)
names = st.sampled_from(["a", "b", "", "é", "\ud800", "a.b", "__metadata__", "x" * 300])
metadata = st.one_of(
    st.dictionaries(names, st.one_of(st.text(max_size=5), counts), max_size=3), counts
)


@st.composite
def honest(draw):
    """Tensors that lie one behind another."""
    entries, place = {}, 0
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4)):
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
        code, size = draw(st.sampled_from([("F32", 4), ("I8", 1), ("BOOL", 1), ("F64", 8)]))
        stop = place + math.prod(shape) * size
        entries[name] = {"dtype": code, "shape": shape, "data_offsets": [place, stop]}
        place = stop
    return entries, place


@st.composite
def files(draw):
    """A file whose header lies in some ways, or in none."""
    entries, length = draw(honest())
    pairs = list(entries.items())
    for _ in range(draw(st.integers(0, 2))):
        lie = draw(st.sampled_from(["field", "entry", "again", "metadata", "length", "moved"]))
        if lie == "metadata":
            pairs.append(("__metadata__", draw(metadata)))
        elif lie == "entry":
            pairs.append((draw(names), draw(st.one_of(fields, others, counts))))
        elif lie == "length":
            length += draw(st.sampled_from([-1, 1, 8, 1000]))
        elif pairs:
            number = draw(st.integers(0, len(pairs) - 1))
            name, said = pairs[number]
            if lie == "again":
                pairs.append((name, said))
            elif isinstance(said, dict) and lie == "field":
                field = draw(st.sampled_from(["dtype", "shape", "data_offsets"]))
                pairs[number] = (name, {**said, field: draw(codes if field == "dtype" else lists)})
            elif isinstance(said, dict) and isinstance(said.get("data_offsets"), list):
                by = draw(st.sampled_from([-4, -1, 1, 4]))
                moved = [place + by for place in said["data_offsets"] if type(place) is int]
                pairs[number] = (name, {**said, "data_offsets": moved})
    text = ",".join(f"{json.dumps(name)}:{json.dumps(said)}" for name, said in pairs)
    return framed(f"{{{text}}}".encode(), b"\1" * max(0, length), draw(st.integers(0, 30)))


def framed(text, data, lie=0):
    """A file of a header and data; some lies are of the length of the header."""
    wrong = {1: 0, 2: len(text) - 1, 3: len(text) + 1, 4: 2**63, 5: 2**64 - 1, 6: 100_000_001}
    length = max(0, wrong.get(lie, len(text)))
    return length.to_bytes(8, "little") + text + data


ENTRY = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


@settings(max_examples=600)
@given(files())
@example(framed(b'{"a":' + ENTRY + b',"a":' + ENTRY + b"}", b"1234"))
@example(framed(b'{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"1234"))
@example(framed(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", b""))
@example(framed(b'{"a":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001, b""))
@example(framed(b'{"a":' + b"9" * 100_000 + b"}", b""))
@example(framed(b"{" + b",".join(b'"%d":1' % i for i in range(100_000)) + b"}", b""))
@example(framed(b'{"a":1e999}', b""))
@example(framed(b'{"a":NaN}', b""))
@example(framed(b'{"\xff":1}', b""))
@example(framed(b"{", b""))
@example(framed(b"{}", b""))
@example(b"")
@example(b"\0" * 8)
@example(b"\2" + b"\0" * 7 + b"{")
def test_headers(content):
    found = check_load(content)
    if found is not None:
        held = sum(math.prod(each.shape) * each.dtype.itemsize for each in found.values())
        assert held <= len(content)


@pytest.mark.slow
@settings(max_examples=4000)
@given(files())
def test_many_headers(content):
    check_load(content)


@settings(max_examples=400)
@given(files())
def test_the_library_of_the_format_agrees(content):
    """What adjoint takes, the format's own library takes, and finds the same in it."""
    safetensors = pytest.importorskip("safetensors")
    ours = check_load(content)
    if ours is not None:
        theirs = dict(safetensors.deserialize(content))
        shapes = {name: list(each.shape) for name, each in ours.items()}
        assert shapes == {name: each["shape"] for name, each in theirs.items()}


@given(honest())
def test_what_does_not_lie_is_read(found):
    entries, length = found
    loaded = check_load(framed(json.dumps(entries).encode(), bytes(length)))
    shapes = {name: list(each.shape) for name, each in loaded.items()}
    assert shapes == {name: each["shape"] for name, each in entries.items()}


# ---- the structure that adjoint.save writes beside the tensors ----


def sample():
    whole = adjoint.arange(6.0).reshape(2, 3)
    state = adjoint.nn.Linear(2, 2).state_dict()
    return {
        "state": state,
        "views": (whole, whole[1], whole.T),
        "parameter": Parameter(adjoint.ones(2)),
        "complex": adjoint.ones(2, dtype=adjoint.complex128),
        1: {None, 2.5, (1, 2)},
        "plain": [1j, b"bytes", adjoint.float16, adjoint.device("cpu"), Size([2]), float("nan")],
        "counted": Counter("aab"),
        "frozen": frozenset({"a"}),
    }


def parts():
    """The header, the structure and the data of a file."""
    file = io.BytesIO()
    adjoint.save(sample(), file)
    content = file.getvalue()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["adjoint"]), content[8 + length :]


HEADER, STRUCTURE, DATA = parts()


def places(tree, path=()):
    """The paths of all nodes of a JSON tree."""
    yield path
    members = dict(enumerate(tree)) if isinstance(tree, list) else tree
    for key, member in members.items() if isinstance(members, dict) else ():
        yield from places(member, (*path, key))


PLACES = list(places(STRUCTURE))
TAGS = ["tensor", "tuple", "set", "frozenset", "dict", "ordered", "counter", "bytes", "complex"]
TAGS += ["device", "dtype", "size", "float", "key", "stride", "shape", "offset", "version"]
TAGS += ["requires_grad", "parameter", "_metadata", "nothing"]
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from(HUGE),
    st.floats(),
    st.sampled_from(["", "a", "cpu", "cuda:9", "float32", "state.weight", "nan", "=", "1"]),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(TAGS), inner, max_size=2)
    ),
    max_leaves=6,
)


def changed(changes):
    """The file with nodes of its structure replaced, or taken away (None)."""
    made = copy.deepcopy(STRUCTURE)
    for number, tree in changes:
        *path, last = PLACES[number] or ("tree",)
        node = made
        try:
            for key in path:
                node = node[key]
            node[last] = copy.deepcopy(tree)
        except (KeyError, IndexError, TypeError):  # an earlier change has taken the place away
            continue
    return made


def saved(structure):
    header = copy.deepcopy(HEADER)
    header["__metadata__"]["adjoint"] = json.dumps(structure)
    return framed(json.dumps(header).encode(), DATA)


changes = st.lists(st.tuples(st.integers(0, len(PLACES) - 1), trees), min_size=1, max_size=3)


@settings(max_examples=600)
@given(changes)
def test_structures(found):
    check_load(saved(changed(found)))


@pytest.mark.slow
@settings(max_examples=4000)
@given(changes)
def test_many_structures(found):
    check_load(saved(changed(found)))


def test_the_structure_is_read_as_it_is():
    assert check_load(saved(STRUCTURE)).keys() == sample().keys()


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"tuple":' * 100_000, "9" * 100_000, "", "{}", "5"]
)
def test_texts_that_are_no_structure(text):
    header = copy.deepcopy(HEADER)
    header["__metadata__"]["adjoint"] = text
    assert check_load(framed(json.dumps(header).encode(), DATA)) is None


@pytest.fixture
def usual_depth():
    """Python's own limit of calls within calls, which libraries raise for a whole process."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("usual_depth")
@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_a_deep_structure(depth):
    deep = '{"tuple":[' * depth + "1" + "]}" * depth
    text = json.dumps({**STRUCTURE, "tree": "here"}).replace('"here"', deep)
    header = copy.deepcopy(HEADER)
    header["__metadata__"]["adjoint"] = text
    found = check_load(framed(json.dumps(header).encode(), DATA))
    assert (found is None) == (depth > 800)
