"""torch._ops: what torch.ops is made of."""

from adjoint.compat.higher_order import HigherOrderOperator as HigherOrderOperator
from adjoint.compat.torch_tree.ops import (
    Namespace,
    OpOverload as OpOverload,
    OpOverloadPacket as OpOverloadPacket,
)

__all__ = ["OpOverload", "OpOverloadPacket"]

_OpNamespace = Namespace
