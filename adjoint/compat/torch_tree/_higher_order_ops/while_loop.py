"""torch._higher_order_ops.while_loop."""

from adjoint.control_flow import while_loop as while_loop
