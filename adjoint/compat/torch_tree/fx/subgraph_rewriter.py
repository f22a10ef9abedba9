"""torch.fx.subgraph_rewriter: occurrences of one graph in another, replaced by a third."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from adjoint.compat.torch_tree.fx._symbolic_trace import symbolic_trace
from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.graph_module import GraphModule, assign
from adjoint.compat.torch_tree.fx.node import Node
from adjoint.compat.torch_tree.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from adjoint.nn.module import Module


class Match(NamedTuple):
    """An occurrence: the pattern's last node, and which node is in the place of which."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """The same, and the nodes that came in."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace what does the same as pattern by what replacement does; where it was found."""
    return [Match(m.anchor, m.nodes_map) for m in _replaced(gm, pattern, replacement, [])]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """The same, where all filters agree; given a match and both graphs, they answer yes or no."""
    return _replaced(
        gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback
    )


def _graph_of(value: Any) -> Graph:
    """The graph of a module, a function, or itself."""
    if isinstance(value, GraphModule):
        return value.graph
    return value if isinstance(value, Graph) else symbolic_trace(value).graph


def _replaced(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    filters: list[Callable[..., bool]],
    ignore_literals: bool = False,
    callback: Callable[..., Graph] | None = None,
) -> list[ReplacedPatterns]:
    graph, wanted = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(wanted, ignore_literals=ignore_literals)
    matches = [m for m in matcher.match(graph) if all(f(m, graph, wanted) for f in filters)]
    common = _graph_of(replacement) if replacement is not None else None
    if common is None and callback is None:
        raise AssertionError("replace_pattern: neither a replacement nor a callback was given")
    changed: dict[Node, Node] = {}  # what was replaced, in the place of what
    found = []
    for match in matches:
        new = common if callback is None else callback(match, graph, wanted)
        if new is None:
            raise AssertionError("replace_pattern: there is no replacement")
        found.append(_put_in(graph, wanted, new, match, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return found


def _put_in(
    graph: Graph, pattern: Graph, new: Graph, match: InternalMatch, changed: dict[Node, Node]
) -> ReplacedPatterns:
    """Replace one occurrence."""
    parameters = [node for node in new.nodes if node.op == "placeholder"]
    if len(parameters) != len(match.placeholder_nodes):
        raise AssertionError(
            f"the pattern takes {len(match.placeholder_nodes)} values, the replacement "
            f"{len(parameters)}"
        )
    given: dict[Node, Any] = {}
    for parameter, node in zip(parameters, match.placeholder_nodes, strict=True):
        while isinstance(node, Node) and node in changed:
            node = changed[node]
        given[parameter] = node
    users = {user for node in match.returning_nodes for user in node.users}
    inside = set(match.nodes_map.values())
    before = set(graph.nodes)
    # What nobody uses is there for what it does, and is replaced where it stands.
    outer, last = users - inside or users, match.nodes_map[match.anchors[0]]
    at = graph.inserting_before(min(outer)) if outer else graph.inserting_after(last)
    with at:
        result = graph.graph_copy(new, given)
    results = [result] if isinstance(result, Node) else list(result)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"the pattern returns {len(match.returning_nodes)} values, the replacement "
            f"{len(results)}"
        )
    for old, replacing in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(replacing)
        changed[old] = replacing
    for node in reversed(list(pattern.nodes)):
        own = match.nodes_map.get(node)
        if node.op not in ("placeholder", "output") and own is not None and not own.users:
            graph.erase_node(own)
    return ReplacedPatterns(
        match.anchors[0], match.nodes_map, [node for node in graph.nodes if node not in before]
    )


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give a module what nodes that came from another refer to; what is unused goes."""
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        found: Any = gm
        other: Any = replacement
        for part in str(node.target).split("."):
            found, other = getattr(found, part, None), getattr(other, part, None)
        if found is None and other is None:
            raise RuntimeError(f"neither the module nor the replacement has {node.target!r}")
        if found is None:
            assign(gm, str(node.target), other)
    gm.delete_all_unused_submodules()
    gm.graph.lint()
