"""torch._higher_order_ops.while_loop."""

from adjoint.compat.higher_order import OPERATORS, while_loop as while_loop

while_loop_op = OPERATORS["while_loop"]
