"""torch._dynamo.eval_frame: the class of a compiled module."""

from adjoint.compiling.modules import OptimizedModule as OptimizedModule
