"""Layers without parameters: arguments, kept as attributes, and a function."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar

from adjoint.nn.module import Module

REQUIRED: Any = inspect.Parameter.empty


def taking(**defaults: Any) -> Mapping[str, Any]:
    """The arguments of a constructor, in their order, with their defaults."""
    return MappingProxyType(defaults)


def _method(method: Any, parameters: Iterable[inspect.Parameter]) -> Callable[..., Any]:
    """A method of its own for a class, with the parameters that help and tools are to see."""
    copy = FunctionType(
        method.__code__, method.__globals__, method.__name__, None, method.__closure__
    )
    copy.__doc__, copy.__qualname__ = method.__doc__, method.__qualname__
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    copy.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]
    return copy


def _is_copy(method: Any, of: Any) -> bool:
    return getattr(method, "__code__", None) is of.__code__


class Stateless(Module):
    """A layer that keeps its arguments and hands them on to a function.

    A class says what its `function` is and which `fields` it has: the constructor's arguments in
    their order, with their defaults. They are given to the function by name.
    """

    function: ClassVar[Any]
    fields: ClassVar[Mapping[str, Any]] = taking()
    unshown: ClassVar[frozenset[str]] = frozenset()  # fields that repr leaves out
    signature: ClassVar[inspect.Signature]
    passed: ClassVar[tuple[str, ...]] = ()  # see passed_on

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls.signature = inspect.Signature(
            [inspect.Parameter(name, kind, default=value) for name, value in cls.fields.items()]
        )
        cls.passed = cls.passed_on()
        if "fields" in vars(cls) and _is_copy(cls.__init__, Stateless.__init__):
            own = _method(Stateless.__init__, cls.signature.parameters.values())
            cls.__init__ = own  # type: ignore[method-assign]
        if "function" in vars(cls) and _is_copy(cls.forward, Stateless.forward):
            wanted = inspect.signature(cls.function).parameters.values()
            own = _method(Stateless.forward, takewhile(cls._is_tensor, wanted))
            cls.forward = own  # type: ignore[method-assign]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}{self.signature}: {error}") from None
        bound.apply_defaults()
        for name, value in self.adjusted(bound.arguments).items():
            setattr(self, name, value)

    @classmethod
    def _is_tensor(cls, parameter: inspect.Parameter) -> bool:
        """Whether the function's parameter is a tensor, and not one of the fields."""
        return parameter.name not in cls.fields and parameter.kind is not parameter.KEYWORD_ONLY

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The attributes that follow from the constructor's arguments."""
        return given

    @classmethod
    def passed_on(cls) -> tuple[str, ...]:
        """Which fields the function is given besides tensors."""
        return tuple(cls.fields)

    def arguments(self) -> dict[str, Any]:
        """What the function is given besides tensors."""
        return {name: getattr(self, name) for name in self.passed}

    def forward(self, *tensors: Any, **named: Any) -> Any:
        """The function of the tensors."""
        return type(self).function(*tensors, **named, **self.arguments())

    def extra_repr(self) -> str:
        """The fields and their values; inplace only where it is set."""
        shown = [name for name in self.fields if name not in {"inplace", *self.unshown}]
        parts = [f"{name}={getattr(self, name)!r}" for name in shown]
        if getattr(self, "inplace", False) and "inplace" not in self.unshown:
            parts.append("inplace=True")
        return ", ".join(parts)
