"""Passes over graphs, and what else torch.fx says of calls, beside PyTorch's."""

import importlib
import sys

import pytest

import adjoint.compat.torch as compat


def part(library, name):
    return importlib.import_module(f"{library.__name__}.fx.{name}")


def names(graph_module):
    return [node.name for node in graph_module.graph.nodes]


def passes_in_order(library):
    """The order in which passes run, how often, and what the last of them says."""
    base, manager = (
        part(library, "passes.infra.pass_base"),
        part(library, "passes.infra.pass_manager"),
    )
    graph = library.fx.symbolic_trace(lambda x: library.add(x, x))
    ran = []

    def quiet(module):
        ran.append("quiet")
        return base.PassResult(module, False)

    def loud(module):
        ran.append("loud")
        return base.PassResult(module, True)

    class Multiplied(base.PassBase):
        def call(self, graph_module):
            for node in graph_module.graph.nodes:
                if node.target is library.add:
                    node.target = library.mul
            return base.PassResult(graph_module, True)

        def requires(self, graph_module):
            ran.append("required")

        def ensures(self, graph_module):
            ran.append("ensured")

    before = manager.this_before_that_pass_constraint
    runner = manager.PassManager([quiet, loud], constraints=[before(loud, quiet)], steps=2)
    with pytest.raises(RuntimeError):
        runner.validate_constraints()
    answers = [runner(graph).modified, [each.__name__ for each in runner.passes]]
    runner.validate_constraints()
    runner = manager.PassManager([quiet], run_checks_after_each_pass=True)
    runner.add_checks(lambda module: ran.append("checked"))
    runner.add_pass(Multiplied())
    result = runner(graph)
    answers += [result.modified, result.graph_module is graph, graph.code, ran]
    answers += [manager.PassManager([quiet, quiet], steps=3)(graph).modified]
    wrapped = manager.pass_result_wrapper(lambda module: None)
    return [*answers, wrapped(graph).modified, before(quiet, loud)(loud, quiet)]


def test_passes_are_run_in_order(torch):
    assert passes_in_order(compat) == passes_in_order(torch)


def failing(library):
    manager = part(library, "passes.infra.pass_manager")
    base = part(library, "passes.infra.pass_base")
    graph = library.fx.symbolic_trace(lambda x: x)

    def broken(module):
        raise KeyError("no")

    def quiet(module):
        return base.PassResult(module, False)

    before = manager.this_before_that_pass_constraint
    circle = [before(quiet, broken), before(broken, quiet)]
    tries = {
        "a pass that raises": lambda: manager.PassManager([broken])(graph),
        "a pass without a result": lambda: manager.PassManager([lambda module: module])(graph),
        "a check of two": lambda: manager.PassManager().add_checks(lambda a, b: None),
        "a circle": lambda: manager.PassManager([quiet, broken], circle)(graph),
        "a pass without a call": lambda: base.PassBase(),
    }
    found = {}
    for name, attempt in tries.items():
        with pytest.raises(Exception) as error:  # of whichever kind PyTorch's is
            attempt()
        found[name] = error.type
    return found


def test_what_passes_may_not_do(torch):
    assert failing(compat) == failing(torch)


def test_a_graph_out_of_order(torch):
    found = []
    for library in (compat, torch):
        common = part(library, "passes.tools_common")
        graph = library.fx.symbolic_trace(lambda x: library.relu(library.add(x, x).neg()))  # noqa: B023
        nodes = list(graph.graph.nodes)
        nodes[1].append(nodes[3])
        with pytest.raises(RuntimeError):
            graph.graph.lint()
        found.append(names(common.legalize_graph(graph)))
        graph.graph.lint()
        nodes = list(graph.graph.nodes)
        found[-1] += [common.get_node_target({}, node) for node in nodes[1:4]]
        with pytest.raises(AssertionError):
            common.get_node_target({}, nodes[0])
    assert found[0] == found[1]


def test_a_circle_of_nodes():
    graph = compat.fx.symbolic_trace(lambda x: compat.relu(compat.add(x, 1)))
    _, first, second, _ = graph.graph.nodes
    first.args = (second, 1)
    with pytest.raises(RuntimeError, match="the graph has a cycle: each of add, relu, output"):
        part(compat, "passes.tools_common").legalize_graph(graph)
    assert first.args[0] is second


def test_results_as_fakes(torch):
    found = []
    for library in (compat, torch):
        fakes = part(library, "passes.fake_tensor_prop")

        def program(x):
            return library.relu(library.add(x, x).neg())[:1].size(0)  # noqa: B023

        graph = library.fx.symbolic_trace(program)
        assert fakes.FakeTensorProp(graph).propagate(library.ones(3, 2)) == 1
        values = [node.meta["val"] for node in graph.graph.nodes]
        found.append([getattr(each, "shape", each) for each in values])
        found[-1].append([type(each).__name__ for each in values])
    assert found[0] == found[1]


