"""Pictures of what autograd recorded."""

from adjoint.viz.graph import draw_graph as draw_graph, graph_dot as graph_dot
