"""torch._dynamo: advice to a compiler that is not there."""

from adjoint.compat.no_compiler import never, nothing, unchanged
from adjoint.compat.torch_tree.compiler import list_backends as list_backends
from adjoint.compiling.modules import OptimizedModule as OptimizedModule

allow_in_graph = assume_constant_result = disable = substitute_in_graph = unchanged
disallow_in_graph = forbid_in_graph = export = optimize = run = unchanged
graph_break = reset = nothing
mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = nothing
is_compiling = never
