"""Files of torch.save between PyTorch and adjoint.compat, in both directions and both formats."""

import io
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

import adjoint.compat.torch as compat

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
FORMATS = pytest.mark.parametrize("archive", [True, False], ids=["archive", "older"])


def handed_over(writer, reader, value, archive=True, **options):
    """What a library reads of what another has written."""
    file = io.BytesIO()
    writer.save(value, file, _use_new_zipfile_serialization=archive)
    file.seek(0)
    return reader.load(file, weights_only=True, **options)


@pytest.fixture(params=["to adjoint", "to PyTorch", "to itself"])
def ways(request, torch):
    """The library that writes, and the one that reads."""
    found = {
        "to adjoint": (torch, compat),
        "to PyTorch": (compat, torch),
        "to itself": (compat, compat),
    }
    return found[request.param]


def same(found, expected):
    """Whether two tensors of whichever library have the same type, layout and elements."""
    assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    assert tuple(found.shape) == tuple(expected.shape)
    assert tuple(found.stride()) == tuple(expected.stride())
    assert found.requires_grad == expected.requires_grad
    assert found.tolist() == expected.tolist()


@FORMATS
@pytest.mark.parametrize("name", DTYPES)
def test_every_data_type(ways, archive, name):
    writer, reader = ways
    if not archive and reader is not compat and name in ("uint16", "uint32", "uint64"):
        pytest.skip("PyTorch can't read these, not even its own")
    value = writer.tensor([0, 1, 1, 0, 1]).to(getattr(writer, name))
    same(handed_over(writer, reader, value, archive), value)


@FORMATS
def test_views_share_their_storage_again(ways, archive):
    writer, reader = ways
    whole = writer.arange(12.0).reshape(3, 4)
    made = [whole, whole[1], whole.T, whole[:, ::2], whole[1:, 2]]
    found = handed_over(writer, reader, made, archive)
    for one, expected in zip(found, made, strict=True):
        same(one, expected)
    found[0].fill_(7.0)
    assert found[1].tolist() == [7.0] * 4
    assert found[4].tolist() == [7.0] * 2


@FORMATS
def test_storages(ways, archive):
    """One is read as it was written, once, and shown by the tensors beside it."""
    writer, reader = ways
    whole = writer.arange(6.0)
    flags = writer.tensor([True, False]).storage()
    made = {"tensor": whole, "storage": whole[2:4].storage(), "flags": flags}
    made["again"] = made["storage"]
    found = handed_over(writer, reader, made, archive)
    found["tensor"][0] = 9.0
    assert type(found["storage"]) is reader.storage.TypedStorage
    assert found["storage"] is found["again"] and list(found["storage"]) == [9.0, *range(1, 6)]
    assert list(found["flags"]) == [True, False] and found["flags"].dtype is reader.bool
    with pytest.raises(RuntimeError):
        writer.save([whole, whole.untyped_storage()], io.BytesIO())
    if archive:
        alone = handed_over(writer, reader, writer.ones(2).untyped_storage())
        assert alone.dtype is reader.uint8 and len(alone) == 8


@FORMATS
def test_files_need_no_more_than_pytorch_asks_for(torch, archive):
    class Written:
        def __init__(self, file):
            self.write, self.flush = file.write, file.flush

    class Read:
        def __init__(self, file):
            self.read, self.readline, self.seek, self.tell = (
                file.read, file.readline, file.seek, file.tell
            )  # fmt: skip

    for library in (torch, compat):
        file = io.BytesIO()
        library.save({"a": library.ones(2)}, Written(file), _use_new_zipfile_serialization=archive)
        file.seek(0)
        assert library.load(Read(file))["a"].tolist() == [1.0, 1.0]


