"""`adjoint.compile`: a function of ordinary adjoint code, watched once and run by XLA afterwards.

docs/notes/compile.md says how state is found, what a program is made anew for, and what hooks see.
"""

from adjoint.compiling.errors import CompileError as CompileError
from adjoint.compiling.public import Compiled as Compiled, compile as compile
