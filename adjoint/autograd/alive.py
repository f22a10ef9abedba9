"""Objects that Python's collector knows, found in one call of C's.

A list of them all refers to tuples that other threads have not finished, which they can't make
longer while it lasts: no other thread may run before it is gone. So the collector is asked only
when iterators written in C want its answer, inside of a call that is C's, too.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, compress, repeat
from typing import Any


def kinds(generation: int | None = None) -> set[type]:
    """The classes of what there is, in a generation or at all."""
    return set(map(type, chain.from_iterable(map(gc.get_objects, (generation,)))))


def of_kinds(wanted: Iterable[type], generation: int | None = None) -> list[Any]:
    """What there is of these very classes."""
    return list(_chosen(_listed_twice(generation), frozenset(wanted).__contains__))


def _listed_twice(generation: int | None) -> Iterator[list[Any]]:
    """A list of all objects, and the same again."""
    answers: Iterator[list[Any]] = map(gc.get_objects, (generation,))
    return chain.from_iterable(map(partial(repeat, times=2), answers))


def _chosen(lists: Iterator[list[Any]], is_wanted: Callable[[type], bool]) -> Iterator[Any]:
    """The objects in the one list whose class, by the other, is wanted."""
    classes = map(partial(map, type), lists)
    return chain.from_iterable(
        map(compress, map(iter, lists), map(partial(map, is_wanted), classes))
    )
