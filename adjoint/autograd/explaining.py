"""Why a tensor has no gradient, and what its graph would do and holds, in plain words."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from adjoint.autograd.node import LEAF, AccumulateGrad, Node, SavedItem, edge_node
from adjoint.autograd.provenance import Places, Source
from adjoint.backends import lookup
from adjoint.dtypes import FLOAT, category_of
from adjoint.tensors.core import CUT_BY_DETACH, CUT_BY_MODE, CUT_BY_OP
from adjoint.tensors.tensor import Tensor

SHOWN = 8  # how many steps and saved tensors the text names


@dataclass(frozen=True)
class Step:
    """A step that backward would run."""

    node: Node
    name: str
    source: Source | None

    def __str__(self) -> str:
        module = self.node.module_path
        where = "" if module is None else f" in {module}"
        return f"{self.name}{where}" + ("" if self.source is None else f", from {self.source}")


@dataclass(frozen=True)
class Change:
    """A tensor that a step has saved, and that was changed in place since."""

    step: Step
    name: str
    source: Source | None

    def __str__(self) -> str:
        where = "" if self.source is None else f"; changed by {self.source}"
        return f"'{self.name}' of {self.step}{where}"


@dataclass(frozen=True)
class Explanation:
    """What is known of a tensor's place in the graph; as a string, a text that says it."""

    requires_grad: str  # whether it does, and why or why not
    grad: str  # whether there is one, and why or why not
    steps: list[Step] = field(repr=False)  # in the order in which backward would run them
    leaves: int  # how many tensors would get a gradient
    saved: list[tuple[int, str, Step]] = field(repr=False)  # bytes, name, step; the largest first
    saved_bytes: int  # each piece of memory counted once
    freed: list[Step] = field(repr=False)  # steps that an earlier backward has freed
    changed: list[Change] = field(repr=False)  # why a backward would be refused

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"requires_grad: {self.requires_grad}"
        yield f"grad: {self.grad}"
        if not self.steps:
            return
        ends = "1 leaf" if self.leaves == 1 else f"{self.leaves} leaves"
        yield f"backward would run {_count(self.steps, 'step')} and reach {ends}:"
        yield from _shortened(self.steps, str)
        end = ":" if self.saved else ""
        yield f"the graph keeps {_bytes(self.saved_bytes)} for backward{end}"
        yield from _shortened(self.saved, lambda row: f"{_bytes(row[0])}: '{row[1]}' of {row[2]}")
        if self.freed:
            yield f"{_count(self.freed, 'step')} can't run again, freed by an earlier backward:"
            yield from _shortened(self.freed, str)
        if self.changed:
            yield f"{_count(self.changed, 'saved tensor')} changed in place since, so no backward:"
            yield from _shortened(self.changed, str)


