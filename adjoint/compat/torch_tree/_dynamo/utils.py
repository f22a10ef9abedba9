"""torch._dynamo.utils: what programs ask of a compiler that is not there."""

from contextlib import AbstractContextManager, nullcontext

from adjoint.compat.missing_names import missing
from adjoint.compat.no_compiler import never

disable_cache_limit = nullcontext
is_compile_supported = never


def maybe_enable_compiled_autograd(
    should_enable: bool, fullgraph: bool = True, dynamic: bool = True
) -> AbstractContextManager[None]:
    """As a context: backward passes as they are, unless compiled ones are wanted."""
    if should_enable:
        raise missing("_dynamo.compiled_autograd")
    return nullcontext()
