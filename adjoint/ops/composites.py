"""Functions made of ops: public like ops, and without rules, since each step has its own."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from adjoint.call.argument_types import flags_of, misplaced, refuse_no_flag
from adjoint.call.arguments import tensors_in
from adjoint.call.context import current
from adjoint.call.out import refuse_shared, write_out
from adjoint.call.overriding import (
    answered_elsewhere,
    created_by,
    creating_mode,
    offered,
    seen_by_mode,
)
from adjoint.ops.declaration import DECLARED, Declaration
from adjoint.ops.plain_numbers import needs_look, numbers_of, plain_number
from adjoint.ops.signatures import Shown, with_out
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

Function = TypeVar("Function", bound=Callable[..., Any])

COMPOSITES: dict[str, Any] = {}
_NEVER = 1 << 30  # the place of what is given by name alone
# Names that arguments may have, too: NumPy's, and those of PyTorch's overloads.
OTHER_WORDS = {
    "a": "input",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "keepdims": "keepdim",
    "element": "elements",
    "input2": "L",
    "test_element": "test_elements",
    "indices": "indices_or_sections",
    "sections": "indices_or_sections",
    "tensor_indices_or_sections": "indices_or_sections",
    "split_size": "split_size_or_sections",
}


@overload
def composite(function: Function) -> Function: ...


@overload
def composite(**options: Any) -> Callable[[Function], Function]: ...


def composite(function: Any = None, **options: Any) -> Any:
    """A public function made of ops; it needs no rule, since each step has its own."""
    if function is None:
        return lambda made: _register_composite(made, dict(options))
    return _register_composite(function, options)


def _refuse_others(function: Any, args: Any, kwargs: Any, error: Exception) -> None:
    """Say what is wrong where something else was given than the parameter is declared to be."""
    ambiguous = isinstance(error, RuntimeError) and "Boolean value of Tensor" in str(error)
    if not (ambiguous or isinstance(error, AttributeError)):
        return
    given: list[tuple[str, Any]] = []
    signature = inspect.signature(function)
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        given.extend((name, each) for each in (value if several else (value,)))
    wrong = misplaced(function.__name__, function.__annotations__, given, error)
    if wrong is not None:
        raise wrong from error


class Kinds:
    """The parameters of a function that are flags or numbers, and where they are."""

    def __init__(self, function: Any) -> None:
        self.name = function.__name__
        flags, numbers = flags_of(function), numbers_of(function)
        parameters = inspect.signature(function).parameters if flags or numbers else {}
        by_place = [
            name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD
        ]
        places = {name: place for place, name in enumerate(by_place)}
        self.switches = {  # and if None is taken
            name: optional or parameters[name].default is None for name, optional in flags.items()
        }
        self.numbers = numbers  # and of which kind
        self.places = {name: places[name] for name in (*flags, *numbers) if name in places}
        self.first = min(self.places.values(), default=_NEVER)

    def settled(self, args: Any, kwargs: Any) -> Any:
        """The arguments, numbers as Python's; refuses other kinds, before values are looked at."""
        count = len(args)
        if count > self.first:
            for name, place in self.places.items():
                if place < count:
                    found = self.asked(name, args[place])
                    if found is not args[place]:
                        args = (*args[:place], found, *args[place + 1 :])
        for name, value in kwargs.items():
            kwargs[name] = self.asked(name, value)
        return args

    def asked(self, name: str, value: Any) -> Any:
        """The value of one parameter, or an error if it is of another kind."""
        if name in self.switches:
            if type(value) is not bool:
                refuse_no_flag(self.name, name, value, self.switches[name])
        elif name in self.numbers and needs_look(value, self.numbers[name]):
            return plain_number(self.name, name, value, self.numbers[name])
        return value