def test_a_storage_that_is_too_short(torch):
    for library in (torch, compat):
        whole, cut = io.BytesIO(), io.BytesIO()
        library.save(library.ones(10), whole)
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(cut, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                target.writestr(name, content[:20] if name.endswith("data/0") else content)
        cut.seek(0)
        with pytest.raises(RuntimeError):
            library.load(cut)


@FORMATS
def test_layouts(ways, archive):
    writer, reader = ways
    values = [
        writer.empty(0),
        writer.empty(0, 3),
        writer.empty(3, 0, dtype=writer.int16),
        writer.tensor(2.5),
        writer.ones(1).expand(3, 4),
        writer.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
        writer.arange(6.0)[2:5],
        writer.arange(3.0).requires_grad_(),
        (writer.arange(3.0).requires_grad_() * 2),
    ]
    for one, value in zip(handed_over(writer, reader, values, archive), values, strict=True):
        same(one, value)


@FORMATS
def test_parameters_and_attributes(ways, archive):
    writer, reader = ways
    weight = writer.nn.Parameter(writer.arange(3.0))
    fixed = writer.nn.Parameter(writer.ones(2), requires_grad=False)
    marked = writer.nn.Parameter(writer.ones(2))
    marked.note = "text"
    buffer = writer.nn.Buffer(writer.zeros(2), persistent=False)
    found = handed_over(writer, reader, [weight, weight, fixed, marked, buffer], archive)
    assert found[0] is found[1]
    for one, value in zip(found, [weight, weight, fixed, marked], strict=False):
        assert type(one) is reader.nn.Parameter
        same(one, value)
    assert found[3].note == "text"
    assert isinstance(found[4], reader.nn.Buffer)
    assert found[4].persistent is False


@FORMATS
def test_what_is_no_tensor(ways, archive):
    writer, reader = ways
    plain = {
        "none": None,
        "flags": [True, False],
        "numbers": (0, 1, 255, 256, 65536, -1, -129, 2**31, -(2**31) - 1, 2**70, -(2**2000)),
        "floats": [0.5, -0.0, float("inf")],
        "complex": 1 - 2j,
        "text": "Grüße, \U0001f600, \ud800",
        "bytes": [b"", b"\x00\xff", bytearray(b"ab"), bytearray()],
        1: {2: {"deep": [[[()]]]}},
        (1, "pair"): {"set": {1, 2}, "empty": set()},
        "counts": Counter({3: 2}),
        "ordered": OrderedDict([("b", 1), ("a", 2)]),
    }
    found = handed_over(writer, reader, plain, archive)
    assert found == plain
    assert list(found["ordered"]) == ["b", "a"]
    assert type(found["bytes"][2]) is bytearray
    kinds = {
        "size": writer.Size([2, 3]),
        "dtypes": [getattr(writer, name) for name in DTYPES],
        "device": [writer.device("cpu"), writer.device("cuda", 1), writer.device("cuda")],
    }
    found = handed_over(writer, reader, kinds, archive)
    assert found["size"] == reader.Size([2, 3])
    assert type(found["size"]) is reader.Size
    assert found["dtypes"] == [getattr(reader, name) for name in DTYPES]
    assert found["device"] == [reader.device(str(one)) for one in kinds["device"]]


@FORMATS
def test_state_dicts_of_modules_and_optimizers(ways, archive):
    writer, reader = ways

    def network(library):
        layers = library.nn
        made = layers.Sequential(layers.Linear(3, 2), layers.BatchNorm1d(2), layers.Linear(2, 1))
        return made, library.optim.Adam(made.parameters(), lr=0.1)

    module, optimizer = network(writer)
    module(writer.ones(4, 3) * writer.arange(4.0)[:, None]).sum().backward()
    optimizer.step()
    states = {"model": module.state_dict(), "optimizer": optimizer.state_dict()}
    found = handed_over(writer, reader, states, archive)
    assert found["model"]._metadata == states["model"]._metadata
    other, its_optimizer = network(reader)
    other.load_state_dict(found["model"])
    its_optimizer.load_state_dict(found["optimizer"])
    for one, expected in zip(other.state_dict().values(), module.state_dict().values()):
        same(one, expected)
    its_state = list(its_optimizer.state_dict()["state"].values())
    for one, expected in zip(its_state, optimizer.state_dict()["state"].values(), strict=True):
        same(one["exp_avg"], expected["exp_avg"])


@FORMATS
def test_lazily_conjugated_tensors_of_pytorch(torch, archive):
    value = torch.tensor([1 + 2j, 3 - 1j])
    found = handed_over(torch, compat, [value.conj(), value.clone().conj().imag], archive)
    assert found[0].tolist() == [1 - 2j, 3 + 1j]
    assert found[1].tolist() == [-2.0, 1.0]


def moved_to(content, location):
    """A file whose tensors were on another device when it was saved; as long as 'cpu'."""
    old = b"X\x03\x00\x00\x00cpu"
    assert content.count(old) == 1
    return io.BytesIO(content.replace(old, b"X\x03\x00\x00\x00" + location))


def test_where_tensors_go(torch):
    file = io.BytesIO()  # no archive, which has checksums
    torch.save([torch.ones(2)], file, _use_new_zipfile_serialization=False)
    moved = moved_to(file.getvalue(), b"xpu")
    for reader in (torch, compat):
        moved.seek(0)
        with pytest.raises(RuntimeError):
            reader.load(moved)
        for place in ("cpu", reader.device("cpu"), {"xpu": "cpu"}, lambda memory, place: memory):
            moved.seek(0)
            assert reader.load(moved, map_location=place)[0].tolist() == [1.0, 1.0]
    moved.seek(0)
    with pytest.raises(RuntimeError, match="map_location='cpu'"):
        compat.load(moved)


def test_a_function_says_where_each_storage_goes():
    whole = compat.arange(4.0)
    file = io.BytesIO()
    compat.save([whole, whole[1:], compat.ones(3)], file)
    file.seek(0)
    asked = []
    compat.load(file, map_location=lambda memory, place: asked.append((memory.nbytes(), place)))
    assert asked == [(16, "cpu"), (12, "cpu")]
    file.seek(0)
    with pytest.raises(RuntimeError, match="map_location answered 3"):
        compat.load(file, map_location=lambda memory, place: 3)
    file.seek(0)
    with pytest.raises(RuntimeError, match="map_location failed with TypeError"):
        compat.load(file, map_location=lambda memory: memory)


def test_what_was_loaded_can_be_saved_again():
    whole = compat.arange(4.0)
    found = [whole, whole[1:], compat.ones(2, dtype=compat.uint16)]
    for archive in (True, False):
        found = handed_over(compat, compat, found, archive)
    found[0].fill_(7.0)
    assert [one.tolist() for one in found] == [[7.0] * 4, [7.0] * 3, [1, 1]]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_that_has_numbers_in_bytes(protocol):
    value = {
        "plain": [frozenset([1, 2]), slice(1, None, 2), range(3), {1, (2, 3)}, b"x" * 300],
        "more": ["x" * 300, bytearray(b"ab"), 2**3000, (1,) * 5, [[], [()]]],
        "tensor": compat.arange(2),
    }
    file = io.BytesIO()
    compat.save(value, file, pickle_protocol=protocol)
    file.seek(0)
    found = compat.load(file)
    assert found.pop("tensor").tolist() == [0, 1]
    value.pop("tensor")
    assert found == value


@pytest.mark.parametrize("value", [np.arange(3.0), np.float64(3)])
def test_arrays_of_numpy_where_a_program_allows_them(ways, value):
    writer, reader = ways
    allowed = [np._core.multiarray._reconstruct, np._core.multiarray.scalar]
    allowed += [np.ndarray, np.dtype, type(value.dtype)]
    with reader.serialization.safe_globals(allowed):
        assert handed_over(writer, reader, {"a": value})["a"].tolist() == value.tolist()


def test_hooks_are_left_behind_with_a_warning():
    value = compat.ones(2, requires_grad=True)
    value.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="hooks"):
        compat.save(value, io.BytesIO())


