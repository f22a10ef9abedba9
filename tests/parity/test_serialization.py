"""Files of save and those of PyTorch programs that write safetensors are the same kind."""

import io

import numpy as np
import pytest

import adjoint
import adjoint.optim
from adjoint.saving.serialization import load, save

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors")
st = pytest.importorskip("safetensors.torch")

KINDS = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
]
SHAPES = [(), (1,), (3, 2), (0,), (2, 0)]


def values(kind, shape):
    count = int(np.prod(shape))
    return (np.arange(count) % 2 if kind == "bool" else np.arange(count) * 3).reshape(shape)


def of(lib):
    """A tensor of each kind and shape."""
    return {
        f"layer.{kind}.{len(shape)}.{sum(shape)}": lib.tensor(values(kind, shape)).to(
            getattr(lib, kind)
        )
        for kind in KINDS
        for shape in SHAPES
    }


def check(ours, theirs):
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        assert ours[name].dtype.name == str(value.dtype).removeprefix("torch."), name
        assert ours[name].shape == tuple(value.shape), name
        assert ours[name].tolist() == value.tolist(), name


def test_pytorch_reads_our_files(tmp_path):
    path = tmp_path / "x.safetensors"
    save(of(adjoint), path)
    check(of(adjoint), st.load_file(path))
    check(of(adjoint), st.load(path.read_bytes()))
    with safetensors.safe_open(path, framework="pt") as file:
        assert file.metadata()["format"] == "pt"
        assert file.get_slice("layer.float32.2.5")[1:].tolist() == [[6, 9], [12, 15]]


@pytest.mark.parametrize("mapped", [False, True])
def test_we_read_pytorchs_files(tmp_path, mapped):
    path = tmp_path / "x.safetensors"
    st.save_file(of(torch), path, metadata={"format": "pt", "note": "anything"})
    check(load(path, mmap=mapped), of(torch))
    check(load(io.BytesIO(st.save(of(torch)))), of(torch))


def test_files_with_nothing_in_them(tmp_path):
    assert load(io.BytesIO(st.save({}))) == {}
    save({}, tmp_path / "x")
    assert st.load_file(tmp_path / "x") == {}


def test_non_contiguous_tensors_of_ours(tmp_path):
    path = tmp_path / "x"
    base = adjoint.arange(6.0).reshape(2, 3)
    save({"t": base.T.clone().T, "every": base[:, ::2].clone()}, path)
    found = st.load_file(path)
    assert found["t"].tolist() == base.tolist()
    assert found["every"].tolist() == base[:, ::2].tolist()


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.second = torch.nn.Linear(3, 3)
        self.second.weight = self.first.weight


def test_tied_weights_that_pytorch_left_out_are_tied_again(tmp_path):
    path = tmp_path / "x"
    net = Tied()
    st.save_model(net, str(path))
    found = load(path)
    assert set(found) == set(net.state_dict())
    assert found["second.weight"].tolist() == net.second.weight.tolist()
    found["first.weight"].zero_()
    assert found["second.weight"].sum().item() == 0


def test_pytorch_loads_our_tied_weights(tmp_path):
    path = tmp_path / "x"
    weight = adjoint.rand(3, 3)
    biases = {"first.bias": adjoint.zeros(3), "second.bias": adjoint.ones(3)}
    save({"first.weight": weight, "second.weight": weight.detach(), **biases}, path)
    net = Tied()
    st.load_model(net, str(path))
    assert net.second.weight.tolist() == weight.tolist()
    assert net.second.weight is net.first.weight


def test_a_checkpoint_is_readable_by_its_paths(tmp_path):
    path = tmp_path / "x"
    weight = adjoint.nn.Parameter(adjoint.ones(2))
    optimizer = adjoint.optim.Adam([weight])
    weight.grad = adjoint.ones(2)
    optimizer.step()
    save({"model": {"weight": weight}, "optimizer": optimizer.state_dict()}, path)
    found = st.load_file(path)
    assert set(found) == {
        "model.weight",
        "optimizer.state.0.step",
        "optimizer.state.0.exp_avg",
        "optimizer.state.0.exp_avg_sq",
    }
    assert found["model.weight"].tolist() == weight.tolist()


def test_both_libraries_keep_the_same_of_a_checkpoint():
    def scenario(lib, write, read):
        weight = lib.nn.Parameter(lib.ones(2))
        weight.grad = lib.ones(2)
        optimizer = lib.optim.AdamW([weight], lr=0.1)
        optimizer.step()
        file = io.BytesIO()
        write(
            {"w": weight, "same": weight, "data": weight.detach(), **optimizer.state_dict()}, file
        )
        file.seek(0)
        found = read(file)
        found["data"].fill_(3.0)
        return [
            type(found["w"]).__name__,
            found["w"].requires_grad,
            found["w"] is found["same"],
            found["w"].tolist(),
            list(found),
            [list(state) for state in found["state"].values()],
            list(found["state"]),
            found["param_groups"],
        ]

    ours = scenario(adjoint, save, load)
    theirs = scenario(torch, torch.save, torch.load)
    assert ours == theirs
