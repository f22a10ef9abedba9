"""torch.fx: what stays in a graph though nobody uses it, and names that lead nowhere."""

import operator

import pytest

from adjoint.compat import torch
from adjoint.compat.torch.fx import Graph, GraphModule, symbolic_trace
from adjoint.compat.torch.fx.experimental.proxy_tensor import make_fx


def test_dead_code_leaves_changes_in_place():
    def change(a, b):
        total = a + b
        b.copy_(total)
        return total * 2

    traced = make_fx(change)(torch.ones(2), torch.ones(2))
    traced.graph.eliminate_dead_code()
    traced.recompile()
    first, second = torch.ones(2), torch.full((2,), 3.0)
    traced(first, second)
    assert second.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("target", "stays", "stays_without_chance"),
    [
        (torch.ops.aten.rand.default, True, False),
        (torch.rand, True, True),
        (torch.ops.aten.bernoulli.default, True, False),
        (torch.ops.aten.sin.out, True, True),
        (torch.ops.aten.relu.default, False, False),
        (operator.setitem, True, True),
        (operator.iadd, False, False),
    ],
)
def test_what_has_effects(target, stays, stays_without_chance):
    graph = Graph()
    node = graph.create_node("call_function", target, (graph.placeholder("x"),))
    assert node.is_impure() is stays
    assert node.is_impure(impure_random=False) is stays_without_chance


def test_an_attribute_that_is_not_there_is_warned_of():
    module: GraphModule = symbolic_trace(torch.nn.Linear(1, 1))
    module.graph.get_attr("weight")
    with pytest.warns(UserWarning, match="get_attr"):
        module.graph.get_attr("nowhere.weight")
