"""torch.fx: the graphs of programs are PyTorch's, and they run, copy and change alike."""

import copy
import functools
import operator
import pickle
import traceback

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_tree.fx.graph_module import GraphModule
from adjoint.compat.torch_tree.fx.proxy import TraceError

fx = compat.fx


# ---- programs, each made of the library that it is given ----


def perceptron(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), ((2, 4),)


def convolutions(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
            self.bn = nn.BatchNorm2d(4)
            self.drop = nn.Dropout(0.5)
            self.fc = nn.Linear(64, 2)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.bn(self.conv1(x)), inplace=True), 2)
            x = self.drop(torch.flatten(x, 1))
            return F.log_softmax(self.fc(x), dim=-1)

    return Net().eval(), ((2, 1, 8, 8),)


def residual(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
            self.scale = nn.Parameter(torch.ones(3))
            self.register_buffer("offsetB", torch.ones(3))
            self.constant = torch.full((3,), 2.0)

        def forward(self, x, shift: float = 0.5):
            kept = x
            for layer in self.layers:
                x = layer(x).tanh()
            return self.offsetB + x * self.scale - kept + self.constant + shift

    return Block(), ((2, 3),)


def attention(torch):
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(4, 12)

        def forward(self, x):
            batch, length, _ = x.size(0), x.size(1), x.shape[2]
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            weights = torch.softmax(q @ k.transpose(-2, -1) / 2, -1)
            mixed = torch.einsum("bij,bjd->bid", weights, v).view(batch, length, -1)
            return torch.cat([mixed, F.gelu(x)], dim=-1), {"weights": weights[:, 0, ...]}

    return Attention(), ((2, 3, 4),)


def stars(torch):
    def function(x, *others, **named):
        return x + others[0] * 2, torch.stack([x, others[1]]), named

    return function, ((3,), (3,), (3,))


def operators(torch):
    def function(x, y):
        z = -x + 1 - y * 2 / (x**2 + 3) % 5
        z += abs(y) // 2
        return [z > 0, (z == y) & (x <= y) | ~(x != y), 3 - z, x[1:], x[None, ..., 0], z.shape[0]]

    return function, ((3,), (3,))


def factories(torch):
    def function(x):
        made = torch.zeros(x.shape[0], 2, dtype=torch.float64)
        return made, torch.arange(x.size(0)), torch.ones_like(x) * torch.tensor(2.0)

    return function, ((3,),)


PROGRAMS = [perceptron, convolutions, residual, attention, stars, operators]


def target_of(node):
    """A target as text that both libraries have."""
    return node.target if isinstance(node.target, str) else node.target.__name__


def steps(graph):
    return [(node.op, node.name, target_of(node), str(node.args)) for node in graph.nodes]


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for each in value for leaf in leaves(each)]
    return [np.asarray(value.detach() if hasattr(value, "detach") else value)]


def inputs(torch, shapes):
    drawn = np.random.default_rng(0)
    return [torch.tensor(drawn.normal(size=shape).astype(np.float32)) for shape in shapes]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_steps_and_code_are_those_of_pytorch(program, torch):
    ours = fx.symbolic_trace(program(compat)[0])
    theirs = torch.fx.symbolic_trace(program(torch)[0])
    assert steps(ours.graph) == steps(theirs.graph)
    if program not in (convolutions, attention):  # which spell out defaults, and other modules
        assert ours.code.split() == theirs.code.split()
    assert str(ours.graph).split("\n")[:3] == str(theirs.graph).split("\n")[:3]


