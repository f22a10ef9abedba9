"""Custom operators: functions with a schema, kernels per device, and a derivative of their own."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from adjoint import dispatch, views
from adjoint.ambient import (
    ambient,
    change_grad_enabled,
    is_grad_enabled,
    overrides_enabled,
    switchboard,
)
from adjoint.autograd.function_node import DelayedError
from adjoint.autograd.node import edge_node
from adjoint.autograd.saved_tensors import before_change
from adjoint.device import device
from adjoint.dispatch import tensors_in
from adjoint.library.formula import Call, OpFunction, Registered, registration_site
from adjoint.library.schema import Argument, Kind, Schema, accepted, from_hints, parse
from adjoint.ops.op import MISSING
from adjoint.tensor import Tensor
from adjoint.tensor_core import backend_of

DeviceTypes = str | Sequence[str] | None


def each_device(types: DeviceTypes) -> list[str | None]:
    """The devices named, one or several; None for all that have no other kernel."""
    return [types] if types is None or isinstance(types, str) else list(types)


@dataclasses.dataclass
class Registrations:
    """What was registered for an op, and may be replaced or undone."""

    kernels: dict[str | None, Any] = dataclasses.field(default_factory=dict)
    fake: Any = None
    vmap: Any = None
    formula: Any = None
    saves: Any = None  # the halves of a formula in two parts (legacy.py)
    backwards: Any = None

    def copy(self) -> "Registrations":
        """The same, to come back to."""
        return dataclasses.replace(self, kernels=dict(self.kernels))


class CustomOpDef:
    """A custom operator; call it like a function. Made by custom_op."""

    def __init__(self, namespace: str, name: str, schema: Schema, composite: bool = False) -> None:
        self.namespace = namespace
        self.name = name
        self.schema = schema
        self.where = registration_site()
        self.composite = composite  # without a formula, its kernel is recorded op by op
        self.needs_formula = False  # without one, it refuses inputs that require grad
        self.registered = Registrations()
        self.disabled: set[str | None] = set()
        self.function: type[OpFunction] = type(self.qualname, (OpFunction,), {})

    @property
    def qualname(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}::{self.name}"

    @property
    def default(self) -> "CustomOpDef":
        """The op itself, which has one overload."""
        return self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.qualname})>"

    def __reduce__(self) -> Any:
        return (lookup, (self.qualname,))

    # ---- registration ----

    def register_kernel(self, device_types: DeviceTypes, fn: Any = None, /) -> Any:
        """Use a function for tensors on these devices; None means all that have no other."""
        if device_types is not None and not any(a.kind.is_tensor for a in self.schema.arguments):
            if not any(a.kind.base == "Device" for a in self.schema.arguments):
                raise ValueError(
                    f"{self.qualname}: an op with kernels per device needs tensor arguments, or a "
                    "`device` argument, to choose by"
                )

        def register(kernel: Any) -> Any:
            for kind in each_device(device_types):
                self.registered.kernels[kind] = kernel
            return kernel

        return register if fn is None else register(fn)

    def register_fake(self, fn: Any, /) -> Any:
        """Give a function that answers tensors of the right shape and type, whatever the values."""
        self.registered.fake = fn
        return fn

    def register_vmap(self, func: Any = None, /) -> Any:
        """Give the op's form over a batch: `func(info, in_dims, *args)` → (output, out_dims)."""
        if func is None:
            return self.register_vmap
        self.registered.vmap = func
        return func

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """Give the derivative, or replace it.

        `backward(ctx, *grads)` answers one gradient for each argument; `setup_context(ctx, inputs,
        output)` keeps on ctx what it needs.
        """
        if self.schema.mutated or any(kind.alias for kind in self.schema.returns):
            raise RuntimeError(
                f"{self.schema} is a non-functional operator, which can have no autograd formula: "
                "write an op that changes no argument and returns new tensors"
            )
        self.registered.formula = Registered(backward, setup_context, registration_site())

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside, use or leave aside the kernel of a device; the general one steps in."""
        before = device_type in self.disabled
        (self.disabled.discard if enabled else self.disabled.add)(device_type)
        try:
            yield
        finally:
            (self.disabled.add if before else self.disabled.discard)(device_type)

    # ---- calling ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments, keywords = self.bind(args, kwargs)
        if switchboard.unusual:
            watchers = ambient().watchers
            if watchers:
                return dispatch.watched(self, [*arguments, *keywords.values()], watchers)
        return self.call(arguments, keywords)

    def run(self, values: list[Any]) -> Any:
        """The call with its arguments in the order of the schema; how a watcher makes it."""
        args, kwargs = self.spelled(values)
        return self(*args, **kwargs)

    def spelled(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as a user would write them."""
        count = len(self.schema.positional)
        names = [a.name for a in self.schema.arguments if a.keyword_only]
        return tuple(values[:count]), dict(zip(names, values[count:], strict=True))

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """The call itself, recorded if it must be."""
        tensors = tensors_in([*arguments, *keywords.values()])
        for tensor in tensors:
            if tensor.special and overrides_enabled():
                return self.override(tensors, tuple(arguments), keywords)
            tensor.up_to_date()
        recording = is_grad_enabled() and any(t.requires_grad for t in tensors)
        if not recording:
            return self.compute(arguments, keywords)
        self.check_formula()
        if self.registered.formula is None and self.composite:
            return self.run_kernel(arguments, keywords)
        if self.schema.mutated:
            for tensor in self.changed(arguments, keywords):
                if tensor.node is not None:
                    views.check_inplace(self.qualname, tensor, constant=True)
            return self.compute(arguments, keywords)
        return Call(self, self.registered.formula, arguments, keywords).run()

    def override(self, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        """Let a subclass of Tensor handle the call."""
        kinds = tuple(dict.fromkeys(type(t) for t in tensors))
        for tensor in tensors:
            if tensor.special:
                handler: Any = type(tensor).__torch_function__  # type: ignore[attr-defined]  # subclass
                answer = handler(self, kinds, args, kwargs)
                if answer is not NotImplemented:
                    return answer
        names = ", ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"no implementation of {self.qualname} for the types {names}")

    def check_formula(self) -> None:
        """Refuse a call that could not be differentiated later."""
        halves = {
            "impl_save_for_backward": self.registered.saves,
            "impl_backward": self.registered.backwards,
        }
        found = [name for name, half in halves.items() if half is not None]
        if len(found) == 1:
            (missing,) = set(halves) - set(found)
            raise RuntimeError(
                f"{self.qualname} has one half of an autograd formula, given by {found[0]} at "
                f"{halves[found[0]].where}, but not the other: register it with {missing}"
            )
        if self.needs_formula and self.registered.formula is None:
            raise RuntimeError(
                f"Autograd has not been implemented for operator {self.qualname}, defined at "
                f"{self.where}, but one of its inputs requires grad. Register a formula, or call "
                "it on detached tensors."
            )

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The positional arguments, and those given by keyword only; defaults filled in."""
        places = self.schema.positional
        if len(args) > len(places):
            raise RuntimeError(
                f"{self.qualname}() takes {len(places)} positional argument(s) but {len(args)} "
                f"were given: {self.schema}"
            )
        names = {argument.name for argument in self.schema.arguments}
        for name in kwargs:
            if name not in names:
                raise RuntimeError(
                    f"{self.qualname}(): Unknown keyword argument '{name}': {self.schema}"
                )
        given = dict(zip([argument.name for argument in places], args))
        twice = sorted(set(given) & set(kwargs))
        if twice:
            raise RuntimeError(f"{self.qualname}() got several values for {twice[0]!r}")
        given.update(kwargs)
        positional = [self.value(argument, given) for argument in places]
        keywords = {a.name: self.value(a, given) for a in self.schema.arguments if a.keyword_only}
        return positional, keywords

    def value(self, argument: Argument, given: dict[str, Any]) -> Any:
        """The value of one argument, checked."""
        if argument.name not in given:
            if argument.default is MISSING:
                raise RuntimeError(
                    f"{self.qualname}() is missing value for argument '{argument.name}': "
                    f"{self.schema}"
                )
            return argument.default
        value = accepted(argument.kind, given[argument.name])
        if value is MISSING:
            raise RuntimeError(
                f"{self.qualname}(): Expected a value of type '{argument.kind}' for argument "
                f"'{argument.name}', got a {type(given[argument.name]).__name__}: {self.schema}"
            )
        return value

    def compute(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """The result, not recorded; changes of arguments are counted."""
        changed = self.changed(arguments, keywords)
        for tensor in changed:
            before_change(tensor)
        recording = change_grad_enabled(False)
        try:
            result = self.run_kernel(arguments, keywords)
        finally:
            change_grad_enabled(recording)
        if not any(kind.alias for kind in self.schema.returns):
            self.refuse_aliases(arguments, keywords, result)
        for tensor in changed:
            tensor.counter().bump()
            if recording and tensor.requires_grad:
                self.forget(tensor)
        return result

    def changed(self, arguments: list[Any], keywords: dict[str, Any]) -> list[Tensor]:
        """The tensors that the op changes in place."""
        pairs = zip(self.schema.positional, arguments)
        given = {argument.name: value for argument, value in pairs} | keywords
        return tensors_in([given[name] for name in self.schema.mutated])

    def forget(self, tensor: Tensor) -> None:
        """The tensor was changed in place; how, is not known to autograd: to ask is an error."""
        if tensor.node is None:
            return  # a leaf, as if it were changed under no_grad
        error = DelayedError(
            f"{self.qualname}, defined at {self.where}, changed this tensor in place, and an op "
            "that does so has no autograd formula. Write it as an op that returns a new tensor.",
            [(edge_node(tensor), tensor.output_number)],
            [tensor],
        )
        views.rebase(tensor, error, 0)

    def run_kernel(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """What the kernel of the arguments' device answers, checked against the schema."""
        kind = self.device_type(arguments, keywords)
        kernels = self.registered.kernels
        kernel = None if kind in self.disabled else kernels.get(kind)
        if kernel is None:
            kernel = kernels.get(None)
        if kernel is None:
            known = ", ".join(sorted(str(k) for k in kernels)) or "no device"
            raise NotImplementedError(
                f"Could not run {self.qualname} on {kind}: it has kernels for {known}; add one "
                "with register_kernel"
            )
        return self.checked(kernel(*arguments, **keywords))

    def device_type(self, arguments: list[Any], keywords: dict[str, Any]) -> str | None:
        """Where the op runs: where its first tensor is, or where its device argument says."""
        values = [*arguments, *keywords.values()]
        tensors = tensors_in(values)
        if tensors:
            return tensors[0].device.type
        return next((v.type for v in values if isinstance(v, device)), None)

    def checked(self, result: Any) -> Any:
        """A kernel's result, if it is what the schema says."""
        kinds = self.schema.returns
        if not kinds:
            if result is not None:
                raise RuntimeError(
                    f"{self.qualname}: its kernel must return None, per {self.schema}"
                )
            return None
        if self.schema.single:
            return self.checked_one(kinds[0], result)
        if not isinstance(result, (tuple, list)) or len(result) != len(kinds):
            count = len(result) if isinstance(result, (tuple, list)) else 1
            raise RuntimeError(
                f"{self.qualname}: its kernel must return {len(kinds)} values, per {self.schema}, "
                f"returned {count}"
            )
        return tuple(self.checked_one(kind, value) for kind, value in zip(kinds, result))

    def checked_one(self, kind: Kind, value: Any) -> Any:
        """One of the results."""
        found = accepted(kind, value)
        if found is MISSING:
            raise RuntimeError(
                f"{self.qualname}: its kernel returned a {type(value).__name__} where a {kind} is "
                f"due, per {self.schema}"
            )
        return found

    def refuse_aliases(self, arguments: list[Any], keywords: dict[str, Any], result: Any) -> None:
        """Results must be new memory: autograd could not tell whose history they have."""
        results = tensors_in([*result] if isinstance(result, tuple) else [result])
        others = tensors_in([*arguments, *keywords.values()])
        for tensor in results:
            for other in others:
                same = other is tensor or type(other.array) is type(tensor.array)
                if not backend_of(tensor.array).mutable:
                    same = other is tensor  # nobody can change what is shared
                if same and backend_of(tensor.array).shares_memory(tensor.array, other.array):
                    raise RuntimeError(
                        f"{self.qualname}, defined at {self.where}: what its kernel returns must "
                        "not also be an input or another output, nor share memory with one; return "
                        "a clone()"
                    )
            others.append(tensor)


# ---- the registry ----

REGISTRY: dict[str, CustomOpDef] = {}


def split_name(qualname: str) -> tuple[str, str]:
    """Namespace and name of `namespace::name`."""
    namespace, separator, name = qualname.partition("::")
    if not separator or not namespace.isidentifier() or not name.replace(".", "_").isidentifier():
        raise ValueError(
            f"the name of a custom op must look like 'namespace::name', got {qualname!r}"
        )
    return namespace, name.removesuffix(".default")


def lookup(qualname: str) -> CustomOpDef:
    """The custom op called `namespace::name`."""
    found = REGISTRY.get("::".join(split_name(qualname)))
    if found is None:
        raise ValueError(
            f"there is no custom op {qualname!r}; define it with custom_op or define of library"
        )
    return found


class Namespace:
    """The custom ops of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> CustomOpDef:
        found = REGISTRY.get(f"{self.__name__}::{name}")
        if found is None:
            raise AttributeError(f"there is no custom op {self.__name__}::{name}")
        return found


class Namespaces:
    """All custom ops: `ops.namespace.name`."""

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return Namespace(name)


ops = Namespaces()


@contextlib.contextmanager
def scoped() -> Iterator[None]:
    """Whatever is defined and registered inside is undone at the end."""
    before = dict(REGISTRY)
    states = {op: op.registered.copy() for op in REGISTRY.values()}
    try:
        yield
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)
        for op, state in states.items():
            op.registered = state


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
) -> Any:
    """Make an operator of a function: `@custom_op("namespace::name", mutates_args=())`.

    Its schema is read from the type hints, or from `schema`. Defining a name again replaces it.
    """

    def define(function: Any) -> CustomOpDef:
        namespace, short = split_name(name)
        qualname = f"{namespace}::{short}"
        if schema is None:
            found = from_hints(function, mutates_args, qualname)
        else:
            found = dataclasses.replace(parse(schema), name=qualname)
            if set(found.mutated) != set(mutates_args):
                raise ValueError(
                    f"{qualname}: the schema {schema} says that the op changes {found.mutated}, "
                    f"mutates_args says {list(mutates_args)}; make them agree"
                )
        if any(a.keyword_only and a.kind.is_tensor for a in found.arguments):
            raise NotImplementedError(
                f"{qualname}: tensors can't be kwarg-only arguments of a custom op; got {found}"
            )
        made = CustomOpDef(namespace, short, found)
        made.register_kernel(device_types, function)
        REGISTRY[qualname] = made
        return made

    return define if fn is None else define(fn)
