"""Private members of custom operators."""

import importlib
from typing import Any

from adjoint.library.custom_op import CustomOpDef


def _opoverload(self: CustomOpDef) -> Any:
    """What torch.ops has under its name."""
    return importlib.import_module("adjoint.compat.torch_tree.ops").overload_of(self)


CUSTOM_OP: dict[str, Any] = {
    "_opoverload": property(_opoverload),
    "_qualname": property(lambda self: self.name),
    "_namespace": property(lambda self: self.name.partition("::")[0]),
    "_name": property(lambda self: self.name.partition("::")[2]),
}
