"""torch.compiler.config: settings of a compiler that is not there; they can be set."""

from typing import Any

from adjoint.compat.compiler_settings import OF_BOTH, patching

patch = patching("compiler.config")
globals().update(OF_BOTH)
cache_key_tag = ""
enable_cpp_symbolic_shape_guards = False
force_disable_caches = wrap_top_frame = False
job_id: str | None = None
reorderable_logging_functions: set[Any] = set()
skip_tensor_guards_with_matching_dict_tags = True
