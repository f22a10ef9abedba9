"""torch.compiler: advice to a compiler that is not there."""

from adjoint.compat.no_compiler import compile as compile, never, nothing, unchanged

allow_in_graph = assume_constant_result = disable = substitute_in_graph = unchanged
cudagraph_mark_step_begin = reset = nothing
is_compiling = is_dynamo_compiling = is_exporting = never
