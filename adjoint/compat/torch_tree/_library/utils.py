"""torch._library.utils: operators by name, and what their schemas say."""

from typing import Any

from adjoint.compat.tags import Tag
from adjoint.compat.torch_tree.ops import operation_of, overload_of
from adjoint.library import lookup
from adjoint.library.schema import Schema
from adjoint.library.schema_text import parse

# How the memory of arguments may lie, the strictest first.
_LAYOUTS = (
    Tag.needs_exact_strides,
    Tag.needs_contiguous_strides,
    Tag.needs_fixed_stride_order,
    Tag.flexible_layout,
)


def lookup_op(qualname: str) -> Any:
    """The overload of a name, as torch.ops has it."""
    return overload_of(lookup(qualname))


def parse_namespace(qualname: str) -> tuple[str, str]:
    """The namespace and the name of `namespace::name`."""
    namespace, separator, name = qualname.partition("::")
    if not separator or "::" in name:
        raise ValueError(f"expected a name like namespace::name, got {qualname!r}")
    return namespace, name


def get_layout_constraint_tag(fn: Any, *, with_default: bool = True) -> Any:
    """How the arguments of an op must lie in memory, for a compiler; the strictest tag it has."""
    tags = operation_of(fn).tags
    for tag in _LAYOUTS:
        if tag in tags:
            return tag
    return Tag.needs_exact_strides if with_default else None


def _schema_of(schema: Any) -> Schema:
    return schema if isinstance(schema, Schema) else parse(str(schema))


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Whether an op changes nothing, returns something, and nothing that shares memory."""
    found = _schema_of(schema)
    if found.mutated or not found.returns:
        return False
    if not any(kind.alias for kind in found.returns):
        return True
    first = found.arguments[0].kind if found.arguments else None
    return allow_valid_view and first is not None and first.alias == found.returns[0].alias


def mutates_and_returns_first_arg(op: Any) -> bool:
    """Whether an op changes its first argument and returns it."""
    found = operation_of(op).schema
    if len(found.returns) != 1 or not found.arguments:
        return False
    first = found.arguments[0].kind
    return bool(first.mutated and first.alias == found.returns[0].alias)


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a type of a schema is a list of tensors, some of which may be None."""
    text = str(typ)
    return text.startswith("Tensor") and "[]" in text


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a type of a schema is a tensor, or None."""
    return str(typ) in ("Tensor", "Tensor?")


def mutated_args_kwargs(schema: Any) -> tuple[list[int], list[str]]:
    """The arguments that an op changes: positions, and names of those given by name."""
    found = _schema_of(schema)
    positions = [i for i, a in enumerate(found.positional) if a.kind.mutated]
    return positions, [a.name for a in found.arguments if a.keyword_only and a.kind.mutated]
