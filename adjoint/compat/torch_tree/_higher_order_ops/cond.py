"""torch._higher_order_ops.cond."""

from adjoint.compat.higher_order import OPERATORS, cond as cond

cond_op = OPERATORS["cond"]