def test_through_a_path(ways, tmp_path):
    writer, reader = ways
    path = tmp_path / "weights.pt"
    writer.save({"a": writer.ones(2)}, path)
    assert reader.load(path)["a"].tolist() == [1.0, 1.0]
    assert reader.load(str(path), mmap=True)["a"].tolist() == [1.0, 1.0]


def test_archives_begin_anywhere_and_go_to_whatever_can_be_written(ways, tmp_path):
    writer, reader = ways

    class Onward:
        def __init__(self):
            self.content = b""

        def write(self, piece):
            self.content += bytes(piece)
            return len(piece)

        def flush(self):
            pass

    file = Onward()
    writer.save([writer.ones(2)], file)
    assert reader.load(io.BytesIO(file.content))[0].tolist() == [1.0, 1.0]
    path = tmp_path / "after"
    path.write_bytes(b"before")
    with path.open("ab") as behind:
        writer.save([writer.ones(3)], behind)
    with path.open("rb") as behind:
        behind.seek(6)
        assert compat.load(behind)[0].tolist() == [1.0] * 3


def test_older_files_follow_one_another():
    file = io.BytesIO()
    for value in (compat.ones(2), {"b": 3}):
        compat.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert compat.load(file).tolist() == [1.0, 1.0]
    assert compat.load(file) == {"b": 3}


def test_one_memory_of_two_data_types_is_refused_as_pytorch_does(torch):
    for library in (torch, compat):
        value = library.ones(2, dtype=library.complex64)
        shown = library.view_as_real(value)
        with pytest.raises(RuntimeError, match="same (data|memory)"):
            library.save([value, shown], io.BytesIO())
        file = io.BytesIO()
        library.save(shown, file)
        file.seek(0)
        assert compat.load(file).tolist() == [[1.0, 0.0]] * 2


def test_storages_begin_at_multiples_of_64(tmp_path):
    path = tmp_path / "weights.pt"
    compat.save([compat.arange(3.0), compat.arange(5)], path)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for name, value in (("data/0", compat.arange(3.0)), ("data/1", compat.arange(5))):
            inner = archive.read(f"archive/{name}")
            assert content.find(inner) % 64 == 0
            assert inner == value.numpy().tobytes()


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "weights.pt"
    compat.save([compat.ones(2)], path)
    with pytest.raises(Exception, match="lambda"):
        compat.save([lambda: None], path)
    assert compat.load(path)[0].tolist() == [1.0, 1.0]


def test_only_python_s_pickle_writes():
    with pytest.raises(NotImplementedError, match="pickle_module"):
        compat.save(1, io.BytesIO(), pickle_module=io)


class Marked(compat.Tensor):
    """A class of its own."""


def test_classes_of_tensors_that_are_allowed():
    value = compat.arange(3.0).as_subclass(Marked)
    value.note = 1
    file = io.BytesIO()
    compat.save(value, file)
    for options in ({"weights_only": False}, {}):
        file.seek(0)
        with compat.serialization.safe_globals([Marked]):
            found = compat.load(file, **options)
        assert type(found) is Marked
        assert found.note == 1
        assert found.tolist() == [0.0, 1.0, 2.0]
    file.seek(0)
    with pytest.raises(Exception, match="Marked"):
        compat.load(file)