# Of `factories` PyTorch refuses the graph: it takes proxies as sizes only one at a time.
@pytest.mark.parametrize("program", [*PROGRAMS, factories], ids=lambda program: program.__name__)
def test_a_graph_gives_what_the_program_gives(program):
    module, shapes = program(compat)
    given = inputs(compat, shapes)
    traced = fx.symbolic_trace(module)
    traced.graph.lint()
    wanted = leaves(module(*given))
    runs = [
        traced(*given),
        copy.deepcopy(traced)(*given),
        fx.Transformer(traced).transform()(*given),
    ]
    if program is not stars:
        runs.append(fx.Interpreter(traced).run(*given))
    for found in runs:
        for one, other in zip(leaves(found), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_gradients_reach_the_parameters_of_a_graph():
    module, shapes = residual(compat)
    traced = fx.symbolic_trace(module)
    traced(*inputs(compat, shapes)).sum().backward()
    assert module.scale.grad is not None
    assert traced.scale is module.scale


def test_known_arguments_are_checked_when_the_graph_runs(torch):
    def function(x, flag, other=None):
        if flag and other is None:
            return x + 1
        return x - other

    known = {"flag": True, "other": None}
    ours = fx.symbolic_trace(function, concrete_args=known)
    theirs = torch.fx.symbolic_trace(function, concrete_args=known)
    assert steps(ours.graph) == steps(theirs.graph)
    assert ours(compat.ones(1), True, None).item() == 2
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        ours(compat.ones(1), False)


@pytest.mark.parametrize("name", ["relu", "celu", "hardsigmoid", "hardtanh", "silu", "dropout"])
def test_a_function_of_the_library_is_traced(torch, name):
    found = []
    for library in (torch, compat):
        traced = library.fx.symbolic_trace(getattr(library.nn.functional, name))
        called = [node.kwargs for node in traced.graph.nodes if node.op == "call_function"]
        inputs = [(n.name, n.args) for n in traced.graph.nodes if n.op == "placeholder"]
        found.append((inputs, [sorted(map(str, each)) for each in called]))
    assert found[0] == found[1]
    x = compat.tensor([-1.0, 0.5, 7.0])
    plain = getattr(compat.nn.functional, name)
    assert name == "dropout" or compat.equal(traced(x), plain(x))


def test_a_forward_of_arguments_with_a_star_is_traced_with_so_many(torch):
    found = []
    for library in (torch, compat):

        class Starred(library.nn.Module):
            def forward(self, *args, **kwargs):
                return args[0] + args[1]

        held = (library.fx.PH, library.fx.PH)
        traced = library.fx.symbolic_trace(Starred(), concrete_args=held)
        names = [node.name for node in traced.graph.nodes]
        found.append((names, traced(library.ones(1), library.ones(1)).tolist()))
    assert found[0] == found[1]


def test_nests_among_the_arguments_are_taken_apart():
    def function(x, options):
        return {"sum": x + options["a"], "twice": options["b"] * 2}

    traced = fx.symbolic_trace(function, concrete_args={"options": {"a": fx.PH, "b": fx.PH}})
    found = traced(compat.ones(1), {"a": compat.ones(1), "b": compat.ones(1)})
    assert {key: value.item() for key, value in found.items()} == {"sum": 2, "twice": 2}


REFUSED = {
    "branch": (lambda x: 1 if x > 0 else 2, TraceError),
    "loop": (lambda x: [each for each in x], TraceError),  # noqa: C416  # the loop is the point
    "len": (lambda x: len(x), RuntimeError),
    "range": (lambda x: range(x), TypeError),
    "key": (lambda x: {x: 1}, RuntimeError),
    "object": (lambda x: object(), NotImplementedError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_traced_is_refused_as_by_pytorch(name, torch):
    function, kind = REFUSED[name]
    with pytest.raises(kind):
        fx.symbolic_trace(function)
    with pytest.raises(Exception) as theirs:
        torch.fx.symbolic_trace(function)
    assert theirs.type.__name__ == kind.__name__


def test_nodes_are_put_in_taken_out_and_replaced():
    traced = fx.symbolic_trace(lambda x: compat.relu(x) + 1)
    graph = traced.graph
    (relu,) = graph.find_nodes(op="call_function", target=compat.relu)
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(relu)
    with graph.inserting_after(relu):
        negative = graph.call_function(operator.neg, (relu.args[0],))
    relu.replace_all_uses_with(negative)
    graph.erase_node(relu)
    graph.lint()
    traced.recompile()
    assert traced(compat.tensor([2.0])).item() == -1
    assert [node.name for node in graph.nodes] == ["x", "neg", "add", "output"]


def test_code_that_nobody_uses_is_taken_out():
    def function(x):
        compat.relu(x)
        compat._assert(x.sum() > 0, "positive")
        return x + 1

    traced = fx.symbolic_trace(function)
    assert traced.graph.eliminate_dead_code()
    names = [node.name for node in traced.graph.nodes]
    assert names == ["x", "sum_1", "gt", "_assert", "add", "output"]


def test_a_graph_that_is_out_of_order_is_refused():
    graph = fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_method("relu", (x,))
    second = graph.call_method("tanh", (first,))
    second.append(first)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()


def test_graph_modules_are_pickled():
    module, shapes = convolutions(compat)
    traced = fx.symbolic_trace(module)
    restored = pickle.loads(pickle.dumps(traced))
    assert isinstance(restored, GraphModule)
    assert restored.code == traced.code
    given = inputs(compat, shapes)
    np.testing.assert_array_equal(restored(*given).detach(), traced(*given).detach())


def test_a_traceback_shows_the_code_of_the_graph():
    traced = fx.symbolic_trace(lambda x: x.matmul(x))
    with pytest.raises(RuntimeError) as raised:
        traced(compat.ones(2, 3))
    assert "matmul = x.matmul(x)" in "".join(traceback.format_exception(raised.value))


def test_the_interpreter_names_the_step_that_failed():
    traced = fx.symbolic_trace(lambda x: x.matmul(x))
    with pytest.raises(RuntimeError) as raised:
        fx.Interpreter(traced).run(compat.ones(2, 3))
    assert "%matmul" in raised.value.__notes__[-1]


def test_modules_that_the_graph_does_not_use_are_taken_out():
    traced = fx.symbolic_trace(perceptron(compat)[0])
    traced.add_submodule("extra.inner", compat.nn.Linear(1, 1))
    assert "extra.inner" in dict(traced.named_modules())
    traced.delete_all_unused_submodules()
    assert sorted(dict(traced.named_modules())) == ["", "0", "1", "2"]


def test_modules_that_were_taken_out_are_not_missed(torch):
    for library in (compat, torch):
        made = library.fx.symbolic_trace(
            library.nn.Sequential(library.nn.ReLU(), library.nn.Tanh())
        )
        made.add_submodule("new.inner", library.nn.ReLU())
        assert made.delete_submodule("0") and made.delete_all_unused_submodules() is None
        assert [name for name, _ in made.named_modules()] == ["", "1"]


@pytest.mark.parametrize("name", ["gelu", "softplus", "softshrink"])
def test_functions_in_c_are_shown_as_pytorch_shows_them(torch, name):
    def traced(library):
        return library.fx.symbolic_trace(lambda x: getattr(library.nn.functional, name)(x))

    assert traced(compat).code == traced(torch).code
    x = compat.ones(2)
    assert traced(compat)(x).tolist() == getattr(compat.nn.functional, name)(x).tolist()


def test_a_pattern_is_replaced():
    def function(x, y):
        return compat.relu(x + y) * compat.relu(y + x)

    def pattern(a, b):
        return compat.relu(a + b)

    def replacement(a, b):
        return a - b

    traced = fx.symbolic_trace(function)
    assert len(fx.replace_pattern(traced, pattern, replacement)) == 2
    assert traced(compat.tensor(5.0), compat.tensor(2.0)).item() == -9


def test_a_pattern_whose_result_nobody_uses_is_replaced_in_its_place(torch):
    def written(library):
        def program(x, cache):
            library.ops.aten.copy_.default(cache, library.neg(x))
            return library.relu(cache)

        def pattern(cache, x):
            return library.ops.aten.copy_.default(cache, library.neg(x))

        def replacement(cache, x):
            return library.ops.aten.copy_.default(cache, x)

        traced = library.fx.symbolic_trace(program)
        library.fx.replace_pattern(traced, pattern, replacement)
        return traced.code

    assert written(compat) == written(torch)


def test_shapes_are_noted():
    traced = fx.symbolic_trace(perceptron(compat)[0])
    compat.fx.passes.shape_prop.ShapeProp(traced).propagate(compat.ones(2, 4))
    shapes = [node.meta["tensor_meta"].shape for node in traced.graph.nodes]
    assert [tuple(shape) for shape in shapes] == [(2, 4), (2, 8), (2, 8), (2, 3), (2, 3)]


def not_traced(x):
    return float(x) + 1


fx.wrap("not_traced")


def test_functions_may_be_left_whole():
    traced = fx.symbolic_trace(lambda x: not_traced(x) * 2)
    assert [node.name for node in traced.graph.nodes] == ["x", "not_traced", "mul", "output"]
    assert traced(compat.tensor(1.0)) == 4
    again = fx.symbolic_trace(traced)
    assert [node.name for node in again.graph.nodes] == ["x", "not_traced", "mul", "output"]
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("not_traced")


def test_a_tracer_chooses_what_stays_whole():
    class Whole(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    class Outer(compat.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = perceptron(compat)[0]

        def forward(self, x):
            return self.inner(x)

    assert [n.op for n in Whole().trace(Outer()).nodes] == ["placeholder", "call_module", "output"]


def test_modules_are_as_before_after_a_trace_that_failed():
    before = (compat.nn.Module.__call__, compat.nn.Module.__getattr__)
    with pytest.raises(TraceError):
        fx.symbolic_trace(lambda x: 1 if x else 2)
    assert (compat.nn.Module.__call__, compat.nn.Module.__getattr__) == before


def test_attributes_are_found_and_copied_by_path():
    from adjoint.compat.torch.fx.graph_module import _copy_attr

    found = compat.nn.Module()
    inner = compat.nn.Sequential(compat.nn.Linear(1, 1))
    _copy_attr(compat.nn.ModuleDict({"a": inner}), found, "a.0")
    assert found.a.get_submodule("0") is inner[0]


def test_operations_by_their_overloads_are_traced():
    traced = fx.symbolic_trace(lambda x: compat.ops.aten.add.Tensor(x, x))
    (node,) = traced.graph.find_nodes(op="call_function")
    assert isinstance(node.target, compat._ops.OpOverload)
    assert "torch.ops.aten.add.Tensor(x, x)" in traced.code
    assert pickle.loads(pickle.dumps(traced))(compat.ones(1)).item() == 2


def test_normalisations_go_into_the_convolutions_before_them():
    from adjoint.compat.torch_tree.fx.experimental.optimization import fuse

    nn = compat.nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
            self.last, self.norm = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)

        def forward(self, x):
            both = self.last(self.inner(x))
            return self.norm(both) + both

    values = np.random.default_rng(0).normal(size=(2, 1, 5, 5)).astype(np.float32)
    x = compat.from_numpy(values)
    network = Network()
    network(x)
    network.eval()
    fused = fuse(network)
    names = [node.target for node in fused.graph.nodes if node.op == "call_module"]
    assert names == ["inner.0", "inner.2", "last", "norm"]  # two use what comes before the last
    np.testing.assert_allclose(fused(x).detach(), network(x).detach(), rtol=1e-4, atol=1e-5)
    assert isinstance(network.inner[1], nn.BatchNorm2d)
    with pytest.raises(AssertionError):
        fuse(network.train())


class Inside(fx.Tracer):
    """Traces into every layer."""

    def is_leaf_module(self, m, module_qualified_name):
        return False


LAYERS = {
    "ReLU": (),
    "ELU": (),
    "LeakyReLU": (),
    "Hardtanh": (),
    "SiLU": (),
    "GELU": (),
    "Tanh": (),
    "Softmax": (1,),
    "GLU": (),
    "Dropout": (),
    "Linear": (2, 2),
    "Conv2d": (2, 2, 3),
    "MaxPool2d": (2,),
    "AdaptiveAvgPool2d": (2,),
    "ReflectionPad2d": (1,),
    "LayerNorm": (2,),
    "GroupNorm": (1, 2),
    "LocalResponseNorm": (2,),
    "Embedding": (3, 2),
    "Upsample": (None, 2),
    "Fold": ((4, 4), 2),
    "Unfold": (2,),
    "MSELoss": (),
    "CrossEntropyLoss": (),
    "TripletMarginLoss": (),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_show_what_they_call_as_pytorch_s_do(torch, name):
    found = []
    for lib, tracer in ((compat, Inside), (torch, type("Tracer", (torch.fx.Tracer,), {}))):
        tracer.is_leaf_module = Inside.is_leaf_module
        graph = tracer().trace(getattr(lib.nn, name)(*LAYERS[name]))
        found.append(
            [
                (node.op, node.name, getattr(node.target, "__name__", node.target))
                + (repr(node.args), repr(dict(node.kwargs)))
                for node in graph.nodes
                if node.op != "placeholder"
            ]
        )
    assert found[0] == found[1]


def test_a_traced_layer_computes_the_same():
    for layer in (compat.nn.ELU(), compat.nn.MaxPool2d(2), compat.nn.Unfold(2)):
        x = compat.arange(-8.0, 8.0).reshape(1, 1, 4, 4)
        traced = compat.fx.GraphModule(layer, Inside().trace(layer))
        assert traced(x).tolist() == layer(x).tolist()


@pytest.mark.parametrize("name", ["gelu", "sigmoid", "a method", "a partial", "a class"])
def test_what_is_no_function_in_python_is_refused(torch, name):
    for library in (compat, torch):
        found = {
            "gelu": library.nn.functional.gelu,
            "sigmoid": library.sigmoid,
            "a method": library.ones(2).add,
            "a partial": functools.partial(lambda x, y: x + y, y=2),
            "a class": library.nn.Module,
        }
        with pytest.raises(AssertionError):
            library.fx.symbolic_trace(found[name])