def overridable(function: Function, briefly: Any = None) -> Function:
    """A public function whose calls modes and other classes may answer (call/overriding.py).

    `briefly` changes the first of some arguments where nobody answers, and tells whether it did.
    """
    kinds = Kinds(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if briefly is not None and not kwargs and briefly(*args):
            return args[0]
        if answered_elsewhere(args, kwargs):
            return offered(call, args, kwargs)
        if upper.composed is not None:
            found = upper.composed(call, args, kwargs)
            if found is not NotImplemented:
                return found
        if kwargs or len(args) > kinds.first:
            args = kinds.settled(args, kwargs)
        try:
            return function(*args, **kwargs)
        except (AttributeError, RuntimeError) as error:
            _refuse_others(function, args, kwargs, error)
            raise

    return call  # type: ignore[return-value]  # it is called as the function is


def creating(function: Function) -> Function:
    """A function that makes a tensor of nothing: besides, a mode below autograd may make it."""
    name = function.__name__
    kinds = Kinds(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(call, args, kwargs)
        if kwargs or len(args) > kinds.first:
            args = kinds.settled(args, kwargs)
        mode = creating_mode()
        around = [*args, kwargs.get("mean"), kwargs.get("std")] if name == "normal" else []
        if mode is None or tensors_in(around):
            return function(*args, **kwargs)  # what is drawn around tensors is an op's
        return created_by(mode, name, args, kwargs)

    return call  # type: ignore[return-value]  # it is called as the function is


def lifting(function: Function) -> Function:
    """A function that makes a tensor of data, its last argument: a mode is shown the result."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        mode = creating_mode()
        if mode is None:
            return function(*args, **kwargs)
        options = {"requires_grad": kwargs.pop("requires_grad", False)}
        data, made = args[-1] if args else None, function(*args, **kwargs)
        copied = {**options, "dtype": made.dtype}
        copies = function.__name__ == "tensor"  # tensors and arrays, and lists at once
        if not isinstance(data, Tensor):
            shown = created_by(mode, "lift_fresh", (made,), options)
            is_array = copies and type(data).__name__ == "ndarray"
            return created_by(mode, "_to_copy", (shown,), copied) if is_array else shown
        if not copies or made.device != data.device:
            return made.requires_grad_() if options["requires_grad"] else made
        return created_by(mode, "_to_copy", (data.detach(),), copied)

    return call  # type: ignore[return-value]  # it is called as the function is


def answered_below(function: Function) -> Function:
    """A question about a tensor that is no op, but an operation below autograd.

    Modes and classes may answer it; of a tensor they have answered, they are shown a `detach`.
    """
    name = function.__name__

    @functools.wraps(function)
    def call(self: Any, *args: Any) -> Any:
        if upper.seen_below is not None and (self.special or current().modes):
            found = upper.seen_below(name, self, *args)
            if found is not NotImplemented:
                return found.detach() if isinstance(found, Tensor) else found
        return function(self, *args)

    return call  # type: ignore[return-value]  # it is called as the function is


def overridable_by_modes(function: Function) -> Function:
    """A public function of data, not of tensors, whose calls only modes may answer."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return offered(call, args, kwargs) if seen_by_mode() else function(*args, **kwargs)

    return call  # type: ignore[return-value]  # it is called as the function is


def asked(function: Function) -> Function:
    """A public question about `input`, or two tensors, answered in short where they are plain."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        if type(input) is Tensor and not kwargs and upper.composed is None and not seen_by_mode():
            if not args:
                return function(input)
            if len(args) == 1 and type(args[0]) is Tensor:
                return function(input, args[0])
        if answered_elsewhere((input, *args), kwargs):
            return offered(call, (input, *args), kwargs)
        if upper.composed is not None:
            found = upper.composed(call, (input, *args), kwargs)
            if found is not NotImplemented:
                return found
        try:
            return function(input, *args, **kwargs)
        except (AttributeError, RuntimeError) as error:
            _refuse_others(function, (input, *args), kwargs, error)
            raise

    return call  # type: ignore[return-value]  # it is called as the function is


def with_extras(
    name: str,
    function: Any,
    exact_out: Any,
    apart: bool,
    spreads: bool = False,
    briefly: Any = None,
    cast: str | None = None,
) -> Any:
    """A function that others may answer; it takes out=, and OTHER_WORDS."""
    code = getattr(function, "__code__", None)
    if code is None or name in ("getitem", "setitem_"):  # asked elsewhere: see Path.item, assign
        return function
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if names[:1] == ("input",) and function.__annotations__.get("return") in (bool, int):
        return asked(function)
    writes = "out" not in names and not name.endswith("_")
    if "dim" not in names and not writes:
        return overridable(function, briefly)
    words = {
        alias: own for alias, own in OTHER_WORDS.items() if own in names and alias not in names
    }
    if names[:1] == ("A",):  # as PyTorch shows it; it takes input
        words.update(input="A", x="A")
    kinds = Kinds(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if spreads and len(args) == 2 and isinstance(args[0], str):
            args = (args[0], *args[1]) if isinstance(args[1], (list, tuple)) else args
        if answered_elsewhere(args, kwargs):
            return offered(call, args, kwargs)
        if kwargs:
            for alias, own in words.items():
                if alias in kwargs and own not in kwargs:
                    kwargs[own] = kwargs.pop(alias)
            if isinstance(kwargs.get("dim"), Tensor):  # so named, it is no operand
                kwargs["dim"] = plain_number(name, "dim", kwargs["dim"], "i")
        if upper.composed is not None:
            found = upper.composed(call, args, kwargs)
            if found is not NotImplemented:
                return found
        if kwargs or len(args) > kinds.first:
            args = kinds.settled(args, kwargs)
        if cast is not None and current().watchers:
            args, kwargs = _cast(cast, args, kwargs)
        if not kwargs:
            try:
                return function(*args)
            except (AttributeError, RuntimeError) as error:
                _refuse_others(function, args, kwargs, error)
                raise
        out = kwargs.pop("out", None) if writes else None
        if out is not None and apart:
            refuse_shared(name, tensors_in([*args, *kwargs.values()]), out)
        try:
            result = function(*args, **kwargs)
        except (AttributeError, RuntimeError) as error:
            _refuse_others(function, args, kwargs, error)
            raise
        return result if out is None else write_out(name, result, out, exact_out)

    if writes:
        shown: Any = Shown(function, lambda: with_out(function))
        call.__wrapped__ = shown
    return call


def _cast(kind: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a function as autocast casts them, before its steps see them."""
    for watcher in current().watchers:
        if hasattr(watcher, "cast_all"):
            args, kwargs = watcher.cast_all(kind, args, kwargs)
    return args, kwargs


def _register_composite(function: Any, options: dict[str, Any]) -> Any:
    renamed = options.pop("name", None)
    name: str = renamed or function.__name__
    exact_out: Any = options.pop("exact_out", False)
    apart: bool = options.pop("apart", False)
    spreads: bool = options.pop("spreads", False)  # after a str, all may come as one list
    briefly: Any = options.pop("briefly", None)  # see overridable
    declared = Declaration(name, options)
    if renamed is not None:
        function.__name__ = declared.own
    if options:
        raise TypeError(f"{name}: a composite has no option {', '.join(options)}")
    cast = declared.autocast
    declared.function = with_extras(name, function, exact_out, apart, spreads, briefly, cast)
    if declared.is_news():
        COMPOSITES[name] = declared.function
        DECLARED[name] = declared
    return declared.function
