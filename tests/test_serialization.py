"""save and load: what comes back, what is refused, and what a failure leaves behind."""

import io
import json
import math
import os
import pickle
import zipfile
from collections import Counter, OrderedDict, namedtuple
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import adjoint
from adjoint import nn, ones, tensor, zeros
from adjoint.dtypes import ALL
from adjoint.optim import AdamW
from adjoint.saving.serialization import load, save


def through(obj, **options):
    """An object, saved and loaded again."""
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return load(file, **options)


def header_of(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(header, data):
    text = json.dumps(header).encode()
    return io.BytesIO(len(text).to_bytes(8, "little") + text + data)


def saved(obj):
    file = io.BytesIO()
    save(obj, file)
    return file.getvalue()


# ---- values ----


PLAIN = [
    None,
    True,
    0,
    -(2**70),
    1.5,
    1e-320,
    math.inf,
    -math.inf,
    "",
    "ä\ud800\0",
    b"\x00\xff",
    3 - 4j,
    complex(math.inf, -0.0),
    [],
    [1, [2, [3]]],
    (),
    (1, (2,)),
    {1, 2},
    frozenset({"a"}),
    {},
    {"a": 1, "b": {"c": [None]}},
    {0: "a", None: 1, (1, "x"): 2, 2.5: 3, b"k": 4},
    {"tensor": 0, "dict": {"tuple": []}, "_metadata": 3},
    OrderedDict([("b", 1), ("a", 2)]),
    Counter({30: 1, 80: 2}),
    adjoint.float32,
    adjoint.device("cuda:1"),
    adjoint.Size([2, 3]),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back(value):
    found = through({"value": value})["value"]
    assert found == value
    assert type(found) is type(value)
    assert repr(found) == repr(value) or isinstance(value, set)


def test_nan_and_numbers_of_numpy():
    found = through([math.nan, np.float64(2.5)])
    assert math.isnan(found[0])
    assert type(found[1]) is float


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.complex_numbers(allow_nan=False),
)
keys = st.one_of(st.text(), st.integers(), st.tuples(st.integers(), st.text()))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.text(), inner, max_size=4).map(OrderedDict),
    ),
    max_leaves=12,
)


@given(trees)
def test_any_tree_comes_back(tree):
    assert through(tree) == tree


# ---- tensors ----


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0, 3)])
def test_every_dtype_and_shape(kind, shape):
    value = adjoint.arange(math.prod(shape)).reshape(shape).to(kind)
    found = through(value)
    assert found.dtype is kind
    assert found.shape == shape
    assert found.tolist() == value.tolist()
    assert not found._is_view()
    assert found.is_leaf


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "complex128"])
def test_layouts_other_than_dense(kind):
    base = adjoint.arange(24).reshape(4, 6).to(getattr(adjoint, kind))
    values = [base.T.clone().T, base[::2, 1::3].clone(), ones(1, dtype=base.dtype).expand(3, 2)]
    values += [base[1:3, 2:5], base.flip(0)]
    for value in values:
        assert through({"x": value})["x"].tolist() == value.tolist()


def test_a_loaded_tensor_can_be_changed():
    found = through({"x": zeros(3)})["x"]
    found += 1
    assert found.tolist() == [1, 1, 1]


def test_parameters_and_needed_gradients():
    weight = nn.Parameter(ones(2))
    frozen = nn.Parameter(ones(2), requires_grad=False)
    made = ones(2, requires_grad=True) * 2
    found = through({"w": weight, "f": frozen, "made": made, "plain": ones(2)})
    assert [type(value) for value in found.values()] == [
        nn.Parameter,
        nn.Parameter,
        adjoint.Tensor,
        adjoint.Tensor,
    ]
    assert [value.requires_grad for value in found.values()] == [True, False, True, False]
    assert found["made"].is_leaf


# ---- shared memory ----


def test_tied_weights_are_stored_once_and_tied_again():
    weight = adjoint.rand(100, 10)
    data = saved({"in": weight, "out": weight.detach()})
    header, contents = header_of(data)
    assert len(contents) == 4000
    assert header["__metadata__"]["out"] == "in"
    found = load(io.BytesIO(data))
    assert found["in"] is not found["out"]
    version = found["out"]._version
    found["in"].zero_()
    assert found["out"].sum().item() == 0
    assert found["out"]._version > version


