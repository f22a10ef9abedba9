"""Files made to do harm: torch.load refuses them, and nothing changes."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_files.reading import MAGIC_NUMBER
from adjoint.tensors.pickling import rebuilt

REFUSED = (pickle.UnpicklingError, RuntimeError)


def name(module, attribute):
    """The instruction that pushes what a name stands for."""
    return pickle.GLOBAL + f"{module}\n{attribute}\n".encode()


def value(plain):
    """The instructions that push a plain value."""
    return pickle.dumps(plain, 2)[2:-1]


def group(*parts):
    """The instructions that push a tuple."""
    return pickle.MARK + b"".join(parts) + pickle.TUPLE


def call(function, *arguments):
    """The instructions that call."""
    return function + group(*arguments) + pickle.REDUCE


def storage(older, count, kind="FloatStorage", key="0", extra=None):
    """The instructions that push a storage."""
    parts = [value("storage"), name("torch", kind), value(key), value("cpu"), value(count)]
    return group(*parts, *([value(extra)] if older else [])) + pickle.BINPERSID


def tensor(memory, offset, size, stride):
    """The instructions that make a tensor."""
    hooks = call(name("collections", "OrderedDict"))
    parts = (memory, value(offset), value(size), value(stride), value(False), hooks)
    return call(name("torch._utils", "_rebuild_tensor_v2"), *parts)


def archive(program, entries=(("0", bytes(16)),), packing=zipfile.ZIP_STORED):
    """An archive with a program and storages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as made:
        made.writestr("archive/data.pkl", b"\x80\x02" + program + b".")
        for key, content in entries:
            made.writestr(f"archive/data/{key}", content)
    return file


def older(program, entries=(("0", 4, bytes(16)),)):
    """A file from before there were archives."""
    heads = b"".join(pickle.dumps(one, 2) for one in (MAGIC_NUMBER, 1001, {}))
    keys = pickle.dumps([key for key, _, _ in entries], 2)
    content = b"".join(struct.pack("<q", count) + inner for _, count, inner in entries)
    return io.BytesIO(heads + b"\x80\x02" + program + b"." + keys + content)


def rewound(file):
    """A file at its beginning."""
    file.seek(0)
    return file


def refused(file, match=None):
    """Whether a file is not loaded."""
    with pytest.raises(REFUSED, match=match):
        compat.load(rewound(file))


def both(program):
    """A program that needs no storage, in both formats."""
    return [archive(program, ()), older(program, ())]


def test_a_file_made_here_is_one_that_loads():
    for file in (
        archive(tensor(storage(False, 4), 1, (3,), (1,))),
        older(tensor(storage(True, 4), 1, (3,), (1,))),
        older(tensor(storage(True, 4, extra=("1", 1, 3)), 0, (3,), (1,))),
    ):
        file.seek(0)
        assert compat.load(file).tolist() == [0.0] * 3


def test_strings_and_dicts_of_python_2():
    pairs = pickle.EMPTY_LIST + group(b"U\x01a", b"T\x01\x00\x00\x00b") + pickle.APPEND
    for file in both(call(name("collections", "OrderedDict"), pairs)):
        assert compat.load(rewound(file)) == {"a": "b"}


