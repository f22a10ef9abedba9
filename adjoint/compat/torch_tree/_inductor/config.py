"""torch._inductor.config: settings of a compiler that is not there; they can be set."""

from types import SimpleNamespace

from adjoint.compat.compiler_settings import patching

triton = SimpleNamespace()
cpp = SimpleNamespace()
cuda = SimpleNamespace()
patch = patching("_inductor.config")
