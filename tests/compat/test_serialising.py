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


def test_files_of_pytorch_are_refused_by_name(torch, tmp_path):
    torch.save({"x": 1}, tmp_path / "theirs.pt")
    with pytest.raises(RuntimeError, match="safetensors"):
        compat.load(tmp_path / "theirs.pt")
