"""A layered layout for directed graphs without cycles: where each box goes, how each line bends.

Four steps, none of which recurses: layers by the longest path from a root, points where a line
passes through a layer, an order within each layer with few crossings, and places that keep the
order while lines stay straight.
"""

from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 6  # more change nothing that one would see
GAP_X = 24.0
GAP_Y = 46.0


@dataclass
class Layout:
    """Centres of the boxes, the points of each line, and the size of the whole."""

    centres: list[tuple[float, float]]
    lines: list[list[tuple[float, float]]]
    width: float
    height: float


@dataclass
class _Layers:
    """Boxes and the points of lines, both called items, layer by layer."""

    rows: list[list[int]]
    widths: list[float]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[list[int]] = field(default_factory=list)  # the items each line goes through


def layers_of(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """The layer of each box: one more than the lowest box that points to it."""
    following: list[list[int]] = [[] for _ in range(count)]
    remaining = [0] * count
    for start, end in edges:
        following[start].append(end)
        remaining[end] += 1
    layers = [0] * count
    ready = [box for box in range(count) if not remaining[box]]
    while ready:
        box = ready.pop()
        for end in following[box]:
            layers[end] = max(layers[end], layers[box] + 1)
            remaining[end] -= 1
            if not remaining[end]:
                ready.append(end)
    return layers


def _with_bends(widths: list[float], edges: list[tuple[int, int]]) -> _Layers:
    """The layers, with a narrow item wherever a line passes through one."""
    layers = layers_of(len(widths), edges)
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for box, layer in enumerate(layers):
        rows[layer].append(box)
    found = _Layers(rows, list(widths), [[] for _ in widths], [[] for _ in widths])
    for start, end in edges:
        chain = [start]
        for layer in range(layers[start] + 1, layers[end]):
            chain.append(len(found.widths))
            rows[layer].append(chain[-1])
            found.widths.append(4.0)
            found.above.append([])
            found.below.append([])
        chain.append(end)
        for upper, lower in pairwise(chain):
            found.below[upper].append(lower)
            found.above[lower].append(upper)
        found.chains.append(chain)
    return found


def _reduce_crossings(layers: _Layers) -> None:
    """Sort each row by where its neighbours are, downwards and upwards in turn."""
    place = [0.0] * len(layers.widths)
    for row in layers.rows:
        _number(row, place)
    for sweep in range(SWEEPS):
        rows, neighbours = layers.rows, layers.above
        if sweep % 2:
            rows, neighbours = rows[::-1], layers.below
        for row in rows:
            row.sort(key=_mean_places(row, neighbours, place).__getitem__)
            _number(row, place)


def _number(row: list[int], place: list[float]) -> None:
    for position, item in enumerate(row):
        place[item] = position - len(row) / 2


def _mean_places(
    row: list[int], neighbours: list[list[int]], place: list[float]
) -> dict[int, float]:
    """Where each item of a row would like to be."""
    wishes = {}
    for item in row:
        near = neighbours[item]
        wishes[item] = sum(place[n] for n in near) / len(near) if near else place[item]
    return wishes


def _spread(row: list[int], wishes: list[float], widths: list[float]) -> list[float]:
    """Places as near to the wishes as possible that keep order and distance.

    With the distances taken off, this is least squares under "not decreasing", which merging
    neighbours that are out of order solves exactly.
    """
    offset = 0.0
    offsets = []
    blocks: list[tuple[float, int]] = []  # (mean, how many)
    for position, item in enumerate(row):
        if position:
            offset += (widths[row[position - 1]] + widths[item]) / 2 + GAP_X
        offsets.append(offset)
        mean, size = wishes[position] - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, many = blocks.pop()
            mean = (mean * size + before * many) / (size + many)
            size += many
        blocks.append((mean, size))
    flat = [mean for mean, size in blocks for _ in range(size)]
    return [start + off for start, off in zip(flat, offsets)]


def _straighten(layers: _Layers) -> list[float]:
    """The horizontal place of each item."""
    place = [0.0] * len(layers.widths)
    for sweep in range(SWEEPS + 1):
        rows, neighbours = layers.rows, layers.above
        if sweep % 2:
            rows, neighbours = rows[::-1], layers.below
        for row in rows:
            wishes = _mean_places(row, neighbours, place)
            spread = _spread(row, [wishes[item] for item in row], layers.widths)
            for item, x in zip(row, spread):
                place[item] = x
    return place


def lay_out(sizes: list[tuple[float, float]], edges: list[tuple[int, int]]) -> Layout:
    """Place boxes of the given sizes so that every edge points downwards."""
    if not sizes:
        return Layout([], [], 0.0, 0.0)
    layers = _with_bends([width for width, _ in sizes], edges)
    _reduce_crossings(layers)
    place = _straighten(layers)
    left = min(x - layers.widths[item] / 2 for item, x in enumerate(place))
    right = max(x + layers.widths[item] / 2 for item, x in enumerate(place))
    step = max(height for _, height in sizes) + GAP_Y
    level = [0.0] * len(place)
    for number, row in enumerate(layers.rows):
        for item in row:
            level[item] = number * step + (step - GAP_Y) / 2
    points = [(x - left, level[item]) for item, x in enumerate(place)]
    lines = [[points[item] for item in chain] for chain in layers.chains]
    height = len(layers.rows) * step - GAP_Y
    return Layout(points[: len(sizes)], lines, right - left, height)
