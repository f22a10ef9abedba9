"""torch.fx: programs as graphs, traced, looked at, changed, and run again."""

from adjoint.compat.torch_tree.fx._symbolic_trace import (
    PH as PH,
    ProxyableClassMeta as ProxyableClassMeta,
    Tracer as Tracer,
    symbolic_trace as symbolic_trace,
    wrap as wrap,
)
from adjoint.compat.torch_tree.fx.graph import CodeGen as CodeGen, Graph as Graph
from adjoint.compat.torch_tree.fx.graph_module import GraphModule as GraphModule
from adjoint.compat.torch_tree.fx.interpreter import (
    Interpreter as Interpreter,
    Transformer as Transformer,
)
from adjoint.compat.torch_tree.fx.node import (
    Node as Node,
    has_side_effect as has_side_effect,
    map_arg as map_arg,
)
from adjoint.compat.torch_tree.fx.proxy import Proxy as Proxy
from adjoint.compat.torch_tree.fx.subgraph_rewriter import replace_pattern as replace_pattern
