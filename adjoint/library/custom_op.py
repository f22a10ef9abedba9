"""Custom operators: functions with a schema, kernels per device, and a derivative of their own."""

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from inspect import Signature
from typing import Any

from adjoint.autograd.forward_rules import through_vjp
from adjoint.autograd.function_batches import by_rule
from adjoint.autograd.function_node import DelayedError
from adjoint.autograd.hooks import name_of
from adjoint.autograd.node import edge_node
from adjoint.autograd.saved_tensors import before_change
from adjoint.call import dispatch
from adjoint.call.arguments import tensors_in
from adjoint.call.context import change_grad_enabled, current, is_recording, set_current
from adjoint.call.held import Attribute, Held
from adjoint.call.overriding import has_others, offered
from adjoint.call.record import cut_of
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.library.fake import KnownSizesOnly
from adjoint.library.formula import Call, OpFunction, Registered, registration_site
from adjoint.library.schema import Argument, Kind, Schema, accepted, from_hints, named_arguments
from adjoint.library.schema_text import parse
from adjoint.ops.arranging.shape import select, stack
from adjoint.ops.op import MISSING, Op
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.changes import check_inplace
from adjoint.tensors.core import CUT_BY_MODE, CUT_BY_OP, backend_of, shares_memory
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import rebase
from adjoint.transforms.batches import warn_of_loop
from adjoint.transforms.duals import dual, primal_at, tangent_at

DeviceTypes = str | Sequence[str] | None
# PyTorch's names for kernels that are made of other ops, which know what to do on any device.
DEVICES = ("cpu", "cuda", "xla", "xpu", "mps", "hip", "mtia", "hpu", "meta", "privateuseone")
GENERAL = frozenset({"", "default", "CompositeImplicitAutograd", "CompositeExplicitAutograd"})
_log = logging.getLogger("adjoint.library")


def each_device(types: DeviceTypes) -> list[str | None]:
    """The devices named, one or several; None, or "default", for all that have no other kernel."""
    named = [types] if types is None or isinstance(types, str) else types
    return [None if name == "default" else name for name in named]


def listed(tags: Any, of: str) -> list[Any]:
    """The tags of an op, which may be one, several or none."""
    if tags is None:
        return []
    if isinstance(tags, (tuple, list, set, frozenset)):
        return list(tags)
    if isinstance(tags, (str, int)):
        raise TypeError(f"{of}: tags must be a Tag or a sequence of them, got {tags!r}")
    return [tags]


@dataclasses.dataclass
class Registrations:
    """What was registered for an op, and may be replaced or undone."""

    kernels: dict[str | None, Any] = dataclasses.field(default_factory=dict)
    fake: Any = None
    vmap: Any = None
    formula: Any = None
    recorder: Any = None  # a kernel that records its calls by itself
    keys: frozenset[str] = frozenset()  # PyTorch's names for what impl was given
    autocast: dict[str, Any] = dataclasses.field(
        default_factory=dict
    )  # types or kernels, by device
    dispatch: dict[Any, Any] = dataclasses.field(default_factory=dict)  # by subclass or mode
    saves: Any = None  # the halves of a formula in two parts (legacy.py)
    backwards: Any = None

    def copy(self) -> "Registrations":
        """The same, to come back to."""
        return dataclasses.replace(
            self,
            kernels=dict(self.kernels),
            autocast=dict(self.autocast),
            dispatch=dict(self.dispatch),
        )


class WithKeywords:
    """A function whose last arguments are given by keyword."""

    def __init__(self, function: Any, names: list[str]) -> None:
        self.function = function
        self.names = names
        self.__qualname__ = name_of(function)

    def __call__(self, *args: Any) -> Any:
        count = len(args) - len(self.names)
        return self.function(*args[:count], **dict(zip(self.names, args[count:])))


