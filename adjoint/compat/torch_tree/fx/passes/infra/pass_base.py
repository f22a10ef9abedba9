"""torch.fx.passes.infra.pass_base: what a pass over a graph is, and what it answers."""

import abc
from typing import Any, NamedTuple


class PassResult(NamedTuple):
    """The module that a pass leaves, and whether it has changed anything."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """A pass: called with a GraphModule, it looks, changes the graph, and looks again."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        """Run the pass between what it requires and what it ensures."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """The pass itself, for subclasses to define."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027  # it may be left out
        """Refuse a module that the pass is not for; subclasses may define it."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027  # it may be left out
        """Refuse what the pass should not have left; subclasses may define it."""