def test_one_tensor_in_two_places_stays_one():
    weight = nn.Parameter(ones(2))
    found = through({"model": [weight], "again": weight})
    assert found["model"][0] is found["again"]


def test_views_share_memory_again():
    base = adjoint.arange(12.0).reshape(3, 4)
    views = {
        "t": base.T,
        "row": base[1],
        "part": base[1:, ::2],
        "base": base,
        "flat": base.view(-1),
    }
    data = saved(views)
    assert len(header_of(data)[1]) == 48
    found = load(io.BytesIO(data))
    assert {key: value.tolist() for key, value in found.items()} == {
        key: value.tolist() for key, value in views.items()
    }
    found["base"].fill_(7.0)
    assert all((value == 7).all() for value in found.values())
    assert list(found) == list(views)


def test_views_of_a_transposed_tensor_are_tied():
    first = adjoint.rand(3, 4).T
    found = through([first, first.detach()])
    found[0].zero_()
    assert found[1].sum().item() == 0


def test_tensors_that_overlap_in_part_are_stored_apart():
    base = adjoint.arange(6.0)
    found = through([base[:4], base[2:]])
    found[0].zero_()
    assert found[1].tolist() == [2, 3, 4, 5]


def test_neighbours_and_other_types_on_one_memory():
    base = adjoint.arange(8.0)
    words = base.view(adjoint.int32)
    found = through({"a": base[:4], "b": base[4:], "words": words})
    assert found["a"].tolist() == [0, 1, 2, 3]
    assert found["b"].tolist() == [4, 5, 6, 7]
    assert found["words"].dtype is adjoint.int32
    assert found["words"].tolist() == words.tolist()


# ---- names ----


def test_keys_are_dotted_paths_and_never_collide():
    obj = {
        "a.b": tensor(1.0),
        "a": {"b": tensor(2.0), 0: tensor(3.0)},
        "": tensor(4.0),
        "__metadata__": tensor(5.0),
    }
    data = saved(obj)
    assert {"a.b", "a.b#2", "a.0", "tensor", "__metadata__#2"} < set(header_of(data)[0])
    found = load(io.BytesIO(data))
    assert found["a"]["b"].item() == 2
    assert found["__metadata__"].item() == 5
    assert list(found) == list(obj)


def test_a_state_dict_comes_back_as_it_was():
    net = nn.Sequential(nn.Module(), nn.Module())
    net[0].weight = nn.Parameter(adjoint.rand(2))
    net[1].register_buffer("count", tensor(3))
    state = net.state_dict()
    found = through(state)
    assert type(found) is OrderedDict
    assert found._metadata == state._metadata
    before = net[0].weight.tolist()
    net[0].weight.data.zero_()
    assert str(net.load_state_dict(found)) == "<All keys matched successfully>"
    assert net[0].weight.tolist() == before