CALLS = {
    "linear": (lambda torch: torch.nn.functional.linear, (1, 2), {}),
    "relu": (lambda torch: torch.relu, (1,), {}),
    "max_pool2d": (lambda torch: torch.nn.functional.max_pool2d, (1, 2), {}),
    "flatten": (lambda torch: torch.flatten, (1, 1), {}),
    "dropout": (lambda torch: torch.nn.functional.dropout, (1,), {"p": 0.2}),
    "cross_entropy": (lambda torch: torch.nn.functional.cross_entropy, (1, 2), {}),
    "cat": (lambda torch: torch.cat, ([1, 2],), {}),
    "matmul": (lambda torch: torch.matmul, (1, 2), {}),
}


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_arguments_filled_in(torch, name, by_name):
    function, args, kwargs = CALLS[name]
    found = []
    for library in (compat, torch):
        given = tuple(
            library.ones(each) if isinstance(each, int) and name != "flatten" else each
            for each in args
        )
        if name == "cat":
            given = ([library.ones(1)],)
        if name in ("max_pool2d", "flatten"):
            given = (library.ones(1), *args[1:])
        normalize = part(library, "operator_schemas").normalize_function
        pair = normalize(function(library), given, dict(kwargs), None, None, by_name)
        plain = [
            each.tolist() if isinstance(each, library.Tensor) else type(each).__name__
            for each in pair.args
        ]
        found.append((plain, sorted(pair.kwargs), type(pair).__name__))
    assert found[0] == found[1]


def test_arguments_of_nodes(torch):
    found = []
    for library in (compat, torch):
        module = library.nn.Sequential(library.nn.Linear(1, 1))
        graph = library.fx.symbolic_trace(module)
        _, called, _ = graph.graph.nodes
        pair = called.normalized_arguments(module, normalize_to_only_use_kwargs=True)
        found.append((len(pair.args), sorted(pair.kwargs)))
    assert found[0] == found[1]
    assert part(compat, "operator_schemas").normalize_function(compat.add, (1, 2, 3, 4, 5)) is None


class Held(compat.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = compat.nn.Linear(2, 3)
        self.factor = compat.nn.Parameter(compat.full((3,), 2.0))
        self.register_buffer("shift", compat.ones(3))
        self.register_buffer("apart", compat.zeros(1), persistent=False)

    def forward(self, x):
        return (self.layer(x) * self.factor + self.shift).to(compat.float64)


def test_a_folder_that_is_imported(tmp_path, monkeypatch):
    """The code says `import torch`, which is adjoint's under compat."""
    module = Held()
    compat.fx.symbolic_trace(module).to_folder(tmp_path / "package_of_held", "Again")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", compat)
    found = importlib.import_module("package_of_held").Again()
    x = compat.ones(4, 2)
    assert found(x).tolist() == module(x).tolist()
    assert sorted(found.state_dict()) == sorted(module.state_dict())


def test_graphs_of_several_results_answer_plain_tuples(torch):
    found = []
    for library in (compat, torch):
        make_fx = part(library, "experimental.proxy_tensor").make_fx
        graph = make_fx(lambda x: library.topk(x, 1))(library.ones(3))  # noqa: B023
        found.append((graph.code, type(graph(library.ones(3))).__name__))
    assert found[0] == found[1]


NAMES = """
    adaptive_avg_pool1d conv2d cosine_similarity layer_norm max_pool1d max_pool2d prelu relu_
    rms_norm sigmoid linear gelu relu softmax mse_loss pixel_shuffle
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_where_functions_are_found(torch, name):
    """One function of adjoint's may have two names: it is shown as PyTorch's of layers."""
    found = []
    for library in (compat, torch):
        functional = library.nn.functional
        shown = part(library, "node")._get_qualified_name(getattr(functional, name))
        found.append((shown, library.overrides.resolve_name(getattr(functional, name))))
    if name == "sigmoid":  # one function here, and torch's is the one that programs call
        assert found[0] == ("torch.sigmoid", "torch.sigmoid")
    else:
        assert found[0] == found[1]


def test_printing_may_be_taken_out(torch):
    found = []
    for library in (compat, torch):
        graph = library.fx.symbolic_trace(lambda x: x + 1)
        with graph.graph.inserting_before(list(graph.graph.nodes)[-1]):
            graph.graph.call_function(print, ("a",))
        found.append((graph.graph.eliminate_dead_code(), names(graph)))
    assert found[0] == found[1]
