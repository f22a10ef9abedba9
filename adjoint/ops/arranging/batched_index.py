"""Indexing each element of a batch: an index of one element as one of them all."""

from typing import Any

from adjoint.backends.numpy import host
from adjoint.ops.arranging.index_parts import as_index, consumed, divided, is_whole
from adjoint.ops.arranging.shape import basic_index, permute, reshape
from adjoint.ops.batch_rules import of_rank, refusal


class EachIndex:
    """An index of one element as one of the whole batch: first a view, then what picks from it.

    What picks goes to the front where it comes from several places, as in NumPy, and a batched part
    of an index is one that picks; `order` brings the batch to the front again.
    """

    def __init__(self, index: Any, flags: list[bool], shape: Any, size: int, given: bool) -> None:
        """`given` says whether what is indexed has the batch."""
        marked = {id(part) for part, batched in zip(index, flags) if batched}
        if any(batched and part.dtype.kind == "b" for part, batched in zip(index, flags)):
            raise refusal("indexing with a mask", "use where(), or masked_fill() to write")
        xp = host
        parts = [as_index(xp, part) if isinstance(part, list) else part for part in index]
        self.size, self.shape, self.given = size, shape, given
        self.view, picks = divided(shape, parts)
        places = [i for i, part in enumerate(picks) if not isinstance(part, slice)]
        depth = max([_depth(picks[i], id(picks[i]) in marked) for i in places], default=0)
        taken = sum(consumed(picks[i]) for i in places)
        self.rank = depth + len(self.viewed_shape()) - 1 - taken  # of what one element gives
        self.picks = picks
        self.order: list[int] | None = None
        self.over_batch(places, depth, marked)

    def over_batch(self, places: list[int], depth: int, marked: set[int]) -> None:
        """Let the batch take part in what picks."""
        first = places[0] if places else 0
        together = not places or places[-1] - first == len(places) - 1
        moved: list[int] = []
        if not marked:
            self.picks = (slice(None), *self.picks)
            moved = [] if together else [depth, *range(depth)]
        else:
            own = self.picks
            self.picks = tuple([of_rank(p, id(p) in marked, depth) for p in own])
            if not self.given:
                moved = [first, *range(first)] if together else []
            else:
                self.picks = (_numbers(self.size, depth), *self.picks)
                if together and first:
                    moved = [0, *range(depth + 1, depth + 1 + first), *range(1, depth + 1)]
        if moved:
            self.order = [*moved, *range(len(moved), self.rank + 1)]

    def basic(self) -> tuple[Any, ...]:
        """The parts that make a view."""
        return (slice(None), *self.view) if self.given else self.view

    def viewed(self, input: Any) -> Any:
        """The view that is picked from."""
        return input if is_whole(self.view) else basic_index(input, self.basic())

    def viewed_shape(self) -> tuple[int, ...]:
        """The shape of that view."""
        sizes = iter(self.shape)
        found = [self.size]
        for part in self.view:
            if part is None:
                found.append(1)
            elif isinstance(part, slice):
                found.append(len(range(next(sizes))[part]))
            else:
                next(sizes)
        return (*found, *sizes)

    def to_front(self, picked: Any) -> Any:
        """What was picked, with the batch in front."""
        return picked if self.order is None else permute(picked, self.order)

    def to_place(self, value: Any, batched: bool) -> Any:
        """A value for each element as it is written: its dimensions where picking finds them."""
        lead, own = value.shape[:batched], value.shape[batched:]
        own = own[max(len(own) - self.rank, 0) :]  # more of them have size 1
        if self.order is None:
            return of_rank(reshape(value, (*lead, *own)), batched, self.rank)
        whole = (*(lead or (1,)), *(1,) * (self.rank - len(own)), *own)
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return permute(reshape(value, whole), back)


def flags_of(index: Any, flags: Any) -> list[bool]:
    """Whether each part of an index is batched."""
    return flags if isinstance(flags, list) else [False] * len(index)


def _depth(part: Any, batched: bool) -> int:
    """How many dimensions of the result a part that picks stands for."""
    depth: int = 1 if isinstance(part, bool) or part.dtype.kind == "b" else part.ndim - batched
    return depth


def _numbers(size: int, depth: int) -> Any:
    """The number of each element, to pick along with batched parts of an index."""
    return host.arange(size).reshape(size, *(1,) * depth)
