"""torch.save and torch.load."""

import io
import os
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict

import pytest

import adjoint.compat.torch as compat
from tests.interpreter import fresh_python


def state():
    weight = compat.tensor([[1.0, 2.0]], requires_grad=True)
    return OrderedDict(weight=weight, steps=3, parts=[compat.arange(2), (compat.float16, "text")])


def check(loaded):
    assert list(loaded) == ["weight", "steps", "parts"]
    assert loaded["weight"].tolist() == [[1.0, 2.0]]
    assert loaded["weight"].requires_grad
    assert loaded["steps"] == 3
    assert loaded["parts"][0].tolist() == [0, 1]
    assert loaded["parts"][1] == (compat.float16, "text")


def test_through_a_path(tmp_path):
    compat.save(state(), tmp_path / "state.pt")
    check(compat.load(tmp_path / "state.pt"))
    check(compat.load(str(tmp_path / "state.pt"), map_location="cpu", weights_only=False))


def test_through_a_file_with_something_before_it():
    file = io.BytesIO()
    file.write(b"before")
    compat.save(state(), file)
    file.seek(6)
    check(compat.load(file, map_location=lambda tensor, place: tensor))
    file.seek(6)
    check(compat.load(file, map_location={"cuda:0": "cpu"}))


class Harmful:
    """Would call a function while it is loaded."""

    def __reduce__(self):
        return print, ("called",)


def test_only_weights_are_loaded_unless_asked(capsys):
    file = io.BytesIO()
    compat.save({"x": Harmful()}, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print.*weights_only=False"):
        compat.load(file)
    assert capsys.readouterr().out == ""
    file.seek(0)
    assert compat.load(file, weights_only=False) == {"x": None}
    assert capsys.readouterr().out == "called\n"


def test_files_of_pytorch_has_values(torch, tmp_path):
    whole = torch.arange(12.0).reshape(3, 4)
    theirs = OrderedDict(
        view=whole[1:, ::2],
        row=whole[0],
        leaf=torch.ones(2, dtype=torch.float64, requires_grad=True),
        many={
            str(dtype): torch.ones(2, dtype=dtype)
            for dtype in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.complex64)
        },
        rest=[3, "text", None, torch.Size([2, 3]), torch.float32],
    )
    torch.save(theirs, tmp_path / "theirs.pt")
    ours = compat.load(tmp_path / "theirs.pt")
    assert ours["view"].tolist() == theirs["view"].tolist()
    assert ours["view"].stride() == theirs["view"].stride()
    ours["row"][0] = 100.0
    assert ours["leaf"].requires_grad
    assert ours["leaf"].dtype is compat.float64
    for name, value in theirs["many"].items():
        assert ours["many"][name].tolist() == value.tolist()
        assert ours["many"][name].dtype.name == name.removeprefix("torch.")
    assert ours["rest"] == [3, "text", None, (2, 3), compat.float32]


def test_tensors_of_pytorch_s_files_still_share_memory(torch, tmp_path):
    whole = torch.zeros(2, 2)
    torch.save([whole, whole[1]], tmp_path / "theirs.pt")
    ours, row = compat.load(tmp_path / "theirs.pt")
    row.fill_(7.0)
    assert ours.tolist() == [[0.0, 0.0], [7.0, 7.0]]


def test_parameters_of_pytorch_s_files(torch, tmp_path):
    torch.save(torch.nn.Parameter(torch.ones(2)), tmp_path / "theirs.pt")
    ours = compat.load(tmp_path / "theirs.pt")
    assert isinstance(ours, compat.nn.Parameter)
    assert ours.requires_grad
    assert ours.tolist() == [1.0, 1.0]


def test_only_weights_of_pytorch_s_files_are_loaded_unless_asked(torch, tmp_path, capsys):
    torch.save({"x": Harmful()}, tmp_path / "theirs.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print"):
        compat.load(tmp_path / "theirs.pt")
    assert capsys.readouterr().out == ""
    assert compat.load(tmp_path / "theirs.pt", weights_only=False) == {"x": None}


def test_bfloat16_is_harmless():
    file = io.BytesIO()
    compat.save(compat.tensor([1.5, -2.0], dtype=compat.bfloat16), file)
    file.seek(0)
    loaded = compat.load(file)
    assert loaded.dtype is compat.bfloat16
    assert loaded.tolist() == [1.5, -2.0]


