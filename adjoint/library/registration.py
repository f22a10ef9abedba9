"""Registering by name: define and impl, in the free form and on a Library."""

import dataclasses
from typing import Any

from adjoint.library.custom_op import (
    REGISTRY,
    CustomOpDef,
    DeviceTypes,
    Registrations,
    lookup,
    split_name,
)
from adjoint.library.schema import parse

# PyTorch's names for where a kernel runs, and ours; None: wherever there is no other.
KEYS: dict[str, str | None] = {
    "": None,
    "default": None,
    "CompositeImplicitAutograd": None,
    "CompositeExplicitAutograd": None,
    "CPU": "cpu",
    "CUDA": "cuda",
}


def _found(op: str | CustomOpDef) -> CustomOpDef:
    return op if isinstance(op, CustomOpDef) else lookup(op)


def define(qualname: str, schema: str, *, lib: Any = None) -> CustomOpDef:
    """Make an op from its schema alone; impl gives it kernels.

    Until it has an autograd formula, its kernels are recorded op by op.
    """
    namespace, name = split_name(qualname)
    found = dataclasses.replace(parse(schema), name=f"{namespace}::{name}")
    if found.name in REGISTRY:
        raise RuntimeError(
            f"{found} is defined already, at {REGISTRY[found.name].where}; an op can't be "
            "registered with the same name multiple times"
        )
    op = CustomOpDef(namespace, name, found, composite=True)
    REGISTRY[op.name] = op
    if lib is not None:
        lib.made.append(op)
    return op


def impl(qualname: str | CustomOpDef, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Give an op a kernel for devices ("cpu", "cuda"), or for all ("default")."""
    op = _found(qualname)
    kinds = [types] if isinstance(types, str) else list(types)
    devices = [KEYS.get(kind, kind) for kind in kinds]

    def register(kernel: Any) -> Any:
        if lib is not None:
            lib.remember(op)
        for device in devices:
            op.register_kernel(device, kernel)
        return kernel

    return register if func is None else register(func)


def register_kernel(
    op: str | CustomOpDef, device_types: DeviceTypes, func: Any = None, /, *, lib: Any = None
) -> Any:
    """See CustomOpDef.register_kernel."""
    return _found(op).register_kernel(device_types, func)


def register_fake(op: str | CustomOpDef, func: Any = None, /, *, lib: Any = None) -> Any:
    """See CustomOpDef.register_fake."""
    found = _found(op)
    return found.register_fake if func is None else found.register_fake(func)


def register_vmap(op: str | CustomOpDef, func: Any = None, /, *, lib: Any = None) -> Any:
    """See CustomOpDef.register_vmap."""
    return _found(op).register_vmap(func)


def register_autograd(
    op: str | CustomOpDef, backward: Any, /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """See CustomOpDef.register_autograd."""
    _found(op).register_autograd(backward, setup_context=setup_context)


class Library:
    """A set of definitions and kernels of one namespace, which end with it."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}; it is DEF, FRAGMENT or IMPL")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self.made: list[CustomOpDef] = []
        self.before: list[tuple[CustomOpDef, Registrations]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str) -> str:
        """Make an op from `name(arguments) -> results`; its name is returned."""
        if self.kind == "IMPL":
            raise RuntimeError("a Library of kind IMPL holds kernels only; define ops in a DEF")
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema, lib=self)
        return name

    def impl(self, op_name: str | CustomOpDef, fn: Any, dispatch_key: str = "") -> None:
        """Give an op of this namespace a kernel."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found {fn!r}")
        key = dispatch_key or self.dispatch_key
        name = op_name if isinstance(op_name, CustomOpDef) else f"{self.ns}::{op_name}"
        impl(name, key, fn, lib=self)

    def remember(self, op: CustomOpDef) -> None:
        """Note what was registered for an op, to come back to it."""
        self.before.append((op, op.registered.copy()))

    def _destroy(self) -> None:
        for op, state in self.before[::-1]:
            op.registered = state
        for op in self.made:
            if REGISTRY.get(op.name) is op:
                del REGISTRY[op.name]
        self.before.clear()
        self.made.clear()

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *exc: object) -> None:
        self._destroy()
