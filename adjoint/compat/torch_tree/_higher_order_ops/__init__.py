"""torch._higher_order_ops: branches and loops as functions."""

from adjoint.compat.torch_tree._higher_order_ops.cond import cond as cond
from adjoint.compat.torch_tree._higher_order_ops.scan import scan as scan
from adjoint.compat.torch_tree._higher_order_ops.while_loop import while_loop as while_loop
