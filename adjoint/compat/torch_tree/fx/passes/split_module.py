"""torch.fx.passes.split_module: a graph in parts, each a module that the whole calls."""

import operator
from collections.abc import Callable
from typing import Any

from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.graph_module import GraphModule
from adjoint.compat.torch_tree.fx.node import Node, map_arg
from adjoint.nn.module import Module

_GIVEN = ("placeholder", "get_attr")  # which belong to the whole, and parts are handed


class _Part:
    """Some nodes, what they take from outside, what others take of them, and of which parts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.before: dict[_Part, None] = {}
        self.after: dict[_Part, None] = {}


def _parts_of(graph: Graph, name_of: Callable[[Node], str]) -> dict[Node, _Part]:
    """The part that each node is in, with what passes between them."""
    named: dict[str, _Part] = {}
    homes: dict[Node, _Part] = {}
    for node in graph.nodes:
        part = None
        if node.op not in (*_GIVEN, "output"):
            name = name_of(node)
            part = homes[node] = named.setdefault(name, _Part(name))
            part.nodes.append(node)
        for taken in node.all_input_nodes if part is not None or node.op == "output" else ():
            home = homes.get(taken)
            if home is part:
                continue
            if part is not None:
                part.inputs[taken] = None
            if home is not None:
                home.outputs[taken] = None
            if home is not None and part is not None:
                part.before[home] = home.after[part] = None
    return homes


def _in_order(parts: list[_Part], as_first: bool) -> list[_Part]:
    """Parts behind those that they take from; the last that is ready first, or the first."""
    waiting = {part: len(part.before) for part in parts}
    ready = [part for part in parts if not part.before]
    found = []
    while ready:
        part = min(ready, key=parts.index) if as_first else ready[-1]
        ready.remove(part)
        found.append(part)
        for each in part.after:
            waiting[each] -= 1
            if not waiting[each]:
                ready.append(each)
    if len(found) < len(parts):
        stuck = ", ".join(part.name for part in parts if part not in found)
        raise RuntimeError(f"split_module: each of {stuck} takes what another one gives")
    return found


def _attribute(module: Module, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _noted(made: Node, node: Node) -> Node:
    """A node with what was noted of another."""
    made.meta, made.type = dict(node.meta), node.type
    return made


class _Splitting:
    """What the parts of one module are built with."""

    def __init__(self, module: GraphModule, names: dict[str, str] | None, tuples: bool) -> None:
        self.module, self.names, self.tuples = module, names, tuples

    def part(self, part: _Part, keeps_names: bool, named_inputs: bool) -> GraphModule:
        """The module of a part."""
        graph, targets = Graph(), dict[str, Any]()
        made: dict[Node, Node] = {}
        for number, node in enumerate(part.inputs):
            name = node.name if named_inputs else f"arg_{number}"
            made[node] = _noted(graph.placeholder(name), node)
        for node in part.nodes:
            target = node.target
            if node.op == "call_module":
                target = str(node.target).replace(".", "_")
                targets[target] = _attribute(self.module, str(node.target))
                if self.names is not None:
                    self.names[f"{part.name}.{target}"] = str(node.target)
            args, kwargs = (map_arg(each, made.__getitem__) for each in (node.args, node.kwargs))
            own = node.name if keeps_names else None
            made[node] = _noted(graph.create_node(node.op, target, args, kwargs, own), node)
        found = tuple(made[node] for node in part.outputs)
        graph.output(found[0] if len(found) == 1 and not self.tuples else found)
        return GraphModule(targets, graph)

    def call(self, graph: Graph, part: _Part, made: dict[Node, Any]) -> None:
        """Have the whole call a part."""
        result = graph.call_module(part.name, tuple(made[node] for node in part.inputs))
        if len(part.outputs) == 1 and not self.tuples:
            made[next(iter(part.outputs))] = result
            return
        for number, node in enumerate(part.outputs):
            made[node] = graph.call_function(operator.getitem, (result, number))


def split_module(
    m: GraphModule,
    root_m: Module | None,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module that calls a submodule for each part that the callback names its nodes for.

    `qualname_map` is told what the modules that are called were named before. The parts share
    parameters with `m`.
    """
    affix = "" if partition_affix is None else f"{partition_affix}_"
    homes = _parts_of(m.graph, lambda node: f"submod_{affix}{split_callback(node)}")
    parts = list(dict.fromkeys(homes.values()))
    ordered = _in_order(parts, bool(keep_original_order))
    splitting = _Splitting(m, qualname_map, tuple_return)
    graph, made = Graph(), dict[Node, Any]()
    held: dict[str, Any] = {}

    def give(node: Node) -> None:
        if node.op == "get_attr":
            held[str(node.target)] = _attribute(m, str(node.target))
        if node not in made:
            made[node] = _noted(graph.node_copy(node), node)

    given = [node for node in m.graph.nodes if node.op in _GIVEN]
    for node in given:
        if node.op == "placeholder" or not keep_original_order:
            give(node)
    for part in ordered:
        for node in part.inputs:
            if node.op == "get_attr":
                give(node)
        held[part.name] = splitting.part(
            part, bool(keep_original_node_name), keep_original_input_name
        )
        splitting.call(graph, part, made)
    for node in m.graph.nodes:
        if node.op == "output":
            for taken in node.all_input_nodes:
                if taken.op == "get_attr":
                    give(taken)
            graph.output(map_arg(node.args[0], made.__getitem__))
    return GraphModule(held, graph)
