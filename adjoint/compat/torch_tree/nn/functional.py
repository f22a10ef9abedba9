"""torch.nn.functional: what a program puts in the place of a function, layers call from then on."""

import importlib
from typing import Any

from adjoint.compat import attention_parts
from adjoint.compat.odd_products import grouped_mm as grouped_mm
from adjoint.compat.torch_tree._jit_internal import (
    BroadcastingListCls,
    boolean_dispatch as boolean_dispatch,
)
from adjoint.compat.torch_tree.nn.modules import utils
from adjoint.compat.torch_tree.overrides import (
    handle_torch_function as handle_torch_function,
    has_torch_function as has_torch_function,
    has_torch_function_unary as has_torch_function_unary,
    has_torch_function_variadic as has_torch_function_variadic,
)
from adjoint.nn import functional
from adjoint.nn.replacing import assign as assign, restore as restore

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
_single, _pair, _triple = utils.single, utils.pair, utils.triple
_list_with_default = utils.list_with_default
_canonical_mask = attention_parts.canonical_mask
_in_projection = attention_parts.in_projection
_in_projection_packed = attention_parts.in_projection_packed
_mha_shape_check = attention_parts.mha_shape_check
_none_or_dtype = attention_parts.none_or_dtype

ASSIGNABLE = {name for name in dir(functional) if callable(getattr(functional, name))}


def __getattr__(name: str) -> Any:
    if name == "_Reduction":  # a module, which only its own path shows otherwise
        return importlib.import_module("adjoint.compat.torch.nn._reduction")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
