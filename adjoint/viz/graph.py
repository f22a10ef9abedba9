"""Draw the backward graph of a tensor: as SVG or DOT text, and as PNG where matplotlib is."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape as escape_markup
from itertools import pairwise
from pathlib import Path
from typing import Any

from adjoint.autograd.node import AccumulateGrad, GradientEdge, Node, edge_node
from adjoint.dtypes import from_numpy_dtype
from adjoint.tensors.tensor import Tensor
from adjoint.viz.layout import Layout, lay_out

LIMIT = 400  # boxes; a picture of more shows nothing
CHARACTER = 7.3  # the width of one, in the picture's units
LINE = 15.0
MARGIN = 16.0
FONT = 12
PIXELS = 4e7  # of a PNG; a side ends at 65,536
COLOURS = {"step": "#e8eaed", "leaf": "#cfe3fa", "rest": "#fdeecb"}
INK = "#30343b"
SVG_START = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" \
viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="{font}">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0 0L8 4L0 8z" fill="{ink}"/></marker></defs>
<rect width="100%" height="100%" fill="white"/>
<g transform="translate({margin:.0f} {margin:.0f})" fill="{ink}">"""


@dataclass
class Box:
    """One node of the picture."""

    kind: str  # a step, a leaf, or the rest of a graph that is too large
    lines: list[str]
    hint: str = ""

    def size(self) -> tuple[float, float]:
        """Width and height, from the text."""
        longest = max(len(line) for line in self.lines)
        return longest * CHARACTER + 18, len(self.lines) * LINE + 10


@dataclass
class Picture:
    """Boxes, the lines between them with their labels, and a note below."""

    boxes: list[Box] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    note: str = ""

    def connect(self, start: int, end: int, label: str) -> None:
        """Add a line."""
        self.edges.append((start, end))
        self.labels.append(label)


def draw_graph(
    root: Any,
    path: str | Path | None = None,
    *,
    names: Mapping[str, Tensor] | None = None,
    limit: int = LIMIT,
) -> str:
    """The backward graph of a tensor, node or several of them as SVG text, gradients going down.

    With `path` it is also written there, as the suffix says: .svg, .dot, or .png (matplotlib).
    `names` are shown with the leaves. Beyond `limit` nodes, only the nearest to the root are drawn.
    """
    picture = _picture(root, names or {}, limit)
    layout = lay_out([box.size() for box in picture.boxes], picture.edges)
    text = _svg(picture, layout)
    if path is not None:
        _save(picture, layout, text, Path(path))
    return text


def graph_dot(root: Any, *, names: Mapping[str, Tensor] | None = None, limit: int = LIMIT) -> str:
    """The same picture in Graphviz's language."""
    return _dot(_picture(root, names or {}, limit))


# ---- what is drawn ----


def _roots(root: Any) -> list[Node]:
    """The nodes to start from."""
    if isinstance(root, Node):
        return [root]
    if isinstance(root, GradientEdge):
        return [root.node]
    if isinstance(root, Tensor):
        root.up_to_date()
        node = edge_node(root)
        if node is None:
            raise RuntimeError(
                "draw_graph: the tensor has no graph: it does not require grad, and neither did "
                "what it was computed from, or it was computed under no_grad"
            )
        return [node]
    if isinstance(root, Iterable) and not isinstance(root, (str, bytes)):
        return [node for each in root for node in _roots_of_one(each)]
    raise TypeError(
        f"draw_graph: expected a Tensor, a Node, a GradientEdge or several, got "
        f"{type(root).__name__}"
    )


def _roots_of_one(root: Any) -> list[Node]:
    if not isinstance(root, (Node, Tensor, GradientEdge)):
        raise TypeError(f"draw_graph: expected a Tensor or a Node, got {type(root).__name__}")
    return _roots(root)


def _nodes(roots: list[Node]) -> dict[Node, int]:
    """All nodes below the roots, nearest first, with their numbers."""
    numbers: dict[Node, int] = {}
    row = roots
    while row:
        below: list[Node] = []
        for node in row:
            if node not in numbers:
                numbers[node] = len(numbers)
                below.extend(following for following, _ in node.edges() if following is not None)
        row = below
    return numbers


