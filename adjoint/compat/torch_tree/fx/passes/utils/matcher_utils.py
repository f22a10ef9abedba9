"""torch.fx.passes.utils.matcher_utils: where a small graph occurs in a large one."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.node import Node


@dataclass
class InternalMatch:
    """One occurrence: which node is in the place of which of the pattern's."""

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Looks for a pattern, from the nodes that it returns backwards to its parameters.

    A node in between must have no users outside the occurrence: they would lose it.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(f"node {node} of the pattern is used by no other")
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    # ---- one node in the place of another ----

    def _same_step(self, pattern: Node, node: Node) -> bool:
        """Whether a node does what one of the pattern does."""
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._same_attribute(pattern, node)
        if pattern.op == "call_module":
            return type(_target_of(pattern)) is type(_target_of(node))
        return bool(pattern.target == node.target)

    def _same_attribute(self, pattern: Node, node: Node) -> bool:
        first, second = _target_of(pattern), _target_of(node)
        return type(first) is type(second)

    def _matched(self, pattern: Any, node: Any, match: InternalMatch) -> bool:
        """Put a node in the place of one of the pattern, and so on for what they take."""
        if isinstance(pattern, Node) != isinstance(node, Node):
            if not isinstance(pattern, Node) or pattern.op != "placeholder":
                return False
        if not isinstance(pattern, Node):
            return bool(self.ignore_literals or (type(pattern) is type(node) and pattern == node))
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if isinstance(node, Node):
            if node in match.nodes_map.values() and pattern.op != "placeholder":
                return False
            if not self._same_step(pattern, node):
                return False
        kept = dict(match.nodes_map)
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        if not self._same_arguments(pattern, node, match):
            match.nodes_map = kept
            return False
        return True

    def _same_arguments(self, pattern: Node, node: Node, match: InternalMatch) -> bool:
        if len(pattern.args) == len(node.args) and pattern.kwargs.keys() == node.kwargs.keys():
            pairs = list(zip(pattern.args, node.args, strict=True))
            pairs += [(value, node.kwargs[name]) for name, value in pattern.kwargs.items()]
        else:
            first, second = _by_name(pattern), _by_name(node)
            if first is None or second is None or first.keys() != second.keys():
                return False
            pairs = [(first[name], second[name]) for name in first]
        return all(self._same_value(one, other, match) for one, other in pairs)

    def _same_value(self, pattern: Any, value: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(pattern) == len(value) and all(
                self._same_value(one, other, match)
                for one, other in zip(pattern, value, strict=True)
            )
        if isinstance(pattern, dict) and isinstance(value, dict):
            return pattern.keys() == value.keys() and all(
                self._same_value(pattern[key], value[key], match) for key in pattern
            )
        return self._matched(pattern, value, match)

    # ---- all of them ----

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Where the pattern occurs in a graph, from its beginning on."""
        found = [match for match in self._candidates(graph) if self._is_contained(match)]
        for match in found:
            match.placeholder_nodes = [
                match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
        return self._apart(found) if self.remove_overlapping_matches else found

    def _candidates(self, graph: Graph) -> Iterator[InternalMatch]:
        """Each way to put nodes of the graph in the place of the pattern's last ones."""
        choices = [
            [node for node in graph.nodes if self._same_step(anchor, node) and node.op != "root"]
            for anchor in self.pattern_anchors
        ]

        def chosen(index: int, match: InternalMatch) -> Iterator[InternalMatch]:
            if index == len(choices):
                yield match
                return
            for node in choices[index]:
                anchor = self.pattern_anchors[index]
                trial = InternalMatch([*match.anchors, anchor], dict(match.nodes_map))
                if self._matched(anchor, node, trial):
                    yield from chosen(index + 1, trial)

        yield from chosen(0, InternalMatch([]))

    def _is_contained(self, match: InternalMatch) -> bool:
        """Whether nodes in between are used inside alone."""
        inside = {node for node in match.nodes_map.values() if isinstance(node, Node)}
        for pattern, node in match.nodes_map.items():
            free = pattern.op in ("placeholder", "get_attr", "output")
            if free or pattern in self.pattern_returning_nodes or not isinstance(node, Node):
                continue
            if any(user not in inside for user in node.users):
                return False
        return True

    def _apart(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        """Those that share no node with one before, but for what they take."""
        taken: set[Node] = set()
        kept = []
        for match in matches:
            own = {
                node
                for pattern, node in match.nodes_map.items()
                if pattern.op not in ("placeholder", "output", "get_attr")
            }
            if not own & taken:
                kept.append(match)
                taken |= own
        return kept


def _by_name(node: Node) -> dict[str, Any] | None:
    """The arguments of a function by its parameters' names, where those are known."""
    if node.op != "call_function":
        return None
    try:
        bound = inspect.signature(node.target).bind(*node.args, **node.kwargs)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    return dict(bound.arguments)


def _target_of(node: Node) -> Any:
    """What the target of a node names in the module of its graph."""
    found: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        found = getattr(found, part, None)
    return found
