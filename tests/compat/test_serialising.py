"""torch.save and torch.load."""

import io
import pickle
from collections import OrderedDict

import pytest

import adjoint.compat.torch as compat


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


def test_files_of_pytorch_can_be_read(torch, tmp_path):
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


class Kept:
    """Something that a file may hold, if the program says so."""


def test_classes_that_a_program_trusts():
    serialization = compat.serialization
    file = io.BytesIO()
    compat.save({"kept": Kept()}, file)

    def loaded():
        file.seek(0)
        return compat.load(file)

    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        loaded()
    with serialization.safe_globals([Kept]):
        assert isinstance(loaded()["kept"], Kept)
        assert serialization.get_safe_globals() == [Kept]
    with pytest.raises(pickle.UnpicklingError):
        loaded()
    serialization.add_safe_globals([(Kept, f"{Kept.__module__}.Kept")])
    assert isinstance(loaded()["kept"], Kept)
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_a_whole_module_of_trusted_layers():
    file = io.BytesIO()
    module = compat.nn.Sequential(compat.nn.Linear(2, 1))
    compat.save(module, file)
    file.seek(0)
    with compat.serialization.safe_globals([compat.nn.Sequential, compat.nn.Linear]):
        found = compat.load(file)
    assert found(compat.ones(1, 2)).tolist() == module(compat.ones(1, 2)).tolist()
