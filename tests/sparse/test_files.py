"""Sparse tensors in pickles and files, PyTorch's among them."""

import copy
import io
import pickle
from typing import Any

import pytest

import adjoint
import adjoint.compat.torch as compat
from tests.sparse.comparing import MAKERS, described

pytestmark = pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")

LAYOUTS = {**MAKERS, "by_columns": lambda t: MAKERS["coalesced"](t).to_sparse_csc()}
every_layout = pytest.mark.parametrize("maker", LAYOUTS.values(), ids=LAYOUTS)


@every_layout
@pytest.mark.parametrize("way", ["pickle", "deepcopy", "copy", "save"])
def test_copies(way: str, maker: Any) -> None:
    """All that a tensor is: layout, values, flags, attributes."""
    tensor = maker(adjoint).requires_grad_()
    tensor.label = "kept"
    file = io.BytesIO()
    if way == "save":
        del tensor.label
        adjoint.save({"matrix": [tensor]}, file)
        file.seek(0)
        made = adjoint.load(file)["matrix"][0]
    else:
        ways = {
            "pickle": lambda value: pickle.loads(pickle.dumps(value)),
            "deepcopy": copy.deepcopy,
            "copy": copy.copy,
        }
        made = ways[way](tensor)
        assert made.label == "kept"
    assert described(made) == described(tensor)
    assert made.requires_grad
    assert made.is_leaf


@every_layout
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("direction", ["theirs to ours", "ours to theirs", "ours to ours"])
def test_torch_files(torch: Any, maker: Any, weights_only: bool, direction: str) -> None:
    """Files of either library are read by the other."""
    source, _, target = direction.partition(" to ")
    libraries = {"ours": compat, "theirs": torch}
    file = io.BytesIO()
    libraries[source].save({"matrix": maker(libraries[source])}, file)
    file.seek(0)
    made = libraries[target].load(file, weights_only=weights_only)["matrix"]
    assert described(made) == described(maker(compat))


@every_layout
def test_files_are_read_without_values(torch: Any, maker: Any) -> None:
    """On the device meta there are no indices to check."""
    for library in (compat, torch):
        file = io.BytesIO()
        library.save(maker(library), file)
        file.seek(0)
        made = library.load(file, map_location="meta")
        assert made.device.type == "meta"
        assert tuple(made.shape) == tuple(maker(library).shape)


def test_indices_from_a_file_are_checked() -> None:
    """A file can't bring indices that lie outside."""
    bad = adjoint.sparse_coo_tensor([[7]], [1.0], (2,))
    with pytest.raises(RuntimeError, match="index 7"):
        pickle.loads(pickle.dumps(bad))


def test_state_of_an_optimizer() -> None:
    """A sparse momentum is saved and loaded."""
    weight = adjoint.ones(3, 2, requires_grad=True)
    optimizer = adjoint.optim.SGD([weight], lr=0.1, momentum=0.9)
    adjoint.nn.functional.embedding(adjoint.tensor([1]), weight, sparse=True).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    adjoint.save(optimizer.state_dict(), file)
    file.seek(0)
    state = adjoint.load(file)["state"][0]["momentum_buffer"]
    assert described(state) == described(optimizer.state[weight]["momentum_buffer"])
