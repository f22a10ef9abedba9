"""torch.fx.passes.split_module: parts, what passes between them, and their order are PyTorch's."""

import importlib

import numpy as np
import pytest

import adjoint.compat.torch as compat


def splitting(library):
    return importlib.import_module(f"{library.__name__}.fx.passes.split_module").split_module


def traced(library):
    nn = library.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.inner = nn.Module()
            self.inner.scale = nn.Parameter(library.ones(4))
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            self.register_buffer("offset", library.ones(4))

        def forward(self, x: library.Tensor, y, z=None):
            a = self.lin(x) + self.inner.scale
            b = library.relu(a) * y
            a.sum()  # which nobody takes
            c = self.layers(b).clamp(0, 1)
            return a + c * self.offset, c

    return library.fx.symbolic_trace(Net())


def by_place(graph, number_of):
    places = {node.name: place for place, node in enumerate(graph.nodes)}
    return lambda node: number_of(places[node.name], node)


CALLS = {
    "two": (lambda place, node: int(place > 7), {}),
    "ends": (lambda place, node: "end" if place > 12 else "begin", {"partition_affix": "p"}),
    "tuples": (lambda place, node: int(place > 5), {"tuple_return": True}),
    "a dead part": (lambda place, node: 7 if node.name == "sum_1" else int(place > 9), {}),
    "in order": (
        lambda place, node: 7 if node.name == "sum_1" else int(place > 9),
        {"keep_original_order": True},
    ),
    "names": (
        lambda place, node: int(place > 9),
        {"keep_original_node_name": True, "keep_original_input_name": False},
    ),
}


def shown(library, number_of, options):
    module, renamed = traced(library), {}
    callback = by_place(module.graph, number_of)
    made = splitting(library)(module, None, callback, renamed, **options)
    parts = [child for child in made.children() if isinstance(child, library.fx.GraphModule)]
    texts = [(str(each.graph), each.code, sorted(each.state_dict())) for each in (made, *parts)]
    noted = [[(n.name, sorted(n.meta)) for n in each.graph.nodes] for each in (made, *parts)]
    return [name for name, _ in made.named_children()], texts, noted, renamed


@pytest.mark.parametrize("name", CALLS)
def test_the_parts_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    assert shown(compat, *CALLS[name]) == shown(torch, *CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_the_parts_compute_what_the_whole_does_and_share_its_parameters(name):
    number_of, options = CALLS[name]
    module = traced(compat)
    made = splitting(compat)(module, None, by_place(module.graph, number_of), **options)
    x = compat.tensor(np.random.default_rng(0).normal(size=(2, 4)).astype("f4"))
    for found, wanted in zip(made(x, x + 1), module(x, x + 1), strict=True):
        assert found.tolist() == wanted.tolist()
    assert {id(p) for p in made.parameters()} == {id(p) for p in module.parameters()}


def test_parts_that_take_from_one_another_are_refused():
    torch = pytest.importorskip("torch")
    for library in (compat, torch):
        module = traced(library)
        with pytest.raises(RuntimeError):
            splitting(library)(module, None, by_place(module.graph, lambda place, node: place % 2))
    with pytest.raises(RuntimeError, match="each of submod_.* takes what another one gives"):
        module = traced(compat)
        splitting(compat)(module, None, by_place(module.graph, lambda place, node: place % 2))


def test_a_function_that_only_passes_on_has_no_parts():
    module = compat.fx.symbolic_trace(lambda x: x)
    made = splitting(compat)(module, None, lambda node: 0)
    assert not list(made.children())
    assert made(3) == 3
