"""torch._jit_internal: decorators for a compiler that is not there."""

from adjoint.compat.no_compiler import never, unchanged
from adjoint.compat.torch_tree.jit import ignore as ignore

export = unused = unchanged
_copy_to_script_wrapper = _overload = _overload_method = unchanged
is_scripting = never
