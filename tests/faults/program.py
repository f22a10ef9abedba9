"""What a graph of the sweep is made with: leaves, events, and the pass at its end."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.faults.injection import Events

# How a program's pass starts, and what `.grad` its leaves have before.
ENTRIES = ("backward", "retain", "inputs", "grad")
GRADS = ("none", "existing", "mixed")


class Kit:
    """What a graph is given: the library, the events, and its leaves as it makes them."""

    def __init__(self, library: Any, events: Events) -> None:
        self.lib = library
        self.at = events
        self.is_adjoint = library.__name__ == "adjoint"
        self.random = np.random.default_rng(7)
        self.leaves: list[Any] = []
        self.others: list[Any] = []  # whose values and versions no pass may change
        self.consumed: list[Any] = []  # leaves given to post-accumulate hooks: theirs to change
        self.kept: list[Any] = []  # tensors of a run whose .grad is looked at afterwards
        self.watched: list[weakref.ref[Any]] = []
        self.results: list[Any] = []
        self.entry = "backward"
        self.teardown: list[Callable[[], Any]] = []

    # ---- before a run ----

    def array(self, *shape: int) -> Any:
        """Numbers between a half and one and a half, the same in every process."""
        return self.random.random(shape) + 0.5

    def leaf(self, *shape: int, dtype: Any = None) -> Any:
        """A tensor whose gradient is wanted."""
        kind = dtype or self.lib.float64
        made = self.lib.tensor(self.array(*shape).tolist(), dtype=kind, requires_grad=True)
        self.leaves.append(made)
        return made

    def constant(self, *shape: int, dtype: Any = None) -> Any:
        """A tensor whose gradient is not."""
        made = self.lib.tensor(self.array(*shape).tolist(), dtype=dtype or self.lib.float64)
        self.others.append(made)
        return made

    def module(self, make: Callable[[Any], Any]) -> Any:
        """A module with the same parameters in every process."""
        made = make(self.lib.nn).double()
        with self.lib.no_grad():
            for parameter in made.parameters():
                parameter.copy_(self.lib.tensor((self.array(*parameter.shape) - 1.0).tolist()))
        self.leaves.extend(made.parameters())
        self.others.extend(made.buffers())
        return made

    # ---- in a run ----

    def watch(self, tensor: Any) -> Any:
        """The tensor, which must be gone when the run is over, and its node too."""
        self.watched.append(weakref.ref(tensor))
        node = tensor.grad_fn
        if node is not None and self.is_adjoint:  # PyTorch makes a new object at each look
            self.watched.append(weakref.ref(node))
        return tensor

    def hook(self, *_: Any) -> None:
        """A hook of any kind that changes nothing."""
        self.at("hook")

    def finish(self, loss: Any) -> None:
        """The pass at the end of a run."""
        if self.entry == "backward":
            loss.backward()
        elif self.entry == "retain":
            loss.backward(retain_graph=True)
        elif self.entry == "inputs":
            loss.backward(inputs=self.leaves)
        else:
            found = self.lib.autograd.grad(loss, self.leaves, allow_unused=True)
            self.results.extend(found)


class Graph:
    """One graph of the sweep: its name, how it is made, and what it needs."""

    def __init__(
        self,
        make: Callable[[Kit], Callable[[], None]],
        needs: str,
        whole: bool,
        threads: bool = False,
    ) -> None:
        self.name = make.__name__
        self.make = make
        self.needs = needs  # a library without which there is no such graph
        self.whole = whole  # it calls its pass itself, so there is but one entry
        self.threads = threads  # its pass runs on several


GRAPHS: dict[str, Graph] = {}


def graph(needs: str = "", *, whole: bool = False, threads: bool = False) -> Callable[[Any], Any]:
    """Declare a graph; the function answers its run."""

    def declare(make: Callable[[Kit], Callable[[], None]]) -> Any:
        found = Graph(make, needs, whole, threads)
        assert found.name not in GRAPHS
        GRAPHS[found.name] = found
        return make

    return declare
