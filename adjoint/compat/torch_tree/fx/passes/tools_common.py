"""torch.fx.passes.tools_common: the order of a graph, and what its nodes call."""

from collections.abc import Mapping
from typing import Any

from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.node import Node, qualified_name
from adjoint.nn.module import Module
from adjoint.tensors.tensor import Tensor

Tensors = tuple[Tensor] | list[Tensor]
TensorOrTensors = Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """What a node calls: the class of a module, the path of a function, the name of a method."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"{node.name} calls nothing: it is a {node.op}, not one of "
            f"{', '.join(sorted(CALLABLE_NODE_OPS))}"
        )
    if node.op == "call_module":
        module = submodules[str(node.target)]
        kind = getattr(module, "_base_class_origin", None) or type(module)
        return f"{kind.__module__}.{kind.__qualname__}"
    if node.op == "call_method":
        return str(node.target)
    function: Any = node.target
    if getattr(function, "__module__", "") == "_operator":
        return f"_operator.{function.__name__}"
    return qualified_name(function)


def is_node_output_tensor(node: Node) -> bool:
    """Whether the result of a node was a tensor, as ShapeProp has noted."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, Tensor)


def legalize_graph(gm: Any) -> Any:
    """Bring the nodes of a graph into an order in which each comes after what it is given."""
    gm.graph = _ordered(gm.graph)
    gm.recompile()
    return gm


stable_topological_sort = legalize_graph


def _ordered(graph: Graph) -> Graph:
    """A copy of a graph in such an order; of nodes that may come next, the first one does."""
    made = Graph()
    copies: dict[Node, Node] = {}
    left = list(graph.nodes)
    while left:
        ready = [n for n in left if all(each in copies for each in n.all_input_nodes)]
        if not ready:
            names = ", ".join(node.name for node in left)
            raise RuntimeError(f"the graph has a cycle: each of {names} waits for another of them")
        for node in ready:
            copies[node] = made.node_copy(node, lambda each: copies[each])
        left = [node for node in left if node not in copies]
    made.set_codegen(graph._codegen)  # noqa: SLF001  # what a copy of the graph has, too
    return made
