"""torch._higher_order_ops.scan."""

from adjoint.control_flow import scan as scan
