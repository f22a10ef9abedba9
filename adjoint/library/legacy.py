"""The older interface: an op declared by a prototype, and its formula given in two parts.

`impl_save_for_backward` says what to keep, given the inputs by name and the output;
`impl_backward` is given that again with the gradients, and answers a dictionary from the name of
each tensor-like input to its gradient.
"""

import dataclasses
import keyword
from collections import namedtuple
from typing import Any

from adjoint.library.custom_op import (
    REGISTRY,
    CustomOpDef,
    DeviceTypes,
    each_device,
    lookup,
    split_name,
)
from adjoint.library.formula import Call, registration_site, wrong
from adjoint.library.registration import RECORDING
from adjoint.library.schema import Schema, from_hints
from adjoint.library.schema_text import parse
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor

_NO_FIELDS = frozenset({"self", *keyword.kwlist})  # inputs are a named tuple
SUPPORTED = ("cpu", "cuda", "xpu", "mps")
RESERVED = frozenset({"aten", "at", "prim", "prims", "pytorch", "torch"})  # PyTorch's own


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Declare an op by a prototype, whose body is never run, or by a schema."""

    def define(prototype: Any) -> Any:
        namespace, name = split_name(qualname)
        if namespace in RESERVED:
            raise ValueError(
                f"{qualname}: {namespace} is a reserved namespace; use one of your own"
            )
        if "." in name:
            raise ValueError(f"{qualname}: ops of this interface have no overload names")
        if f"{namespace}::{name}" in REGISTRY:
            raise RuntimeError(
                f"there is a custom op {qualname} already, which can't be defined multiple times; "
                "undefine it first"
            )
        if not isinstance(prototype, str) and prototype.__name__ != name:
            raise ValueError(
                f"{qualname}: expected the prototype to have name {name}, got {prototype.__name__}"
            )
        if isinstance(prototype, str):
            schema = dataclasses.replace(_parsed(name, prototype), path=f"{namespace}::{name}")
        else:
            schema = from_hints(prototype, (), f"{namespace}::{name}")
        _check(schema)
        op = CustomOpDef(namespace, name, schema)
        op.needs_formula = True
        REGISTRY[op.name] = op
        return prototype

    if func_or_schema is None:
        return define
    define(func_or_schema)
    return None


def _parsed(name: str, text: str) -> Schema:
    """The schema of a text; what is wrong with one is, in this interface, an AssertionError."""
    try:
        return parse(text)
    except RuntimeError as error:
        raise AssertionError(f"Invalid function schema: {name}{text} ({error})") from None


def undefine(qualname: str) -> None:
    """Forget the op called `namespace::name`."""
    del REGISTRY[lookup(qualname).name]


def _lacks(schema: Schema) -> str:
    """Why the two-part interface can't take an op; "" if it can."""
    if schema.mutated:
        return "it is non-functional: it changes an argument"
    if any(kind.alias for kind in schema.returns):
        return "it is an operator that returns views"
    return "" if schema.returns else "it has no returns"


def _check(schema: Schema) -> None:
    """The two-part interface knows only ops that change nothing and answer something."""
    lacks = _lacks(schema)
    unfit = [a.name for a in schema.arguments if a.name in _NO_FIELDS or a.name[0] == "_"]
    if lacks or unfit:
        raise ValueError(
            "this interface only supports functional ops that return something, none of whose "
            "arguments is called self, begins with _ or is a word of Python's own; got "
            f"{schema}: {lacks or f'rename {unfit[0]}'}. Use library.custom_op for others."
        )


def _check_half(op: CustomOpDef) -> None:
    """Refuse a formula for an op that can't have one, or that is differentiated otherwise."""
    lacks = _lacks(op.schema)
    taken = op.registered.keys & {"CompositeImplicitAutograd", *RECORDING}
    if lacks or taken:
        reason = lacks or f"it has a kernel for {min(taken)}, which is differentiated as it is"
        raise RuntimeError(f"{op.schema} can have no autograd formula: {reason}")


def _found(qualname: str | CustomOpDef) -> CustomOpDef:
    return qualname if isinstance(qualname, CustomOpDef) else lookup(qualname)


def impl(
    qualname: str | CustomOpDef, *, device_types: DeviceTypes = ("cpu", "cuda"), func: Any = None
) -> Any:
    """Decorate the kernel of an op for these devices."""
    op = _found(qualname)
    for kind in each_device(device_types):
        if kind not in SUPPORTED:
            raise ValueError(
                f"impl({qualname!r}, device_types={kind!r}): we only support device_type in "
                f"{', '.join(SUPPORTED)}"
            )

    def register(kernel: Any) -> Any:
        for kind in each_device(device_types):
            if kind in op.registered.kernels or None in op.registered.kernels:
                raise RuntimeError(
                    f"{op.name} already has an implementation for {kind}; register_kernel replaces "
                    "it"
                )
        return op.register_kernel(device_types, kernel)

    return register if func is None else register(func)


def impl_abstract(qualname: str | CustomOpDef, *, func: Any = None) -> Any:
    """Decorate the function that answers results of the right shape and type."""
    op = _found(qualname)
    return op.register_fake if func is None else op.register_fake(func)


@dataclasses.dataclass(frozen=True)
class Half:
    """One of the two functions of a formula."""

    function: Any
    where: str
    output_differentiability: list[bool] | None = None


def impl_save_for_backward(qualname: str | CustomOpDef, *, func: Any = None) -> Any:
    """Decorate `save(inputs, output)`, which answers what backward needs: any nest of values."""
    op, where = _found(qualname), registration_site()
    _check_half(op)

    def register(function: Any) -> Any:
        op.registered.saves = Half(function, where)
        _join(op)
        return function

    return register if func is None else register(func)


