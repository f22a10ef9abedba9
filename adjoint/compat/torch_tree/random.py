"""torch.random: the generator of a worker that is a thread; adjoint's workers are processes."""

from adjoint.compat.no_compiler import nothing as thread_safe_generator

__all__ = ["thread_safe_generator"]