def test_training_goes_on_where_it_was_saved(tmp_path):
    def steps(weight, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            ((weight - 3) ** 2).sum().backward()
            optimizer.step()

    weight = nn.Parameter(adjoint.arange(4.0))
    optimizer = AdamW([weight], lr=0.1, amsgrad=True)
    steps(weight, optimizer, 3)
    path = tmp_path / "run.safetensors"
    save({"weight": weight, "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    found = load(path)
    resumed = AdamW([found["weight"]], lr=0.5)
    resumed.load_state_dict(found["optimizer"])
    steps(weight, optimizer, 2)
    steps(found["weight"], resumed, 2)
    assert found["weight"].tolist() == weight.tolist()
    assert found["epoch"] == 3


# ---- files ----


def test_files_that_are_open_already(tmp_path):
    file = io.BytesIO()
    file.write(b"before")
    save({"x": ones(3)}, file)
    file.seek(6)
    assert load(file)["x"].tolist() == [1, 1, 1]
    path = tmp_path / "x"
    with path.open("wb") as opened:
        save([1], opened)
    with path.open("rb") as opened:
        assert load(opened) == [1]


def test_a_stream_that_cannot_be_searched():
    ends = os.pipe()
    with os.fdopen(ends[1], "wb") as file:
        save({"x": ones(3)}, file)
    with os.fdopen(ends[0], "rb") as file:
        assert load(file)["x"].tolist() == [1, 1, 1]


class Short:
    """A file that gives few bytes at once, and has no more methods than it must."""

    def __init__(self, data):
        self.file = io.BytesIO(data)
        self.seek, self.tell, self.seekable = self.file.seek, self.file.tell, self.file.seekable

    def read(self, count):
        return self.file.read(min(count, 7))


class ShortInto(Short):
    """The same, with readinto."""

    def readinto(self, memory):
        return self.file.readinto(memory[:7])


@pytest.mark.parametrize("kind", [Short, ShortInto])
def test_files_whose_reads_are_short(kind):
    data = saved({"x": adjoint.arange(500)})
    assert load(kind(data))["x"].tolist() == list(range(500))
    with pytest.raises(ValueError, match="can't be read"):
        load(kind(data[:-3]))


def test_mapped_files(tmp_path):
    path = tmp_path / "x.safetensors"
    save({"a": ones(5), "b": zeros(0), "n": 3, "h": tensor([True])}, path)
    before = path.read_bytes()
    found = load(path, mmap=True)
    found["a"] += 1
    assert found["a"].tolist() == [2] * 5
    assert found["n"] == 3
    assert path.read_bytes() == before
    save({"a": zeros(5)}, path)  # while it is mapped
    assert found["a"].tolist() == [2] * 5
    assert load(path, mmap=True)["a"].tolist() == [0] * 5
    with pytest.raises(ValueError, match="needs a path"):
        load(io.BytesIO(before), mmap=True)


def test_data_begins_where_elements_can(tmp_path):
    data = saved({"b": tensor([True]), "d": zeros(3, dtype=adjoint.float64), "h": ones(3).half()})
    header, contents = header_of(data)
    assert (len(data) - len(contents)) % 8 == 0
    del header["__metadata__"]
    sizes = {"BOOL": 1, "F16": 2, "F64": 8}
    assert all(one["data_offsets"][0] % sizes[one["dtype"]] == 0 for one in header.values())


def test_saving_twice_gives_the_same_bytes():
    obj = {"x": ones(3), "s": {"b", "a", "c"}, "f": frozenset("xyz")}
    assert saved(obj) == saved(obj)


# ---- failures ----


class Failing(adjoint.Tensor):
    """Not a plain tensor."""


class Level(IntEnum):
    LOW = 1


Pair = namedtuple("Pair", "a b")

REFUSED = [
    (lambda: 3, r"obj\['x'\]\[1\] is a function"),
    (object(), r"obj\['x'\]\[1\] is a object"),
    (nn.Module(), r"adjoint.nn.module.Module.*state_dict\(\)"),
    (np.ones(2), r"numpy.ndarray.*adjoint.as_tensor"),
    (np.float32(2), r"numpy.float32.*\.item\(\)"),
    (Pair(1, 2), r"Pair, which can't be saved; a class can't be found.*_asdict\(\)"),
    (Level.LOW, r"Level"),
    (Failing(np.ones(2, "f4")), r"Failing, .*only plain tensors"),
    (nn.UninitializedParameter(), r"UninitializedParameter"),
    ({ones(1): 1}, r"obj\['x'\]\[1\] has a key of type Tensor"),
    (slice(3), r"slice"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=lambda value: str(type(value).__name__))
def test_what_cannot_be_saved_is_named_and_the_old_file_stays(value, message, tmp_path):
    path = tmp_path / "x"
    save("old", path)
    with pytest.raises(TypeError, match=message):
        save({"x": [0, value]}, path)
    assert load(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_containers_that_contain_themselves():
    loop = {"a": []}
    loop["a"].append(loop)
    with pytest.raises(ValueError, match=r"obj\['a'\]\[0\] contains itself"):
        save(loop, io.BytesIO())
    twice = [1]
    assert through([twice, twice]) == [[1], [1]]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failing_disk_leaves_the_old_file(error, tmp_path, monkeypatch):
    path = tmp_path / "x"
    save({"x": ones(3)}, path)

    def fail(descriptor):
        raise error("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        save({"x": zeros(3)}, path)
    assert load(path)["x"].tolist() == [1, 1, 1]
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_permissions_stay(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    save(2, link)
    assert link.is_symlink()
    assert load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o640
    mask = os.umask(0o027)
    try:
        save(3, tmp_path / "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_places_that_are_no_files(tmp_path):
    save({"x": ones(3)}, os.devnull)
    with pytest.raises(IsADirectoryError):
        save(1, tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        save(1, tmp_path / "absent" / "x")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")


def test_a_header_that_no_program_would_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("adjoint.saving.safetensors_files._LONGEST_HEADER", 1000)
    with pytest.raises(ValueError, match="save long bytes or lists of numbers as tensors"):
        save(b"\0" * 1000, tmp_path / "x")
    assert not list(tmp_path.iterdir())


# ---- files from elsewhere ----


def test_other_kinds_of_files_are_named(tmp_path):
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", b"")
    with pytest.raises(ValueError, match=r"x was written by PyTorch's torch.save.*adjoint.compat"):
        load(path)
    path.write_bytes(pickle.dumps({"x": 1}))
    with pytest.raises(ValueError, match="a pickle, which can run any code"):
        load(path, weights_only=False)
    for data in (b"", b"\0" * 4, b"hello world, this is text"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="no safetensors file but of another kind"):
            load(path)


def described(**changes):
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


DAMAGED = {
    "cut": ({"x": described()}, b"\0" * 7, "end at byte"),
    "long": ({"x": described()}, b"\0" * 9, "end at byte"),
    "overlap": ({"x": described(), "y": described()}, b"\0" * 8, "'y' begins at byte"),
    "hole": ({"x": described(data_offsets=[4, 12])}, b"\0" * 12, "begins at byte"),
    "size": ({"x": described(shape=[3])}, b"\0" * 8, "can't be in bytes 0 to 8"),
    "negative": ({"x": described(shape=[-2])}, b"\0" * 8, "has shape"),
    "bool": ({"x": described(shape=[True, 2])}, b"\0" * 8, "has shape"),
    "huge": ({"x": described(shape=[2**62, 2**62, 0, 2])}, b"\0" * 8, "can't be in bytes"),
    "far": ({"x": described(shape=[2**63, 0])}, b"", "more dimensions or elements"),
    "deep": ({"x": described(shape=[1] * 65)}, b"\0" * 4, "more dimensions or elements"),
    "backward": ({"x": described(shape=[0], data_offsets=[8, 0])}, b"", "can't be in bytes"),
    "fields": ({"x": {"dtype": "F32"}}, b"", "is not described by"),
    "list": ([], b"", "no safetensors file"),
    "metadata": ({"__metadata__": {"a": 1}}, b"", "no table of texts"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_headers(name):
    header, data, message = DAMAGED[name]
    with pytest.raises(ValueError, match=message):
        load(with_header(header, data))


def test_bools_of_other_programs_are_zero_or_one(tmp_path):
    header = {"x": described(dtype="BOOL", shape=[4], data_offsets=[0, 4])}
    content = with_header(header, b"\0\1\2\xff")
    path = tmp_path / "x.safetensors"
    path.write_bytes(content.getvalue())
    for found in (load(content), load(path), load(path, mmap=True)):
        assert found["x"].numpy().view("uint8").tolist() == [0, 1, 1, 1]
    assert path.read_bytes() == content.getvalue()


def test_damaged_text():
    for text, message in (
        (b'{"x": 1, "x": 1}', "stands twice"),
        (b'{"x": ', "no JSON"),
        (b'{"\xff": 1}', "no JSON"),
        (b'{"x":' + b"[" * 100_000, "no JSON"),
    ):
        with pytest.raises(ValueError, match=message):
            load(io.BytesIO(len(text).to_bytes(8, "little") + text))
    with pytest.raises(ValueError, match="said to be 4294967295 bytes"):
        load(io.BytesIO((2**32 - 1).to_bytes(8, "little") + b"{}"))


def test_types_we_do_not_have():
    with pytest.raises(ValueError, match="tensor 'x' has data type 'F8_E4M3'"):
        load(with_header({"x": described(dtype="F8_E4M3")}, b"\0" * 8))


def rewritten(obj, change):
    """A saved file with another structure."""
    header, data = header_of(saved(obj))
    text = json.loads(header["__metadata__"]["adjoint"])
    change(text)
    header["__metadata__"]["adjoint"] = json.dumps(text)
    return with_header(header, data)


STRUCTURES = [
    lambda text: text.update(version=2),
    lambda text: text.pop("tree"),
    lambda text: text.update(tree={"tensor": 9}),
    lambda text: text.update(tree={"tensor": "x"}),
    lambda text: text.update(tree={"os.system": "ls"}),
    lambda text: text.update(tree={}),
    lambda text: text.update(tree={"tuple": 3}),
    lambda text: text.update(tree={"dict": [[[1], 2]]}),
    lambda text: text.update(tree={"dict": {}, "_metadata": 1}),
    lambda text: text.update(tree={"ordered": {}, "__class__": 1}),
    lambda text: text.update(tree={"complex": ["1", "2", "3"]}),
    lambda text: text.update(tree={"dtype": "float99"}),
    lambda text: text.update(tree={"device": "moon"}),
    lambda text: text.update(tree={"bytes": "@"}),
    lambda text: text["tensors"][0].update(key="other"),
    lambda text: text["tensors"][0].update(dtype="complex128"),
    lambda text: text["tensors"][0].update(device="moon"),
    lambda text: text["tensors"].append({"key": "more"}),
    lambda text: text["tensors"].append(3),
    lambda text: text["tensors"][1].update(offset=7),
    lambda text: text["tensors"][1].update(offset=-1),
    lambda text: text["tensors"][1].update(stride=[10**12]),
    lambda text: text["tensors"][1].update(shape=[2, 2]),
    lambda text: text["tensors"][1].update(shape=[0]),
    lambda text: text["tensors"][1].pop("offset"),
]


@pytest.mark.parametrize("number", range(len(STRUCTURES)))
def test_damaged_structures_are_refused(number):
    base = adjoint.arange(8.0)
    file = rewritten({"x": base, "y": base[2:4]}, STRUCTURES[number])
    with pytest.raises(ValueError, match="adjoint.load: the file can't be read"):
        load(file)


SAMPLE = saved({"x": adjoint.arange(8.0), "y": [ones(2), (1, 2.5, "z")], "z": zeros(2, 2).T})


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), max_size=3))
def test_changed_bytes_never_do_harm(changes):
    data = bytearray(SAMPLE)
    for place, value in changes:
        data[place] = value
    try:
        load(io.BytesIO(bytes(data)))
    except ValueError as error:
        assert "adjoint.load: the file" in str(error)


# ---- places ----


def test_places():
    data = saved({"x": ones(2), "n": 1})
    seen = []

    def note(value, where):
        seen.append((value.tolist(), where))

    assert load(io.BytesIO(data), map_location="cpu")["x"].device == adjoint.device("cpu")
    assert load(io.BytesIO(data), map_location=adjoint.device("cpu"))["n"] == 1
    assert load(io.BytesIO(data), map_location=note)["x"].tolist() == [1, 1]
    assert load(io.BytesIO(data), lambda value, where: value * 2)["x"].tolist() == [2, 2]
    assert seen == [([1, 1], "cpu")]
    with pytest.raises(TypeError, match="map_location answered int for 'x'"):
        load(io.BytesIO(data), map_location=lambda value, where: 3)
    with pytest.raises(ZeroDivisionError):
        load(io.BytesIO(data), map_location=lambda value, where: 1 / 0)


def test_a_device_that_is_not_here():
    def move(text):
        text["tensors"][0]["device"] = "xla:99"

    with pytest.raises(RuntimeError, match=r"'x' was saved on xla:99.*map_location='cpu'"):
        load(rewritten({"x": ones(2)}, move))
    assert load(rewritten({"x": ones(2)}, move), "cpu")["x"].tolist() == [1, 1]
    assert load(rewritten({"x": ones(2)}, move), {"xla:99": "cpu"})["x"].tolist() == [1, 1]


def test_tensors_of_jax():
    pytest.importorskip("jax")
    weight = ones(2, 3, device="xla")
    found = through({"a": weight, "b": weight.detach(), "c": weight.T})
    assert {str(value.device) for value in found.values()} == {str(weight.device)}
    assert found["c"].shape == (3, 2)
    moved = through({"a": ones(2)}, map_location="xla")
    assert moved["a"].device == weight.device
    assert through({"a": weight}, map_location="cpu")["a"].device == adjoint.device("cpu")
    assert len(header_of(saved({"a": weight, "b": weight.detach()}))[1]) == 24


def test_views_that_are_copied_are_no_larger_than_their_file_allows():
    def expand(text):
        text["tensors"][1].update(shape=[2**40], stride=[0])

    whole = zeros(4)
    file = rewritten([whole, whole[1:]], expand)
    assert load(file)[1].shape == (2**40,)  # no memory is taken
    pytest.importorskip("jax")
    file.seek(0)
    with pytest.raises(ValueError, match="far more memory"):
        load(file, map_location="xla")