def impl_backward(
    qualname: str | CustomOpDef,
    output_differentiability: list[bool] | None = None,
    *,
    func: Any = None,
) -> Any:
    """Decorate `backward(ctx, saved, *grads)`, which answers a dictionary of gradients.

    `output_differentiability` has one boolean for each result of the op.
    """
    op, where = _found(qualname), registration_site()
    _check_half(op)
    if output_differentiability is not None:
        flags = output_differentiability
        if not isinstance(flags, list) or not all(isinstance(flag, bool) for flag in flags):
            raise RuntimeError(
                f"{op.name}: output_differentiability must be a list of bools, got {flags!r}"
            )
        if len(flags) != len(op.schema.returns):
            raise RuntimeError(
                f"{op.name} has {len(op.schema.returns)} results, but output_differentiability "
                f"has {len(flags)} elements"
            )

    def register(function: Any) -> Any:
        op.registered.backwards = Half(function, where, output_differentiability)
        _join(op)
        return function

    return register if func is None else register(func)


def _join(op: CustomOpDef) -> None:
    """Once both halves are there, they are the op's formula."""
    if op.registered.saves is not None and op.registered.backwards is not None:
        op.registered.formula = TwoPart(op, op.registered.saves, op.registered.backwards)


class TwoPart:
    """A formula of two halves."""

    def __init__(self, op: CustomOpDef, saves: Half, backwards: Half) -> None:
        self.saves = saves
        self.backwards = backwards
        self.where = backwards.where
        names = [argument.name for argument in op.schema.arguments]
        self.inputs = namedtuple("inputs", names)  # type: ignore[misc]  # made from data

    def save(self, ctx: Any, op: Any, arguments: Any, output: Any) -> None:
        """Keep what the first half answers; tensors among it go through save_for_backward."""
        call: Call = ctx.call
        named = self.inputs(*arguments, *call.keywords.values())
        leaves, spec = tree_flatten(self.saves.function(named, output))
        is_tensor = [isinstance(leaf, Tensor) for leaf in leaves]
        ctx.save_for_backward(*[leaf for leaf in leaves if isinstance(leaf, Tensor)])
        ctx.kept = [None if tensor else leaf for leaf, tensor in zip(leaves, is_tensor)]
        ctx.places, ctx.tree = [i for i, tensor in enumerate(is_tensor) if tensor], spec
        ctx.kinds = [_kind(value) for value in arguments]
        ctx.mark_non_differentiable(*self.constants(call, output))

    def constants(self, call: Call, output: Any) -> list[Tensor]:
        """The tensors among the results that have no gradient."""
        flags = self.backwards.output_differentiability
        if flags is None:
            return []
        found: list[Tensor] = []
        for i, (flag, value) in enumerate(zip(flags, (output,) if call.single else output)):
            if isinstance(value, (Tensor, list)):
                if not flag:
                    found.extend([value] if isinstance(value, Tensor) else value)
            elif flag:
                raise wrong(
                    call,
                    f"output_differentiability={flags} says that result {i} has a gradient, but it "
                    f"is a {type(value).__name__}, not a Tensor",
                )
        return found

    def gradients(self, ctx: Any, op: Any, call: Call, grads: tuple[Any, ...]) -> Any:
        """What the second half answers, in the order of the arguments."""
        leaves = list(ctx.kept)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            leaves[place] = tensor
        saved = tree_unflatten(leaves, ctx.tree)
        answer = self.backwards.function(BackwardCtx(ctx.needs_input_grad), saved, *grads)
        arguments = op.schema.positional
        expected = [a.name for a in arguments if a.kind.is_tensor]
        if not isinstance(answer, dict):
            raise wrong(call, f"a dict must be returned, got {type(answer).__name__}")
        if set(answer) != set(expected):
            raise wrong(
                call,
                f"the dict must have just the tensor-like inputs as keys, {sorted(expected)}, but "
                f"has {sorted(answer, key=str)}; a gradient may be None",
            )
        for argument, kind in zip(arguments, ctx.kinds):
            if argument.name in answer:
                _check_gradient(call, argument.name, kind, answer[argument.name])
        return tuple(answer.get(argument.name) for argument in arguments)


class BackwardCtx:
    """What the second half of a formula is told besides saved values and gradients."""

    def __init__(self, needs_input_grad: Any) -> None:
        self.needs_input_grad = needs_input_grad


def _kind(value: Any) -> Any:
    """The type of an argument, or those of a list."""
    return [type(v) for v in value] if isinstance(value, list) else type(value)


def _check_gradient(call: Call, name: str, kind: Any, grad: Any) -> None:
    """Refuse what can't be the gradient of an input of this type."""
    if isinstance(kind, list):
        if not isinstance(grad, (list, tuple)):
            raise wrong(
                call, f"for the list '{name}' a list of gradients is due, got {type(grad).__name__}"
            )
        if len(grad) != len(kind):
            raise wrong(
                call, f"for the list '{name}' {len(kind)} gradients are due, got {len(grad)}"
            )
        for i, (one, element) in enumerate(zip(grad, kind)):
            _check_gradient(call, f"{name}[{i}]", element, one)
        return
    if grad is None:
        return
    if not isinstance(grad, Tensor):
        raise wrong(
            call, f"the gradient of '{name}' must be None or a Tensor, got {type(grad).__name__}"
        )
    if not issubclass(kind, Tensor):
        raise wrong(
            call,
            f"the gradient of '{name}' must be None: it was no Tensor but a {kind.__name__}",
        )