def _picture(root: Any, names: Mapping[str, Tensor], limit: int) -> Picture:
    """The boxes and lines of the nodes nearest to the root; one box stands for the rest."""
    if limit < 1:
        raise ValueError(f"draw_graph: limit must be at least 1, got {limit}")
    numbers = _nodes(_roots(root))
    shown = list(numbers)[:limit]
    called = {id(tensor): name for name, tensor in names.items()}
    picture = Picture([_box(node, called) for node in shown])
    rest = len(numbers) - len(shown)
    if rest:
        picture.boxes.append(Box("rest", [f"{rest:,} more nodes"]))
        picture.note = _summary(numbers, len(shown))
    to_rest: set[int] = set()
    for start, node in enumerate(shown):
        for following, number in node.edges():
            if following is None:
                continue
            end = numbers[following]
            if end < limit:
                picture.connect(start, end, str(number) if following.output_count() > 1 else "")
            elif start not in to_rest:
                to_rest.add(start)
                picture.connect(start, limit, "")
    return picture


def _box(node: Node, called: dict[int, str]) -> Box:
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        name = called.get(id(leaf)) or (leaf.extras.name if leaf.extras is not None else None)
        facts = f"{from_numpy_dtype(leaf.array.dtype).name} {_shape(leaf.array.shape)}"
        return Box("leaf", [name, facts] if name else [facts], node.name())
    outputs = node.output_shapes()
    return Box("step", [node.name()], "output " + ", ".join(_shape(shape) for shape in outputs))


def _shape(shape: Any) -> str:
    return "x".join(str(n) for n in shape) if len(shape) else "scalar"


def _summary(numbers: dict[Node, int], shown: int) -> str:
    kinds = Counter(node.name() for node in numbers)
    listed = ", ".join(f"{many:,} {name}" for name, many in kinds.most_common(4))
    more = f" and {len(kinds) - 4} more kinds" if len(kinds) > 4 else ""
    return f"{len(numbers):,} nodes, the nearest {shown:,} drawn; in all {listed}{more}"


# ---- how it is written ----


