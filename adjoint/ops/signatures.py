"""The public signatures of ops and composites, for `inspect`, `help` and the stubs alike.

They are made when they are asked for: importing adjoint must not wait for hundreds of them.
"""

import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from adjoint.ops.annotations import Array, Operand
from adjoint.tensors.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.ops.op import Op


class _MadeWhenAsked:
    """The `__signature__` of instances; the class keeps that of its `__init__`."""

    def __get__(self, instance: Any, owner: Any) -> Signature:
        if instance is None:
            raise AttributeError("__signature__")
        made: Signature = instance.public_signature()
        return made


class Described:
    """An object that is called like a function, and can be asked what it is like one.

    It is interpreted, so that instances of compiled classes below it have `__doc__` of their own.
    """

    __signature__ = _MadeWhenAsked()

    def describe(self, doc: str | None, source: Any) -> None:
        """Say what it does, and which function's source shows it."""
        self.__doc__ = doc
        self.__module__ = source.__module__
        self.__wrapped__ = source

    def public_signature(self) -> Signature:
        """How users call it, and what it answers."""
        raise NotImplementedError


class Shown(Described):
    """What `inspect` finds behind a function that is called otherwise than it is written."""

    def __init__(self, source: Callable[..., Any], make: Callable[[], Signature]) -> None:
        self.make = make
        self.describe(source.__doc__, source)

    def public_signature(self) -> Signature:
        return self.make()


def with_out(function: Callable[..., Any]) -> Signature:
    """The signature of a composite that takes out= besides its own arguments."""
    own = inspect.signature(function)
    parameters = _with_out(list(own.parameters.values()), own.return_annotation)
    return own.replace(parameters=parameters)


def of_op(op: "Op") -> Signature:
    """The signature of an op: its forward's, with tensors for arrays, and with out=."""
    forward = inspect.signature(op.forward)
    parameters = [
        parameter.replace(annotation=_type_of(op, parameter))
        for parameter in list(forward.parameters.values())[1:]  # the first is the array library
    ]
    result = _result_of(op, forward.return_annotation)
    return Signature(_with_out(parameters, result), return_annotation=result)


def of_inplace(op: "Op") -> Signature:
    """The signature of an op's in-place form, which answers the tensor it has changed."""
    found = of_op(op)
    parameters = [p for p in found.parameters.values() if p.name != "out"]
    first = parameters[0].replace(annotation=Tensor)
    return Signature([first, *parameters[1:]], return_annotation=Tensor)


def _type_of(op: "Op", parameter: Parameter) -> Any:
    """The type of a parameter: as it is written, or what follows from its part in the op."""
    place = op.index_of[parameter.name]
    if parameter.annotation not in {Any, Array, Parameter.empty}:
        return _public(parameter.annotation)
    if op.family == "elementwise" and place in op.promotes and len(op.promotes) > 1:
        return Operand
    is_tensor = parameter.annotation is Array or place in op.inputs or place in op.promotes
    return Tensor if is_tensor else Any


def _result_of(op: "Op", annotation: Any) -> Any:
    if op.outputs is not None:
        return op.outputs
    unsaid = op.hides or annotation in {Any, Signature.empty}
    return Tensor if unsaid else _public(annotation)


def _public(annotation: Any) -> Any:
    """A type with tensors in the place of arrays."""
    if annotation is Array:
        return Tensor
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if Array not in inner:
        return annotation
    mapped = tuple(_public(part) for part in inner)
    if origin is types.UnionType:
        return functools.reduce(operator.or_, mapped)
    return types.GenericAlias(origin, mapped)


def _with_out(parameters: list[Parameter], result: Any) -> list[Parameter]:
    """The parameters, and out= if the result can be written into it."""
    if any(p.name == "out" or p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return parameters
    if hasattr(result, "_fields"):
        result = tuple[Tensor, ...]
    if result is not Any and result is not Tensor and Tensor not in typing.get_args(result):
        return parameters
    kind = Any if result is Any else result | None
    return [*parameters, Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=kind)]


RESULTS: dict[str, Any] = {}  # the named tuples that ops answer, by the name of the op


def answer_of(name: str) -> Callable[[type], Any]:
    """A decorator that makes a named tuple the answer of an op, found in adjoint.return_types."""

    def declare(kind: Any) -> Any:
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "adjoint.return_types"  # where pickle finds it
        kind.__repr__ = shown_results
        kind.__new__ = _of_parts_or_sequence(kind.__new__)
        kind.n_fields = kind.n_sequence_fields = len(kind._fields)
        kind.n_unnamed_fields = 0
        RESULTS[name] = kind
        return kind

    return declare


def _of_parts_or_sequence(make: Any) -> Any:
    """How a named tuple is made, from one sequence too, as programs make PyTorch's."""

    def made(cls: type, *parts: Any, **named: Any) -> Any:
        if len(parts) == 1 and isinstance(parts[0], (tuple, list)):
            parts = tuple(parts[0])
        return make(cls, *parts, **named)

    return made


def shown_results(results: Any, package: str = "adjoint") -> str:
    """The results of an op as text, a line each."""
    name = type(results).__name__
    parts = [f"{field}={value!r}" for field, value in zip(results._fields, results)]
    return f"{package}.return_types.{name}(\n" + ",\n".join(parts) + ")"
