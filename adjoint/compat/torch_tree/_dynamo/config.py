"""torch._dynamo.config: settings of a compiler that is not there; they can be set."""

from adjoint.compat.compiler_settings import OF_BOTH, patching

patch = patching("_dynamo.config")
globals().update(OF_BOTH)
cache_size_limit = 8
accumulated_cache_size_limit = 256
disable = error_on_recompile = suppress_errors = False
force_parameter_static_shapes = guard_nn_modules = inline_inbuilt_nn_modules = optimize_ddp = True