def _save(picture: Picture, layout: Layout, svg: str, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix == ".svg":
        path.write_text(svg, encoding="utf-8")
    elif suffix in (".dot", ".gv"):
        path.write_text(_dot(picture), encoding="utf-8")
    elif suffix == ".png":
        _png(picture, layout, path)
    else:
        raise ValueError(f"draw_graph: {path.name} must end in .svg, .dot or .png")


def _ends(line: list[tuple[float, float]], start: Box, end: Box) -> list[tuple[float, float]]:
    """A line from the lower edge of its first box to the upper edge of its last."""
    (x0, y0), (x1, y1) = line[0], line[-1]
    return [(x0, y0 + start.size()[1] / 2), *line[1:-1], (x1, y1 - end.size()[1] / 2 - 2)]


def _curve(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The control points of cubic curves through the points, vertical at each."""
    controls = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        controls += [(x0, middle), (x1, middle), (x1, y1)]
    return controls


def _extent(picture: Picture, layout: Layout) -> tuple[float, float]:
    """The size of the whole picture."""
    width = max(layout.width, len(picture.note) * CHARACTER) + 2 * MARGIN
    return width, layout.height + 2 * MARGIN + (LINE + MARGIN if picture.note else 0)


def _svg(picture: Picture, layout: Layout) -> str:
    width, height = _extent(picture, layout)
    parts = [SVG_START.format(width=width, height=height, font=FONT, ink=INK, margin=MARGIN)]
    for (start, end), label, line in zip(picture.edges, picture.labels, layout.lines):
        points = _ends(line, picture.boxes[start], picture.boxes[end])
        first, *others = [f"{x:.1f} {y:.1f}" for x, y in _curve(points)]
        parts.append(
            f'<path d="M{first}C{" ".join(others)}" fill="none" stroke="{INK}" '
            'marker-end="url(#arrow)"/>'
        )
        if label:
            x, y = points[-1]
            parts.append(f'<text x="{x + 5:.1f}" y="{y - 4:.1f}" font-size="10">{label}</text>')
    for box, (x, y) in zip(picture.boxes, layout.centres):
        parts.append(_svg_box(box, x, y))
    if picture.note:
        below = layout.height + MARGIN + LINE
        parts.append(f'<text x="0" y="{below:.1f}">{escape(picture.note)}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def escape(text: str) -> str:
    """Text as SVG may hold it: control characters, which XML has no way to say, as Python's."""
    return escape_markup("".join([c if _is_xml(c) else ascii(c)[1:-1] for c in text]))


def _is_xml(character: str) -> bool:
    code = ord(character)
    if (code < 0x20 and character not in "\t\n") or 0x7F <= code < 0xA0 or code in (0xFFFE, 0xFFFF):
        return False
    return not 0xD800 <= code < 0xE000


def _svg_box(box: Box, x: float, y: float) -> str:
    width, height = box.size()
    text = f"<g><title>{escape(box.hint or box.lines[0])}</title>"
    text += f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
    text += f'height="{height:.1f}" rx="5" fill="{COLOURS[box.kind]}" stroke="{INK}"/>'
    for line, at in zip(box.lines, _baselines(box, y)):
        text += f'<text x="{x:.1f}" y="{at:.1f}" text-anchor="middle" dominant-baseline="central">'
        text += escape(line) + "</text>"
    return text + "</g>"


def _baselines(box: Box, y: float) -> list[float]:
    """The vertical middle of each line of text."""
    return [y + (i - (len(box.lines) - 1) / 2) * LINE for i in range(len(box.lines))]


def _dot(picture: Picture) -> str:
    lines = ["digraph backward {", '  node [shape=box style="rounded,filled" fontname=monospace];']
    if picture.note:
        lines.append(f"  label={_quoted([picture.note])};")
    for number, box in enumerate(picture.boxes):
        lines.append(f'  n{number} [label={_quoted(box.lines)} fillcolor="{COLOURS[box.kind]}"];')
    for (start, end), label in zip(picture.edges, picture.labels):
        lines.append(
            f"  n{start} -> n{end}" + (f" [headlabel={_quoted([label])}];" if label else ";")
        )
    return "\n".join([*lines, "}", ""])


def _quoted(lines: list[str]) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


def _png(picture: Picture, layout: Layout, path: Path) -> None:
    """The same picture through matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
        from matplotlib.path import Path as Curve
    except ImportError as error:
        raise ImportError(
            "draw_graph: PNG needs matplotlib: pip install 'adjoint[viz]'; SVG and DOT do not"
        ) from error
    width, height = _extent(picture, layout)
    figure = Figure(figsize=(width / 100, height / 100))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-MARGIN, width - MARGIN)
    axes.set_ylim(height - MARGIN, -MARGIN)
    axes.axis("off")
    points_per_unit = 72 / 100
    text: dict[str, Any] = {"family": "monospace", "color": INK, "fontsize": FONT * points_per_unit}
    for (start, end), label, line in zip(picture.edges, picture.labels, layout.lines):
        points = _ends(line, picture.boxes[start], picture.boxes[end])
        controls = _curve(points)
        curve = Curve(controls, [Curve.MOVETO] + [Curve.CURVE4] * (len(controls) - 1))
        axes.add_patch(
            FancyArrowPatch(
                path=curve, arrowstyle="-|>", mutation_scale=7, color=INK, linewidth=0.7
            )
        )
        if label:
            axes.text(points[-1][0] + 5, points[-1][1] - 4, label, **text)
    for box, (x, y) in zip(picture.boxes, layout.centres):
        wide, high = box.size()
        axes.add_patch(
            FancyBboxPatch(
                (x - wide / 2 + 5, y - high / 2 + 5),
                wide - 10,
                high - 10,
                boxstyle="round,pad=5",
                facecolor=COLOURS[box.kind],
                edgecolor=INK,
                linewidth=0.7,
            )
        )
        for words, at in zip(box.lines, _baselines(box, y)):
            axes.text(x, at, words, ha="center", va="center", **text)
    if picture.note:
        axes.text(0, layout.height + MARGIN + LINE, picture.note, **text)
    per_inch = min(200.0, 100 * (PIXELS / (width * height)) ** 0.5, 6e6 / max(width, height))
    figure.savefig(path, dpi=per_inch)