class Outer:
    """Something a file may hold."""

    class Inner:
        def __init__(self):
            self.value = 3

        @classmethod
        def rebuilt(cls):
            return cls()

        def __eq__(self, other):
            return isinstance(other, Outer.Inner) and self.value == other.value

        __hash__ = None

    class Rebuilt(Inner):
        def __reduce__(self):
            return getattr(Outer.Inner, "rebuilt"), ()  # noqa: B009  as pickles have it


def saved(value):
    file = io.BytesIO()
    # Protocol 2 writes a class inside of another as a call of getattr.
    compat.save({"value": value, "weight": compat.ones(2)}, file, pickle_protocol=4)
    file.seek(0)
    return file


def test_a_program_says_what_files_may_use():
    files = compat.serialization
    with pytest.raises(pickle.UnpicklingError, match="Outer.Inner"):
        compat.load(saved(Outer.Inner()))
    with files.safe_globals([Outer.Inner]):
        assert files.get_safe_globals() == [Outer.Inner]
        assert compat.load(saved(Outer.Inner()))["value"] == Outer.Inner()
    assert files.get_safe_globals() == []
    files.add_safe_globals([(Outer.Inner, f"{__name__}.Outer.Inner")])
    try:
        assert compat.load(saved(Outer.Inner()))["value"] == Outer.Inner()
    finally:
        files.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        compat.load(saved(Outer.Inner()))


def test_attributes_are_allowed_one_by_one():
    safe_globals = compat.serialization.safe_globals
    with (
        safe_globals([getattr, Outer.Inner]),
        pytest.raises(pickle.UnpicklingError, match="rebuilt"),
    ):
        compat.load(saved(Outer.Rebuilt()))
    with safe_globals([getattr, Outer.Inner, Outer.Inner.rebuilt]):
        assert compat.load(saved(Outer.Rebuilt()))["value"] == Outer.Inner()


def test_nothing_of_the_operating_system_is_ever_allowed():
    class Command:
        def __reduce__(self):
            return os.getcwd, ()

    with (
        compat.serialization.safe_globals([(os.getcwd, "posix.getcwd")]),
        pytest.raises(pickle.UnpicklingError),
    ):
        compat.load(saved(Command()))


@pytest.mark.parametrize("entry", [(dict, "dict", 3), (dict, 3)])
def test_names_of_what_is_allowed_are_checked(entry):
    with compat.serialization.safe_globals([entry]), pytest.raises((TypeError, ValueError)):
        compat.load(saved(Outer.Inner()))