LAYOUTS = {
    "beyond": (0, (5,), (1,)),
    "beyond by its offset": (2, (3,), (1,)),
    "far stride": (0, (2,), (2**40,)),
    "far offset": (2**62, (1,), (1,)),
    "before": (-1, (2,), (1,)),
    "backward": (3, (4,), (-1,)),
    "negative size": (0, (-1,), (1,)),
    "overflow": (0, (2**33, 2**33), (0, 0)),
    "overflow of the reach": (0, (2**32, 2), (2**31, 2**62)),
    "beyond int64": (0, (1,), (2**64,)),
    "unequal": (0, (2, 2), (1,)),
    "no numbers": (0, (2.0,), (1,)),
    "text": ("0", "4", "1"),
    "too many dimensions": (0, (1,) * 65, (1,) * 65),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_tensors_stay_inside_of_their_storages(layout):
    refused(archive(tensor(storage(False, 4), *layout)))
    refused(older(tensor(storage(True, 4), *layout)))
    with pytest.raises(pickle.UnpicklingError):  # even in a file that is trusted
        compat.load(rewound(archive(tensor(storage(False, 4), *layout))), weights_only=False)


@pytest.mark.parametrize(
    "kind", [np.array([1.0]), np.array([None]), np.dtype("f8"), np.dtype(object), np.float64(1)]
)
def test_arrays_of_numpy_are_no_part_of_a_file(kind):
    for file in both(value(kind)):
        refused(file, r"numpy\.")


def test_arrays_whose_type_lies_about_their_bytes():
    array = name("numpy._core.multiarray", "_reconstruct") + value((0,))
    for file in both(array + pickle.BUILD):
        refused(file, "numpy")
    for file in both(value((rebuilt, bytearray(8)))):
        refused(file, "adjoint")


@pytest.mark.parametrize("length", [10**12, -1, [1, 2], "text"])
def test_a_bytearray_has_the_bytes_of_the_file(length):
    for file in both(call(name("builtins", "bytearray"), value(length))):
        refused(file)


CHANGED = {
    "torch.Size": ("torch", "Size"),
    "a function": ("torch._utils", "_rebuild_tensor_v2"),
    "a dtype": ("torch", "float32"),
    "a kind of storage": ("torch", "FloatStorage"),
    "a class of containers": ("collections", "OrderedDict"),
    "torch.Tensor": ("torch", "Tensor"),
}


@pytest.mark.parametrize("target", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("attribute", ["numel", "__defaults__", "name", "itemsize", "__code__"])
def test_classes_and_functions_stay_as_they_are(target, attribute):
    for state in ({attribute: None}, (None, {attribute: None})):
        for file in both(name(*target) + value(state) + pickle.BUILD):
            refused(file)
        for file in both(pickle.MARK + name(*target) + value(state) + pickle.BUILD + b"1N"):
            refused(file)  # nor does it help to throw the result away
    assert compat.Size([2, 3]).numel() == 6
    assert compat.float32.name == "float32"
    assert compat.float32.itemsize == 4


@pytest.mark.parametrize("attribute", ["array", "__class__", "data", "tolist", "backward", "grad"])
def test_tensors_keep_what_they_have_by_their_class(attribute):
    memory = storage(False, 4)
    shown = tensor(memory, 0, (4,), (1,))
    state = value({attribute: 1})
    arguments = shown.removeprefix(name("torch._utils", "_rebuild_tensor_v2"))
    parts = (name("torch._utils", "_rebuild_tensor_v2"), name("torch", "Tensor"))
    tagged = call(name("torch._tensor", "_rebuild_from_type_v2"), *parts, arguments[:-1], state)
    refused(archive(tagged), attribute)
    held = call(
        name("torch._utils", "_rebuild_parameter_with_state"),
        shown,
        value(True),
        value(None),
        state,
    )
    refused(archive(held), attribute)


@pytest.mark.parametrize("attribute", ["items", "__class__", "update"])
def test_containers_keep_what_they_have_by_their_class(attribute):
    program = call(name("collections", "OrderedDict")) + value({attribute: 1}) + pickle.BUILD
    for file in both(program):
        refused(file, attribute)


def test_storages_are_as_long_as_they_say():
    for count in (3, 5, 2**40, 2**62, -1, 1.0):
        refused(archive(tensor(storage(False, count), 0, (1,), (1,))))
        refused(older(tensor(storage(True, count), 0, (1,), (1,))))
        refused(older(tensor(storage(True, 4), 0, (1,), (1,)), (("0", 2**40, bytes(16)),)))
    refused(older(tensor(storage(True, 2**40), 0, (1,), (1,)), (("0", 2**40, bytes(16)),)))
    refused(older(tensor(storage(True, 4), 0, (1,), (1,)), (("0", 4, bytes(15)),)))
    refused(older(tensor(storage(True, 4), 0, (1,), (1,)), ()))
    refused(older(tensor(storage(True, 4, extra=("1", 2, 3)), 0, (1,), (1,))))
    refused(archive(tensor(storage(False, 4), 0, (1,), (1,)), ()))


def test_a_storage_has_one_data_type():
    shown = [
        tensor(storage(False, n, kind), 0, (1,), (1,))
        for kind, n in (("FloatStorage", 4), ("DoubleStorage", 2))
    ]
    refused(archive(group(*shown)), "two ways")


def test_archives_that_expand_are_refused():
    large = bytes(1 << 24)
    shown = tensor(storage(False, 1 << 22), 0, (1,), (1,))
    refused(archive(shown, [("0", large)], zipfile.ZIP_DEFLATED), "more than the file")
    refused(archive(shown, [("0", large)], zipfile.ZIP_LZMA), "not read")
    numbers = bytes(range(256)) * 4
    fair = tensor(storage(False, 256), 0, (1,), (1,))
    mixed = archive(fair, [("0", numbers)], zipfile.ZIP_DEFLATED)
    mixed.seek(0)
    assert compat.load(mixed).shape == (1,)


def test_entries_of_an_archive_that_overlap_count_as_often_as_they_are_read():
    content = np.random.default_rng(0).bytes(1 << 20)
    file = io.BytesIO()
    shown = [tensor(storage(False, 1 << 18, key=str(n)), 0, (1,), (1,)) for n in range(50)]
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", b"\x80\x02" + group(*shown) + b".")
        made.writestr("archive/data/0", content)
        first = made.getinfo("archive/data/0")
        for number in range(1, 50):
            again = zipfile.ZipInfo(f"archive/data/{number}")
            for field in ("header_offset", "CRC", "file_size", "compress_size"):
                setattr(again, field, getattr(first, field))
            made.filelist.append(again)
            made.NameToInfo[again.filename] = again
    refused(file)


def test_tensors_that_are_copied_are_no_larger_than_their_storage_allows():
    hooks = call(name("collections", "OrderedDict"))
    layout = (value(0), value((2**40,)), value((0,)), value(False), hooks)
    memory = storage(False, 2, "ComplexFloatStorage")
    shown = call(name("torch._utils", "_rebuild_tensor_v2"), memory, *layout)
    assert compat.load(rewound(archive(shown))).shape == (2**40,)  # no memory is taken
    marked = (*layout, value({"conj": True}))
    refused(archive(call(name("torch._utils", "_rebuild_tensor_v2"), memory, *marked)), "far more")
    pytest.importorskip("jax")
    with pytest.raises(pickle.UnpicklingError, match="far more"):
        compat.load(rewound(archive(shown)), map_location="xla")


def test_bools_are_zero_or_one():
    content = bytes(range(256))
    shown = tensor(storage(False, 256, "BoolStorage"), 0, (256,), (1,))
    found = compat.load(rewound(archive(shown, [("0", content)])))
    assert found.numpy().view("uint8").tolist() == [0] + [1] * 255


LATIN = b"X\x06\x00\x00\x00latin1"
BOMBS = {
    "a tuple of itself twice": (b")q\x00" + b"h\x00\x86q\x00" * 60, "again and again"),
    "a list of itself twice": (b"]q\x00" + b"](h\x00h\x00eq\x00" * 60, "again and again"),
    "tuples in tuples": (b")" + b"\x85" * 100_000, "more than 100 deep"),
    "tuples in tuples as a key": (b"})" + b"\x85" * 90 + b"Ns", "keys are nested"),
    "copies of copies": (
        value("x" * 100_000)
        + b"0("
        + call(name("_codecs", "encode"), b"h\x00", LATIN) * 1_000
        + b"t",
        "far more",
    ),
    "a memo of two billion places": (b"Nr\xff\xff\xff\x7fh\x00", "KeyError"),
    "a string longer than the file": (b"X\xff\xff\xff\xff", "are left"),
    "bytes longer than memory": (b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", "are left"),
}


@pytest.mark.parametrize(("program", "match"), BOMBS.values(), ids=BOMBS)
def test_small_files_of_large_objects(program, match):
    for file in both(program):
        refused(file, match)


BILLIONS = b"]q\x00" + b"](h\x00h\x00eq\x00" * 60  # a list of itself twice, again and again
ODD = {
    "a call of billions": call(BILLIONS),
    "an instance of billions": BILLIONS + b")" + pickle.NEWOBJ,
    "a storage of billions": BILLIONS + pickle.BINPERSID,
    "a size of billions": tensor(storage(False, 4), 0, (1,), (1,)).replace(
        value((1,)), b"(" + BILLIONS + b"t", 1
    ),
    "an encoding of billions": call(name("_codecs", "encode"), value("x"), BILLIONS),
    "a tensor as a storage": group(tensor(storage(False, 4), 0, (2,), (1,)), b"NNNN")
    + pickle.BINPERSID,
    "a function as the result": name("torch._utils", "_rebuild_tensor_v2"),
    "a class as the result": pickle.EMPTY_LIST + name("torch", "Tensor") + pickle.APPEND,
    "a tensor on nothing": tensor(value(None), 0, (1,), (1,)),
    "a tensor of numbers": call(name("torch", "Tensor"), value([1.0])),
    "an unknown name": call(name("os", "system"), value("true")),
    "a name inside of a name": call(name("collections", "OrderedDict.fromkeys"), value([1])),
    "a call of a value": call(value(3)),
    "an instance": name("torch", "Size") + value(()) + pickle.NEWOBJ,
    "a registered extension": b"\x82\x01",
    "no value": b"",
    "a value that is not there": b"h\x05",
    "a mark that is not there": b"t",
    "an old instruction": b"I3\n",
    "a later protocol": b"\x80\x09N",
    "a list as a key": b"}](K\x01eNs",
}


@pytest.mark.parametrize("program", ODD.values(), ids=ODD)
def test_what_makes_no_plain_value_is_refused(program):
    refused(archive(program))
    refused(older(program, ()))
    refused(older(program))


def test_other_files_are_refused_by_what_they_are():
    refused(io.BytesIO(pickle.dumps({"a": 1})), "pickle.load")
    refused(io.BytesIO(pickle.dumps(3)), "pickle.load")
    refused(io.BytesIO(b""), "neither")
    refused(io.BytesIO(b"PK\x03\x04 and more"), "damaged")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/text", b"text")
    refused(file, r"data\.pkl")
    with zipfile.ZipFile(file, "a") as made:
        made.writestr("archive/data.pkl", b"\x80\x02N.")
        made.writestr("archive/constants.pkl", b"\x80\x02).")
    refused(file, "TorchScript")