class CustomOpDef(Op):
    """A custom operator; call it like a function. Made by custom_op.

    It is an Op whose signature is a schema, and which computes and records its calls itself: by
    kernels and a formula that users register.
    """

    def __init__(self, namespace: str, name: str, schema: Schema, composite: bool = False) -> None:
        super().__init__(f"{namespace}::{name}", "custom", self.run_kernel)
        self.__doc__ = f"The custom operator {schema}."
        self.node_name = f"{self.name}Backward"
        self.parameters = [argument.name for argument in schema.arguments]
        self.index_of = {parameter: i for i, parameter in enumerate(self.parameters)}
        self.defaults = [argument.default for argument in schema.arguments]
        self.positional = len(schema.positional)
        needed = [i for i, default in enumerate(self.defaults) if default is MISSING]
        self.required = needed[-1] + 1 if needed else 0
        self.inputs = [i for i, a in enumerate(schema.positional) if a.kind.is_tensor]
        self.view = any(kind.alias for kind in schema.returns)
        self.lane = dispatch.OWN
        self.namespace = namespace
        self.schema = schema
        self.tags: list[Any] = []  # what a program says of it, for compilers of PyTorch
        self.where = registration_site()
        self.composite = composite  # without a formula, its kernel is recorded op by op
        self.needs_formula = False  # without one, it refuses inputs that require grad
        self.registered = Registrations()
        self.disabled: frozenset[str | None] = frozenset()
        self.origin: Any = None  # the function that custom_op made it of
        self.function: type[OpFunction] = type(self.name, (OpFunction,), {})

    @property
    def default(self) -> "CustomOpDef":
        """The op itself, which has one overload."""
        return self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.name})>"

    def __reduce__(self) -> Any:
        return (lookup, (self.name,))

    def public_signature(self) -> Signature:
        """What its schema says."""
        return self.schema.signature()

    def __get__(self, instance: Any, owner: Any) -> Any:
        """In a class it is a function that takes no self, as PyTorch's is."""
        return self

    # ---- registration ----

    def register_kernel(self, device_types: DeviceTypes, fn: Any = None, /) -> Any:
        """Use a function for tensors on these devices; None means all that have no other."""
        if device_types is not None and not any(a.kind.is_tensor for a in self.schema.arguments):
            if not any(a.kind.base == "Device" for a in self.schema.arguments):
                raise ValueError(
                    f"{self.name}: an op with kernels per device needs tensor arguments, or a "
                    "`device` argument, to choose by"
                )

        kinds = each_device(device_types)
        for kind in kinds:
            if kind is not None and kind not in DEVICES:
                raise RuntimeError(
                    f"{self.name}: Expected one of {', '.join(DEVICES)} device type, or None for "
                    f"all; got {kind!r}"
                )

        def register(kernel: Any) -> Any:
            for kind in kinds:
                self.registered.kernels[kind] = kernel
            return kernel

        return register if fn is None else register(fn)

    def register_fake(self, fn: Any, /) -> Any:
        """Give a function that answers tensors of the right shape and type, whatever the values."""
        if "CompositeImplicitAutograd" in self.registered.keys:
            raise RuntimeError(
                f"{self.name} has a kernel for CompositeImplicitAutograd, made of ops whose shapes "
                "are known; it needs no fake function"
            )
        self.registered.fake = fn
        return fn

    def register_vmap(self, func: Any = None, /) -> Any:
        """Give the op's form over a batch: `func(info, in_dims, *args)` → (output, out_dims)."""
        if func is None:
            return self.register_vmap
        self.refuse_keyword_tensors()
        self.registered.vmap = func
        return func

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """Say what the op is on instances of a class, or in a mode of it.

        `fn(cls or mode, op, types, args, kwargs)` is asked instead of its `__torch_dispatch__`.
        """
        if fn is None:
            return functools.partial(self.register_torch_dispatch, torch_dispatch_class)
        self.registered.dispatch[torch_dispatch_class] = fn
        return fn

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """Say what autocast on a kind of device casts the arguments to."""
        if not isinstance(device_type, str):
            kind = type(device_type).__name__
            raise ValueError(f"{self.name}: the device type for autocast must be a str, got {kind}")
        if device_type not in DEVICES:
            raise RuntimeError(
                f"{self.name}: Expected one of {', '.join(DEVICES)} device type, got "
                f"{device_type!r}"
            )
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"{self.name}: {device_type} has no autocast here; cpu and cuda have")
        self.registered.autocast[device_type] = cast_inputs

    @property
    def autocast_types(self) -> dict[str, Any]:
        """What autocast casts the arguments to, or the kernel that does, by kinds of devices."""
        return self.registered.autocast

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """Give the derivative, or replace it.

        `backward(ctx, *grads)` answers one gradient for each argument; `setup_context(ctx, inputs,
        output)` keeps on ctx what it needs.
        """
        if self.schema.mutated or (self.view and not self.is_plain_view()):
            raise RuntimeError(
                f"{self.schema} is a non-functional operator, which can have no autograd formula: "
                "write an op that changes no argument and returns new tensors"
            )
        self.refuse_keyword_tensors()
        self.registered.formula = Registered(backward, setup_context, registration_site())

    def is_plain_view(self) -> bool:
        """Whether its one result is a view of its first argument."""
        first, returns = self.schema.arguments[:1], self.schema.returns
        return bool(first) and len(returns) == 1 and first[0].kind.alias == returns[0].alias != ""

    def refuse_keyword_tensors(self) -> None:
        """Formulas know the tensors among the arguments by position."""
        if any(a.keyword_only and a.kind.is_tensor for a in self.schema.arguments):
            raise NotImplementedError(
                f"{self.schema}: kwarg-only Tensor args can't be differentiated or batched; let "
                "them be given by position too"
            )

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> "KernelEnabled":
        """Inside, use or leave aside the kernel of a device; the decorated function steps in."""
        return KernelEnabled(self, device_type, enabled)

    # ---- calling ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Not by dispatch.call: `out` is an argument like any other, and arrays are no tensors.
        if has_others(args, kwargs):
            return offered(self, args, kwargs)
        return dispatch.apply(self, self.bind(args, kwargs))

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """See Op; each value is checked against the schema, and made what the kernel expects."""
        try:
            values = super().bind(args, kwargs)
        except TypeError as error:
            raise RuntimeError(f"{error}; its schema is {self.schema}") from None
        return [self.accepted(a, v) for a, v in zip(self.schema.arguments, values)]

    def accepted(self, argument: Argument, given: Any) -> Any:
        """The value of one argument."""
        value = given if given is argument.default else accepted(argument.kind, given)
        if value is MISSING:
            raise RuntimeError(
                f"{self.name}(): Expected a value of type '{argument.kind}' for argument "
                f"'{argument.name}', got a {type(given).__name__}; its schema is {self.schema}"
            )
        return value

    def parted(self, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments given by position, and those by keyword only."""
        count = self.positional
        return values[:count], dict(zip(self.parameters[count:], values[count:]))

    def spelled(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """See Op; kernels and rules get what equals its default from their own signature."""
        needed = [i for i, value in enumerate(values) if not self.is_default(i, value)]
        count = max((i + 1 for i in needed if i < self.positional), default=0)
        named = {self.parameters[i]: values[i] for i in needed if i >= self.positional}
        return tuple(values[:count]), named

    def is_default(self, place: int, value: Any) -> bool:
        """Whether an argument is what it would be if it were left out."""
        default = self.defaults[place]
        if value is default or isinstance(value, Tensor) or default is MISSING or default is None:
            return value is default
        return bool(value == default)

    def evaluated(self, values: list[Any]) -> Any:
        """The results of a call, recorded if it must be; dispatch has found nothing unusual."""
        if self.view and self.registered.formula is not None:
            self.refuse_symbolic()
        if self.registered.recorder is not None and is_recording():
            return self.called(self.registered.recorder, values)
        recording = is_recording() and any(t.requires_grad for t in tensors_in(values))
        result = self.differentiated(values) if recording else self.compute(values)
        results = results_of(result)
        intermediates = current().intermediates
        if intermediates is not None and not recording:
            intermediates.extend(self, values, results)
        if self.composite or self.view:
            return result  # it may be an argument
        cut = cut_of(values, CUT_BY_OP if recording else CUT_BY_MODE)
        for tensor in results:
            if not tensor.needs_grad:
                tensor.cut = cut
        return result

    def refuse_symbolic(self) -> None:
        """A view is made again from its arguments, which must be plain numbers then."""
        for argument in self.schema.arguments:
            if argument.kind.base == "SymInt":
                raise RuntimeError(
                    f"{self.schema}: Custom ops that are views do not support SymInt. Write int "
                    f"for '{argument.name}'"
                )

    def pushed(self, level: Any, values: list[Any]) -> Any:
        """See Op: through its formula, which is linear in the gradient, twice."""
        if level.is_idle():
            return self.evaluated([primal_at(level, value) for value in values])
        if self.registered.formula is None and self.composite:
            return self.run_kernel(values)
        if self.registered.formula is None or self.schema.mutated:
            raise NotImplementedError(
                f"Trying to use forward AD with {self.name}, defined at {self.where}, that does "
                "not support it because it has not been implemented yet: register a formula with "
                "register_autograd"
            )
        primals = [primal_at(level, value) for value in values]
        tangents = [tangent_at(level, value) for value in values]
        result, moved = through_vjp(self, primals, tangents)
        if isinstance(result, Tensor):
            output: Any = dual(level, result, moved)
        else:
            output = tuple(dual(level, r, t) for r, t in zip(result, moved))
        level.paused = True  # the outputs have their tangents
        try:
            return self.recorded(values, output)
        finally:
            level.paused = False

    def differentiated(self, values: list[Any]) -> Any:
        """The results of a call on tensors that require grad."""
        self.check_formula()
        formula = self.registered.formula
        if formula is None and self.composite:
            return self.run_kernel(values)
        if not self.schema.mutated:
            return Call(self, formula, values).run()
        for tensor in self.changed(values):
            if tensor.node is not None:
                check_inplace(self.name, tensor, constant=True)
        return self.compute(values)

    def over_batch(self, level: Any, values: list[Any]) -> Any:
        """See Op: by the rule that was registered, or one element after the other."""
        if "CompositeImplicitAutograd" in self.registered.keys and self.registered.vmap is None:
            return self.run_kernel(values)
        whole, every = self.parted(values)
        rule, given, keywords = self.one_by_one, tuple(whole), every
        if self.registered.vmap is not None:
            rule, (given, keywords) = self.registered.vmap, self.spelled(values)

        def once(inner: list[Any]) -> Any:
            return dispatch.apply(self, [*inner, *whole[len(inner) :], *every.values()])

        rule = functools.partial(rule, **keywords) if keywords else rule
        output = by_rule(self.name, rule, level, list(given), once)
        needed = any(tensor.needs_grad for tensor in tensors_in(values))
        return self.recorded(values, output) if needed else output

    def one_by_one(self, info: Any, in_dims: Any, *args: Any, **keywords: Any) -> Any:
        """The rule for batches of an op that was given none."""
        if self.schema.mutated:
            raise RuntimeError(
                f"vmap: {self.name} changes its arguments in place, and has no rule for a batch; "
                "register one with register_vmap"
            )
        warn_of_loop(self)
        rows = [
            dispatch.apply(self, [*_element(args, in_dims, place), *keywords.values()])
            for place in range(info.batch_size)
        ]
        if isinstance(rows[0], tuple):
            return tuple(_stacked(list(column)) for column in zip(*rows)), 0
        return _stacked(rows), 0

    def recorded(self, values: list[Any], output: Any) -> Any:
        """See Op."""
        if not is_recording() or not any(t.requires_grad for t in tensors_in(values)):
            return output
        return Call(self, self.registered.formula, values, output).run()

    def stands_for_calls(self) -> bool:
        """See Op."""
        by_formula = self.registered.formula is not None or not self.composite
        if self.registered.recorder is not None or not by_formula:
            return False  # its history is that of other calls
        return not (self.view or self.schema.mutated)

    def has_history_of_its_own(self) -> bool:
        """Whether it is said how its calls are recorded: by a formula, or as what it is made of."""
        recorded = self.registered.recorder or "CompositeImplicitAutograd" in self.registered.keys
        return bool(recorded) or self.registered.formula is not None

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
                f"{self.name} has one half of an autograd formula, given by {found[0]} at "
                f"{halves[found[0]].where}, but not the other: register it with {missing}"
            )
        if self.needs_formula and self.registered.formula is None:
            raise RuntimeError(
                f"Autograd has not been implemented for operator {self.name}, defined at "
                f"{self.where}, but one of its inputs requires grad. Register a formula, or call "
                "it on detached tensors."
            )

    def compute(self, values: list[Any]) -> Any:
        """The result, not recorded; changes of arguments are counted."""
        changed = self.changed(values)
        for tensor in changed:
            before_change(tensor)
        settings = current()
        try:
            change_grad_enabled(False)
            result = self.run_kernel(values)
        finally:
            set_current(settings)
        if not self.view and not self.composite and not self.needs_formula:
            self.refuse_aliases(values, result)
        for tensor in changed:
            tensor.counter().bump()
            if settings.recording and tensor.requires_grad:
                self.forget(tensor)
        return result

    def changed(self, values: list[Any]) -> list[Tensor]:
        """The tensors that the op changes in place."""
        pairs = zip(self.schema.arguments, values)
        return tensors_in([value for argument, value in pairs if argument.kind.mutated])

    def forget(self, tensor: Tensor) -> None:
        """The tensor was changed in place; how, is not known to autograd: to ask is an error."""
        if tensor.node is None:
            return  # a leaf, as if it were changed under no_grad
        error = DelayedError(
            f"{self.name}, defined at {self.where}, changed this tensor in place, and an op "
            "that does so has no autograd formula. Write it as an op that returns a new tensor.",
            [(edge_node(tensor), tensor.output_number)],
            [tensor],
        )
        rebase(tensor, error, 0)

    def run_kernel(self, values: list[Any]) -> Any:
        """What the kernel of the arguments' device answers, or a mode or class that does."""
        own = "CompositeImplicitAutograd" not in self.registered.keys
        if own and current().modes:
            return self.checked(dispatch.asked_below(current(), False, self, values))
        if own:
            for tensor in tensors_in(values):
                if tensor.layer is not None and tensor.layer.wraps:
                    return self.checked(tensor.layer.call(self, values))
        kind = device_type(values)
        kernels = self.registered.kernels
        if kind == "meta" and kind not in kernels:
            if self.registered.fake is not None or not self.registered.keys & GENERAL:
                return self.faked(values)
        kernel = self.origin if kind in self.disabled else kernels.get(kind)
        if kernel is None:
            kernel = kernels.get(None)
        if kernel is None:
            known = ", ".join(sorted(str(k) for k in kernels)) or "no device"
            raise NotImplementedError(
                f"Could not run on {kind}: {self.name} does not have a kernel registered for "
                f"{kind}, only for {known}; add one with register_kernel"
            )
        tracing = current().tracing
        if tracing is not None and self.registered.fake is not None and not self.schema.mutated:
            return self.on_host(tracing, kernel, values)
        return self.called(kernel, values)

    def on_host(self, tracing: Any, kernel: Any, values: list[Any]) -> Any:
        """Have the host run the kernel in a program; the fake function says what comes of it."""
        arguments, keywords = self.parted(values)
        named = WithKeywords(kernel, list(keywords))
        given = (*arguments, *keywords.values())
        return self.checked(tracing.ask(named, given, self.faked(values)))

    def faked(self, values: list[Any]) -> Any:
        """What the op answers where nothing has values: what its fake function says."""
        fake = self.registered.fake
        if fake is None and not self.schema.returns:
            return None
        if fake is None:
            raise NotImplementedError(
                f"{self.name}, defined at {self.where}: there was no fake impl registered, which "
                "is called for tensors on the device meta; add one with register_fake"
            )
        with KnownSizesOnly(self.name):
            return self.called(fake, values)

    def called(self, kernel: Any, values: list[Any]) -> Any:
        """What a kernel answers, checked against the schema."""
        arguments, keywords = self.spelled(values)
        return self.checked(kernel(*arguments, **keywords))

    def checked(self, result: Any) -> Any:
        """A kernel's result, if it is what the schema says."""
        kinds = self.schema.returns
        if not kinds:
            if result is not None:
                raise RuntimeError(f"{self.name}: its kernel must return None, per {self.schema}")
            return None
        if self.schema.single:
            return self.checked_one(kinds[0], result)
        if not isinstance(result, (tuple, list)) or len(result) != len(kinds):
            count = len(result) if isinstance(result, (tuple, list)) else 1
            raise RuntimeError(
                f"{self.name}: its kernel must return {len(kinds)} values, per {self.schema}, "
                f"returned {count}"
            )
        return tuple(self.checked_one(kind, value) for kind, value in zip(kinds, result))

    def checked_one(self, kind: Kind, value: Any) -> Any:
        """One of the results."""
        found = accepted(kind, value)
        if found is MISSING:
            raise RuntimeError(
                f"{self.name}: its kernel returned a {type(value).__name__} where a {kind} is "
                f"due, per {self.schema}"
            )
        return found

    def refuse_aliases(self, values: list[Any], result: Any) -> None:
        """Results must be new memory: autograd could not tell whose history they have."""
        others = tensors_in(values)
        for tensor in results_of(result):
            if any(shared(tensor, other) for other in others):
                raise RuntimeError(
                    f"{self.name}, defined at {self.where}: what its kernel returns must not also "
                    "be an input or another output, nor share memory with one; return a clone()"
                )
            others.append(tensor)


def _element(tree: Any, dims: Any, place: int) -> Any:
    """One element of a batch of arguments, of which some are the same for all."""
    leaves, spec = tree_flatten(tree)
    found = [
        leaf if dim is None else select(leaf, dim, place)
        for leaf, dim in zip(leaves, tree_flatten(dims)[0])
    ]
    return tree_unflatten(found, spec)


def _stacked(rows: list[Any]) -> Any:
    """The results of all elements of a batch; lists of tensors one by one."""
    if isinstance(rows[0], list):
        return [stack(list(column)) for column in zip(*rows)]
    return stack(rows)


def device_type(values: list[Any]) -> str | None:
    """Where an op runs: where its tensors are, the CPU coming last; else what a device says."""
    found = {tensor.device.type for tensor in tensors_in(values)}
    if not found:
        return next((value.type for value in values if isinstance(value, device)), None)
    return min(found - {"cpu"}, default="cpu")


def results_of(output: Any) -> list[Tensor]:
    """The tensors among the results of an op."""
    return tensors_in(list(output) if isinstance(output, (tuple, list)) else [output])


def shared(tensor: Tensor, other: Tensor) -> bool:
    """Whether a change of one shows in the other: views do so even of arrays that can't change."""
    if tensor is other:
        return True
    extras, others = tensor.extras, other.extras
    if extras is not None and others is not None and extras.counter is not None:
        if extras.counter is others.counter:
            return True
    backend = backend_of(tensor.array)
    alike = backend is backend_of(other.array) and backend.mutable
    return alike and shares_memory(tensor.array, other.array)


# ---- the registry ----

REGISTRY: dict[str, CustomOpDef] = {}


def split_name(qualname: str) -> tuple[str, str]:
    """Namespace and name of `namespace::name`."""
    if not isinstance(qualname, str):
        kind = type(qualname).__name__
        raise TypeError(f"the name of a custom op must be a str 'namespace::name', got a {kind}")
    namespace, separator, name = qualname.partition("::")
    plain = name.replace(".", "_", 1)  # one overload
    if not separator or not namespace.isidentifier() or not plain.isidentifier():
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


class KernelEnabled(Held):
    """Inside, the kernel of a device is used, or left aside."""

    def __init__(self, op: CustomOpDef, device_type: str, enabled: bool) -> None:
        self.disabled = Attribute(op, "disabled")
        self.kernels = op.registered.kernels
        self.device_type = frozenset({device_type})
        self.enabled = enabled
        self.before = True

    def _variable(self) -> Any:
        """See Held."""
        return self.disabled

    def _inside(self, before: Any) -> Any:
        """See Held."""
        self.before = not self.device_type <= before
        (device_type,) = self.device_type
        if device_type not in self.kernels:
            _log.warning(
                "set_kernel_enabled(%r): no kernel was registered for this device type", device_type
            )
        elif self.before == self.enabled:
            state = "enabled" if self.enabled else "disabled"
            _log.warning("set_kernel_enabled(%r): the kernel is already %s", device_type, state)
        return self.chosen(before, self.enabled)

    def _outside(self, now: Any) -> Any:
        """See Held; what others have chosen for other devices stays."""
        return self.chosen(now, self.before)

    def chosen(self, disabled: frozenset[str], enabled: bool) -> frozenset[str]:
        """The devices whose kernels are left aside."""
        return disabled - self.device_type if enabled else disabled | self.device_type


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Any = None,
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
            found = dataclasses.replace(parse(schema), path=qualname)
            if set(found.mutated) != named_arguments(mutates_args):
                raise ValueError(
                    f"{qualname}: the schema {schema} says that the op changes {found.mutated}, "
                    f"mutates_args says {list(mutates_args)}; make them agree"
                )
        made = CustomOpDef(namespace, short, found)
        made.tags = listed(tags, qualname)
        made.refuse_keyword_tensors()
        made.describe(function.__doc__ or made.__doc__, function)
        made.origin = function
        made.register_kernel(device_types, function)
        REGISTRY[qualname] = made
        return made

    return define if fn is None else define(fn)
