"""torch.onnx: what packages tell PyTorch's exporter when they are imported; nothing is exported."""

from adjoint.compat.no_compiler import never, nothing

is_in_onnx_export = never
register_custom_op_symbolic = nothing
