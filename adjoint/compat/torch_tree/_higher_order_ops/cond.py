"""torch._higher_order_ops.cond."""

from adjoint.control_flow import cond as cond