def explain(tensor: Tensor) -> Explanation:
    """Why tensor has a gradient or none, what backward from it would run, and what that keeps."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"explain() wants a Tensor, got {type(tensor).__name__}")
    tensor.up_to_date()
    reason = _grad(tensor)  # before an accumulator is made for a leaf that has none
    nodes = _order(edge_node(tensor))
    places = Places()
    steps = {node: _step(node, places) for node in nodes}
    saved, total = _saved(steps)
    return Explanation(
        requires_grad=_requires_grad(tensor),
        grad=reason,
        steps=[step for node, step in steps.items() if node.lane != LEAF],
        leaves=sum(node.lane == LEAF for node in nodes),
        saved=saved,
        saved_bytes=total,
        freed=[step for node, step in steps.items() if node.released],
        changed=[
            Change(step, item.name, places.locate(item.counter.code, item.counter.instruction))
            for node, step in steps.items()
            for item in node.saved_items()
            if item.counter is not None and item.was_changed
        ],
    )


def _step(node: Node, places: Places) -> Step:
    return Step(node, node.name(), places.locate(node.code, node.instruction))


def _order(root: Node | None) -> list[Node]:
    """All nodes that backward from root would run: the newest first, and leaves before all."""
    found: set[Node] = set()
    stack = [] if root is None else [root]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(following for following, _ in node.edges() if following is not None)
    return sorted(found, key=lambda node: -node.sequence_number)


def _requires_grad(tensor: Tensor) -> str:
    if tensor.node is not None:
        step = _step(tensor.node, Places())
        return f"yes, it was computed by {step}"
    if tensor.needs_grad:
        return "yes, it is a leaf for which that was asked"
    return f"no, {_why_not(tensor)}"


def _why_not(tensor: Tensor) -> str:
    """Why a tensor does not require grad."""
    if category_of(tensor.array.dtype) < FLOAT:
        return f"tensors of {tensor.dtype} have no gradients; only floating and complex ones do"
    if tensor.inference:
        return "it was made in inference_mode(); clone() it outside to record what is done with it"
    if tensor.cut == CUT_BY_MODE:
        return (
            "it, or what it was computed from, was computed under no_grad() from tensors that do; "
            "compute that outside, or within enable_grad()"
        )
    if tensor.cut == CUT_BY_DETACH:
        return (
            "it was detached, or computed from tensors that were; use the tensor that detach() was "
            "called on"
        )
    if tensor.cut == CUT_BY_OP:
        return (
            "it, or what it was computed from, was computed from tensors that do, by an op that "
            "has no derivative"
        )
    return (
        "it was made from data, or from tensors of which none does; call requires_grad_() on it, "
        "or on those, before the forward"
    )


def _grad(tensor: Tensor) -> str:
    if tensor.gradient is not None:
        return f"there is one, of shape {list(tensor.gradient.array.shape)}"
    if not tensor.needs_grad:
        return "none, because the tensor does not require grad"
    if tensor.node is not None:
        if tensor.retains_grad:
            return "none yet, since no backward has passed it; it will be kept (retain_grad)"
        return (
            "none, because it is no leaf: backward goes through it and keeps only the gradients of "
            "leaves; call retain_grad() before backward to keep this one too"
        )
    extras = tensor.extras
    if extras is None or extras.accumulator is None or extras.accumulator() is None:
        return (
            "none, because nothing that is still alive was computed from it: either no op has used "
            "it, or what they gave was dropped, or it was set to None (zero_grad) after a backward"
        )
    return (
        "none yet: ops have used it, but no backward has come through them, or it was set to None "
        "(zero_grad) since"
    )


def _saved(steps: dict[Node, Step]) -> tuple[list[tuple[int, str, Step]], int]:
    """What the steps keep, the largest first, and the bytes of it all."""
    rows: list[tuple[int, str, Step]] = []
    memory: dict[int, int] = {}
    for node, step in steps.items():
        if isinstance(node, AccumulateGrad):
            continue
        for item in node.saved_items():
            if item.array is None or lookup(type(item.array)) is None:
                continue
            rows.append((int(item.array.nbytes), item.name, step))
            owner = _owner(item)
            memory[id(owner)] = int(owner.nbytes)
    rows.sort(key=lambda row: -row[0])
    return rows, sum(memory.values())


def _owner(item: SavedItem) -> Any:
    """The array whose memory a saved array shows."""
    array = item.array
    while (base := getattr(array, "base", None)) is not None and hasattr(base, "nbytes"):
        array = base
    return array


def _count(things: list[Any], noun: str) -> str:
    return f"{len(things)} {noun}" + ("" if len(things) == 1 else "s")


def _bytes(count: int) -> str:
    """A number of bytes as people write it."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _shortened(rows: list[Any], line: Callable[[Any], str]) -> Iterator[str]:
    """The lines of the first rows, indented, and how many more there are."""
    for row in rows[:SHOWN]:
        yield f"  {line(row)}"
    if len(rows) > SHOWN:
        yield f"  … and {len(rows) - SHOWN} more"
