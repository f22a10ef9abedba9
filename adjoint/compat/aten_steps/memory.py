"""The steps of what is read from memory in another pattern than it was written, as PyTorch does.

A pattern is (sizes, strides, offset), all counted in elements.
"""

from typing import Any

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.places import reshaped
from adjoint.dtypes import int64


def _may_overlap(sizes: list[int], strides: list[int]) -> bool:
    reach = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _extent(sizes: Any, strides: Any, offset: int) -> int:
    """How far into memory a pattern goes."""
    steps: list[int] = [step * (size - 1) for size, step in zip(sizes, strides, strict=True)]
    return offset + 1 + sum(steps)


def _proper(sizes: Any, strides: Any) -> tuple[list[int], list[int]]:
    """A pattern without dimensions of one element, or of one that is repeated."""
    kept = [(n, s) for n, s in zip(sizes, strides, strict=True) if n != 1 and s]
    return [n for n, _ in kept], [s for _, s in kept]


def through(ask: Steps, input: Any, source: Any, target: Any, mean: str) -> Any:
    """A tensor laid out as source says, read again as target says; what meets in one place adds.

    Where the pattern that `mean` names has several elements in one place, each takes its share.
    """
    if 0 in source[0] or 0 in target[0]:
        return ask("new_zeros", input, list(target[0]))
    low = min(source[2], target[2])
    written, read = (_proper(*each[:2]) for each in (source, target))
    shared = source if mean == "source" else target
    is_shared = 0 in [s for n, s in zip(*shared[:2], strict=True) if n != 1]
    is_shared = is_shared or _may_overlap(*(written if mean == "source" else read))
    if mean == "source" and is_shared:
        written = (list(source[0]), list(source[1]))
    else:
        input = _summed(ask, input, source)
    offsets = [each[2] - low for each in (source, target)]
    patterns = ((*source[:2], offsets[0]), (*target[:2], offsets[1]))
    count = max(_extent(*each) for each in patterns)
    memory = ask("new_zeros", input, [count])
    overlaps = _may_overlap(*written)
    numbers = None
    if overlaps or is_shared:
        numbers = ask("arange", 0, count, **{**beside(input), "dtype": int64})
    if mean == "source" and is_shared:
        met = _met(ask, numbers, memory, shared, shared[2] - low)
        input = ask("div", input, ask("as_strided", met, *written, offsets[0]))
    if overlaps:
        places = ask("as_strided", numbers, *written, offsets[0])
        values = reshaped(ask, input, [-1])
        ask("index_add_", memory, 0, reshaped(ask, places, [-1]), values)
    else:
        ask("copy_", ask("as_strided", memory, *written, offsets[0]), input)
    if mean == "target" and is_shared:
        memory = ask("div_", memory, _met(ask, numbers, memory, shared, shared[2] - low))
    return ask("as_strided", memory, list(target[0]), list(target[1]), offsets[1])


def _summed(ask: Steps, input: Any, source: Any) -> Any:
    """A tensor without dimensions of one element, and summed over what is in one place."""
    for dim in range(len(source[0]) - 1, -1, -1):
        if source[0][dim] == 1:
            input = ask("squeeze", input, dim)
        elif not source[1][dim]:
            input = ask("sum", input, [dim])
    return input


def _met(ask: Steps, numbers: Any, memory: Any, pattern: Any, offset: int) -> Any:
    """How many elements of a pattern share each place."""
    counts = ask("zeros_like", memory)
    places = ask("as_strided", numbers, list(pattern[0]), list(pattern[1]), offset)
    places = reshaped(ask, places, [-1])
    ones = ask("expand", ask("ones", [1], **beside(memory)), [places.shape[0]])
    return ask("index_add_", counts, 0, places, ones)
