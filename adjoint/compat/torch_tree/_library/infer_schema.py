"""torch._library.infer_schema: schemas read from type hints."""

import functools
import operator
import typing
from collections.abc import Sequence
from typing import Any, Optional

from adjoint.library.schema import BASES, infer_schema as infer_schema, kind_of
from adjoint.tensors.tensor import Tensor

_TestTensor = Tensor  # a name of this module, which hints of other modules don't mean


def _optional(kind: Any) -> Any:
    """What `Optional` makes of a type; `|` makes something else of it, where programs look."""
    made: Any = Optional
    return made[kind]


def _listed(kind: Any) -> Any:
    made: Any = list
    return made[kind]


def _hints() -> dict[Any, str]:
    """The types that an argument may have, and what a schema calls them."""
    sequence: Any = Sequence
    bases = [*BASES, _optional(Tensor)]
    lists = [_listed(base) for base in bases]
    tried = [
        *bases,
        *map(_optional, BASES),
        *lists,
        *[sequence[base] for base in bases],
        *map(_optional, lists),
    ]
    return {hint: str(kind) for hint in tried if (kind := kind_of(hint)) is not None}


SUPPORTED_PARAM_TYPES = _hints()
SUPPORTED_RETURN_TYPES = {
    Tensor: "Tensor",
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    int | float | bool: "Scalar",
}


def tuple_to_list(tuple_type: Any) -> Any:
    """The list that says what a tuple says, as far as a schema can."""
    parts = typing.get_args(tuple_type)
    if not parts:
        return list
    if len(parts) == 2 and parts[1] is ...:
        return _listed(parts[0])
    return _listed(functools.reduce(operator.or_, parts))
