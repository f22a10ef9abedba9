"""Arguments of a module in containers: stand-ins are put into copies, and changes written back."""

from collections.abc import Callable, Iterator
from typing import Any

from adjoint.pytree import tree_flatten


class NestedArguments:
    """The arguments of one call, taken apart."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.leaves, self.spec = tree_flatten((tuple(args), kwargs))
        self.copies: list[Copy] = []

    def rebuilt(
        self, leaves: list[Any], places: list[int]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other leaves at some places; the rest stay the objects they are."""
        positional, named = self.spec.children_specs
        chosen: list[Any] = []
        start = 0
        for argument, spec in zip(
            [*self.args, *self.kwargs.values()],
            (*positional.children_specs, *named.children_specs),
            strict=True,
        ):
            end = start + spec.num_leaves
            if any(start <= place < end for place in places):
                chosen.append(spec.unflatten(leaves[start:end]))
                self.copies.extend(copies_in(argument, chosen[-1]))
            else:
                chosen.append(argument)
            start = end
        count = len(self.args)
        return tuple(chosen[:count]), dict(zip(self.kwargs, chosen[count:], strict=True))

    def write_back(self, own: Callable[[Any], Any]) -> None:
        """Do to the containers of the caller what was done to their copies."""
        originals = {id(copy.given): copy.original for copy in self.copies}
        for copy in self.copies:
            copy.write_back(lambda value: originals.get(id(value), own(value)))


class Copy:
    """A list or dictionary that forward is given in place of one that holds tensors."""

    def __init__(self, original: Any, given: Any) -> None:
        self.original = original
        self.given = given
        self.before = contents(given)

    def write_back(self, own: Callable[[Any], Any]) -> None:
        """Do to the original what forward has done to it."""
        after = contents(self.given)
        if len(after) == len(self.before) and all(
            key is old_key and value is old
            for (key, value), (old_key, old) in zip(after, self.before, strict=True)
        ):
            return
        if isinstance(self.original, dict):
            self.original.clear()
            self.original.update((key, own(value)) for key, value in after)
        else:
            self.original[:] = [own(value) for _, value in after]


def contents(container: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dictionary; of a list the values, without keys."""
    if isinstance(container, dict):
        return list(container.items())
    return [(None, value) for value in container]


def copies_in(original: Any, given: Any) -> Iterator[Copy]:
    """The lists and dictionaries of a nest and their copies."""
    if original is given or type(original) not in (list, dict, tuple):
        return
    pairs = zip(contents(original), contents(given), strict=True)
    for (_, inner), (_, inner_given) in pairs:
        yield from copies_in(inner, inner_given)
    if type(original) is not tuple:
        yield Copy(original, given)