def test_the_environment_may_say_how_to_load(monkeypatch):
    file = saved(Outer.Inner())
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(pickle.UnpicklingError):
        compat.load(file, weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    file.seek(0)
    with pytest.raises(RuntimeError, match="both"):
        compat.load(file)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        compat.load(file, weights_only=True)
    file.seek(0)
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert compat.load(file)["value"] == Outer.Inner()


def test_a_pickle_module_of_one_s_own_is_not_careful():
    assert compat.load(saved(Outer.Inner()), pickle_module=pickle)["value"] == Outer.Inner()
    with pytest.raises(RuntimeError, match="pickle_module"):
        compat.load(saved(1), pickle_module=pickle, weights_only=True)


def test_what_is_no_file_is_refused():
    with pytest.raises(AttributeError, match="write"):
        compat.save(1, object())
    with pytest.raises(AttributeError, match="read"):
        compat.load(object())


def other_order(content):
    """A file of PyTorch's as a machine of the other order of bytes would have written it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            inner = old.read(name)
            if "/data/" in name:
                inner = b"".join(inner[i : i + 4][::-1] for i in range(0, len(inner), 4))
            if not name.endswith("byteorder"):
                new.writestr(name, inner)
    file.seek(0)
    return file


def test_files_of_the_other_order_of_bytes():
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.save(torch.tensor([1.0, 2.0]), file, _use_new_zipfile_serialization=True)
    files = compat.serialization
    swapped = {"little": files.LoadEndianness.BIG, "big": files.LoadEndianness.LITTLE}
    try:
        files.set_default_load_endianness(swapped[sys.byteorder])
        assert compat.load(other_order(file.getvalue())).tolist() == [1.0, 2.0]
        file.seek(0)
        assert compat.load(file).tolist() == [1.0, 2.0]  # this one says what it is
        files.set_default_load_endianness(files.LoadEndianness.NATIVE)
        assert compat.load(other_order(file.getvalue())).tolist() != [1.0, 2.0]
    finally:
        files.set_default_load_endianness(None)
    assert files.get_default_load_endianness() is None
    with pytest.raises(TypeError):
        files.set_default_load_endianness("big")


def test_a_whole_module_of_trusted_layers():
    file = io.BytesIO()
    module = compat.nn.Sequential(compat.nn.Linear(2, 1))
    compat.save(module, file)
    file.seek(0)
    with compat.serialization.safe_globals([compat.nn.Sequential, compat.nn.Linear]):
        found = compat.load(file)
    assert found(compat.ones(1, 2)).tolist() == module(compat.ones(1, 2)).tolist()
    handle = found.register_forward_hook(lambda module, inputs, output: output + 1)
    assert found(compat.ones(1, 2)).tolist() == (module(compat.ones(1, 2)) + 1).tolist()
    handle.remove()
    assert found(compat.ones(1, 2)).tolist() == module(compat.ones(1, 2)).tolist()


def test_pythons_own_pickles_of_pytorch(torch, tmp_path):
    """What pickle wrote with PyTorch's tensors is read as ours."""
    weights = torch.arange(6.0).reshape(2, 3)
    layer = torch.nn.Linear(2, 1)
    held = [weights.T, weights[1], torch.nn.Parameter(torch.ones(2)), torch.tensor([True]), layer]
    (tmp_path / "held.pkl").write_bytes(pickle.dumps(held))
    (tmp_path / "program.py").write_text(
        "import pickle, torch\n"
        "held = pickle.load(open('held.pkl', 'rb'))\n"
        "held[4] = held[4].weight.detach()\n"
        "print([each.tolist() for each in held], [each.stride() for each in held])\n"
        "print(torch.version.git_version, type(held[2]).__name__, held[2].requires_grad)\n"
    )
    printed = fresh_python("-m", "adjoint", "run", "program.py", cwd=tmp_path).splitlines()
    held[4] = layer.weight.detach()
    assert printed == [
        f"{[each.tolist() for each in held]} {[each.stride() for each in held]}",
        "adjoint Parameter True",
    ]


class Answering(compat.Tensor):
    """A class with a `__torch_function__` of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_class_that_answers_functions_is_loaded_when_it_is_allowed():
    tensor = compat.arange(3.0).as_subclass(Answering)
    tensor.diag = compat.ones(2)  # in place of a method, as programs do it
    file = io.BytesIO()
    compat.save({"data": tensor, "weight": compat.nn.Parameter(tensor)}, file)
    file.seek(0)
    with compat.serialization.safe_globals([Answering]):
        loaded = compat.load(file)
    assert type(loaded["data"]) is type(loaded["weight"]) is Answering
    assert loaded["data"].diag.tolist() == [1.0, 1.0]
    assert isinstance(loaded["weight"], compat.nn.Parameter)
    assert repr(loaded["weight"]).startswith("Parameter(Answering([0., 1., 2.]")


def test_a_property_is_not_replaced_by_a_file():
    tensor = compat.arange(3.0).as_subclass(Answering)
    vars(tensor)["requires_grad"] = True
    file = io.BytesIO()
    compat.save(tensor, file)
    file.seek(0)
    with (
        compat.serialization.safe_globals([Answering]),
        pytest.raises(pickle.UnpicklingError, match="replaces requires_grad"),
    ):
        compat.load(file)


def of_python_2(name):
    """A file as PyTorch wrote them in Python 2: a dictionary of one tensor."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    rebuilt = b"ctorch._utils\n_rebuild_tensor\n(("
    stored = text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"94") + text(b"cpu") + b"K\x02NtQ"
    file = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(value, file, 2)
    file.write(b"\x80\x02}(" + text(name) + rebuilt + stored + b"K\x00K\x02\x85K\x01\x85tRu.")
    pickle.dump(["94"], file, 2)
    file.write(struct.pack("<q2f", 2, 1.5, 2.5))
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_strings_of_python_2_have_the_encoding_that_is_said(weights_only):
    for encoding, name in (("latin1", "naïve"), ("bytes", b"na\xefve")):
        found = compat.load(of_python_2(b"na\xefve"), weights_only=weights_only, encoding=encoding)
        assert list(found) == [name]
        assert found[name].tolist() == [1.5, 2.5]
    with pytest.raises((pickle.UnpicklingError, UnicodeDecodeError), match="utf-8"):
        compat.load(of_python_2(b"na\xefve"), weights_only=weights_only)
    assert "plain" in compat.load(of_python_2(b"plain"), weights_only=weights_only)
