"""torch._library.utils: operators by name, and what their schemas say."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adjoint.compat.tags import Tag
from adjoint.compat.torch_tree.ops import operation_of, overload_of
from adjoint.library import lookup
from adjoint.library.schema import Schema
from adjoint.library.schema_text import parse
from adjoint.tensors.tensor import Tensor

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
    return str(typ) in ("Tensor", "Optional[Tensor]")


def mutated_args_kwargs(schema: Any) -> tuple[list[int], list[str]]:
    """The arguments that an op changes: positions, and names of those given by name."""
    found = _schema_of(schema)
    positions = [i for i, a in enumerate(found.positional) if a.kind.mutated]
    return positions, [a.name for a in found.arguments if a.keyword_only and a.kind.mutated]


# ---- registrations ----


@dataclass
class Kernel:
    """A function, and where it was registered."""

    func: Callable[..., Any]
    source: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class RegistrationHandle:
    """What takes a registration back."""

    def __init__(self, on_destroy: Callable[[], Any]) -> None:
        self._on_destroy = on_destroy

    def destroy(self) -> None:
        """Take it back."""
        self._on_destroy()


def get_source(stacklevel: int) -> str:
    """The line of the program that called, as many calls above this one."""
    frame = sys._getframe(stacklevel)  # noqa: SLF001  # what inspect gives costs a file's reading
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def requires_set_python_module() -> bool:
    """Whether ops that C++ defines must name the module of the rest of them; there are none."""
    return False


# ---- schemas and their arguments ----


def has_kwarg_only_args(schema: Any) -> bool:
    """Whether some arguments are given by name alone."""
    return any(argument.keyword_only for argument in _schema_of(schema).arguments)


def has_kwarg_only_tensors(schema: Any) -> bool:
    """Whether a tensor is given by name alone."""
    found = _schema_of(schema).arguments
    return any(each.keyword_only and each.kind.is_tensor for each in found)


def has_tensor_arg(schema: Any) -> bool:
    """Whether there is a tensor among the arguments, or a list of them."""
    return any(argument.kind.is_tensor for argument in _schema_of(schema).arguments)


def get_device_arg_index(schema: Any) -> int | None:
    """Which argument is called device; None if none is."""
    names = [argument.name for argument in _schema_of(schema).arguments]
    return names.index("device") if "device" in names else None


def zip_schema(schema: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    """The arguments of a call with what the schema says of them, less those that are left out."""
    given = list(args)
    for place, argument in enumerate(_schema_of(schema).arguments):
        if not argument.keyword_only and place < len(given):
            yield argument, given[place]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def fill_defaults(schema: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, with the defaults of those that are left out."""
    positions, named = [], {}
    for place, argument in enumerate(_schema_of(schema).arguments):
        if not argument.keyword_only:
            positions.append(args[place] if place < len(args) else _given(argument, kwargs))
        else:
            named[argument.name] = _given(argument, kwargs)
    return tuple(positions), named


def _given(argument: Any, kwargs: Any) -> Any:
    return kwargs.get(argument.name, argument.default)


def iter_tensors(args: Any, kwargs: Any, allowed_nesting: int = 1) -> Iterator[Tensor]:
    """The tensors of a call, also in lists so many levels deep."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)) and allowed_nesting > 0:
            yield from iter_tensors(tuple(value), {}, allowed_nesting - 1)


# ---- operators ----


def is_builtin(op: Any) -> bool:
    """Whether an operator is PyTorch's own."""
    return op.namespace in ("aten", "prim", "prims", "_prims_common", "rngprims")


def is_inplace(op: Any) -> bool:
    """Whether an operator is the in-place form of another, as add_."""
    name = op._name  # noqa: SLF001  # where PyTorch's overloads have their name
    return bool(name.endswith("_") and not name.endswith("__"))


def is_out(op: Any) -> bool:
    """Whether an operator writes into arguments that are given by name: the form out of another."""
    if op.namespace == "aten":
        return bool(op.overload == "out" or op.overload.endswith("_out"))
    arguments = op._schema.arguments  # noqa: SLF001  # where PyTorch's overloads have it
    return any(each.keyword_only and each.kind.mutated for each in arguments)


def has_fake_kernel(op: Any) -> bool:
    """Whether it is known what an operator answers to tensors without values."""
    found = operation_of(op)
    registered = getattr(found, "registered", None)
    return registered is None or registered.fake is not None
