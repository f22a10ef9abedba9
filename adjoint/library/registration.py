"""Registering by name: define and impl, in the free form and on a Library."""

import dataclasses
import functools
import weakref
from collections.abc import Callable
from typing import Any, Self

from adjoint.library.custom_op import (
    DEVICES,
    REGISTRY,
    CustomOpDef,
    DeviceTypes,
    Registrations,
    listed,
    lookup,
    split_name,
)
from adjoint.library.formula import registration_site
from adjoint.library.schema_text import checked, parse

# PyTorch's names for where a kernel runs, and ours; None: wherever there is no other.
KEYS: dict[str, str | None] = {
    "": None,
    "default": None,
    "CompositeImplicitAutograd": None,
    "CompositeExplicitAutograd": None,
    "CompositeExplicitAutogradNonFunctional": None,
    "CPU": "cpu",
    "CUDA": "cuda",
    "XLA": "xla",
    "XPU": "xpu",
    "MPS": "mps",
    "HIP": "hip",
    "HPU": "hpu",
    "MTIA": "mtia",
    "PrivateUse1": "privateuseone",
}
RECORDING = ("Autograd", "AutogradCPU", "AutogradCUDA")  # for kernels that record by themselves
AUTOCAST = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda"}  # for kernels that cast by themselves
# For kinds of tensors that there are none of, so that such kernels are kept and never asked.
ELSEWHERE = ("ZeroTensor", "Conjugate", "Negative", "QuantizedCPU", "NestedTensorCPU", "MkldnnCPU")
FAKE = "Meta"  # for kernels that answer shapes alone


# Kernels of ops that are yet to be defined, with their keys, and whose they are.
_early: dict[str, list[tuple[list[str], Any, Callable[[], Any]]]] = {}


def _kept(qualname: str, kinds: list[str], kernel: Any, lib: Any) -> Any:
    """Keep a kernel for an op that will be defined later; its Library ends it before that, too."""
    waiting = _early.setdefault(qualname, [])
    entry = (kinds, kernel, (lambda: None) if lib is None else weakref.ref(lib))
    waiting.append(entry)
    if lib is not None:
        lib.undone.append(functools.partial(_given_up, waiting, entry))
    return kernel


def _given_up(waiting: list[Any], entry: Any) -> None:
    """Let go of a kernel that no op came for."""
    if entry in waiting:
        waiting.remove(entry)


def _found(op: str | CustomOpDef) -> CustomOpDef:
    return op if isinstance(op, CustomOpDef) else lookup(op)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> CustomOpDef:
    """Make an op from its schema, `(arguments) -> results`, alone; impl gives it kernels.

    Until it has an autograd formula, its kernels are recorded op by op.
    """
    if not checked(schema).lstrip().startswith("("):
        raise ValueError(
            f"define({qualname!r}, ...): expected schema to look like (Tensor x) -> Tensor, "
            f"without a name, got {schema!r}"
        )
    if lib is not None:  # whose namespace it is, whatever the name says
        qualname = f"{lib.ns}::{qualname.rpartition('::')[2]}"
    namespace, name = split_name(qualname)
    found = dataclasses.replace(parse(schema), path=f"{namespace}::{name}")
    if found.path in REGISTRY:
        raise RuntimeError(
            f"{found} is defined already, at {REGISTRY[found.path].where}; an op can't be "
            "registered with the same name multiple times"
        )
    op = CustomOpDef(namespace, name, found, composite=True)
    op.tags = listed(tags, qualname)
    REGISTRY[op.name] = op
    if lib is not None:
        lib.made.append(op)
    for kinds, kernel, owner in _early.pop(op.name, []):
        impl(op, kinds, kernel, lib=owner())
    return op


