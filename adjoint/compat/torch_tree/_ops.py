"""torch._ops: what torch.ops is made of."""

from adjoint.compat.higher_order import HigherOrderOperator as HigherOrderOperator
from adjoint.compat.torch_tree.ops import Namespace, Overload, Packet

__all__ = ["OpOverload", "OpOverloadPacket"]

OpOverload = Overload
OpOverloadPacket = Packet
_OpNamespace = Namespace
