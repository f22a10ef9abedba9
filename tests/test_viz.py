"""The picture of a backward graph shows its nodes, leaves and edges, whatever its size."""

import itertools
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import adjoint
from adjoint.viz import draw_graph, graph_dot
from adjoint.viz.layout import GAP_X, lay_out, layers_of


@pytest.fixture
def leaves():
    w = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = adjoint.tensor([[1.0], [2.0]], requires_grad=True)
    return w, b


def texts(svg):
    root = ET.fromstring(svg)
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_shows_nodes_leaves_and_names(leaves):
    w, b = leaves
    svg = draw_graph((w * b + w).tanh().sum(), names={"weights": w})
    shown = texts(svg)
    for name in ("SumBackward0", "TanhBackward0", "AddBackward0", "MulBackward0", "weights"):
        assert shown.count(name) == 1
    assert "float32 3" in shown
    assert "float32 2x1" in shown
    assert svg.count("marker-end") == 6  # sum, tanh, 2 of add, 2 of mul


def test_dot_has_the_same_edges(leaves):
    w, b = leaves
    dot = graph_dot((w * b + w).tanh().sum(), names={'a "quoted" \\ name': b})
    assert dot.count(" -> ") == 6
    assert '"a \\"quoted\\" \\\\ name\\nfloat32 2x1"' in dot


def test_names_are_escaped(leaves):
    w, _ = leaves
    assert "<&>" in texts(draw_graph(w * 2, names={"<&>": w}))


def test_starts_from_a_node_an_edge_several_tensors_or_a_leaf(leaves):
    w, b = leaves
    y = w * b
    assert draw_graph(y.grad_fn) == draw_graph(y)
    assert texts(draw_graph([y.sum(), y.exp()])).count("MulBackward0") == 1
    assert texts(draw_graph(w)) == ["float32 3"]


def test_outputs_of_one_node_are_told_apart(leaves):
    w, _ = leaves
    first, second, _ = (w * 1).unbind()
    shown = texts(draw_graph(first + second))
    assert "0" in shown
    assert "1" in shown


def test_refuses_what_has_no_graph():
    with pytest.raises(RuntimeError, match="the tensor has no graph"):
        draw_graph(adjoint.tensor(1.0))
    for root in (3, "text", [3]):
        with pytest.raises(TypeError, match="expected a Tensor"):
            draw_graph(root)


def test_large_graphs_are_summarised(leaves):
    w, _ = leaves
    y = w
    for _ in range(5000):
        y = y + w
    svg = draw_graph(y, limit=50)
    assert svg.count("<title>") == 51
    assert "4,951 more nodes" in texts(svg)
    assert "5,001 nodes, the nearest 50 drawn" in texts(svg)[-1]
    assert "5,000 AddBackward0" in texts(svg)[-1]


def test_saves_by_suffix(leaves, tmp_path):
    w, _ = leaves
    y = (w * 2).sum()
    svg = draw_graph(y, tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text() == svg
    draw_graph(y, tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == graph_dot(y)
    with pytest.raises(ValueError, match=r"graph\.jpg must end in"):
        draw_graph(y, tmp_path / "graph.jpg")


def test_saves_png_through_matplotlib(leaves, tmp_path):
    pytest.importorskip("matplotlib")
    w, b = leaves
    draw_graph((w * b).sum(), str(tmp_path / "graph.png"), names={"w": w}, limit=2)
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


# ---- the layout ----


def random_graph(rng, boxes, edges):
    """Edges of a random graph without cycles."""
    pairs = rng.integers(0, boxes, (edges, 2))
    return [(int(min(p)), int(max(p))) for p in pairs if p[0] != p[1]]


def test_layers_follow_the_longest_path():
    assert layers_of(5, [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)]) == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("seed", range(5))
def test_edges_point_down_and_boxes_keep_their_distance(seed):
    rng = np.random.default_rng(seed)
    sizes = [(float(w), 30.0) for w in rng.integers(20, 200, 40)]
    edges = random_graph(rng, 40, 80)
    layout = lay_out(sizes, edges)
    for start, end in edges:
        assert layout.centres[start][1] < layout.centres[end][1]
    for line, (start, end) in zip(layout.lines, edges, strict=True):
        assert (line[0], line[-1]) == (layout.centres[start], layout.centres[end])
    for (a, (xa, ya)), (b, (xb, yb)) in itertools.combinations(enumerate(layout.centres), 2):
        if ya == yb:
            assert abs(xa - xb) >= (sizes[a][0] + sizes[b][0]) / 2 + GAP_X - 1e-6
    for (width, height), (x, y) in zip(sizes, layout.centres, strict=True):
        assert x - width / 2 >= -1e-6
        assert x + width / 2 <= layout.width + 1e-6
        assert y - height / 2 >= 0
        assert y + height / 2 <= layout.height


def test_a_tree_has_no_crossings():
    edges = [(i, 2 * i + k) for i in range(15) for k in (1, 2)]
    layout = lay_out([(20.0, 10.0)] * 31, edges)
    for (a, b), (c, d) in itertools.combinations(edges, 2):
        (xa, ya), (xb, _) = layout.centres[a], layout.centres[b]
        (xc, yc), (xd, _) = layout.centres[c], layout.centres[d]
        assert ya != yc or (xa - xc) * (xb - xd) >= 0


def test_an_empty_graph_has_no_size():
    assert lay_out([], []).width == 0


def test_svg_is_the_same_each_time(leaves):
    w, b = leaves
    y = (w * b).sum()
    assert draw_graph(y) == draw_graph(y)
    assert not re.search(r'"[^"]*\b(nan|inf)\b', draw_graph(y))


@pytest.mark.parametrize(
    "character", ["\x00", "\x07", "\x1b", "\r", "\x7f", "\x9b", "\ufffe", "\ud800"]
)
def test_svg_of_names_that_xml_can_not_hold(character):
    x = adjoint.ones(2, requires_grad=True)
    text = draw_graph((x * 2).sum(), names={f"a{character}b<": x})
    assert character not in text
    shown = ["".join(element.itertext()) for element in ET.fromstring(text).iter()]
    assert any(f"a{ascii(character)[1:-1]}b<" in line for line in shown)