def impl(qualname: str | CustomOpDef, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Give an op a kernel for devices ("cpu", "cuda"), or for all ("default").

    PyTorch's names of devices, "Meta" and "Autograd" are taken too: the last is called whenever
    gradients are enabled, and records by itself.
    """
    kinds = [types] if isinstance(types, str) else list(types)
    for kind in kinds:
        if kind.islower() and kind not in (*DEVICES, "default"):
            raise RuntimeError(
                f"impl({qualname!r}, {kind!r}): Expected one of {', '.join(DEVICES)} device type"
            )
    known = (*KEYS, *RECORDING, *AUTOCAST, *ELSEWHERE, FAKE)
    unknown = [k for k in kinds if k not in known and not k.islower()]
    if unknown:
        raise NotImplementedError(
            f"impl({qualname!r}, ...): could not parse dispatch key {unknown[0]!r}; known are "
            f"{', '.join(filter(None, (*KEYS, *RECORDING, *AUTOCAST, FAKE)))} and devices"
        )

    if isinstance(qualname, str) and qualname not in REGISTRY:
        split_name(qualname)  # which refuses what is no name
        if func is not None:
            return _kept(qualname, kinds, func, lib)
        return lambda kernel: _kept(qualname, kinds, kernel, lib)
    op = _found(qualname)

    def register(kernel: Any) -> Any:
        if lib is not None:
            lib.remember(op)
        op.registered.keys |= frozenset(kinds)
        for kind in kinds:
            if kind in RECORDING:
                op.registered.recorder = kernel
            elif kind == FAKE:
                op.register_fake(kernel)
            elif kind in AUTOCAST:
                op.registered.autocast[AUTOCAST[kind]] = kernel
            elif kind in ELSEWHERE:
                continue
            else:
                op.register_kernel(KEYS.get(kind, kind), kernel)
        return kernel

    return register if func is None else register(func)


def register_kernel(
    op: str | CustomOpDef, device_types: DeviceTypes, func: Any = None, /, *, lib: Any = None
) -> Any:
    """See CustomOpDef.register_kernel; an op that is yet to be defined gets it then."""
    if isinstance(op, str) and op not in REGISTRY:
        return impl(op, "default" if device_types is None else device_types, func, lib=lib)
    return _found(op).register_kernel(device_types, func)


def register_fake(op: str | CustomOpDef, func: Any = None, /, *, lib: Any = None) -> Any:
    """See CustomOpDef.register_fake; an op that is yet to be defined gets it then."""
    if isinstance(op, str) and "::".join(split_name(op)) not in REGISTRY:
        return impl(op, FAKE, func, lib=lib)
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


def register_autocast(
    op: str | CustomOpDef, device_type: str, cast_inputs: Any, /, *, lib: Any = None
) -> None:
    """See CustomOpDef.register_autocast."""
    found = _found(op)
    if lib is not None:
        lib.remember(found)
    found.register_autocast(device_type, cast_inputs)


def register_torch_dispatch(
    op: str | CustomOpDef, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None
) -> Any:
    """See CustomOpDef.register_torch_dispatch."""
    found = _found(op)

    def register(rule: Any) -> Any:
        if lib is not None:
            lib.remember(found)
        return found.register_torch_dispatch(torch_dispatch_class, rule)

    return register if func is None else register(func)


DEFINERS: dict[str, str] = {}  # namespaces that have a Library of kind DEF, and where it was made


class Library:
    """A set of definitions and kernels of one namespace, which end with it."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}; it is DEF, FRAGMENT or IMPL")
        if ns == "prim" and kind != "IMPL":
            raise ValueError("prim is a reserved namespace, to which nothing can be added")
        if kind == "DEF":
            if ns in DEFINERS:
                raise RuntimeError(
                    f"the namespace {ns} has a Library of kind DEF already, made at "
                    f"{DEFINERS[ns]}, and gets no other at {registration_site()}; add to it by one "
                    "of kind FRAGMENT"
                )
            DEFINERS[ns] = registration_site()
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self.made: list[CustomOpDef] = []
        self.before: list[tuple[CustomOpDef, Registrations]] = []
        self.undone: list[Any] = []  # functions that take back what was registered elsewhere
        end = DEFINERS if kind == "DEF" else {}
        self._destroy = weakref.finalize(self, _undo, self.made, self.before, self.undone, ns, end)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make an op from `name(arguments) -> results`; its name is returned."""
        self._check_alive()
        if self.kind == "IMPL":
            raise RuntimeError("a Library of kind IMPL holds kernels only; define ops in a DEF")
        name, _, rest = checked(schema).partition("(")
        define(f"{self.ns}::{name.strip()}", f"({rest}", lib=self, tags=tags)
        return name.strip()

    def impl(self, op_name: str | CustomOpDef, fn: Any, dispatch_key: str = "") -> None:
        """Give an op of this namespace a kernel."""
        self._check_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found {fn!r}")
        key = dispatch_key or self.dispatch_key
        name = op_name if isinstance(op_name, CustomOpDef) else f"{self.ns}::{op_name}"
        impl(name, key, fn, lib=self)

    def _register_torch_dispatch_rule(self, op_name: str, kind: Any, fn: Any) -> None:
        op = lookup(f"{self.ns}::{op_name}")
        self.remember(op)
        op.registered.dispatch[kind] = fn

    def _check_alive(self) -> None:
        """Refuse what nothing would ever take back."""
        if not self._destroy.alive:
            raise AssertionError(f"{self} has been destroyed; make another Library of {self.ns}")

    def remember(self, op: CustomOpDef) -> None:
        """Note what was registered for an op, to come back to it."""
        self.before.append((op, op.registered.copy()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._destroy()


def _undo(
    made: list[CustomOpDef],
    before: list[tuple[CustomOpDef, Registrations]],
    undone: list[Any],
    ns: str,
    definers: dict[str, str],
) -> None:
    """Take back what a Library has defined and registered."""
    for undo in undone[::-1]:
        undo()
    for op, state in before[::-1]:
        op.registered = state
    for op in made:
        if REGISTRY.get(op.name) is op:
            del REGISTRY[op.name]
    definers.pop(ns, None)
