"""torch._custom_op.impl: the operators that were declared by a prototype."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from adjoint.library import infer_schema as infer_schema, legacy, lookup
from adjoint.library.custom_op import REGISTRY
from adjoint.library.legacy import RESERVED, SUPPORTED, undefine
from adjoint.library.registration import KEYS
from adjoint.library.schema import Schema
from adjoint.library.schema_text import parse

RESERVED_NS = RESERVED
SUPPORTED_DEVICE_TYPE_TO_KEY = {device: key for key, device in KEYS.items() if device in SUPPORTED}
get_op = lookup


class CustomOp:
    """An op as PyTorch's registry lists it; programs make none themselves."""

    def __init__(self, *args: Any) -> None:
        raise RuntimeError("CustomOp constructor is private; define ops with library.custom_op")


class _Entry(CustomOp):
    def __init__(self, name: str) -> None:
        self.name = name

    def _destroy(self) -> None:
        undefine(self.name)


def custom_op(qualname: str, manual_schema: str | None = None) -> Any:
    """Decorates a prototype, whose signature must be that of the schema if one is given."""

    def decorate(function: Any) -> Any:
        if manual_schema is None:
            return legacy.custom_op(qualname)(function)
        _check_signature(inspect.signature(function), parse(manual_schema))
        legacy.custom_op(qualname, manual_schema)
        return lookup(qualname)

    return decorate


def _check_signature(found: inspect.Signature, schema: Schema) -> None:
    """Refuse a function that takes other arguments than a schema says."""
    parameters = found.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) for p in parameters):
        raise ValueError(f"*args, **kwargs and positional-only args are not supported: {found}")
    if any(p.default is not p.empty for p in parameters):
        raise ValueError(f"default arguments belong into the schema, not the function: {found}")
    given = [(p.name, p.kind is p.KEYWORD_ONLY) for p in parameters]
    if given != [(a.name, a.keyword_only) for a in schema.arguments]:
        raise ValueError(f"expected the function's signature to match {schema}, got {found}")


class _Registry(Mapping[str, CustomOp]):
    """The ops that were declared by a prototype, as they are now."""

    def __getitem__(self, name: str) -> CustomOp:
        if not REGISTRY[name].needs_formula:
            raise KeyError(name)
        return _Entry(name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, op in REGISTRY.items() if op.needs_formula])

    def __len__(self) -> int:
        return len(list(iter(self)))


global_registry = _Registry()
