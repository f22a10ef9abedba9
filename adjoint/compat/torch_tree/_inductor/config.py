"""torch._inductor.config: settings of a compiler that is not there; they can be set."""

from types import SimpleNamespace

triton = SimpleNamespace()
cpp = SimpleNamespace()
cuda = SimpleNamespace()
