"""torch._dynamo.utils: what programs ask of a compiler that is not there."""

from contextlib import nullcontext

from adjoint.compat.no_compiler import never

disable_cache_limit = nullcontext
is_compile_supported = never
